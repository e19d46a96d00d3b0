package plan

import "errors"

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
