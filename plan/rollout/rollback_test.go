package rollout

import (
	"context"
	"errors"
	"testing"

	"weft/plan"
)

// A run that was done is not any more once it is being reverted, and whoever
// was killed then goes on reverting.
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

// A kill may leave steps in what is done and in what is begun: each is reverted once.
func TestRollbackOfWhatIsKeptTwice(t *testing.T) {
	spec, steps := twoPhases()
	s := newStage(spec, steps...)
	if err := s.advance(t, false); err != nil {
		t.Fatal(err)
	}
	for i := range s.run.Phases {
		s.run.Phases[i].Begun = s.run.Phases[i].Steps
	}
	e := s.engine()
	reverse := e.Reverse
	e.Reverse = func(ctx context.Context, steps []plan.PlannedStep) (*plan.Result, error) {
		if len(ids(steps)) != len(steps) {
			t.Errorf("%d steps are reverted, of which %d differ", len(steps), len(ids(steps)))
		}
		return reverse(ctx, steps)
	}
	stop := new(Stop)
	if err := Rollback(t.Context(), e, s.run, ""); !errors.As(err, &stop) || stop.State != RolledBack || len(s.done) != 0 {
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

// Another user at work on a device does not end a rollback: it is still being
// reverted, and whoever resumes goes on with that.
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

// A device that another run of the store has gone past stops this one, and nothing is
// reverted under its hands, whatever on_failure says.
func TestOvertakenTakesNothingBack(t *testing.T) {
	spec, steps := twoPhases()
	spec.OnFailure = RollbackAll
	spec.MaxFailures = 1
	s := newStage(spec, steps...)
	s.apply = func(id plan.ID) error {
		if id.Device == "b" {
			return &plan.HeldError{Device: "b", Past: "a run with the token 1.9 has been there meanwhile"}
		}
		return nil
	}
	if err := s.advance(t, false); !errors.As(err, new(*plan.HeldError)) || errors.As(err, new(*Stop)) {
		t.Fatal(err)
	}
	if !s.done[steps[0].ID] || s.done[steps[1].ID] {
		t.Errorf("what was done is %v", s.done)
	}
	if run, err := Read(s.saved); err != nil || run.State != Running {
		t.Errorf("the run is %+v: %v", run, err)
	}
}
