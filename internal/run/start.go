package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/slice"
	"weft/inventory/problem"
	"weft/plan"
	"weft/plan/rollout"
)

// An Order is what an operator asks for in addition to the plan.
type Order struct {
	Run     string   // which one is meant; "": the one that is on its way
	Phase   string   // only this one of the rollout
	Workers bool     // have the workers of the sites carry it out
	Accept  []string // what may stay without a verdict: VALIDATION or VALIDATION.METRIC

	// Of a run that is to go on: what else was asked for, which may not fit it.
	AllowDestroy []string // what may lose data
	Another      bool     // a plan of its own
}

// Start carries out a plan: at once, or phase by phase where a rollout says how.
// The error is an *Error, a *VerdictError, or what kept it from beginning.
func Start(ctx context.Context, e *Env, s *Site, made *plan.Plan, o Order) error {
	spec := SpecOf(s.Model)
	if err := made.Applicable(s.Input); err != nil {
		return ended(nil, err)
	}
	if list := s.policed(made); list != nil { // the plan file may be anybody's
		return ended(nil, fmt.Errorf("%s: %s", list[0].ID, list[0].Text))
	}
	sites, err := e.divided(s, made, o)
	if err != nil {
		return err
	}
	if sites == nil { // else workers look before they mark
		if err := s.plugged(ctx, made); err != nil {
			return err
		}
	}
	if spec == nil || made.Destroy {
		if o.Phase != "" || o.Accept != nil {
			return because(Misused, errors.New("--phase and --accept: the files declare no rollout"))
		}
		return e.apply(ctx, s, made)
	}
	if e.Rehearsal != nil {
		e.Rehearsal.Ease(spec)
	}
	if phase := o.Phase; phase != "" {
		if err := HasPhase(spec, phase); err != nil {
			return err
		}
		if err := earlier(spec, made, phase); err != nil {
			return err
		}
		// The plan stays whole: what other phases have left to do is not judged.
		spec.Phases = slices.DeleteFunc(spec.Phases, func(x rollout.Phase) bool { return x.Name != phase })
	}
	if err := acceptable(s.Model, o.Accept); err != nil {
		return err
	}
	held, err := e.Records.Hold(ctx, e.Simulated) // before there is a run that others would go on with
	if err != nil {
		return err
	}
	defer held.Close()
	if other, err := e.Records.Unfinished(ctx, e.Simulated); err != nil || other != nil {
		return errors.Join(err, because(Taken, hint.Wrap(errors.New("another rollout of this directory began while this plan was made: nothing of this plan was begun"), "see weft rollout status")))
	}
	st, err := e.stage(ctx, s, spec, made, sites)
	if err == nil {
		err = st.accept(ctx, o.Accept)
	}
	if err != nil {
		return err
	}
	return st.advance(ctx, false)
}

// HasPhase refuses a phase that a rollout does not have; nil: there is none.
func HasPhase(spec *rollout.Spec, phase string) error {
	if spec == nil {
		return because(Misused, errors.New("--phase: the files declare no rollout"))
	}
	all := slice.Map(spec.Phases, func(p rollout.Phase) string { return p.Name })
	if slices.Contains(all, phase) {
		return nil
	}
	err := fmt.Errorf("--phase: %s has no phase %q", spec.Name, phase)
	if near := problem.Near(phase, all); near != "" {
		return because(Misused, hint.Wrap(err, "did you mean %s?", near))
	}
	return because(Misused, hint.Wrap(err, "there are %s", strings.Join(all, ", ")))
}

// earlier refuses a phase while one before it has something left to do.
func earlier(spec *rollout.Spec, made *plan.Plan, phase string) error {
	for _, before := range spec.Phases {
		if before.Name == phase {
			return nil
		}
		if slices.ContainsFunc(made.Steps, func(s plan.PlannedStep) bool { return s.Phase == before.Name }) {
			return hint.Wrap(fmt.Errorf("phase %q comes before %q and is not done", before.Name, phase), "carry it out first: weft apply --phase %s", before.Name)
		}
	}
	return nil
}

// Continue goes on with a run that was cut off; one that waits for an order is not
// overtaken by another plan.
func Continue(ctx context.Context, e *Env, rec *Record, o Order) error {
	s, err := e.resume(ctx, rec)
	if err != nil {
		return err
	}
	defer s.site.Close()
	r := rec.Run
	if !r.State.Underway() || o.Another || o.Phase != "" {
		return hint.Wrap(because(Waits, fmt.Errorf("the %s of %s is %s: %s", s.spec.Name, r.Begun.Format("2006-01-02 15:04 MST"), r.State, r.Why)),
			"see weft rollout status; go on with weft rollout promote or resume, or end it with weft rollout rollback or abort")
	}
	if more := slices.DeleteFunc(slices.Clone(o.AllowDestroy), s.plan.Allows); len(more) > 0 {
		return because(Misused, hint.Wrap(fmt.Errorf("the plan that %s goes on with does not allow %s to lose data", s.spec.Name, strings.Join(more, ", ")),
			"go on without that; or end it with weft rollout rollback or abort, and plan anew"))
	}
	if err := s.accept(ctx, o.Accept); err != nil {
		return err
	}
	held, err := e.Records.Hold(ctx, e.Simulated)
	if err != nil {
		return err
	}
	defer held.Close()
	if now, err := e.Records.Find(ctx, r.ID); err != nil || now == nil || now.at != rec.at {
		return errors.Join(err, because(Taken, hint.Wrap(fmt.Errorf("another process went on with %s meanwhile", s.spec.Name), "see weft rollout status")))
	}
	goesOn := "it goes on with the plan that was approved"
	if r.State == rollout.Reversing {
		goesOn = "its changes are reverted; it was approved"
	}
	e.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: fmt.Sprintf("%s was interrupted: %s %s", s.spec.Name, goesOn, r.Begun.Format("2006-01-02 15:04 MST"))})
	return s.advance(ctx, false)
}

// apply carries a plan out at once: a run of one phase.
func (e *Env) apply(ctx context.Context, s *Site, made *plan.Plan) error {
	held, err := e.Records.Hold(ctx, e.Simulated)
	if err != nil {
		return err
	}
	defer held.Close()
	rec, err := e.plain(ctx, made)
	if err != nil {
		return err
	}
	journal, err := rec.trail()
	if err != nil {
		return err
	}
	defer e.end(journal)
	digest, err := made.Digest()
	if err != nil {
		return err
	}
	mark, err := rec.mark(ctx, &s.Input, nil, plan.Mark{Plan: digest}, changed(made.Steps))
	if err != nil && rec.fresh && !cutOff(err) { // it has not begun, and no mark stands
		err = errors.Join(err, rec.drop(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return err
	}
	s.Input.Mark = &mark.Mark
	s.Input.Journal, s.Input.Pause = journal, func() bool { return e.Pauses.wanted() || e.Records.fresh() != nil }
	end := e.Pauses.offer()
	defer e.watch(ctx)()
	begun := time.Now()
	res, err := plan.Apply(ctx, made, s.Input)
	end()
	late := errors.Join(mark.end(ctx, &s.Input, &s.Input), e.Records.sweep(context.WithoutCancel(ctx), &s.Input, &s.Input, mark.Mark.Run), rec.conclude(context.WithoutCancel(ctx), res, err))
	if late != nil {
		e.emit(plan.Event{Type: plan.EventDiagnostic, Level: "error", Message: late.Error()})
	}
	if e.Audience != nil {
		e.Audience.Applied(made, res, time.Since(begun))
	}
	switch {
	case err != nil && res.Paused() && e.Records.fresh() != nil:
		return e.Records.fresh()
	case err != nil && res.Paused():
		return hint.Wrap(because(Stopped, err), "devices in progress are finished or reverted; weft apply continues with the rest")
	case err != nil:
		return ended(res, err)
	case made.Destroy || partial(made):
		return nil // what is there now is not all that the files describe
	}
	return e.conclude(ctx, s, rec)
}

// plain keeps the run of a plan that is carried out at once. One that was cut off
// before is the same run again.
func (e *Env) plain(ctx context.Context, made *plan.Plan) (*Record, error) {
	if made.Run != "" {
		if rec, err := e.Records.Find(ctx, made.Run); err != nil || rec != nil && rec.Plain() && !rec.Over() {
			return rec, err
		}
	}
	return e.create(ctx, made, runOf(made, time.Now()), func(*Head) {})
}

// conclude keeps how a plan was carried out that has no rollout. One that changed
// nothing, or was paused, may be carried out again.
func (r *Record) conclude(ctx context.Context, res *plan.Result, err error) error {
	switch {
	case err == nil:
		r.State, r.Why = rollout.Passed, ""
	case res.Paused():
		r.State, r.Why = rollout.Paused, clip(err.Error())
	case slices.ContainsFunc(res.Devices, func(d plan.DeviceResult) bool {
		return d.Outcome != plan.DeviceUnchanged && d.Outcome != plan.DeviceUnreachable
	}):
		r.State, r.Why = rollout.Failed, clip(err.Error())
	default:
		r.State, r.Why = rollout.Pending, clip("nothing was changed: "+err.Error())
	}
	return r.saveHead(ctx)
}

// end ends the journal of a piece of work.
func (e *Env) end(t *trail) {
	if err := t.Close(); err != nil {
		e.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: err.Error()})
	}
}

// Tidy takes away what runs have left behind, where there is nothing else to do,
// also the mark of a run that is taken over.
func Tidy(ctx context.Context, e *Env, s *Site) error {
	if e.Records.taken != nil {
		return e.Records.succeed(ctx, &s.Input, nil)
	}
	if list, err := e.Records.markings(ctx, e.Simulated); err != nil || len(list) == 0 {
		return err
	}
	held, err := e.Records.Hold(ctx, e.Simulated)
	if err != nil {
		return err
	}
	defer held.Close()
	return e.Records.sweep(ctx, &s.Input, &s.Input, "")
}
