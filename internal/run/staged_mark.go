package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"weft/plan"
	"weft/plan/rollout"
)

// marked has the mark of the run stand on every device that one of its phases
// changes. A run that cannot be marked has not begun. One that is aborted keeps
// what stands until that is taken away; nil: nothing does.
func (s *staged) marked(ctx context.Context) (*Marking, error) {
	if s.run.State == rollout.Aborted {
		return s.env.Records.marking(ctx, s.run.ID)
	}
	of := plan.Mark{Rollout: s.spec.Name, Phase: s.phaseName()}
	var err error
	if of.Plan, err = s.plan.Digest(); err != nil {
		return nil, err
	}
	m, err := s.rec.mark(ctx, &s.site.Input, s.crew, of, s.devices())
	if err != nil {
		if !s.resumed && !cutOff(err) { // else it is gone on with: marks may stand
			err = errors.Join(err, s.rec.drop(context.WithoutCancel(ctx)))
		}
		return nil, err
	}
	s.site.Input.Mark = &m.Mark
	return m, nil
}

// devices are those that a phase of the run changes.
func (s *staged) devices() []string {
	return changed(slices.DeleteFunc(slices.Clone(s.plan.Steps), func(x plan.PlannedStep) bool { return !s.run.Has(x.Phase) }))
}

// ended takes the mark away where the run is over.
func (s *staged) ended(ctx context.Context, m *Marking) error {
	if m == nil || !s.run.State.Over() {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := errors.Join(m.end(ctx, &s.site.Input, s.marker()), s.rec.release(ctx)); err != nil {
		return err
	}
	return s.env.Records.sweep(ctx, &s.site.Input, s.marker(), s.run.ID)
}

// marker reaches the devices.
func (s *staged) marker() marker {
	if s.crew != nil {
		return s.crew
	}
	return &s.site.Input
}

// advanceMark says in the mark which phase the run is in now, for the devices that
// it changes from here on.
func (s *staged) advanceMark() {
	if name := s.phaseName(); s.site.Input.Mark != nil && s.site.Input.Mark.Phase != name {
		m := *s.site.Input.Mark
		m.Phase, m.Since = name, time.Now().UTC()
		s.site.Input.Mark = &m
	}
}

// phaseName is that of the phase that the run is in; "": none is left.
func (s *staged) phaseName() string {
	if p := s.current(); p != nil {
		return p.Name
	}
	return ""
}
