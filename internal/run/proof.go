package run

import (
	"context"
	"fmt"
	"slices"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// The head of a run says which phases have passed and whether it is being reverted. Every
// writer of the store can write that, so that no device is changed for it: leaders that
// reach devices and workers prove the order of phases from the plan in hand and from
// approvals, which are signed.

// A cleared phase is one whose approvals this process has verified, for one plan.
type cleared struct {
	run, phase string
	plan       store.Digest
}

// mayApplySteps refuses steps of phases before which one has not passed, or was not approved.
func (s *staged) mayApplySteps(ctx context.Context, steps []plan.PlannedStep) error {
	for _, phase := range phasesOf(steps) {
		i, err := s.place(phase)
		if err == nil {
			err = s.inOrder(i)
		}
		if err == nil {
			err = s.proven(ctx, i, false)
		}
		if err != nil {
			return s.unproven(err)
		}
	}
	return nil
}

// mayRevert refuses to touch what phases have done that were not allowed to begin. An
// operator who orders a rollback where no signers are known decides alone.
func (s *staged) mayRevert(ctx context.Context, phases []string) error {
	if s.crew != nil || s.ordered && s.env.Signers == nil { // workers prove it themselves
		return nil
	}
	for _, phase := range phases {
		i, err := s.place(phase)
		if err == nil {
			err = s.proven(ctx, i, true)
		}
		if err != nil && s.ordered {
			return hint.Wrap(s.unproven(err), "to revert it on your own authority: the same without signers (--signers, WEFT_SIGNERS)")
		}
		if err != nil {
			return s.unproven(err)
		}
	}
	return nil
}

// mayKeep refuses to save the configuration of switches that no phase has changed which was
// allowed to begin.
func (s *staged) mayKeep(ctx context.Context, devices []string) error {
	if s.ordered && s.env.Signers == nil {
		return nil
	}
	phases := map[string][]string{}
	for _, x := range s.plan.Steps {
		if !slices.Contains(phases[x.ID.Device], x.Phase) {
			phases[x.ID.Device] = append(phases[x.ID.Device], x.Phase)
		}
	}
	for _, d := range devices {
		why := because(Misused, fmt.Errorf("%s is to be saved, and the plan changes nothing there", d))
		for _, phase := range phases[d] {
			i, err := s.place(phase)
			if err == nil {
				err = s.proven(ctx, i, true)
			}
			if why = err; err == nil {
				break
			}
		}
		if why != nil {
			return s.unproven(why)
		}
	}
	return nil
}

// unproven says what to do about a run that is not what its store says.
func (s *staged) unproven(err error) error {
	if hint.Of(err) != "" {
		return err
	}
	return hint.Wrap(err, "the store says that run %s has come that far, and the approvals do not prove it: see weft audit verify %s; weft rollout abort ends the run and leaves the devices as they are", s.run.ID, s.run.ID)
}

// phasesIn are phases of the run in some state.
func (s *staged) phasesIn(some func(rollout.PhaseRun) bool) (list []string) {
	for _, p := range s.run.Phases {
		if some(p) {
			list = append(list, p.Name)
		}
	}
	return list
}

// phasesOf are the phases of steps, in their order.
func phasesOf(steps []plan.PlannedStep) (list []string) {
	for _, x := range steps {
		if !slices.Contains(list, x.Phase) {
			list = append(list, x.Phase)
		}
	}
	return list
}

// place is that of a phase in the rollout.
func (s *staged) place(phase string) (int, error) {
	i := slices.IndexFunc(s.spec.Phases, func(p rollout.Phase) bool { return p.Name == phase })
	if i < 0 {
		return i, because(Misused, fmt.Errorf("there is no phase %q in run %s", phase, s.run.ID))
	}
	return i, nil
}

// inOrder refuses a phase before which another has not passed. A phase that the run leaves out
// must have no steps in the plan in hand.
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
func (s *staged) proven(ctx context.Context, at int, begun bool) error {
	for i := range s.spec.Phases[:at+1] {
		p := &s.spec.Phases[i]
		key := cleared{s.run.ID, p.Name, s.digest}
		if !p.Approve || !s.signed() || s.clear[key] {
			continue
		}
		judge := s.approved
		if begun || i < at {
			judge = s.wasApproved
		}
		if _, _, err := judge(ctx, p, ""); err != nil {
			return because(Waits, fmt.Errorf("phase %q is not approved, as far as can be verified here: %w", p.Name, err))
		}
		s.clear[key] = true
	}
	return nil
}
