package linux

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"weft/internal/agent"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
)

// files is the memory of Linux: ledgers and the run mark below ledgerDir, the lease
// where a restart forgets it.
type files struct{}

// ledgerDir holds one folder per owner.
const ledgerDir = "/var/lib/weft"

// markPath is the run mark of a server, one for all owners. It is no ledger: it
// says whose run the server belongs to, not what was done to it.
const markPath = ledgerDir + "/run.json"

func (files) Place(k host.Keepsake, owner string) string {
	dir := ledgerDir
	if owner != "" {
		dir += "/" + owner
	}
	switch {
	case k == host.KeptMark:
		return markPath
	case k == host.KeptLease:
		return put.RunDir + "/lease"
	case owner == "":
		return ledgerDir
	case k == host.KeptSecrets:
		return dir + "/former.json"
	}
	return dir + "/ledger.json"
}

// ledgersLook reads the ledgers of all owners at once, and what they keep beside
// them: each after a line with its path and size.
func ledgersLook() remote.Look {
	return remote.Look{Root: true, Own: true, Args: []string{"sh", "-c",
		`for f in ` + ledgerDir + `/*/ledger.json ` + ledgerDir + `/*/former.json; do if [ -f "$f" ]; then s=$(wc -c <"$f"); echo "$f" $s; cat "$f"; echo; fi; done`}}
}

func (f files) Looks(owner string, places []remote.Look) []remote.Look {
	return []remote.Look{ledgersLook(), f.leftLook(owner, places), f.Marked(), tokenLook()}
}

func (f files) Parse(s remote.Seen, owner string, places []remote.Look) (m host.Memorized, err error) {
	text, err := see.Output(s, ledgersLook())
	if err != nil {
		return m, fmt.Errorf("read the ledgers in %s: %w", ledgerDir, err)
	}
	m.Files, m.Broken = f.memos(owner, text)
	left, err := see.Output(s, f.leftLook(owner, places))
	if err != nil {
		return m, fmt.Errorf("look for what an apply that did not end has left: %w", err)
	}
	m.Left, m.Leases = parseLeft(left)
	if token := s.Of(tokenLook()); !token.Absent {
		m.Token = readToken(token.Text())
	}
	return m, nil
}

// memos reads what ledgersLook printed.
func (f files) memos(owner string, text []byte) (list []host.Memo, err error) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		name, size, _ := strings.Cut(string(line), " ")
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil || n < 0 || n > len(rest) {
			return list, fmt.Errorf("the ledgers in %s cannot be read: %.80q", ledgerDir, line)
		}
		m := host.Memo{Kept: host.KeptLedger, Place: name, Raw: rest[:n]}
		if strings.HasSuffix(name, "/former.json") {
			m.Kept = host.KeptSecrets
		}
		m.Mine = name == f.Place(m.Kept, owner)
		list = append(list, m)
		text = bytes.TrimPrefix(rest[n:], []byte("\n"))
	}
	return list, nil
}

func (f files) Put(ctx context.Context, t host.Transport, k host.Keepsake, owner string, raw []byte) error {
	return t.WriteFile(ctx, f.Place(k, owner), bytes.NewReader(raw), 0o600)
}

func (f files) Remove(ctx context.Context, t host.Transport, owner string, kept ...host.Keepsake) error {
	args := []string{"rm", "-f", "--"}
	for _, k := range kept {
		args = append(args, f.Place(k, owner))
	}
	_, err := t.Run(ctx, remote.Cmd{Args: args})
	return err
}

// Tidy removes the inner folders first.
func (files) Tidy(ctx context.Context, t host.Transport, owner string) error {
	keys := path.Dir(agent.KeyFile(owner, ""))
	mirrors := path.Dir(fmt.Sprintf(agent.MirrorState, owner, ""))
	_, err := t.Run(ctx, script(`rmdir -- "$@" 2>/dev/null || true`,
		mirrors, ledgerDir+"/"+owner, ledgerDir, keys, path.Dir(keys), path.Dir(agent.ConfigPath), agent.BinDir+"/"+owner, agent.BinDir))
	return err
}

func (files) Sweep(ctx context.Context, t host.Transport, names []string) error {
	_, err := t.Run(ctx, remote.Cmd{Args: append([]string{"rm", "-f", "--"}, names...)})
	return err
}

// leftScript shows uploads in the folders $@, and before and after that the lease:
// while a lease is held its holder may be uploading.
const leftScript = leaseSteps + `read -r up rest </proc/uptime; up=${up%%.*}
show
for d in "$@"; do for f in "$d"/.weft-????????????????; do if [ -f "$f" ]; then echo "left $f"; fi; done; done
show || :`

// leftLook looks for what was left in the folders in which weft puts files, which
// are those that the other looks are about, and some that it always uses.
func (f files) leftLook(owner string, looks []remote.Look) remote.Look {
	dirs := []string{"/tmp", agent.BinDir, path.Dir(agent.ConfigPath), path.Clean(agent.UnitPath), path.Dir(f.Place(host.KeptLedger, owner))}
	for _, l := range looks {
		if strings.HasPrefix(l.File, "/") && !strings.HasPrefix(l.File, "/sys/") && !strings.HasPrefix(l.File, "/proc/") {
			dirs = append(dirs, path.Dir(l.File))
		}
	}
	slices.Sort(dirs)
	return remote.Look{Root: true, Own: true, Args: append([]string{"sh", "-c", leftScript, "sh"}, slices.Compact(dirs)...)}
}

// parseLeft reads what leftScript printed.
func parseLeft(text []byte) (left []string, leases []host.Held) {
	lines := strings.Split(string(text), "\n")
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
