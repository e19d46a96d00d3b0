package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weft/inventory"
	"weft/plan"
	"weft/plan/rollout"
)

// may refuses what the plan, the approvals that are verified here, the state of the run or
// the window do not allow, whoever asks for it. A measurement reads only.
func (w *Worker) may(ctx context.Context, s *staged, t *task) error {
	own := map[plan.ID]string{}
	for _, x := range s.plan.Steps {
		own[x.ID] = x.Phase
	}
	for _, id := range t.Steps {
		if phase, ok := own[id]; !ok || phase != t.Phase {
			return because(Misused, fmt.Errorf("%s is no step of phase %q at site %s: it is asked for, and not in the plan", id, t.Phase, w.Site))
		}
	}
	switch t.Do {
	case jobApply:
		return w.mayApply(ctx, s, t.Phase)
	case jobReverse:
		return w.mayReverse(ctx, s, t.Phase)
	case jobKeep:
		return s.mayKeep(ctx, t.Devices)
	case jobMeasure, jobMark, jobUnmark: // what those two need, mark checks
		return nil
	}
	return because(Misused, fmt.Errorf("%q is asked for, which this weft does not know", t.Do))
}

// mayApply allows steps of a phase when every phase before it has passed.
func (w *Worker) mayApply(ctx context.Context, s *staged, phase string) error {
	i, err := s.place(phase)
	if err != nil {
		return err
	}
	if s.run.State != rollout.Running {
		return because(Waits, fmt.Errorf("run %s is %s, and nothing of it is begun", s.run.ID, s.run.State))
	}
	if err := s.inOrder(i); err != nil {
		return err
	}
	p := &s.spec.Phases[i]
	if now := time.Now(); p.Window != nil && p.Window(now).After(now) {
		return because(Waits, fmt.Errorf("the window of phase %q opens at %s", p.Name, p.Window(now).Format(time.RFC3339)))
	}
	return s.proven(ctx, i, false)
}

// mayReverse allows to revert what phases did that were allowed to begin, in a run that is
// being reverted.
func (w *Worker) mayReverse(ctx context.Context, s *staged, phase string) error {
	i, err := s.place(phase)
	if err != nil {
		return err
	}
	if at := s.run.Phases[i].State; s.run.State != rollout.Reversing || at != rollout.Reversing {
		return because(Waits, fmt.Errorf("run %s is %s and its phase %q %s: nothing of it is reverted", s.run.ID, s.run.State, phase, at))
	}
	return s.proven(ctx, i, true)
}

// specFor is the rollout that a model describes, as far as a run has it.
func specFor(m *inventory.Model, r *rollout.Run) (*rollout.Spec, error) {
	spec := SpecOf(m)
	if spec != nil { // a run of one phase only
		spec.Phases = slices.DeleteFunc(spec.Phases, func(x rollout.Phase) bool { return !r.Has(x.Name) })
	}
	if spec == nil || len(spec.Phases) == 0 || !r.Fits(spec) {
		return nil, fmt.Errorf("the run %s is not one of a rollout that its own plan describes", r.ID)
	}
	return spec, nil
}
