package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"

	"weft/internal/hint"
	"weft/plan"
)

// needing is a phase that changes three devices, of which two need a restart for it.
func needing(onFailure string) *stage {
	a, b, c := step("a/v.x", "", plan.ImpactReboot), step("b/v.x", "", plan.ImpactTraffic), step("c/v.x", "", plan.ImpactReboot)
	a.Phase, b.Phase, c.Phase = "one", "one", "one"
	return newStage(&Spec{Name: "r", OnFailure: onFailure, Phases: []Phase{{Name: "one", Select: []string{"a"}, Gate: []string{"g"}, Restart: true}}}, a, b, c)
}

func TestRestarts(t *testing.T) {
	broken := errors.New("the console shows a purple screen")
	for _, test := range []struct {
		name  string
		setup func(*stage)
		state State
		says  string
		log   string
	}{
		{"those that need it, before the gate", func(*stage) {}, Passed, "",
			"a/v.x, b/v.x, c/v.x, restart a, restart c, g pass"},
		{"without the word nobody", func(s *stage) { s.spec.Phases[0].Restart = false }, Passed, "",
			"a/v.x, b/v.x, c/v.x, g pass"},
		{"batch after batch", func(s *stage) { s.spec.Phases[0].Batch = []string{"1"} }, Passed, "",
			"a/v.x, restart a, g pass, b/v.x, g pass, c/v.x, restart c, g pass"},
		{"one that does not come back: no other is begun, and nothing is rolled back", func(s *stage) {
			s.restarts = func(r Restart) (bool, error) { return true, broken }
		}, Paused, "the restart of a has not come to its end: the console shows a purple screen; nothing is rolled back", "a/v.x, b/v.x, c/v.x"},
		{"one that was not begun", func(s *stage) {
			s.restarts = func(r Restart) (bool, error) { return false, hint.Wrap(broken, "mend it") }
		}, Paused, "the changes on a are not in effect", "a/v.x, b/v.x, c/v.x"},
		{"a gate fails: what has restarted runs with the former again", func(s *stage) {
			s.verdict = func(string) Verdict { return Fail }
		}, RolledBack, "its gate fails", "a/v.x, b/v.x, c/v.x, restart a, restart c, g fail, undo a/v.x, undo b/v.x, undo c/v.x, restart a anew, restart c anew"},
		{"a gate fails, and it stays", func(s *stage) {
			s.spec.OnFailure = Pause
			s.verdict = func(string) Verdict { return Fail }
		}, Paused, "its gate fails", "a/v.x, b/v.x, c/v.x, restart a, restart c, g fail"},
		{"a pause is wanted", func(s *stage) {
			s.restarts = func(Restart) (bool, error) { s.held = true; return true, nil }
		}, Paused, "paused before it went on", "a/v.x, b/v.x, c/v.x, restart a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := needing(RollbackPhase)
			test.setup(s)
			err := s.advance(t, false)
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("it says %v", err)
			}
			if s.run.State != test.state || strings.Join(s.log, ", ") != test.log {
				t.Errorf("it is %s after %v", s.run.State, s.log)
			}
		})
	}
}

// Who was cut off goes on with the device that was begun, and restarts no other twice.
func TestRestartsGoOn(t *testing.T) {
	for at := 1; at < 12; at++ {
		s := needing(RollbackPhase)
		s.spec.Phases[0].Batch = []string{"2"}
		saves := 0
		s.killed = func() bool { saves++; return saves == at }
		for range 3 {
			err := s.advance(t, false)
			if !errors.Is(err, errKilled) {
				break
			}
			if s.run, err = Read(s.saved); err != nil {
				s.run = NewRun("r1", s.spec, s.plan, s.now)
			}
		}
		if s.run.State != Passed {
			t.Errorf("killed at save %d: %s: %s", at, s.run.State, s.run.Why)
		}
		log := strings.Join(s.log, ", ")
		for _, device := range []string{"a", "c"} {
			if n := strings.Count(log, "restart "+device) - strings.Count(log, "restart "+device+" gone on"); n != 1 {
				t.Errorf("killed at save %d: %s is restarted %d times: %s", at, device, n, log)
			}
		}
	}
}

// A device that has not come back is gone on with once it has; one that is rolled back
// starts once more.
func TestRestartResumed(t *testing.T) {
	away := func(Restart) (bool, error) { return true, errors.New("no answer") }
	s := needing(RollbackPhase)
	s.restarts = away
	stop := new(Stop)
	if err := s.advance(t, false); !errors.As(err, &stop) || stop.State != Failed || !strings.Contains(hint.Of(err), "weft rollout resume goes on with it") {
		t.Fatal(err)
	}
	s.restarts, s.run.State = nil, Running
	if err := s.advance(t, false); err != nil || strings.Join(s.log, ", ") != "a/v.x, b/v.x, c/v.x, restart a gone on, restart c, g pass" {
		t.Errorf("%v: %v", err, s.log)
	}

	s = needing(RollbackPhase)
	s.restarts = away
	if err := s.advance(t, false); err == nil {
		t.Fatal("no error")
	}
	s.restarts = nil
	if err := Rollback(t.Context(), s.engine(), s.run, ""); !errors.As(err, &stop) || stop.State != RolledBack ||
		strings.Join(s.log, ", ") != "a/v.x, b/v.x, c/v.x, undo a/v.x, undo b/v.x, undo c/v.x, restart a anew" {
		t.Errorf("%v: %v", err, s.log)
	}
}

// Another weft that is at work on a device, and the end of this one, are no failures.
func TestRestartHeld(t *testing.T) {
	s := needing(RollbackAll)
	s.restarts = func(Restart) (bool, error) { return false, &plan.HeldError{Device: "a", Holder: "ann@ws"} }
	if err := s.advance(t, false); !errors.As(err, new(*plan.HeldError)) || errors.As(err, new(*Stop)) || s.run.State != Running {
		t.Error(err, s.run.State)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.restarts = func(Restart) (bool, error) { cancel(); return true, context.Canceled }
	if err := Advance(ctx, s.engine(), s.spec, s.plan, s.run, false); !errors.Is(err, context.Canceled) || s.run.State != Running || s.run.Phases[0].Restarting != "a" {
		t.Error(err, s.run.State, s.run.Phases[0].Restarting)
	}
}
