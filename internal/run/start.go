package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/inventory/problem"
	"weft/plan"
	"weft/plan/rollout"
)

// An Order is what somebody asks for beside the plan.
type Order struct {
	Phase  string   // only this one of the rollout
	Accept []string // what may stay without a verdict: VALIDATION or VALIDATION.METRIC

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
	if err := s.plugged(ctx, made); err != nil {
		return err
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
	held, err := Hold(e.Place) // before there is a run that others would go on with
	if err != nil {
		return err
	}
	defer held.Close()
	if other, err := e.Records.Unfinished(e.Simulated); err != nil || other != nil {
		return errors.Join(err, because(Taken, hint.Wrap(errors.New("another rollout of this directory began while this plan was made: nothing of this plan was begun"), "see weft rollout status")))
	}
	st, err := e.stage(s, spec, made)
	if err == nil {
		err = st.accept(o.Accept)
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
	var all []string
	for _, p := range spec.Phases {
		all = append(all, p.Name)
	}
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
	s, err := e.resume(rec)
	if err != nil {
		return err
	}
	defer s.site.Close()
	r := rec.Run
	if !r.State.Underway() || o.Another || o.Phase != "" {
		return hint.Wrap(because(Waits, fmt.Errorf("the %s of %s is %s: %s", s.spec.Name, r.Begun.Format("2006-01-02 15:04 MST"), r.State, r.Why)),
			"see weft rollout status; go on with weft rollout promote or resume, or end it with weft rollout rollback or abort")
	}
	if more := slices.DeleteFunc(slices.Clone(o.AllowDestroy), func(name string) bool { return slices.Contains(s.plan.AllowDestroy, name) }); len(more) > 0 {
		return because(Misused, hint.Wrap(fmt.Errorf("the plan that %s goes on with does not allow %s to lose data", s.spec.Name, strings.Join(more, ", ")),
			"go on without that; or end it with weft rollout rollback or abort, and plan anew"))
	}
	if err := s.accept(o.Accept); err != nil {
		return err
	}
	held, err := Hold(e.Place)
	if err != nil {
		return err
	}
	defer held.Close()
	if now, err := readState(rec.Dir); err != nil || now.State != r.State || !slices.EqualFunc(now.Phases, r.Phases, same) {
		return errors.Join(err, hint.Wrap(fmt.Errorf("another process went on with %s meanwhile", s.spec.Name), "see weft rollout status"))
	}
	goesOn := "it goes on with the plan that was approved"
	if r.State == rollout.Reversing {
		goesOn = "what it did is reverted; it was approved"
	}
	e.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: fmt.Sprintf("%s was interrupted: %s %s", s.spec.Name, goesOn, r.Begun.Format("2006-01-02 15:04 MST"))})
	return s.advance(ctx, false)
}

// apply carries a plan out at once: a run of one phase.
func (e *Env) apply(ctx context.Context, s *Site, made *plan.Plan) error {
	held, err := Hold(e.Place)
	if err != nil {
		return err
	}
	defer held.Close()
	journal, err := e.journal()
	if err != nil {
		return err
	}
	defer journal.Close()
	mark, err := e.Records.markPlan(ctx, &s.Input, filepath.Dir(journal.Name()), made)
	if err != nil {
		return err
	}
	s.Input.Journal, s.Input.Pause = journal, e.Pauses.wanted
	end := e.Pauses.offer()
	defer e.watch(ctx)()
	begun := time.Now()
	res, err := plan.Apply(ctx, made, s.Input)
	end()
	if late := errors.Join(mark.end(ctx, &s.Input), e.Records.sweep(ctx, &s.Input, mark.Mark.Run)); late != nil {
		e.emit(plan.Event{Type: plan.EventDiagnostic, Level: "error", Message: late.Error()})
	}
	if e.Audience != nil {
		e.Audience.Applied(made, res, time.Since(begun))
	}
	switch {
	case err != nil && res.Paused():
		return hint.Wrap(because(Stopped, err), "what was begun is done or as it was; weft apply goes on with the rest")
	case err != nil:
		return ended(res, err)
	case made.Destroy || partial(made):
		return nil // what is there now is not all that the files describe
	}
	return e.conclude(ctx, s, "")
}

// journal opens the journal of a new run, readable by its owner only.
func (e *Env) journal() (*os.File, error) {
	dir := e.Records.Folder(plan.NewRunID(time.Now()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return os.OpenFile(filepath.Join(dir, JournalFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Tidy takes away what runs have left behind, where there is nothing else to do,
// also the mark of a run that is taken over.
func Tidy(ctx context.Context, e *Env, s *Site) error {
	if e.Records.taken != nil {
		return e.Records.succeed(ctx, &s.Input, nil)
	}
	if list, err := e.Records.markings(); err != nil || len(list) == 0 {
		return err
	}
	held, err := Hold(e.Place)
	if err != nil {
		return err
	}
	defer held.Close()
	return e.Records.sweep(ctx, &s.Input, "")
}
