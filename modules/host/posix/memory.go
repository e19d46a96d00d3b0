// Package posix is the memory of machines that have a POSIX shell: ledgers, the mark of a
// run, the lease and the token, each a file that scripts put, take and read. Systems differ
// in data only: where things are, by which clock a lease ends, how its folder is taken
// and how a file comes to its place.
package posix

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
)

// A Memory implements host.Memory. Its folders have names that a shell takes as they are.
type Memory struct {
	Dir   string // of the mark and the token, and of a folder for each owner; it outlasts a restart
	Run   string // of the lease, which a restart forgets
	Mask  string // umask for folders
	Clock Clock
	Enter Enter
	Keep  Keep

	// Logger is a command that tells the system's log its last argument; empty: weft tells none.
	Logger string
	// Write puts a file there, whole or not at all.
	Write func(ctx context.Context, t host.Transport, path string, raw []byte) error
	// Left are folders with files that may be on their way to their place; places are what
	// weft looks at on the machine. OnWay are patterns of a shell for such files, below these.
	Left  func(owner string, places []remote.Look) []string
	OnWay []string
	// Folders are others that weft makes for an owner, inner ones first; nil: none.
	Folders func(owner string) []string
	// Open makes a transport over another way to the same machine.
	Open func(remote.Host) host.Transport
}

// Place implements host.Memory.
func (m Memory) Place(k host.Keepsake, owner string) string {
	switch {
	case k == host.KeptMark:
		return m.Dir + "/run.json"
	case k == host.KeptLease:
		return m.Run + "/lease"
	case owner == "":
		return m.Dir
	case k == host.KeptSecrets:
		return m.Dir + "/" + owner + "/former.json"
	}
	return m.Dir + "/" + owner + "/ledger.json"
}

// look is a look by a script of ours, script a command.
func look(text string) remote.Look {
	return remote.Look{Root: true, Own: true, Args: []string{"sh", "-c", text}}
}

func script(text string, args ...string) remote.Cmd {
	return remote.Cmd{Args: append([]string{"sh", "-c", text, "sh"}, args...)}
}

// ledgersLook reads the ledgers of all owners at once, and what they keep beside them:
// each after a line with its path and size.
func (m Memory) ledgersLook() remote.Look {
	return look(m.show("ledger", "former"))
}

func (m Memory) show(kept ...string) string {
	files := ""
	for _, k := range kept {
		files += m.Dir + `/*/` + k + `.json `
	}
	return `for f in ` + files + `; do if [ -f "$f" ]; then s=$(wc -c <"$f"); echo "$f" $s; cat "$f"; echo; fi; done`
}

// Permits are what a reader tells of it: not what was secret before weft came.
func (m Memory) Permits() []remote.Permit {
	return []remote.Permit{
		{What: "ledgers of weft", Look: m.ledgersLook(), Instead: m.show("ledger")},
		{What: "the lease, and what an apply that did not end has left", Look: look(m.leftScript()), Each: "/*"},
		{What: "whose run has the machine", Look: m.Marked()},
		{What: "the token of the last lease", Look: m.tokenLook()},
	}
}

// leftLook looks for files on their way, and before and after that for the lease: while
// it is held its holder may be putting them.
func (m Memory) leftLook(owner string, places []remote.Look) remote.Look {
	l := look(m.leftScript())
	l.Args = append(append(l.Args, "sh"), m.Left(owner, places)...)
	return l
}

func (m Memory) leftScript() string {
	in := ""
	for _, p := range m.OnWay {
		in += ` "$d"/` + p
	}
	return m.leaseSteps() + `clock || :; show
for d; do for f in` + in + `; do if [ -f "$f" ]; then echo "left $f"; fi; done; done
show || :`
}

// Marked implements host.Memory.
func (m Memory) Marked() remote.Look {
	at := m.Place(host.KeptMark, "")
	return look(`[ ! -f ` + at + ` ] || cat ` + at + ` || [ ! -e ` + at + ` ]`) // it may go meanwhile
}

// Looks implements host.Memory.
func (m Memory) Looks(owner string, places []remote.Look) []remote.Look {
	return []remote.Look{m.ledgersLook(), m.leftLook(owner, places), m.Marked(), m.tokenLook()}
}

// Parse implements host.Memory.
func (m Memory) Parse(s remote.Seen, owner string, places []remote.Look) (kept host.Memorized, err error) {
	ledgers, left, token := s.Of(m.ledgersLook()), s.Of(m.leftLook(owner, places)), s.Of(m.tokenLook())
	if ledgers.Err != nil {
		return kept, fmt.Errorf("read the ledgers in %s: %w", m.Dir, ledgers.Err)
	}
	kept.Files, kept.Broken = m.memos(owner, ledgers.Content)
	if left.Err != nil {
		return kept, fmt.Errorf("look for what an apply that did not end has left: %w", left.Err)
	}
	kept.Left, kept.Leases = parseLeft(string(left.Content))
	if kept.Token = m.stood(token.Content); token.Err != nil {
		kept.Token = m.tokenText("")
	}
	return kept, nil
}

// memos reads what ledgersLook printed.
func (m Memory) memos(owner string, text []byte) (list []host.Memo, err error) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		name, size, _ := strings.Cut(string(line), " ")
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil || n < 0 || n > len(rest) {
			return list, fmt.Errorf("the ledgers in %s cannot be read: %.80q", m.Dir, line)
		}
		memo := host.Memo{Kept: host.KeptLedger, Place: name, Raw: rest[:n]}
		if strings.HasSuffix(name, "/former.json") {
			memo.Kept = host.KeptSecrets
		}
		memo.Mine = name == m.Place(memo.Kept, owner)
		list = append(list, memo)
		text = bytes.TrimPrefix(rest[n:], []byte("\n"))
	}
	return list, nil
}

// parseLeft reads what leftLook printed.
func parseLeft(text string) (left []string, leases []host.Held) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "left":
			left = append(left, rest)
		case "held":
			l, err := heldBy(line, strings.Join(lines[i+1:min(i+2, len(lines))], ""))
			if err != nil {
				l = &host.Held{} // of which nothing is known
			}
			leases = append(leases, *l)
		}
	}
	return left, leases
}

// Put implements host.Memory.
func (m Memory) Put(ctx context.Context, t host.Transport, k host.Keepsake, owner string, raw []byte) error {
	return m.Write(ctx, t, m.Place(k, owner), raw)
}

// Remove implements host.Memory.
func (m Memory) Remove(ctx context.Context, t host.Transport, owner string, kept ...host.Keepsake) error {
	names := slice.Map(kept, func(k host.Keepsake) string { return m.Place(k, owner) })
	return m.Sweep(ctx, t, names)
}

// Tidy implements host.Memory.
func (m Memory) Tidy(ctx context.Context, t host.Transport, owner string) error {
	var folders []string
	if m.Folders != nil {
		folders = m.Folders(owner)
	}
	_, err := t.Run(ctx, script(`rmdir -- "$@" 2>/dev/null || :`, append(folders, m.Dir+"/"+owner, m.Dir)...))
	return err
}

// Sweep implements host.Memory.
func (m Memory) Sweep(ctx context.Context, t host.Transport, files []string) error {
	_, err := t.Run(ctx, remote.Cmd{Args: append([]string{"rm", "-f", "--"}, files...)})
	return err
}
