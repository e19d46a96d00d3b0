package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"weft/internal/remote"
	"weft/plan"
)

// A serverMark is a mark with its text, which tells it from others.
type serverMark struct {
	plan.Mark
	text string
}

// parseMark reads a mark; nil: there is none. What cannot be read belongs to
// someone all the same.
func (d *Machine) parseMark(text string) *serverMark {
	if text == "" {
		return nil
	}
	m := &serverMark{text: text}
	if err := json.Unmarshal([]byte(text), &m.Mark); err != nil || m.Format != plan.MarkFormat {
		m.Mark = d.unreadable()
	}
	return m
}

// sawMark is the mark that was seen. One that only root could read belongs to
// someone, too: only what is not there is nobody's.
func (d *Machine) sawMark(s remote.Seen) *serverMark {
	got := s.Of(d.os.Memory.Marked())
	if got.Err != nil && !got.Absent {
		return &serverMark{Mark: d.unreadable()}
	}
	return d.parseMark(got.Text())
}

func (d *Machine) markPlace() string { return d.os.Memory.Place(KeptMark, "") }

// unreadable is what is known of a mark that cannot be read.
func (d *Machine) unreadable() plan.Mark {
	return plan.Mark{Run: "unknown", Owner: "unknown", Who: "somebody whose " + d.markPlace() + " cannot be read"}
}

// An UnwrittenError is a mark that could not be left, though the lease could be
// taken: what the machine said.
type UnwrittenError struct{ Said string }

func (e *UnwrittenError) Error() string { return e.Said }

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

// Marks implements plan.Marker.
func (d *Machine) Marks() []plan.Mark {
	if d.mark == nil {
		return nil
	}
	return []plan.Mark{d.mark.Mark}
}

// Mark implements plan.Marker: in one round trip under the lease, which is let
// go of again.
func (d *Machine) Mark(ctx context.Context, m plan.Mark, mine func(plan.Mark) bool) error {
	if err := d.reach(ctx); err != nil {
		return err
	}
	m.OS = d.os.Name
	text, err := markText(m)
	if err != nil {
		return err
	}
	old := ""
	if d.mark != nil && mine(d.mark.Mark) {
		old = d.mark.needle()
	}
	other := ""
	err = d.claim(ctx, false, func(c Claim) (held *Held, err error) {
		other, held, err = d.os.Memory.Mark(ctx, d.host, c, text, old, logged(m, "this server is its own now"))
		return held, err
	})
	switch {
	case errors.As(err, new(*UnwrittenError)):
		return fmt.Errorf("write %s: %w", d.markPlace(), err)
	case err != nil:
		d.letGo(ctx)
		return err
	case other != "":
		d.mark = d.parseMark(other)
		return plan.NewMarkedError(d.name, d.mark.Mark)
	}
	d.mark = &serverMark{m, text}
	return nil
}

// Unmark implements plan.Marker.
func (d *Machine) Unmark(ctx context.Context, m plan.Mark) error {
	m.OS = d.os.Name
	text, err := markText(m)
	if err != nil {
		return err
	}
	return d.unmark(ctx, needleOf(m, text), logged(m, "it has ended here"))
}

// logged is what the log of a machine is told of a run, in a line: nothing of what it
// changes, and no token.
func logged(m plan.Mark, what string) string {
	m.Phase = "" // the log has a time of its own, and no line for each phase
	text := m.Text()
	if m.Commit != "" {
		text += ", commit " + m.Commit
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text+": "+what)
}

func (d *Machine) unmark(ctx context.Context, needle, say string) error {
	if err := d.os.Lacks(Memories); err != nil {
		return err
	}
	if err := d.reach(ctx); err != nil {
		return err
	}
	if err := d.os.Memory.Unmark(ctx, d.host, needle, say); err != nil {
		return fmt.Errorf("remove %s: %w", d.markPlace(), err)
	}
	if d.mark != nil && strings.Contains(d.mark.text, needle) {
		d.mark = nil
	}
	return nil
}

// reach connects to a server that is not connected, or is at rest.
func (d *Machine) reach(ctx context.Context) error {
	if d.host != nil {
		return nil
	}
	if _, err := d.Open(ctx); err != nil {
		if errors.As(err, new(*plan.LedgerError)) {
			return err
		}
		return &plan.UnreachableError{Devices: []string{d.name}, Err: err}
	}
	return nil
}

// admits refuses a transaction, of which the lease has just been taken, on a
// server that belongs to another run than that of want, or to none any more. A
// nil want asks only that nobody else has it.
func (d *Machine) admits(want *plan.Mark) error {
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

// ReadMarks asks the machine whose run it belongs to.
func (d *Machine) ReadMarks(ctx context.Context) ([]plan.Mark, error) {
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	if err := d.os.Lacks(Memories); err != nil {
		return nil, err
	}
	seen, err := d.host.Read(ctx, []remote.Look{d.os.Memory.Marked()})
	if err != nil {
		return nil, err
	}
	d.mark = d.sawMark(seen)
	return d.Marks(), nil
}

// BreakMark takes away the mark that was seen, also one that cannot be read, if it is
// still that one.
func (d *Machine) BreakMark(ctx context.Context, _ plan.Mark) error {
	if d.os.Memory != nil && d.mark.needle() == "" {
		return fmt.Errorf("only root may read %s", d.markPlace())
	}
	say := ""
	if d.mark != nil {
		say = logged(d.mark.Mark, "its mark was taken away by force")
	}
	return d.unmark(ctx, d.mark.needle(), say)
}
