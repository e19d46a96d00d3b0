package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/plan"
)

// The dead-man: before a transaction touches what could cut a server off, or
// stop its traffic, a timer on the server is armed that reverts it. It is
// disarmed when a fresh login has proven the result. A weft that dies, or loses
// the server, leaves it to the timer.

// revertAfter is how long the timer waits. A transaction that takes longer
// finds its changes reverted, and fails.
const revertAfter = 10 * time.Minute

// tellArmed tells ours from others'.
func tellArmed(owner string, names []string) (ours bool, others []string) {
	return slices.Contains(names, owner), slices.DeleteFunc(names, func(n string) bool { return n == owner })
}

// tame refuses risky changes that no timer could revert.
func (d *Machine) tame(rs []plan.Resource, states []plan.State) {
	unable := d.unguarded
	if d.os.Guard == nil {
		unable = d.os.Lacks(Guards)
	}
	for i := range states {
		r, ok := rs[i].(Thing)
		if !ok || unable == nil || d.owner == "" || !r.risky() || r.Diff(states[i]).Empty() {
			continue
		}
		states[i] = refused{firm: true, err: unable}
	}
}

// wayBack are the steps that take the risky ones of the steps back, the last first.
func wayBack(steps []plan.Step) (back []remote.Step) {
	for _, s := range slices.Backward(steps) {
		if r, ok := s.Resource.(Thing); ok && r.risky() {
			back = append(back, r.undo(s.Have)...)
		}
	}
	return back
}

// arm starts the dead-man of the steps, last before the first of them.
func (d *Machine) arm(ctx context.Context, steps []plan.Step) error {
	back := wayBack(steps)
	if back == nil {
		return nil
	}
	if err := d.os.Lacks(Guards); err != nil {
		return err
	}
	if len(d.othersArmed) > 0 {
		return hint.Wrap(fmt.Errorf("the owner %s has a revert armed on the server", strings.Join(d.othersArmed, ", ")),
			"wait until that apply has ended, or its timer has fired (%s at most)", revertAfter)
	}
	// Also where the answer is lost: it may be armed.
	d.armedHere = !d.armed // else what another run did is in the script as well
	d.armed = true
	if err := d.os.Guard.Arm(ctx, d.behind(d.host), d.owner, revertAfter, back); err != nil {
		return fmt.Errorf("arm the timer that reverts changes: %w", err)
	}
	return nil
}

// disarm stops the dead-man: what it would revert is proven, or is back.
func (d *Machine) disarm(ctx context.Context, host Transport) error {
	if !d.armed {
		return nil
	}
	if err := d.os.Guard.Disarm(ctx, d.behind(host), d.owner); err != nil {
		return fmt.Errorf("disarm the timer that reverts changes: %w", err)
	}
	d.armed = false
	return nil
}

// unproven is what a weft that died left armed: to prove it is to disarm it. With
// that goes what else it left.
type unproven struct {
	belongs
}

// Diff implements plan.Resource.
func (u *unproven) Diff(plan.State) plan.Diff {
	var d plan.Diff
	if u.dev.os.Memory != nil {
		d = u.dev.left.changes(u.dev.os.Memory.Place(KeptLease, ""))
	}
	if u.dev.armed {
		timer := u.dev.os.Guard.Name(u.dev.owner)
		d.Changes = append(d.Changes, plan.Change{Path: "revert", Before: "armed by an apply that did not end", After: "disarmed"})
		d.Send = append(d.Send, "disarm "+timer)
		d.Undo = append(d.Undo, "left to "+timer)
	}
	return d
}

// Pending implements plan.Keeper.
func (d *Machine) Pending() plan.Resource { return &unproven{belongs{dev: d}} }
