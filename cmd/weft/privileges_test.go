package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"weft/internal/remote"
	"weft/modules/linux"
)

var permits = regexp.MustCompile(`^\s*rule [0-9]+ permit command (.+)$`)

// restrict gives the user of a simulated switch the role that weft doctor --privileges
// lists for its system: restrict HOST OS.
func restrict(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: restrict HOST OS")
	}
	ts.Check(ts.Exec("weft", "doctor", "--privileges", "--json"))
	var p privileges
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &p))
	var lines []string
	for _, s := range p.Switches {
		for _, line := range s.Role {
			if m := permits.FindStringSubmatch(line); m != nil && s.OS == args[1] {
				lines = append(lines, m[1])
			}
		}
	}
	if lines == nil {
		ts.Fatalf("no role of %s permits anything", args[1])
	}
	ts.Check(ts.Exec("weft", "lab", "fault", args[0], "role="+strings.Join(lines, ";")))
}

// sudoers gives the user weft of a machine of OpenSSH the rules that weft doctor --privileges
// lists, and the reader where these name it: sudoers MACHINE read|change|none.
func sudoers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sudoers MACHINE read|change|none")
	}
	can := rights("weft").Servers
	lines := map[string][]string{"read": can.Read.Sudoers, "change": can.Change.Sudoers, "none": nil}[args[1]]
	home := ts.MkAbs("../" + args[0])
	const usual = `Defaults secure_path="/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"` // as Debian has it
	ts.Check(os.WriteFile(filepath.Join(home, "etc", "sudoers"), []byte(usual+"\n"+strings.Join(lines, "\n")+"\n"), 0o440))
	if args[1] == "read" {
		ts.Check(os.WriteFile(filepath.Join(home, "sbin", "weft-read"), []byte(remote.Reader(linux.Permits())), 0o755))
	}
}
