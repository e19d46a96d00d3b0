package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weft/internal/store"
	"weft/inventory"
	"weft/plan"
	"weft/plan/rollout"
)

// A cleared phase is one whose approvals this worker has verified, for one plan.
type cleared struct {
	run, phase string
	plan       store.Digest
}

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
		return w.mayKeep(ctx, s, t.Devices)
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
	return w.proven(ctx, s, i, false)
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
	return w.proven(ctx, s, i, true)
}

// mayKeep allows to save the configuration of switches that a phase has changed which was
// allowed to begin.
func (w *Worker) mayKeep(ctx context.Context, s *staged, devices []string) error {
	phases := map[string][]string{}
	for _, x := range s.plan.Steps {
		if !slices.Contains(phases[x.ID.Device], x.Phase) {
			phases[x.ID.Device] = append(phases[x.ID.Device], x.Phase)
		}
	}
	for _, d := range devices {
		why := because(Misused, fmt.Errorf("%s is to be saved, and the plan changes nothing there at site %s", d, w.Site))
		for _, phase := range phases[d] {
			i, err := s.place(phase)
			if err == nil {
				err = w.proven(ctx, s, i, true)
			}
			if why = err; err == nil {
				break
			}
		}
		if why != nil {
			return why
		}
	}
	return nil
}

// place is that of a phase in the rollout.
func (s *staged) place(phase string) (int, error) {
	i := slices.IndexFunc(s.spec.Phases, func(p rollout.Phase) bool { return p.Name == phase })
	if i < 0 {
		return i, because(Misused, fmt.Errorf("there is no phase %q in run %s", phase, s.run.ID))
	}
	return i, nil
}

// inOrder refuses a phase before which another has not passed. One that the run leaves out
// has nothing to do here.
func (s *staged) inOrder(at int) error {
	for _, p := range s.run.Phases[:at] {
		if p.State != rollout.Passed {
			return because(Waits, fmt.Errorf("phase %q is asked for, and phase %q before it is %s", s.run.Phases[at].Name, p.Name, p.State))
		}
	}
	for _, p := range SpecOf(s.site.Model).Phases {
		if p.Name == s.run.Phases[at].Name {
			break
		}
		if !s.run.Has(p.Name) && slices.ContainsFunc(s.plan.Steps, func(x plan.PlannedStep) bool { return x.Phase == p.Name }) {
			return because(Misused, fmt.Errorf("phase %q is asked for, and the run leaves out phase %q before it, which has steps here", s.run.Phases[at].Name, p.Name))
		}
	}
	return nil
}

// proven verifies the approvals of a phase and of those before it, for the plan in hand.
// Phases that have begun stay approved when what was signed has expired since.
func (w *Worker) proven(ctx context.Context, s *staged, at int, begun bool) error {
	for i := range s.spec.Phases[:at+1] {
		p := &s.spec.Phases[i]
		key := cleared{s.run.ID, p.Name, s.digest}
		if !p.Approve || !s.signed() || w.clear[key] {
			continue
		}
		judge := s.approved
		if begun || i < at {
			judge = s.wasApproved
		}
		if _, _, err := judge(ctx, p, ""); err != nil {
			return because(Waits, fmt.Errorf("phase %q is not approved, as far as this worker can tell: %w", p.Name, err))
		}
		w.clear[key] = true
	}
	return nil
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
