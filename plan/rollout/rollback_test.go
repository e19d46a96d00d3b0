package rollout

import (
	"context"
	"errors"
	"testing"

	"weft/plan"
)

// A run that was done is not any more once it is being taken back, and whoever
// was killed then goes on taking back.
func TestRollbackThatIsCutOff(t *testing.T) {
	spec, steps := twoPhases()
	s := newStage(spec, steps...)
	if err := s.advance(t, false); err != nil || s.run.State != Passed {
		t.Fatal(err, s.run.State)
	}
	e := s.engine()
	e.Reverse = func(context.Context, []plan.PlannedStep) (*plan.Result, error) {
		s.killed = func() bool { return true }
		return &plan.Result{}, nil
	}
	if err := Rollback(t.Context(), e, s.run, ""); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	s.killed = nil
	var err error
	if s.run, err = Read(s.saved); err != nil || s.run.State != Reversing || s.run.State.Over() || !s.run.State.Underway() {
		t.Fatal(err, s.run.State)
	}
	stop := new(Stop)
	if err := s.advance(t, false); !errors.As(err, &stop) || stop.State != RolledBack || stop.Phase != "" || len(s.done) != 0 {
		t.Errorf("%v %v", err, s.done)
	}
}

func TestRollback(t *testing.T) {
	spec, steps := twoPhases()
	s := newStage(spec, steps...)
	if err := s.advance(t, false); err != nil {
		t.Fatal(err)
	}
	stop := new(Stop)
	if err := Rollback(t.Context(), s.engine(), s.run, "two"); !errors.As(err, &stop) || stop.State != RolledBack || len(s.done) != 1 {
		t.Errorf("%v %v", err, s.done)
	}
	if err := Rollback(t.Context(), s.engine(), s.run, ""); !errors.As(err, &stop) || len(s.done) != 0 {
		t.Errorf("%v %v", err, s.done)
	}
	if err := Rollback(t.Context(), s.engine(), s.run, "three"); err == nil || errors.As(err, &stop) && stop.State == RolledBack {
		t.Errorf("a phase that is not there: %v", err)
	}
}

// Somebody else at work on a device does not end a rollback: it is still being
// taken back, and whoever resumes goes on with that.
func TestRollbackThatIsHeld(t *testing.T) {
	spec, steps := twoPhases()
	s := newStage(spec, steps...)
	if err := s.advance(t, false); err != nil {
		t.Fatal(err)
	}
	e := s.engine()
	e.Reverse = func(context.Context, []plan.PlannedStep) (*plan.Result, error) {
		return &plan.Result{}, &plan.HeldError{Device: "a", Holder: "somebody"}
	}
	if err := Rollback(t.Context(), e, s.run, ""); !errors.As(err, new(*plan.HeldError)) || errors.As(err, new(*Stop)) {
		t.Fatal(err)
	}
	var err error
	if s.run, err = Read(s.saved); err != nil || s.run.State != Reversing {
		t.Fatal(err, s.run.State)
	}
	stop := new(Stop)
	if err := s.advance(t, false); !errors.As(err, &stop) || stop.State != RolledBack || len(s.done) != 0 {
		t.Errorf("%v %v", err, s.done)
	}
}
