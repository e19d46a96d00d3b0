package rollout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/plan"
)

// Wherever weft is killed, and whatever gates say: nothing of a phase is
// touched before the gate of the one before it has passed, resuming finishes,
// and what is reverted leaves nothing.
func TestProperties(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		spec := &Spec{Name: "r", OnFailure: []string{Pause, RollbackPhase, RollbackAll}[rng.IntN(3)]}
		var steps []plan.PlannedStep
		for k := range 1 + rng.IntN(4) {
			name := fmt.Sprint("p", k)
			phase := Phase{Name: name, Select: []string{name}, Gate: []string{name}, Batch: [][]string{nil, {"1"}, {"50%"}}[rng.IntN(3)]}
			phase.Restart = rng.IntN(2) == 0
			phase.Soak = time.Duration(rng.IntN(2)) * 5 * time.Second
			spec.Phases = append(spec.Phases, phase)
			for d := range 1 + rng.IntN(3) {
				st := step(fmt.Sprintf("%s-%d/v.x", name, d), []string{"", "a", "b"}[rng.IntN(3)], plan.Impact(rng.IntN(4)))
				st.Phase = name
				steps = append(steps, st)
			}
		}
		s := newStage(spec, steps...)
		s.killed = func() bool { return rng.IntN(8) == 0 }
		s.verdict = func(string) Verdict {
			return []Verdict{Pass, Pass, Pass, Pass, Pass, Pass, Fail, Inconclusive}[rng.IntN(8)]
		}
		for range 200 {
			err := s.advance(t, rng.IntN(2) == 0)
			if errors.Is(err, errKilled) {
				if s.saved == nil {
					s.run = NewRun("r1", spec, s.plan, s.now)
					continue
				}
				if s.run, err = Read(s.saved); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if s.run.State == Paused {
				s.run.State = Running
			}
			s.now = s.now.Add(time.Second)
			if s.run.State.Over() {
				break
			}
		}
		checkOrder(t, seed, s)
		checkRestarts(t, seed, s)
		switch s.run.State {
		case Passed:
			if len(s.done) != len(steps) {
				t.Errorf("seed %d: passed, and %d of %d steps are done\n%v", seed, len(s.done), len(steps), s.log)
			}
		case RolledBack:
			for _, st := range steps {
				i := slices.IndexFunc(s.run.Phases, func(p PhaseRun) bool { return p.Name == st.Phase })
				if s.done[st.ID] != (s.run.Phases[i].State == Passed) {
					t.Errorf("seed %d: %s is done: %t, its phase %s", seed, st.ID, s.done[st.ID], s.run.Phases[i].State)
				}
			}
		default:
			t.Errorf("seed %d: it ends %s: %s", seed, s.run.State, s.run.Why)
		}
	}
}

// checkOrder reads the log: the last word on a phase is a pass before the next
// one is touched.
func checkOrder(t *testing.T, seed uint64, s *stage) {
	t.Helper()
	proven := map[string]bool{}
	for _, line := range s.log {
		if name, verdict, ok := strings.Cut(line, " "); ok && strings.HasPrefix(name, "p") {
			proven[name] = verdict == string(Pass)
			continue
		}
		if strings.HasPrefix(line, "undo ") || strings.HasPrefix(line, "restart ") {
			continue
		}
		phase, _, _ := strings.Cut(line, "-")
		i := slices.IndexFunc(s.spec.Phases, func(p Phase) bool { return p.Name == phase })
		proven[phase] = false
		if i > 0 && !proven[s.spec.Phases[i-1].Name] {
			t.Errorf("seed %d: %s although %s was not proven\n%v", seed, line, s.spec.Phases[i-1].Name, s.log)
			return
		}
	}
}

// checkRestarts reads the log: when all is over, the last word on a device that needs a
// restart is one, where its phase restarts and what it was given stays; what was taken back
// is run with nowhere.
func checkRestarts(t *testing.T, seed uint64, s *stage) {
	t.Helper()
	for _, st := range s.plan.Steps {
		i := slices.IndexFunc(s.spec.Phases, func(p Phase) bool { return p.Name == st.Phase })
		runs, set := "", "" // with what the device runs, and what it has been given
		for _, line := range s.log {
			switch {
			case line == st.ID.String():
				set = "new"
			case line == "undo "+st.ID.String():
				set = ""
			case strings.HasPrefix(line+" ", "restart "+st.ID.Device+" "):
				runs = set
				if !st.NeedsRestart() || !s.spec.Phases[i].Restart {
					t.Errorf("seed %d: %s is restarted for nothing\n%v", seed, st.ID.Device, s.log)
				}
			}
		}
		if s.run.State.Over() && st.NeedsRestart() && s.spec.Phases[i].Restart && runs != set {
			t.Errorf("seed %d: %s runs with %q and has %q\n%v", seed, st.ID.Device, runs, set, s.log)
		}
	}
}
