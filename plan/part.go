package plan

import (
	"errors"
	"maps"
	"slices"

	"weft/internal/slice"
)

// Part is the plan of some of the steps, which keep their order. A step in it
// stays without what it needs of the others: those must be as planned by the
// time Apply carries the part out, which does no more than the part says.
func (p *Plan) Part(keep func(PlannedStep) bool) *Plan {
	part := *p
	part.Steps, part.Select = nil, Selection{Only: []ID{}}
	part.Notes, part.Left = nil, nil
	kept, devices := map[ID]bool{}, map[string]bool{}
	for _, s := range p.Steps {
		if keep(s) {
			kept[s.ID], devices[s.ID.Device] = true, true
			part.Select.Only = append(part.Select.Only, s.ID)
		}
	}
	for _, s := range p.Steps {
		if kept[s.ID] {
			s.Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(id ID) bool { return !kept[id] })
			part.Steps = append(part.Steps, s)
		}
	}
	part.Refusals = slices.DeleteFunc(slices.Clone(p.Refusals), func(r Refusal) bool {
		return !kept[r.ID] && slices.ContainsFunc(p.Steps, func(s PlannedStep) bool { return s.ID == r.ID })
	})
	part.Devices = slices.DeleteFunc(slices.Clone(p.Devices), func(d PlannedDevice) bool { return !devices[d.Address] })
	return &part
}

// At is the input with some of the devices only, for parts of a plan that change no
// others. An item in it stays without what it needs of the other devices: that must be as
// planned by the time something is applied, as in a Part. What is done with it costs what
// these devices do, however many others there are.
func (in Input) At(keep func(device string) bool) Input {
	var items []Item
	for _, item := range in.Items {
		if keep(item.ID.Device) {
			item.rests = item.Needs // ledgers know it all the same
			item.Needs = slices.DeleteFunc(slices.Clone(item.Needs), func(id ID) bool { return !keep(id.Device) })
			items = append(items, item)
		}
	}
	in.Items, in.Devices = items, maps.Clone(in.Devices)
	maps.DeleteFunc(in.Devices, func(name string, _ Device) bool { return !keep(name) })
	return in
}

// OnlyDrift leaves what was changed since weft applied it: steps that set it right, and
// refusals where that is not possible. It returns how many other steps it took out, and the
// refusals of what weft has never applied.
func (p *Plan) OnlyDrift() (pending int, apart []Refusal, err error) {
	if p.Destroy {
		return 0, nil, errors.New("a plan that removes everything shows no drift")
	}
	part := p.Part(func(s PlannedStep) bool { return s.Drift })
	pending = len(p.Steps) - len(part.Steps)
	own := map[ID]bool{} // of steps that are drift, such as a loss of data that nobody allowed
	for _, s := range part.Steps {
		own[s.ID] = true
	}
	refused := []Refusal{}
	for _, r := range part.Refusals {
		if r.Drift || own[r.ID] {
			refused = append(refused, r)
		} else {
			apart = append(apart, r)
		}
	}
	p.Steps, p.Select, p.Refusals = part.Steps, part.Select, refused
	return pending, apart, nil
}

// Drifted is how many resources were changed since weft applied them, or do not give hosts
// any more what they are for, of a plan that OnlyDrift has left.
func (p *Plan) Drifted() int {
	ids := map[ID]bool{}
	for _, s := range p.Steps {
		ids[s.ID] = true
	}
	for _, r := range p.Refusals {
		ids[r.ID] = true
	}
	return len(ids) + len(p.Failing())
}

// Failing are the resources that are as weft applied them, and do not give hosts any more
// what they are for.
func (p *Plan) Failing() []LeftAlone {
	return slice.Filter(p.Left, func(l LeftAlone) bool { return l.Drift })
}
