package modules

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/plan"
)

// markPath is the run mark of a server, one for all owners. It is no ledger: it
// says whose run the server belongs to, not what was done to it.
const markPath = ledgerDir + "/run.json"

func markLook() remote.Look { return remote.Look{Root: true, File: markPath} }

// A serverMark is a mark with its text, which tells it from others.
type serverMark struct {
	plan.Mark
	text string
}

// parseMark reads a mark; nil: there is none. What cannot be read belongs to
// somebody all the same.
func parseMark(text string) *serverMark {
	if text == "" {
		return nil
	}
	m := &serverMark{text: text}
	if err := json.Unmarshal([]byte(text), &m.Mark); err != nil || m.Format != plan.MarkFormat {
		m.Mark = unreadable()
	}
	return m
}

// sawMark is the mark that was seen. One that only root could read belongs to
// somebody, too: only what is not there is nobody's.
func sawMark(s remote.Seen) *serverMark {
	got, err := file(s, markLook())
	if err != nil {
		return &serverMark{Mark: unreadable()}
	}
	return parseMark(got.Text())
}

// unreadable is what is known of a mark that cannot be read.
func unreadable() plan.Mark {
	return plan.Mark{Run: "unknown", Owner: "unknown", Who: "somebody whose " + markPath + " cannot be read"}
}

// markText is a mark as it stands in its file.
func markText(m plan.Mark) (string, error) {
	raw, err := json.Marshal(m)
	return string(raw), err
}

// needle is a part of a mark's text that no other mark has.
func (m *serverMark) needle() string {
	if m == nil {
		return ""
	}
	return needleOf(m.Mark, m.text)
}

func needleOf(m plan.Mark, text string) string {
	if m.Token == "" {
		return text
	}
	return `"token":` + strconv.Quote(m.Token)
}

// putMark is a function of scripts: it writes the mark $1, whole and synced.
const putMark = `m=` + markPath + `; put() { umask 022; mkdir -p "${m%/*}" || return 1; umask 077; printf '%s' "$1" | cat >"$m.new" && { sync "$m.new" 2>/dev/null || sync; } && mv -f -- "$m.new" "$m" && return; rm -f -- "$m.new"; return 1; }
has() { [ -n "$1" ] || return 1; case $(cat "$m" 2>/dev/null) in *"$1"*) return 0;; esac; return 1; }
`

// readMarked is the end of the script that takes the lease for a transaction. It
// has a mark of the same run, which holds $7, say $6, and prints the mark and
// the file $5.
const readMarked = putMark + `if has "$7" && ! has "$6"; then put "$6" || exit 1; fi
n=0; if [ -s "$m" ]; then n=$(wc -c <"$m"); fi; echo taken $n; if [ -s "$m" ]; then cat "$m"; fi
if [ -f "$5" ]; then cat "$5"; fi`

// makeMark is the end of the script that takes the lease to mark a server with
// $5 in place of a mark that holds $6, and lets go of it again. Where it cannot be
// written it says why.
const makeMark = putMark + `if [ -s "$m" ] && ! has "$6" && ! has "$5"; then echo marked; cat "$m"; elif e=$(put "$5" 2>&1); then echo made; else echo unwritten; echo "$e"; fi
away`

// clearMark takes away a mark that holds $1. What else weft keeps on the server
// may have gone already.
const clearMark = putMark + `if has "$1"; then rm -f -- "$m.new" "$m" || exit 1; fi; rmdir -- "${m%/*}" 2>/dev/null || :`

// Marks implements plan.Marker.
func (d *server) Marks() []plan.Mark {
	if d.mark == nil {
		return nil
	}
	return []plan.Mark{d.mark.Mark}
}

// Mark implements plan.Marker: in one round trip under the lease, which is let
// go of again.
func (d *server) Mark(ctx context.Context, m plan.Mark, mine func(plan.Mark) bool) error {
	if err := d.reach(ctx); err != nil {
		return err
	}
	text, err := markText(m)
	if err != nil {
		return err
	}
	old := ""
	if d.mark != nil && mine(d.mark.Mark) {
		old = d.mark.needle()
	}
	answer, rest, err := d.claim(ctx, makeMark, text, old)
	switch {
	case err != nil:
		d.letGo(ctx)
		return err
	case answer == "marked":
		d.mark = parseMark(string(bytes.TrimSpace(rest)))
		return plan.NewMarkedError(d.name, d.mark.Mark)
	case answer == "unwritten":
		return fmt.Errorf("write %s: %s", markPath, bytes.TrimSpace(rest))
	case answer != "made":
		return fmt.Errorf("write %s: the server answers %q", markPath, answer)
	}
	d.mark = &serverMark{m, text}
	return nil
}

// Unmark implements plan.Marker.
func (d *server) Unmark(ctx context.Context, m plan.Mark) error {
	text, err := markText(m)
	if err != nil {
		return err
	}
	return d.unmark(ctx, needleOf(m, text))
}

func (d *server) unmark(ctx context.Context, needle string) error {
	if err := d.reach(ctx); err != nil {
		return err
	}
	if _, err := d.host.Run(ctx, script(clearMark, needle)); err != nil {
		return fmt.Errorf("remove %s: %w", markPath, err)
	}
	if d.mark != nil && strings.Contains(d.mark.text, needle) {
		d.mark = nil
	}
	return nil
}

// reach connects to a server that is not connected, or is at rest.
func (d *server) reach(ctx context.Context) error {
	if d.host != nil {
		return nil
	}
	if _, err := d.Open(ctx); err != nil {
		return &plan.UnreachableError{Devices: []string{d.name}, Err: err}
	}
	return nil
}

// admits refuses a transaction, of which the lease has just been taken, on a
// server that belongs to another run than that of want, or to none any more. A
// nil want asks only that nobody else has it.
func (d *server) admits(want *plan.Mark) error {
	switch {
	case d.mark == nil && want != nil:
		return plan.NewEndedError(d.name, want.Run)
	case d.mark == nil, want != nil && d.mark.Run == want.Run && d.mark.Token == want.Token:
		return nil
	case want == nil && d.mine != nil && d.mine(d.mark.Mark):
		return nil
	}
	return plan.NewMarkedError(d.name, d.mark.Mark)
}

// ReadMarks implements plan.Marker.
func (d *server) ReadMarks(ctx context.Context) ([]plan.Mark, error) {
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	seen, err := remote.Read(ctx, d.host, []remote.Look{markLook()})
	if err != nil {
		return nil, err
	}
	d.mark = sawMark(seen)
	return d.Marks(), nil
}

// BreakMark implements plan.Marker: there is one mark, that it has just read.
func (d *server) BreakMark(ctx context.Context, _ plan.Mark) error {
	if d.mark.needle() == "" {
		return fmt.Errorf("only root may read %s", markPath)
	}
	return d.unmark(ctx, d.mark.needle())
}
