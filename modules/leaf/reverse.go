package leaf

import (
	"context"
	"errors"
	"slices"
	"strings"

	"weft/plan"
	"weft/switches"
)

// Reverse implements plan.Reverser: a switch keeps no states, but the plan kept
// the lines that take the step back.
func (d *Device) Reverse(_ string, s plan.PlannedStep) (plan.Resource, error) {
	was := reversed{step: s}
	i := slices.IndexFunc(d.want.Ports, func(p switches.Port) bool { return p.Name == s.ID.Name })
	switch {
	case s.Prune && (s.ID.Kind == "qos" || s.ID.Kind == "port"):
		was.step.Changes = slices.DeleteFunc(slices.Clone(s.Changes), func(c plan.Change) bool { return strings.HasPrefix(c.Path, staysPath) })
		was.applied = &givenBack{d, was.step}
	case s.ID.Kind == "qos":
		was.applied = &qos{d}
	case s.ID.Kind == "port" && i >= 0:
		was.applied = &port{d, d.want.Ports[i]}
	case s.ID.Kind == "port":
		gone := &unlinked{d, s}
		was.applied = gone
		d.want.Ports = append(d.want.Ports, gone.wish(switches.Port{}))
		d.fresh = false // it was read without that port
	default:
		return nil, errors.New("nothing is known of how it was")
	}
	return &was, nil
}

// reversed is a resource of a switch as it was before a step.
type reversed struct {
	applied plan.Resource // what the step made
	step    plan.PlannedStep
}

// Diff implements plan.Resource: from what the step made to what was
// there before it, and nothing else.
func (r *reversed) Diff(state plan.State) plan.Diff {
	now := r.applied.Diff(state)
	switch {
	case now.Err != nil:
		return plan.Diff{Left: "it is not reverted: " + now.Err.Error()}
	case slices.Equal(now.Changes, r.step.Changes):
		return plan.Diff{}
	case len(now.Changes) > 0:
		return plan.Diff{Left: "it changed since weft applied it, so it is not reverted"}
	}
	back := plan.Diff{Send: r.step.Undo, Undo: r.step.Send}
	for _, c := range r.step.Changes {
		back.Changes = append(back.Changes, plan.Change{Path: c.Path, Before: c.After, After: c.Before, Impact: c.Impact})
	}
	return back
}

// Verify implements plan.Resource.
func (r *reversed) Verify(context.Context) error { return nil }
