package plan

import (
	"errors"
	"maps"
	"slices"
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

// OnlyDrift leaves the steps that set right what was changed since weft
// applied it. It returns how many others it took out.
func (p *Plan) OnlyDrift() (pending int, err error) {
	if p.Destroy {
		return 0, errors.New("a plan that removes everything shows no drift")
	}
	part := p.Part(func(s PlannedStep) bool { return s.Drift })
	pending = len(p.Steps) - len(part.Steps)
	p.Steps, p.Select, p.Refusals = part.Steps, part.Select, part.Refusals
	return pending, nil
}
