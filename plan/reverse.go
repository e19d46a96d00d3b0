package plan

import (
	"errors"
	"fmt"
	"slices"
)

// A Reversal is steps that a run carried out and kept, to be reverted.
type Reversal struct {
	Run   string
	Steps []PlannedStep // in the order in which they were carried out
}

// ErrUntouched says that a run has not changed a resource after all.
var ErrUntouched = errors.New("the run has not touched it, or another one has since")

// reverse gives the device the items that take its steps back, the latest
// first. What devices remember of each other stays.
func (s *survey) reverse(r *Reversal, d *surveyed) error {
	for i := len(r.Steps) - 1; i >= 0; i-- {
		step := r.Steps[i]
		if step.ID.Device != d.address || step.ID.Kind == LedgerKind {
			continue
		}
		if !d.device.Capabilities().Reverse {
			return fmt.Errorf("%s cannot revert what a run did", d.address)
		}
		resource, err := d.device.Reverse(r.Run, step)
		if errors.Is(err, ErrUntouched) {
			continue
		}
		if err != nil {
			s.leave(LeftAlone{Device: d.address, ID: step.ID, Text: "it is not reverted: " + err.Error()})
			continue
		}
		d.items = append(d.items, &Item{ID: step.ID, Resource: resource, Range: step.Range, Plane: step.Plane, reverse: true})
	}
	d.addPending() // else a timer of a revert that was cut off brings back what that has reverted
	return nil
}

// link orders what is reverted: after everything that rested on it, unless that comes
// after it to take over what it holds.
func (r *Reversal) link(items []Item, after following) {
	if r == nil {
		return
	}
	at := make(map[ID]int, len(items))
	for i, item := range items {
		at[item.ID] = i
	}
	for _, step := range r.Steps {
		if _, ok := at[step.ID]; !ok {
			continue
		}
		for _, need := range step.Needs {
			if i, ok := at[need]; ok && !after[need][step.ID] && !slices.Contains(items[i].Needs, step.ID) {
				items[i].Needs = append(items[i].Needs, step.ID)
			}
		}
	}
}
