package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/plan"
)

// Between two looks at a phase that soaks.
const (
	shortestLook = time.Second
	longestLook  = 30 * time.Second
)

// prove judges what was applied, and watches it until its soak is over. What
// has been left to soak by a run that ended goes on soaking.
func (a *advance) prove(ctx context.Context, p *Phase, pr *PhaseRun) error {
	if pr.State != Soaking {
		pr.State = Gating
		if err := a.gate(ctx, p, pr); err != nil || p.Soak == 0 {
			return err
		}
		pr.State, pr.Until = Soaking, a.Now().Add(p.Soak).UTC()
		if err := a.Save(a.run); err != nil {
			return err
		}
		a.emit(p, plan.EventGate, "soaks until "+pr.Until.Format(time.RFC3339))
	}
	for {
		left := pr.Until.Sub(a.Now())
		if left > 0 && a.one {
			// Whoever steps comes again: it is looked at then.
			if err := a.gate(ctx, p, pr); err != nil {
				return err
			}
			a.run.State, a.run.Why = Waiting, fmt.Sprintf("phase %q soaks until %s", p.Name, pr.Until.Format(time.RFC3339))
			return errors.Join(a.Save(a.run), hint.Wrap(&Stop{State: Waiting, Phase: p.Name, Why: "it soaks until " + pr.Until.Format(time.RFC3339)},
				"run weft rollout step again then"))
		}
		if left > 0 {
			if err := a.hold(p); err != nil {
				return err
			}
			look := min(max(p.Soak/4, shortestLook), longestLook, left)
			if err := a.Sleep(ctx, look); err != nil {
				if ctx.Err() == nil && a.held() {
					return a.pause(p)
				}
				return err // still soaking: the next run goes on with it
			}
		}
		if err := a.gate(ctx, p, pr); err != nil {
			return err
		}
		if !pr.Until.After(a.Now()) {
			pr.State, pr.Until = Gating, time.Time{}
			return nil
		}
	}
}

// gate judges once. Only a pass returns nil.
func (a *advance) gate(ctx context.Context, p *Phase, pr *PhaseRun) error {
	if len(p.Gate) == 0 {
		return nil
	}
	verdict, why, err := a.Judge(ctx, p.Gate)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted at the gate of phase %q: %w", p.Name, context.Cause(ctx))
	}
	if err != nil {
		if err := a.hold(p); err != nil {
			return err // it is judged again by whoever resumes
		}
		verdict, why = Inconclusive, err.Error()
	}
	if verdict.Open() && verdict != Partial {
		verdict = Inconclusive
	}
	pr.Verdicts = append(pr.Verdicts, Sample{Time: a.Now().UTC(), Validations: p.Gate, Verdict: verdict, Why: why})
	names := strings.Join(p.Gate, ", ")
	if verdict == Pass {
		a.emit(p, plan.EventGate, "passes "+names)
		return a.Save(a.run)
	}
	stop := &Stop{Phase: p.Name, Verdict: verdict, Why: verdict.ofGate() + ": " + why, Err: err}
	if verdict == Fail {
		return a.failed(ctx, p, pr, stop)
	}
	a.run.State, a.run.Why = Paused, stop.Error()
	stop.State = Paused
	return errors.Join(a.Save(a.run), hint.Wrap(stop, "when it can be judged: weft rollout resume; to go on without that verdict, under your name: weft rollout resume --accept NAME; to revert it: weft rollout rollback"))
}

// ofGate says what a verdict means for the gate of a phase.
func (v Verdict) ofGate() string {
	switch v {
	case Pass:
		return "its gate passes"
	case Fail:
		return "its gate fails"
	case Partial:
		return "its gate has not measured all that is declared"
	case Inconclusive:
		return "its gate cannot be judged"
	}
	return Inconclusive.ofGate()
}

// failed does what the rollout says of failures.
func (a *advance) failed(ctx context.Context, p *Phase, pr *PhaseRun, s *Stop) error {
	switch a.spec.OnFailure {
	case RollbackPhase:
		return a.rollBack(ctx, []*PhaseRun{pr}, s)
	case RollbackAll:
		return a.rollBack(ctx, phases(a.run), s)
	}
	a.run.State, a.run.Why = Paused, s.Error()
	s.State = Failed
	if len(pr.Begun) == 0 {
		pr.State = Gating // whoever resumes goes through the gate first
	}
	return errors.Join(a.Save(a.run), hint.Wrap(s, `on_failure is "pause": the devices stay as they are; look, then weft rollout resume or weft rollout rollback`))
}

func phases(r *Run) []*PhaseRun {
	var list []*PhaseRun
	for i := range r.Phases {
		list = append(list, &r.Phases[i])
	}
	return list
}

// Rollback reverts what a run has done, or one of its phases, and proves
// it. It returns a *Stop that says RolledBack, or Failed.
func Rollback(ctx context.Context, e Engine, r *Run, phase string) error {
	list := phases(r)
	if phase != "" {
		list = nil
		for i := range r.Phases {
			if r.Phases[i].Name == phase {
				list = append(list, &r.Phases[i])
			}
		}
		if list == nil {
			return r.noPhase(phase)
		}
	}
	a := &advance{Engine: e, run: r}
	return a.rollBack(ctx, list, &Stop{Phase: phase, Why: "it was asked for"})
}

// taken is how many steps are taken, for people.
func taken(n int) string {
	if n == 1 {
		return "1 step is taken"
	}
	return fmt.Sprintf("%d steps are taken", n)
}

// rollBack reverses the steps of phases and proves it.
func (a *advance) rollBack(ctx context.Context, list []*PhaseRun, s *Stop) error {
	var steps []plan.PlannedStep
	for _, pr := range list {
		steps = append(steps, pr.touched()...)
	}
	if a.Emit != nil {
		a.Emit(plan.Event{Time: a.Now(), Type: plan.EventPhase, Message: fmt.Sprintf("%s; %s back", s.Error(), taken(len(steps))),
			Data: map[string]any{"run": a.run.ID}})
	}
	for _, pr := range list {
		switch {
		case len(pr.touched()) > 0, pr.State == Gating, pr.State == Soaking, pr.State == Restarting, pr.State == Running:
			pr.State = Reversing
		case pr.State == Waiting: // for nothing any more
			pr.State = Pending
		}
	}
	a.run.State, a.run.Why = Reversing, s.Why // a run that was done is not any more
	err := a.Save(a.run)                      // whoever goes on after a kill goes on reverting
	if err != nil {
		return err
	}
	if len(steps) > 0 {
		_, err = a.Reverse(ctx, steps)
	}
	if err == nil {
		err = a.restartBack(ctx, list)
	}
	if err == nil {
		err = a.keep(ctx, steps)
	}
	if errors.As(err, new(*plan.HeldError)) {
		return a.later(fmt.Errorf("%s; and not all of it could be reverted yet: %w", s.Error(), err)) // it stays as it is saved: being reverted
	}
	if err != nil {
		s.State, s.Err = Failed, err
		s.Why += "; and it could not be reverted in full: " + err.Error()
		a.run.State, a.run.Why = Paused, s.Error()
		return errors.Join(a.Save(a.run), hint.Wrap(s, "see what differs with weft plan, then: weft rollout rollback; to leave it as it is: weft rollout abort"))
	}
	for _, pr := range list {
		if pr.State == Reversing {
			pr.State, pr.Steps, pr.Begun, pr.Approved, pr.Until = RolledBack, nil, nil, "", time.Time{}
			pr.Restarted, pr.Restarting = nil, ""
		}
	}
	a.run.State, a.run.Why = RolledBack, s.Error()
	s.State = RolledBack
	if err := a.Save(a.run); err != nil {
		return err
	}
	return s
}
