//go:build unix

package simwindows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"weft/internal/lab/sshd"
)

// A loginShell is what OpenSSH gives a command line to: DefaultShell, and cmd.exe where that
// is not set.
type loginShell struct {
	name     string
	special  string // characters that mean more to it than themselves
	greets   bool   // its profile prints something
	lacks    bool   // it finds no powershell
	one      bool   // it ends with 1 whatever the status of the command was, unless that is 0
	notFound string // what it says of a command that it does not find
}

// shells are those that this host may have, by their fault; "" is cmd.exe.
func shells() map[string]loginShell {
	const seven = "%s: The term '%[1]s' is not recognized as a name of a cmdlet, function, script file, or executable program.\r\nCheck the spelling of the name, or if a path was included, verify that the path is correct and try again.\r\n"
	const meaning = "$(){}[]@'\"`;,|&<>#%"
	return map[string]loginShell{
		"":              {name: "cmd.exe", special: `&|<>^"%!`},
		"no-powershell": {name: "bash", special: "$(){}[]'\"`;|&<>#*?!\\", lacks: true, notFound: "bash: %s: command not found\n"},
		"pwsh":          {name: "PowerShell 7", special: meaning, one: true, notFound: seven},
		"greeting":      {name: "PowerShell 7", special: meaning, one: true, notFound: seven, greets: true},
	}
}

// errOff ends a script whose host goes down under it: no handler of the script sees it.
var errOff = errors.New("the host goes down")

// Exec runs one command line and returns its exit status.
func (h *Host) Exec(ctx context.Context, user, line string, stdin io.Reader, stdout, stderr io.Writer) int {
	h.mu.Lock()
	shell := shells()[h.shell]
	h.mu.Unlock()
	if shell.greets {
		fmt.Fprint(stdout, "Welcome to the file servers.\r\n")
	}
	word, _, _ := strings.Cut(line, " ")
	if strings.ContainsAny(line, shell.special) {
		fmt.Fprintf(stderr, "%s of this SIMULATED host takes lines of plain words only\r\n", shell.name)
		return 1
	}
	if shell.notFound != "" && (shell.lacks || word != "powershell") {
		fmt.Fprintf(stderr, shell.notFound, word)
		return 127
	}
	status, err := h.exec(ctx, user, line, stdin, stdout, stderr)
	if errors.Is(err, errOff) {
		h.Reboot()
		if s := sshd.SessionFrom(ctx); s != nil {
			s.Drop()
		}
		return 255
	}
	if shell.one && status != 0 {
		return 1
	}
	return status
}

// goesDown reports whether the host goes down after a cmdlet, as it is to do after the next
// one that changes something.
func (h *Host) goesDown(cmdlet string) bool {
	verb, noun, _ := strings.Cut(strings.ToLower(cmdlet), "-")
	switch verb {
	case "set", "enable", "disable", "remove", "install", "uninstall":
	case "new":
		if !strings.HasPrefix(noun, "net") {
			return false
		}
	default:
		return false
	}
	down := h.midway
	h.midway = false
	return down
}
