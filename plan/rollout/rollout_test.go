package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/plan"
)

// A stage is devices that a rollout changes, and gates that judge it.
type stage struct {
	spec  *Spec
	plan  *plan.Plan
	run   *Run
	saved []byte
	now   time.Time

	done     map[plan.ID]bool
	log      []string
	verdict  func(gate string) Verdict
	apply    func(plan.ID) error
	alarm    func(plan.ID) *Alarm // is seen after a step
	restarts func(Restart) (begun bool, err error)
	killed   func() bool // before anything is saved
	held     bool
	keep     error
	kept     map[string]bool // devices whose changes stay over a restart
}

var errKilled = errors.New("weft was killed")

func newStage(spec *Spec, steps ...plan.PlannedStep) *stage {
	s := &stage{spec: spec, plan: &plan.Plan{Steps: steps}, done: map[plan.ID]bool{}, kept: map[string]bool{}, now: time.Unix(0, 0)}
	s.run = NewRun("r1", spec, s.plan, s.now)
	return s
}

func (s *stage) engine() Engine {
	return Engine{
		Apply: func(_ context.Context, part *plan.Plan, unavailable int) (*plan.Result, error) {
			res := &plan.Result{}
			var failed error
			for _, st := range part.Steps {
				out := plan.DeviceResult{Device: st.ID.Device, Outcome: plan.DeviceChanged}
				result := plan.StepResult{ID: st.ID, Outcome: plan.StepDone}
				if err := s.refuses(st.ID); err != nil {
					failed = err
					out.Outcome, out.Err, result.Outcome = plan.DeviceRolledBack, err, plan.StepRolledBack
				} else {
					s.done[st.ID] = true
					s.log = append(s.log, st.ID.String())
				}
				out.Steps = append(out.Steps, result)
				res.Devices = append(res.Devices, out)
			}
			for _, st := range part.Steps {
				if s.alarm != nil && s.alarm(st.ID) != nil {
					return res, errors.Join(failed, s.alarm(st.ID))
				}
			}
			return res, failed
		},
		Reverse: func(_ context.Context, steps []plan.PlannedStep) (*plan.Result, error) {
			for _, st := range steps {
				delete(s.done, st.ID)
				s.log = append(s.log, "undo "+st.ID.String())
			}
			return &plan.Result{}, nil
		},
		Judge: func(_ context.Context, gate []string) (Verdict, string, error) {
			v := Pass
			if s.verdict != nil {
				v = s.verdict(gate[0])
			}
			s.log = append(s.log, fmt.Sprintf("%s %s", gate[0], v))
			return v, "because", nil
		},
		Keep: func(_ context.Context, devices []string) error {
			for _, d := range devices {
				s.kept[d] = true
			}
			return s.keep
		},
		Restart: func(_ context.Context, r Restart) (bool, error) {
			if s.restarts != nil {
				if begun, err := s.restarts(r); err != nil {
					return begun, err
				}
			}
			s.log = append(s.log, "restart "+r.Device+map[bool]string{r.Begun: " gone on", r.Anew: " anew"}[true])
			return true, nil
		},
		Save: func(r *Run) error {
			if s.killed != nil && s.killed() {
				return errKilled
			}
			var err error
			s.saved, err = json.Marshal(r)
			return err
		},
		Held:  func() bool { return s.held },
		Now:   func() time.Time { return s.now },
		Sleep: func(_ context.Context, d time.Duration) error { s.now = s.now.Add(d); return nil },
	}
}

func (s *stage) refuses(id plan.ID) error {
	if s.apply == nil {
		return nil
	}
	return s.apply(id)
}

func (s *stage) advance(t *testing.T, one bool) error {
	t.Helper()
	return Advance(t.Context(), s.engine(), s.spec, s.plan, s.run, one)
}

func twoPhases() (*Spec, []plan.PlannedStep) {
	a, b := step("a/v.x", "", plan.ImpactTraffic), step("b/v.x", "", plan.ImpactTraffic)
	a.Phase, b.Phase = "one", "two"
	return &Spec{Name: "r", OnFailure: RollbackPhase, Phases: []Phase{
		{Name: "base", Record: []string{"base"}},
		{Name: "one", Select: []string{"a"}, Gate: []string{"g1"}},
		{Name: "two", Select: []string{"b"}, Gate: []string{"g2"}},
	}}, []plan.PlannedStep{a, b}
}

func TestAdvance(t *testing.T) {
	for _, test := range []struct {
		name  string
		setup func(*stage)
		state State
		log   string
	}{
		{"all passes", func(*stage) {}, Passed, "base pass, a/v.x, g1 pass, b/v.x, g2 pass"},
		{"what is recorded stops nothing", func(s *stage) {
			s.verdict = func(g string) Verdict { return map[string]Verdict{"base": Fail, "g1": Pass, "g2": Pass}[g] }
		}, Passed, "base fail, a/v.x, g1 pass, b/v.x, g2 pass"},
		{"a gate fails: its phase is reverted", func(s *stage) {
			s.verdict = func(g string) Verdict { return map[string]Verdict{"g1": Pass, "g2": Fail}[g] }
		}, RolledBack, "base , a/v.x, g1 pass, b/v.x, g2 fail, undo b/v.x"},
		{"a gate fails: everything is reverted", func(s *stage) {
			s.spec.OnFailure = RollbackAll
			s.verdict = func(g string) Verdict { return map[string]Verdict{"g1": Pass, "g2": Fail}[g] }
		}, RolledBack, "base , a/v.x, g1 pass, b/v.x, g2 fail, undo a/v.x, undo b/v.x"},
		{"a gate fails: it stays", func(s *stage) {
			s.spec.OnFailure = Pause
			s.verdict = func(g string) Verdict { return Fail }
		}, Paused, "base fail, a/v.x, g1 fail"},
		{"a gate that cannot be judged never promotes", func(s *stage) {
			s.verdict = func(g string) Verdict { return Inconclusive }
		}, Paused, "base inconclusive, a/v.x, g1 inconclusive"},
		{"nor does one that has not measured all", func(s *stage) {
			s.verdict = func(g string) Verdict { return Partial }
		}, Paused, "base partial, a/v.x, g1 partial"},
		{"nor does a verdict nobody knows", func(s *stage) {
			s.verdict = func(g string) Verdict { return "" }
		}, Paused, "base , a/v.x, g1 "},
		{"a device fails", func(s *stage) {
			s.apply = func(id plan.ID) error {
				if id.Device == "b" {
					return errors.New("b does not")
				}
				return nil
			}
		}, RolledBack, "base pass, a/v.x, g1 pass"},
		{"a device may fail", func(s *stage) {
			s.spec.MaxFailures = 1
			s.apply = func(id plan.ID) error {
				if id.Device == "a" {
					return errors.New("a does not")
				}
				return nil
			}
		}, Passed, "base pass, g1 pass, b/v.x, g2 pass"},
		{"something fails while devices are changed", func(s *stage) { s.alarm = sees("b", Fail) }, RolledBack,
			"base pass, a/v.x, g1 pass, b/v.x, undo b/v.x"},
		{"something fails while devices are changed: it stays", func(s *stage) { s.alarm, s.spec.OnFailure = sees("b", Fail), Pause }, Paused,
			"base pass, a/v.x, g1 pass, b/v.x"},
		{"something cannot be judged while devices are changed", func(s *stage) { s.alarm = sees("b", Inconclusive) }, Paused,
			"base pass, a/v.x, g1 pass, b/v.x"},
		{"somebody must approve", func(s *stage) { s.spec.Phases[2].Approve = true }, Waiting, "base pass, a/v.x, g1 pass"},
		{"the window is shut", func(s *stage) {
			s.spec.Phases[1].Window = func(t time.Time) time.Time { return t.Add(time.Hour) }
		}, Waiting, "base pass"},
		{"an operator asked for a pause", func(s *stage) { s.held = true }, Paused, ""},
		{"an operator asked for a pause while devices are changed", func(s *stage) {
			s.apply = func(id plan.ID) error {
				if id.Device == "b" {
					s.held = true
					return plan.ErrPaused
				}
				return nil
			}
		}, Paused, "base pass, a/v.x, g1 pass"},
		{"a soak is watched", func(s *stage) { s.spec.Phases[1].Soak = 10 * time.Second }, Passed,
			"base pass, a/v.x, g1 pass, g1 pass, g1 pass, g1 pass, g1 pass, b/v.x, g2 pass"},
		{"a soak fails", func(s *stage) {
			s.spec.Phases[1].Soak = 10 * time.Second
			n := 0
			s.verdict = func(g string) Verdict {
				if n++; n > 3 {
					return Fail
				}
				return Pass
			}
		}, RolledBack, "base pass, a/v.x, g1 pass, g1 pass, g1 fail, undo a/v.x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec, steps := twoPhases()
			s := newStage(spec, steps...)
			test.setup(s)
			err := s.advance(t, false)
			if got := strings.Join(s.log, ", "); got != test.log || s.run.State != test.state {
				t.Errorf("%s: %s\nwant %s: %s", s.run.State, got, test.state, test.log)
			}
			if stop := new(*Stop); (err == nil) != (test.state == Passed) || err != nil && !errors.As(err, stop) {
				t.Errorf("error %T %v", err, err)
			}
			for _, p := range s.run.Phases {
				if s.run.State == RolledBack && (p.State == Running || p.State == Waiting || p.State == Gating) {
					t.Errorf("all is reverted, and phase %q is said to be %s", p.Name, p.State)
				}
			}
		})
	}
}

// A soak between batches may take longer than the window is open: the next
// batch waits, and what is done stays until someone comes back.
func TestWindowBetweenBatches(t *testing.T) {
	spec, steps := twoPhases()
	one := &spec.Phases[1]
	steps[1].Phase, one.Batch, one.Soak = one.Name, []string{"1"}, 4*time.Second
	one.Window = func(t time.Time) time.Time {
		if t.Before(time.Unix(3, 0)) || !t.Before(time.Unix(60, 0)) {
			return t
		}
		return time.Unix(60, 0)
	}
	s := newStage(spec, steps...)
	err := s.advance(t, false)
	if stop := new(Stop); !errors.As(err, &stop) || stop.State != Waiting || !strings.Contains(stop.Why, "its window opens at") || s.done[steps[1].ID] {
		t.Errorf("outside its window: %v\n%v", err, s.log)
	}
	for _, phase := range []string{"", one.Name} {
		if err := s.run.Approve(phase, "ann", s.now); err == nil || !strings.Contains(err.Error(), "its window opens at") || s.run.State != Waiting {
			t.Errorf("somebody promotes it: %v", err)
		}
	}
	s.now = time.Unix(60, 0)
	if err := s.advance(t, false); err != nil || s.run.State != Passed || !s.done[steps[1].ID] || strings.Count(strings.Join(s.log, " "), "a/v.x") != 1 {
		t.Errorf("when it is open again: %v\n%v", err, s.log)
	}
}

func sees(device string, v Verdict) func(plan.ID) *Alarm {
	return func(id plan.ID) *Alarm {
		if id.Device != device {
			return nil
		}
		return &Alarm{Verdict: v, Why: "something was seen"}
	}
}

// What was carried out while something could not be judged goes through its gate
// before anything else, also where nothing of the phase is left to be done.
func TestAlarmThenGate(t *testing.T) {
	spec, steps := twoPhases()
	s := newStage(spec, steps...)
	s.alarm = sees("a", Inconclusive)
	err := s.advance(t, false)
	stop := new(Stop)
	if !errors.As(err, &stop) || stop.Verdict != Inconclusive || s.run.Phases[1].State != Gating {
		t.Fatalf("%v, %+v", err, s.run.Phases[1])
	}
	s.alarm, s.run.State, s.log = nil, Running, nil
	if err := s.advance(t, false); err != nil || strings.Join(s.log, ", ") != "g1 pass, b/v.x, g2 pass" {
		t.Errorf("%v: %v", err, s.log)
	}
}

// A pause ends looks and waits early: what they would have said is not held
// against anybody, and whoever resumes looks again.
func TestPauseEndsLooks(t *testing.T) {
	cut := errors.New("cut short")
	for _, at := range []string{"base", "g1", "sleep"} {
		t.Run(at, func(t *testing.T) {
			spec, steps := twoPhases()
			spec.Phases[1].Soak = 10 * time.Second
			s := newStage(spec, steps...)
			e := s.engine()
			judge := e.Judge
			e.Judge = func(ctx context.Context, gate []string) (Verdict, string, error) {
				if gate[0] == at {
					s.held = true
					return Fail, "it was cut short", cut
				}
				return judge(ctx, gate)
			}
			if at == "sleep" {
				e.Sleep = func(context.Context, time.Duration) error { s.held = true; return cut }
			}
			if err := Advance(t.Context(), e, s.spec, s.plan, s.run, false); s.run.State != Paused || !errors.As(err, new(*Stop)) {
				t.Errorf("%s: %v", s.run.State, err)
			}
			for _, p := range s.run.Phases {
				for _, v := range p.Verdicts {
					if v.Verdict != Pass {
						t.Errorf("phase %q has the verdict %+v", p.Name, v)
					}
				}
			}
			s.held, s.run.State = false, Running
			if err := s.advance(t, false); err != nil || s.run.State != Passed {
				t.Errorf("%s: %v, %v", s.run.State, err, s.log)
			}
		})
	}
}

// What a phase changed stays over a restart once its gate has let it through,
// and no earlier.
func TestKeep(t *testing.T) {
	spec, steps := twoPhases()
	s := newStage(spec, steps...)
	s.keep = errors.New("the flash is full")
	s.verdict = func(gate string) Verdict {
		if s.kept["a"] != (gate == "g2") || s.kept["b"] {
			t.Errorf("at %s devices are kept: %v", gate, s.kept)
		}
		clear(s.kept)
		return Pass
	}
	if err := s.advance(t, false); err == nil || !strings.Contains(err.Error(), "flash is full") || s.run.State != Paused {
		t.Fatalf("%s: %v", s.run.State, err)
	}
	s.keep, s.run.State = nil, Running
	clear(s.kept)
	if err := s.advance(t, false); err != nil || !s.kept["b"] {
		t.Errorf("%v, %v", err, s.kept)
	}
	if got := strings.Join(s.log, ", "); got != "base pass, a/v.x, g1 pass, b/v.x, g2 pass" {
		t.Error(got)
	}
}

func TestApproveAndResume(t *testing.T) {
	spec, steps := twoPhases()
	spec.Phases[2].Approve = true
	s := newStage(spec, steps...)
	_ = s.advance(t, false)
	if err := s.run.Approve("one", "ann", s.now); err == nil {
		t.Error("a phase that has passed was approved")
	}
	if err := s.run.Approve("", "ann", s.now); err != nil {
		t.Fatal(err)
	}
	if err := s.advance(t, false); err != nil || s.run.State != Passed || !strings.HasPrefix(s.run.Phases[2].Approved, "ann at") {
		t.Errorf("%v %+v", err, s.run)
	}

	// What was paused goes through its gate again before anything else.
	spec, steps = twoPhases()
	spec.OnFailure = Pause
	s = newStage(spec, steps...)
	bad := Fail
	s.verdict = func(string) Verdict { return bad }
	_ = s.advance(t, false)
	if err := s.advance(t, false); err == nil || s.run.State != Paused {
		t.Errorf("a paused run went on: %v", err)
	}
	s.run.State, bad = Running, Pass
	if err := s.advance(t, false); err != nil || !strings.HasSuffix(strings.Join(s.log, ", "), "g1 fail, g1 pass, b/v.x, g2 pass") {
		t.Errorf("%v %v", err, s.log)
	}
}

func TestStep(t *testing.T) {
	spec, steps := twoPhases()
	spec.Phases[1].Soak = time.Hour
	s := newStage(spec, steps...)
	var states []State
	for range 10 {
		err := s.advance(t, true)
		states = append(states, s.run.State)
		if err == nil && s.run.State == Passed {
			break
		}
		s.now = s.now.Add(40 * time.Minute)
	}
	if want := []State{Waiting, Waiting, Running, Passed}; !slices.Equal(states, want) {
		t.Errorf("%v, want %v\n%v", states, want, s.log)
	}
}
