package plan

import "slices"

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
