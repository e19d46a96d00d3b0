package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
)

// A StaleError says that the devices or the declaration are no longer what the
// plan was made from. Nothing was changed.
type StaleError struct {
	Moved []Moved
}

func (e *StaleError) Error() string {
	first := e.Moved[0].String()
	if len(e.Moved) == 1 {
		return "the plan is stale: " + first
	}
	return fmt.Sprintf("the plan is stale in %d places, the first is %s", len(e.Moved), first)
}

// Moved is one thing that changed under a plan.
type Moved struct {
	ID      ID
	Range   hcl.Range
	Path    string // the attribute; "" is the whole resource
	Planned string // the value the plan was made from, or the lines that only the plan sends
	Now     string // the value read now, or the lines that only the new reading sends
	Why     string // in words
}

func (m Moved) String() string {
	switch {
	case m.Path == "" && m.Planned == "" && m.Now == "":
		return fmt.Sprintf("%s: %s", m.ID, m.Why)
	case m.Path == "":
		return fmt.Sprintf("%s: %s: planned %q, now %q", m.ID, m.Why, m.Planned, m.Now)
	}
	return fmt.Sprintf("%s %s: planned on %q, now %q: %s", m.ID, m.Path, m.Planned, m.Now, m.Why)
}

// tellMoved emits all that changed under a plan.
func tellMoved(in *Input, err error) {
	var stale *StaleError
	if !errors.As(err, &stale) {
		return
	}
	for _, m := range stale.Moved {
		in.emit(Event{Type: EventDiagnostic, Level: "error", Device: m.ID.Device, Message: "changed under the plan: " + m.String(),
			Data: map[string]any{"resource": resourceData(m.ID), "range": place(m.Range), "path": m.Path, "planned": m.Planned, "now": m.Now, "why": m.Why}})
	}
}

// A WrongDeviceError is a device that is not the one the plan was made for.
type WrongDeviceError struct {
	Device       string // HCL address
	What         string // "serial" or "machine id"
	Planned, Now string
}

func (e *WrongDeviceError) Error() string {
	return fmt.Sprintf("%s is another device than the one that was planned for: its %s was %q and is %q",
		e.Device, e.What, e.Planned, e.Now)
}

// sameDevice compares what identifies a device. The boot id does not: that
// changes with every restart.
func sameDevice(planned PlannedDevice, now Identity) error {
	if planned.Identity.Serial != now.Serial {
		return &WrongDeviceError{planned.Address, "serial", planned.Identity.Serial, now.Serial}
	}
	if planned.Identity.MachineID != now.MachineID {
		return &WrongDeviceError{planned.Address, "machine id", planned.Identity.MachineID, now.MachineID}
	}
	return nil
}

// match enforces the stale rule: everything that is not as declared now must
// be a change of the plan, from the same value, to the same value. Less is
// allowed, down to nothing. It returns the findings by step of the plan; nil
// is a step with nothing left to do.
func (p *Plan) match(s *survey) ([]*finding, error) {
	type declared struct {
		item int
		step int // -1: the plan has none
	}
	at := make(map[ID]declared, len(s.items))
	for i, item := range s.items {
		at[item.ID] = declared{i, -1}
	}
	live := make([]*finding, len(p.Steps))
	var moved []Moved
	for n, step := range p.Steps {
		d, ok := at[step.ID]
		if !ok && (step.Prune || step.ID.Kind == LedgerKind && step.ID.Name == "revert") {
			continue // what was to go has gone, as where a run goes on that was cut off: there is less to do
		}
		if !ok {
			moved = append(moved, Moved{ID: step.ID, Range: step.Range, Why: "it is no longer declared"})
			continue
		}
		live[n] = s.found[d.item]
		at[step.ID] = declared{d.item, n}
	}
	for _, i := range s.graph.order {
		f, item := s.found[i], s.items[i]
		if f == nil {
			continue
		}
		var planned PlannedStep
		if n := at[item.ID].step; n >= 0 {
			planned = p.Steps[n]
		}
		for _, m := range movedStep(planned, f.diff) {
			m.ID, m.Range = item.ID, item.Range
			moved = append(moved, m)
		}
	}
	if moved != nil {
		return nil, hint.Wrap(&StaleError{moved}, "plan again and look at what would change now")
	}
	return live, nil
}

// movedStep returns what of a fresh difference the planned step does not
// cover: changes, and where they are the same the lines that make them. Lines name what
// is swept, which may be as much as before and something else.
func movedStep(planned PlannedStep, fresh Diff) []Moved {
	changes := slices.DeleteFunc(slices.Clone(fresh.Changes), func(c Change) bool { return slices.Contains(fresh.Sweeps, c.Path) })
	moved := movedChanges(planned.Changes, changes)
	if moved == nil && len(changes) == len(fresh.Changes) && slices.Equal(planned.Changes, fresh.Changes) && !slices.Equal(planned.Send, fresh.Send) {
		moved = []Moved{{Why: "other lines would be sent than the plan shows",
			Planned: linesOnlyIn(planned.Send, fresh.Send), Now: linesOnlyIn(fresh.Send, planned.Send)}}
	}
	return moved
}

// linesOnlyIn joins the lines of a that b lacks. Where only the order or the number of equal
// lines differs, it joins all of a.
func linesOnlyIn(a, b []string) string {
	only := slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
	if len(only) == 0 && !slices.ContainsFunc(b, func(line string) bool { return !slices.Contains(a, line) }) {
		only = a
	}
	return strings.Join(only, "\n")
}

// Unknown is a value that cannot be read before an earlier step is done.
const Unknown = "unknown until apply"

// movedChanges returns what of the fresh changes the planned ones do not cover.
func movedChanges(planned, fresh []Change) []Moved {
	var moved []Moved
	for _, c := range fresh {
		n := slices.IndexFunc(planned, func(p Change) bool { return p.Path == c.Path })
		if n < 0 {
			moved = append(moved, Moved{Path: c.Path, Planned: c.After, Now: c.Before,
				Why: "the plan does not change it"})
			continue
		}
		switch p := planned[n]; {
		case c.After != p.After:
			moved = append(moved, Moved{Path: c.Path, Planned: p.After, Now: c.After,
				Why: "another value is wanted"})
		case c.Digest != p.Digest:
			moved = append(moved, Moved{Path: c.Path, Planned: p.Digest, Now: c.Digest,
				Why: "the content differs from what was planned"})
		case c.Before != p.Before && c.Before != p.After && p.Before != Unknown: // a run that was cut off may have done the earlier step
			moved = append(moved, Moved{Path: c.Path, Planned: p.Before, Now: c.Before,
				Why: "it changed on the device"})
		case c.Impact > p.Impact:
			moved = append(moved, Moved{Path: c.Path, Planned: p.Impact.String(), Now: c.Impact.String(),
				Why: "changing it has a worse impact"})
		}
	}
	return moved
}
