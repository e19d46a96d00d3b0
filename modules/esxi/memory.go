package esxi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
)

// scratch is the memory of ESXi: ledgers and the run mark on the scratch partition, as
// what is put below /etc vanishes with a restart; the lease where a restart forgets it.
type scratch struct{}

const (
	keepDir  = "/scratch/weft" // one folder per owner
	runDir   = "/tmp/weft"     // RAM
	markPath = keepDir + "/run.json"
)

func (scratch) Place(k host.Keepsake, owner string) string {
	dir := keepDir
	if owner != "" {
		dir += "/" + owner
	}
	switch {
	case k == host.KeptMark:
		return markPath
	case k == host.KeptLease:
		return runDir + "/lease"
	case owner == "":
		return keepDir
	case k == host.KeptSecrets:
		return dir + "/former.json"
	}
	return dir + "/ledger.json"
}

// shell is a look by a script of ours.
func shell(text string, args ...string) remote.Look {
	return remote.Look{Own: true, Args: append([]string{"sh", "-c", text, "sh"}, args...)}
}

func script(text string, args ...string) remote.Cmd {
	return remote.Cmd{Args: append([]string{"sh", "-c", text, "sh"}, args...)}
}

func scratchLook() remote.Look {
	return ask("system", "settings", "advanced", "list", "-o", "/ScratchConfig/CurrentScratchLocation")
}

// ledgersLook reads all ledgers and what is kept beside them, each after a line with its
// path and size.
func ledgersLook() remote.Look {
	return shell(`for f in ` + keepDir + `/*/ledger.json ` + keepDir + `/*/former.json; do if [ -f "$f" ]; then s=$(wc -c <"$f"); echo "$f" $s; cat "$f"; echo; fi; done`)
}

// leftLook shows files that were on their way to their place, and before and after that
// the lease: while it is held its holder may be putting them.
func leftLook() remote.Look {
	return shell(leaseSteps + `now=$(date +%s); show
for f in ` + keepDir + `/*.new ` + keepDir + `/*/*.new; do if [ -f "$f" ]; then echo "left $f"; fi; done
show || :`)
}

func (scratch) Marked() remote.Look {
	return shell(`if [ -f ` + markPath + ` ]; then cat ` + markPath + `; fi`)
}

func (s scratch) Looks(string, []remote.Look) []remote.Look {
	return []remote.Look{scratchLook(), ledgersLook(), leftLook(), s.Marked()}
}

func (m scratch) Parse(s remote.Seen, owner string, _ []remote.Look) (kept host.Memorized, err error) {
	if kept.Unable = lasts(s); kept.Unable != nil {
		return kept, nil
	}
	seen := s.Of(ledgersLook())
	if seen.Err != nil {
		return kept, fmt.Errorf("read the ledgers in %s: %w", keepDir, seen.Err)
	}
	kept.Files, kept.Broken = m.memos(owner, seen.Content)
	left := s.Of(leftLook())
	if left.Err != nil {
		return kept, fmt.Errorf("look for what an apply that did not end has left: %w", left.Err)
	}
	kept.Left, kept.Leases = parseLeft(string(left.Content))
	return kept, nil
}

// lasts says why nothing is kept on a host: where its scratch partition is in RAM, a
// restart would forget what weft did.
func lasts(s remote.Seen) error {
	const advice = "give the host a scratch location on a disk, and restart it: the advanced option ScratchConfig.ConfiguredScratchLocation"
	var err error
	at := one(s, scratchLook(), &err).text("StringValue")
	switch {
	case err != nil:
		return fmt.Errorf("nothing of this host can be owned: where its scratch partition is cannot be read: %w", err)
	case at == "":
		return hint.Wrap(errors.New("nothing of this host can be owned: it has no scratch partition, so that a restart would forget what was done"), advice)
	case path.Clean(at) == "/tmp" || strings.HasPrefix(path.Clean(at), "/tmp/"):
		return hint.Wrap(fmt.Errorf("nothing of this host can be owned: its scratch partition is %s, in RAM, so that a restart would forget what was done", at), advice)
	}
	return nil
}

// memos reads what ledgersLook printed.
func (m scratch) memos(owner string, text []byte) (list []host.Memo, err error) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		name, size, _ := strings.Cut(string(line), " ")
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil || n < 0 || n > len(rest) {
			return list, fmt.Errorf("the ledgers in %s cannot be read: %.80q", keepDir, line)
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

// putScript puts what it reads, $2 bytes, in place of the file $1. A connection that
// breaks looks like the end of the input, which the size tells.
const putScript = `umask 077; [ -d /scratch/. ] || { echo "there is no /scratch" >&2; exit 1; }
mkdir -p "${1%/*}" || exit 1
if cat >"$1.new" && [ "$(wc -c <"$1.new")" -eq "$2" ]; then :; else rm -f -- "$1.new"; echo "it did not arrive whole" >&2; exit 1; fi
mv -f -- "$1.new" "$1" && sync 2>/dev/null || :
[ "$(wc -c <"$1")" -eq "$2" ] || { echo "it reads otherwise than it was written" >&2; exit 1; }`

func (m scratch) Put(ctx context.Context, t host.Transport, k host.Keepsake, owner string, raw []byte) error {
	cmd := script(putScript, m.Place(k, owner), strconv.Itoa(len(raw)))
	cmd.Stdin = bytes.NewReader(raw)
	_, err := t.Run(ctx, cmd)
	return err
}

func (m scratch) Remove(ctx context.Context, t host.Transport, owner string, kept ...host.Keepsake) error {
	args := []string{"rm", "-f", "--"}
	for _, k := range kept {
		args = append(args, m.Place(k, owner))
	}
	_, err := t.Run(ctx, remote.Cmd{Args: args})
	return err
}

func (scratch) Tidy(ctx context.Context, t host.Transport, owner string) error {
	_, err := t.Run(ctx, script(`rmdir -- "$@" 2>/dev/null || :`, keepDir+"/"+owner, keepDir))
	return err
}

func (scratch) Sweep(ctx context.Context, t host.Transport, names []string) error {
	_, err := t.Run(ctx, remote.Cmd{Args: append([]string{"rm", "-f", "--"}, names...)})
	return err
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

// putMark is functions of scripts about the mark m: to put $1 there, whole, and whether
// it holds $1.
const putMark = `m=` + markPath + `; put() { umask 077; mkdir -p "${m%/*}" || return 1; printf '%s' "$1" >"$m.new" && mv -f -- "$m.new" "$m" && { sync 2>/dev/null || :; } && return; rm -f -- "$m.new"; return 1; }
has() { [ -n "$1" ] || return 1; case $(cat "$m" 2>/dev/null) in *"$1"*) return 0;; esac; return 1; }
`

// readMarked is the end of the script that takes the lease for a transaction. It has a
// mark of the same run, which holds $7, say $6, and prints the mark and the file $5.
const readMarked = putMark + `if has "$7" && ! has "$6"; then put "$6" || exit 1; fi
n=0; if [ -s "$m" ]; then n=$(wc -c <"$m"); fi; echo taken $n; if [ -s "$m" ]; then cat "$m"; fi
if [ -f "$5" ]; then cat "$5"; fi`

// makeMark is the end of the script that takes the lease to mark a host with $5 in place
// of a mark that holds $6, and lets go of it again.
const makeMark = putMark + `if [ -s "$m" ] && ! has "$6" && ! has "$5"; then echo marked; cat "$m"; elif e=$(put "$5" 2>&1); then echo made; else echo unwritten; echo "$e"; fi
away "$3"`

// clearMark takes away a mark that holds $1.
const clearMark = putMark + `if has "$1"; then rm -f -- "$m.new" "$m" || exit 1; fi; rmdir -- "${m%/*}" 2>/dev/null || :`

func (m scratch) Take(ctx context.Context, t host.Transport, c host.Claim, n host.Note, owner string) (mark string, ledger []byte, who *host.Held, err error) {
	answer, rest, who, err := m.ask(ctx, t, c, readMarked, m.Place(host.KeptLedger, owner), n.Text, n.Needle)
	if err != nil || who != nil {
		return "", nil, who, err
	}
	size, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(answer, "taken ")))
	if err != nil || size > len(rest) {
		return "", nil, nil, fmt.Errorf("the host answers %q", answer)
	}
	if ledger = rest[size:]; len(ledger) == 0 {
		ledger = nil
	}
	return string(rest[:size]), ledger, nil, nil
}

func (m scratch) Mark(ctx context.Context, t host.Transport, c host.Claim, text, old string) (other string, who *host.Held, err error) {
	answer, rest, who, err := m.ask(ctx, t, c, makeMark, text, old)
	said := string(bytes.TrimSpace(rest))
	switch {
	case err != nil || who != nil:
		return "", who, err
	case answer == "marked":
		return said, nil, nil
	case answer == "unwritten":
		return "", nil, &host.UnwrittenError{Said: said}
	case answer != "made":
		return "", nil, &host.UnwrittenError{Said: fmt.Sprintf("the host answers %q", answer)}
	}
	return "", nil, nil
}

func (scratch) Unmark(ctx context.Context, t host.Transport, needle string) error {
	_, err := t.Run(ctx, script(clearMark, needle))
	return err
}
