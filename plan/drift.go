package plan

import "errors"

// OnlyDrift leaves the steps that set right what somebody changed since weft
// applied it. It returns how many others it took out. What remains is a plan
// of its own: Apply does no more than that.
func (p *Plan) OnlyDrift() (pending int, err error) {
	if p.Destroy {
		return 0, errors.New("a plan that takes everything back shows no drift")
	}
	drift := map[ID]bool{}
	for _, s := range p.Steps {
		if s.Drift {
			drift[s.ID] = true
		}
	}
	// A step stays without what it needs only if that, too, is as applied.
	keep := p.Steps[:0]
	p.Select = Selection{}
	for _, s := range p.Steps {
		if !drift[s.ID] {
			pending++
			continue
		}
		var needs []ID
		for _, id := range s.Needs {
			if drift[id] {
				needs = append(needs, id)
			}
		}
		s.Needs = needs
		keep = append(keep, s)
		p.Select.Only = append(p.Select.Only, s.ID)
	}
	p.Steps = keep
	return pending, nil
}
