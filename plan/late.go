package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weft/internal/slice"
)

// A Provider is a Resource that provides what another resource of its device may provide as
// well, such as a path to a subsystem.
type Provider interface {
	Resource
	// Provides names it, the most specific name first: as observed, and once it is as
	// wanted.
	Provides(have State) (now, then []string)
}

// A Follower is a Resource that comes only once another resource of its device has ended.
type Follower interface {
	Resource
	// Follows names those, as Provides of a Provider names what it takes away.
	Follows() []string
}

// orderAccess makes items that take something from hosts follow the items that give
// hosts the same in another way. Only items that change are ordered. It adds to after, by who
// ends, what comes only then.
func (s *survey) orderAccess(in *Input, found map[ID]*finding, after following) {
	type name struct{ device, name string }
	gives := map[name][]ID{}
	takes := map[int][]string{}
	follows := map[int][]string{}
	for i := range s.items {
		item := &s.items[i]
		f := found[item.ID]
		if f == nil || f.diff.Err != nil {
			continue
		}
		if why := s.withheld(in, item, found); why != "" {
			s.leave(LeftAlone{Device: item.ID.Device, ID: item.ID, Text: why})
			found[item.ID] = nil
			continue
		}
		for _, id := range item.After {
			if other := found[id]; other != nil && other.diff.Err == nil {
				item.Needs, item.late = append(slices.Clip(item.Needs), id), true
			}
		}
		provider, ok := item.Resource.(Provider)
		if !ok {
			continue
		}
		switch now, then := provider.Provides(f.have); {
		case len(now) == 0:
			for _, n := range then {
				at := name{item.ID.Device, n}
				gives[at] = append(gives[at], item.ID)
			}
			if f, ok := item.Resource.(Follower); ok && f.Follows() != nil {
				follows[i] = f.Follows()
			}
		case len(then) == 0:
			takes[i], item.ends = now, true
		}
	}
	s.orderFollowers(follows, takes, after)
	for i, names := range takes {
		item := &s.items[i]
		for _, n := range names {
			if list := gives[name{item.ID.Device, n}]; list != nil {
				list = slice.Filter(list, func(id ID) bool { return !after[item.ID][id] })
				item.Needs, item.late = append(slices.Clip(item.Needs), list...), true
				break
			}
		}
	}
}

// orderFollowers makes items follow those that end first, by what each names. takes is what items
// end. It adds to after.
func (s *survey) orderFollowers(follows, takes map[int][]string, after following) {
	for i, names := range follows {
		item := &s.items[i]
		for j := range s.items { // in their order: a plan reads the same each time
			ended := takes[j]
			if other := s.items[j].ID; other.Device == item.ID.Device && slices.ContainsFunc(ended, func(n string) bool { return slices.Contains(names, n) }) {
				item.Needs = append(slices.Clip(item.Needs), other)
				after.begin(other)[item.ID] = true
			}
		}
	}
	if len(follows) > 0 {
		after.spread(s.items)
	}
}

// withheld says why an item does not end access now: nothing is known of what hosts are to
// use instead. "": it may.
func (s *survey) withheld(in *Input, item *Item, found map[ID]*finding) string {
	part := in.Select.narrow() && in.Select.Only == nil
	for _, id := range item.After {
		if _, read := found[id]; !read && part {
			return fmt.Sprintf("hosts keep this access: %s, which they may use instead, is not selected", id)
		}
		if slices.ContainsFunc(s.devices, func(d *surveyed) bool { return d.address == id.Device && d.err != nil }) {
			return fmt.Sprintf("hosts keep this access: %s could not be read, which may still use it", id.Device)
		}
	}
	return ""
}

// waves says in which wave of transactions each of the steps is carried out. A wave
// begins when the one before it has been committed and proven on all devices.
func waves(steps []PlannedStep, needs [][]int, items map[ID]Item, live func(int) bool) []int {
	wave := make([]int, len(steps))
	top := 0
	for n, step := range steps {
		if !live(n) {
			continue
		}
		item := items[step.ID]
		for _, m := range needs[n] {
			w, from := wave[m], items[steps[m].ID]
			switch same := from.ID.Device == item.ID.Device; {
			case !same && (item.late || from.late || from.ends), same && item.late && !from.late:
				w++
			}
			wave[n] = max(wave[n], w)
		}
		top = max(top, wave[n])
	}
	for n, step := range steps {
		if items[step.ID].last { // a ledger is written until everything else is done
			wave[n] = top
		}
	}
	return wave
}

// reread gives the steps of a later transaction what the earlier ones have left on the
// device. They lead to the values of the plan, and change nothing else.
func (r *deviceRun) reread(ctx context.Context) error {
	if r.earlier == nil {
		return nil
	}
	resources := make([]Resource, len(r.steps))
	for i, s := range r.steps {
		resources[i] = s.Resource
	}
	var states []State
	err := r.detached(ctx, "reading", func(ctx context.Context) (err error) {
		states, err = r.device.Read(ctx, resources)
		return err
	})
	if err != nil {
		return fmt.Errorf("read %s again: %w", r.address, err)
	}
	for i, s := range r.steps {
		fresh := s.Resource.Diff(states[i])
		switch {
		case fresh.Err != nil:
			return fmt.Errorf("read %s again: %s: %w", r.address, s.ID, fresh.Err)
		case fresh.Left != "":
			return fmt.Errorf("read %s again: %s: %s", r.address, s.ID, fresh.Left)
		}
		for _, c := range fresh.Changes {
			if !slices.ContainsFunc(s.Diff.Changes, func(p Change) bool { return p.Path == c.Path && p.After == c.After }) {
				return fmt.Errorf("read %s again: %s: %s is %q now, which the plan does not change", r.address, s.ID, c.Path, c.Before)
			}
		}
		s.Have, s.Diff = states[i], fresh
	}
	return nil
}

// kept says what the device keeps of the run after this transaction was reverted.
func (r *deviceRun) kept() string {
	var names []string
	for e := r.earlier; e != nil; e = e.earlier {
		for _, s := range e.steps {
			if s.outcome == StepDone || s.outcome == StepFailedVerify {
				names = append(names, s.ID.Kind+"."+s.ID.Name)
			}
		}
	}
	if names == nil {
		return "is as it was"
	}
	return fmt.Sprintf("keeps %s (%s), and the %s begun after that were reverted", changes(len(names)), strings.Join(names, ", "), changes(len(r.steps)))
}
