package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/plan"
)

// An Abandoned run is one that nobody goes on with: another took its devices.
type Abandoned struct {
	Mark    plan.Mark `json:"mark"`
	Devices []string  `json:"devices"` // that carried it
	By      string    `json:"by"`
	Run     string    `json:"run,omitempty"` // that took them; "": there was nothing to do
	Time    time.Time `json:"time"`
}

// TakeOver prepares to take the devices of a run over of which there is no record
// here: they have just been read. by is who decides that.
func (r *Records) TakeOver(ctx context.Context, in *plan.Input, run, by string) error {
	if m, err := r.marking(ctx, run); err != nil || m != nil && !m.Over {
		return errors.Join(err, because(Misused, hint.Wrap(fmt.Errorf("--takeover: the record of run %s is in this directory", run),
			"go on with it: weft rollout status shows how, and an apply without a rollout that was killed is done again with weft apply")))
	}
	r.takes = run
	var carry []string
	var mark plan.Mark
	for _, name := range marked(in) {
		for _, m := range MarksOf(in.Devices[name]) {
			switch {
			case m.Run == run:
				carry = append(carry, name)
				if mark.Token == "" { // what a server says is more than the name on a switch
					mark = m
				}
			case m.Owner == in.Owner && !r.Mine(m):
				return because(Taken, plan.NewMarkedError(name, m))
			}
		}
	}
	if carry == nil {
		return because(Misused, hint.Wrap(fmt.Errorf("--takeover: no device carries the mark of a run %s", run), "weft plan shows the runs that devices belong to"))
	}
	r.taken = &Abandoned{Mark: mark, Devices: carry, By: by}
	emit(in, plan.Event{Type: plan.EventNote, Level: "warn", Message: fmt.Sprintf("%s is taken over: %s", mark.Text(), revertible(in, run, carry)),
		Data: map[string]any{"run": run, "devices": carry}})
	return nil
}

// marked are the devices that carry any mark, as they were last read.
func marked(in *plan.Input) []string {
	var list []string
	for name, d := range in.Devices {
		if len(MarksOf(d)) > 0 {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// MarksOf are those that a device carried when it was last read.
func MarksOf(d plan.Device) []plan.Mark {
	if d == nil {
		return nil
	}
	return d.Marks()
}

// revertible says what ledgers still know of what a run found: that can be
// brought back by hand or by the files, since its record is elsewhere.
func revertible(in *plan.Input, run string, devices []string) string {
	var known, unknown []string
	for _, name := range devices {
		k := in.Devices[name]
		if k == nil || !k.Capabilities().Ledger {
			unknown = append(unknown, name)
			continue
		}
		n := 0
		for _, e := range k.Kept().Entries {
			if e.Run == run {
				n++
			}
		}
		known = append(known, fmt.Sprintf("%s %d", name, n))
	}
	text := ""
	if known != nil {
		text = "resources that it changed and of which the ledger still says what was there before: " + strings.Join(known, ", ")
	}
	if unknown != nil {
		text += "; a switch keeps no ledger, so nothing is known of what the run found on " + strings.Join(unknown, ", ")
	}
	return strings.TrimPrefix(text, "; ") + ". weft cannot roll that run back, because its steps are in its record only; a rollback from here restores the state that it left. To go further back, declare the previous state and apply it"
}

// Taking reports whether a run is being taken over.
func (r *Records) Taking() bool { return r.taken != nil }

// succeed ends a run that this one has taken over, once it has its own mark on the
// devices that it changes: the mark goes from the others, and that the run is
// abandoned is recorded. now is nil where there was nothing to change.
func (r *Records) succeed(ctx context.Context, in *plan.Input, now *Marking) error {
	if r.taken == nil {
		return nil
	}
	left := in.ClearMarks(context.WithoutCancel(ctx), r.taken.Mark, r.taken.Devices)
	if len(left) > 0 {
		emit(in, plan.Event{Type: plan.EventDiagnostic, Level: "warn", Message: fmt.Sprintf("the mark of run %s could not be taken away from %s: weft unlock --force does it", r.taken.Mark.Run, strings.Join(left, ", "))})
	}
	if r.taken.Time = time.Now().UTC(); now != nil {
		r.taken.Run = now.Mark.Run
	}
	s, err := r.use(ctx)
	if err == nil {
		err = putLarge(ctx, s, keyAbandoned(r.taken.Mark.Run), r.taken)
	}
	if err != nil {
		return r.trouble(fmt.Errorf("record that run %s is abandoned: %w", r.taken.Mark.Run, err))
	}
	emit(in, plan.Event{Type: plan.EventNote, Level: "warn", Message: "run " + r.taken.Mark.Run + " is abandoned; a weft with its record will report that"})
	r.taken = nil
	return nil
}
