package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// Those who mark devices: whoever reaches them, or workers.
type marker interface {
	SetMarks(ctx context.Context, m plan.Mark, devices []string) (left []string, err error)
	ClearMarks(ctx context.Context, m plan.Mark, devices []string) (left []string)
}

// A Marking is the record of a run's mark, in the store: whoever has
// it goes on with the run, and takes the mark away when the run has ended.
type Marking struct {
	Mark    plan.Mark `json:"mark"`
	Devices []string  `json:"devices"`        // that carry the mark, or may
	Made    bool      `json:"made"`           // all of them do
	Over    bool      `json:"over,omitempty"` // the run has ended; the mark may be left on devices that were away

	Simulated bool `json:"simulated,omitempty"` // they are those of the lab

	Taking *Abandoned `json:"taking,omitempty"` // the run whose devices this one takes over, until that is done

	records *Records
	store   store.Store
}

// marking reads the record of a run's mark; nil: there is none.
func (r *Records) marking(ctx context.Context, id string) (*Marking, error) {
	s, err := r.look(ctx)
	if s == nil {
		return nil, err
	}
	m := &Marking{records: r, store: s}
	there, err := getLarge(ctx, s, keyMark(id), m)
	if err != nil {
		return nil, r.trouble(fmt.Errorf("the record of a run's mark: %w", err))
	}
	if !there {
		return nil, nil
	}
	return m, nil
}

// markings are those of all runs: of the lab, or of the real devices.
func (r *Records) markings(ctx context.Context, simulated bool) ([]*Marking, error) {
	s, err := r.look(ctx)
	if s == nil {
		return nil, err
	}
	entries, _, err := s.List(ctx, "mark")
	if err != nil {
		return nil, r.trouble(err)
	}
	var list []*Marking
	for _, e := range entries {
		m := &Marking{records: r, store: s}
		if err := openLarge(ctx, s, e, m); err != nil {
			return nil, r.trouble(fmt.Errorf("the record of a run's mark: %w", err))
		}
		if m.Simulated == simulated {
			list = append(list, m)
		}
	}
	return list, nil
}

// Mine reports whether the record of a run is among them, or the run is taken
// over. Switches keep no token: their marks are known by the run's name.
func (r *Records) Mine(m plan.Mark) bool {
	if r.takes != "" && m.Run == r.takes {
		return true
	}
	if plan.RunBegan(m.Run).IsZero() {
		return false // its name is none of ours, and nothing to look for in a folder
	}
	token, known := r.known.of(m.Run, func() (string, bool, error) {
		mine, err := r.marking(context.Background(), m.Run)
		if err != nil || mine == nil {
			return "", false, err
		}
		return mine.Mark.Token, true, nil
	})
	return known && (m.Token == "" || m.Token == token)
}

// mark leaves the mark of a run on devices, before its first step; of the mark,
// what it says of the run's plan is given. The record is there before the first
// mark: whoever is killed meanwhile can take away what stands. A mark that stands
// already stays.
func (r *Record) mark(ctx context.Context, in *plan.Input, c *crew, of plan.Mark, devices []string) (*Marking, error) {
	m, err := r.records.marking(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if m != nil && !m.Over && m.Taking != nil && r.records.taken == nil { // it was cut off while it took devices over
		r.records.takes, r.records.taken = m.Taking.Mark.Run, m.Taking
	}
	if m != nil && m.Made && !m.Over {
		return m, m.took(ctx, in)
	}
	of.Format, of.Run, of.Owner, of.Who, of.Token = plan.MarkFormat, r.ID, in.Owner, Holder().Who, rand.Text()
	of.Since, of.Commit = time.Now().UTC(), r.Head.Commit
	first := *in
	if m != nil { // some of it may stand
		of.Token = m.Mark.Token
	} else {
		first.Mine = r.records.mineOf(r.ID, of.Token)
	}
	m = &Marking{Mark: of, Devices: devices, Simulated: in.Simulated, Taking: r.records.taken, records: r.records, store: r.store}
	if err := m.save(ctx); err != nil {
		return nil, err
	}
	at := marker(&first)
	if c != nil {
		at = c
	} else if err := recalled(ctx, *in, m.Devices); err != nil {
		return nil, err
	}
	left, err := at.SetMarks(ctx, m.Mark, m.Devices)
	if cutOff(err) { // marks may stand, and the run goes on when the store is back
		return nil, err
	}
	if err != nil {
		return nil, errors.Join(ended(nil, err), m.cleared(ctx, left))
	}
	m.Made = true
	if err := m.save(ctx); err != nil {
		return nil, err
	}
	return m, m.took(ctx, in)
}

// cutOff reports whether something was ended because the store does not answer.
func cutOff(err error) bool {
	var cause *Error
	var idle *idleError
	return away(err) || errors.As(err, &cause) && cause.Cause == Waits && !errors.As(err, &idle)
}

// took ends the run that this one has taken over, if it has.
func (m *Marking) took(ctx context.Context, in *plan.Input) error {
	if m.Taking == nil {
		return nil
	}
	if err := m.records.succeed(ctx, in, m); err != nil {
		return err
	}
	m.Taking = nil
	return m.save(ctx)
}

// mineOf is Mine while a run is marked for the first time: one of that name is
// another's, who carries out the same plan elsewhere.
func (r *Records) mineOf(id, token string) func(plan.Mark) bool {
	return func(x plan.Mark) bool { return (x.Run != id || x.Token == token) && r.Mine(x) }
}

// changed are the devices of steps, in their order.
func changed(steps []plan.PlannedStep) []string {
	var list []string
	seen := map[string]bool{}
	for _, s := range steps {
		if !seen[s.ID.Device] {
			seen[s.ID.Device] = true
			list = append(list, s.ID.Device)
		}
	}
	return list
}

// recalled reaches devices of a plan that are not declared any more, which only
// the ledgers of others know.
func recalled(ctx context.Context, in plan.Input, devices []string) error {
	if !slices.ContainsFunc(devices, func(name string) bool { return in.Devices[name] == nil }) {
		return nil
	}
	in.Select.Only = []plan.ID{}
	for _, d := range devices {
		in.Select.Only = append(in.Select.Only, plan.ID{Device: d, Kind: plan.LedgerKind, Name: "revert"})
	}
	_, err := plan.Make(ctx, in)
	return err
}

// end takes the mark away: the run has ended. Devices that are away keep it, and
// whoever works in this directory next tries again.
func (m *Marking) end(ctx context.Context, in *plan.Input, at marker) error {
	m.Over = true
	ctx = context.WithoutCancel(ctx)
	if err := m.save(ctx); err != nil {
		return err
	}
	left := at.ClearMarks(ctx, m.Mark, m.Devices)
	if len(left) > 0 {
		emit(in, plan.Event{Type: plan.EventDiagnostic, Level: "warn", Message: fmt.Sprintf(
			"the mark of run %s could not be taken away from %s: the next weft apply here tries again, and weft unlock --force does it from anywhere", m.Mark.Run, strings.Join(left, ", ")),
			Data: map[string]any{"marked": left}})
	}
	return m.cleared(ctx, left)
}

// cleared keeps on which devices the mark of a run that has ended may be left.
func (m *Marking) cleared(ctx context.Context, left []string) error {
	if m.Devices, m.Over = left, true; len(left) > 0 {
		return m.save(ctx)
	}
	return m.trouble(remove(ctx, m.store, keyMark(m.Mark.Run)))
}

func (m *Marking) save(ctx context.Context) error {
	return m.trouble(putLarge(ctx, m.store, keyMark(m.Mark.Run), m))
}

func (m *Marking) trouble(err error) error {
	if err == nil {
		return nil
	}
	return m.records.trouble(fmt.Errorf("the record of a run's mark: %w", err))
}

// sweep takes away what runs of this store have left behind that ended, or
// were killed and are not gone on with: those without a rollout. Whoever calls
// holds the directory; now is its own run, or "".
func (r *Records) sweep(ctx context.Context, in *plan.Input, at marker, now string) error {
	list, err := r.markings(ctx, in.Simulated)
	if err != nil {
		return err
	}
	for _, m := range list {
		rec, err := r.Find(ctx, m.Mark.Run)
		if err != nil {
			return err
		}
		if m.Mark.Run == now || rec != nil && !rec.Plain() && !rec.Over() {
			continue // weft rollout goes on with it
		}
		if err := m.end(ctx, in, at); err != nil {
			return err
		}
		if rec != nil && !rec.Over() {
			rec.State, rec.Why = rollout.Aborted, "it was cut off, and another plan was made"
			if err := rec.saveHead(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// emit tells of an event where there is a listener.
func emit(in *plan.Input, e plan.Event) {
	if in.Emit != nil {
		in.Emit(e)
	}
}

// A StandingMark is a mark of another's run on a device.
type StandingMark struct {
	plan.Mark
	Device string
}

// Standing asks all devices whose runs they belong to, and returns what is not
// one's own, in the order of the roster.
func (s *Site) Standing(ctx context.Context) []StandingMark {
	var devices []string
	for _, d := range s.Fleet.Roster {
		if s.Input.Devices[d.Device] != nil { // else it is described, and not yet managed
			devices = append(devices, d.Device)
		}
	}
	found := make([][]plan.Mark, len(devices))
	s.Each(ctx, devices, "looking for marks of runs", func(ctx context.Context, i int, device string) {
		if d := s.Input.Devices[device]; d.Capabilities().Marks {
			marks, _ := d.ReadMarks(ctx) // whoever asks for more hears that it is away
			found[i] = slices.DeleteFunc(marks, func(m plan.Mark) bool { return s.Input.Mine != nil && s.Input.Mine(m) })
		}
	})
	var list []StandingMark
	for i, marks := range found {
		for _, m := range marks {
			list = append(list, StandingMark{m, devices[i]})
		}
	}
	return list
}
