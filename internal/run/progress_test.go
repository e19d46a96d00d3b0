package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"weft/internal/store"
	"weft/internal/store/dir"
	"weft/plan"
	"weft/plan/rollout"
)

// flaky is a store that does not answer some changes, of which it has made some all the
// same.
type flaky struct {
	store.Store
	fails func() bool
}

func (f flaky) Create(ctx context.Context, key string, value []byte) (store.Revision, error) {
	if f.fails() {
		return 0, &store.UnavailableError{Err: errors.New("away")}
	}
	return f.Store.Create(ctx, key, value)
}

func (f flaky) Update(ctx context.Context, key string, value []byte, at store.Revision) (store.Revision, error) {
	if f.fails() {
		return 0, &store.UnavailableError{Err: errors.New("away")}
	}
	return f.Store.Update(ctx, key, value, at)
}

func (f flaky) Delete(ctx context.Context, key string, at store.Revision) error {
	if f.fails() {
		return &store.UnavailableError{Err: errors.New("away")}
	}
	return f.Store.Delete(ctx, key, at)
}

// Whatever a run does, and wherever a change of the store fails, what is read again is
// what it had done when it was last saved.
func TestProgressIsKept(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{Format: plan.Format, Owner: "test"}
	for i := range 40 {
		device := fmt.Sprint("server.n", i/4)
		if i%4 == 0 {
			p.Devices = append(p.Devices, plan.PlannedDevice{Address: device})
		}
		phase := []string{"one", "two"}[i/4%2]
		p.Steps = append(p.Steps, plan.PlannedStep{ID: plan.ID{Device: device, Kind: "mtu", Name: fmt.Sprint("p", i%4)}, Phase: phase, Changes: []plan.Change{{Path: "mtu", Before: "1500", After: "9000"}}})
	}
	for seed := range uint64(3) {
		dice, its := rand.New(rand.NewPCG(seed, 1)), sync.Mutex{}
		bad := false
		fails := func() bool { // several documents are written at once
			its.Lock()
			defer its.Unlock()
			return bad && dice.IntN(4) == 0
		}
		r := InShared(t.TempDir(), Sharing{Name: "flaky", Lease: time.Minute, Open: func(ctx context.Context) (store.Store, error) {
			s, err := dir.Open(ctx, filepath.Join(t.TempDir(), "s"), dir.Options{})
			return flaky{s, fails}, err
		}})
		run := &rollout.Run{Format: rollout.Format, ID: plan.NewRunID(time.Now()), Rollout: "rollout.all", State: rollout.Running, Phases: []rollout.PhaseRun{{Name: "one"}, {Name: "two"}}}
		rec, err := r.create(t.Context(), &Head{ID: run.ID, Rollout: run.Rollout, Begun: time.Now(), State: run.State}, p)
		if err != nil {
			t.Fatal(err)
		}
		rec.Run = run
		for range 30 {
			at := &run.Phases[dice.IntN(2)]
			var own []plan.PlannedStep
			for _, s := range p.Steps {
				if s.Phase == at.Name {
					own = append(own, s)
				}
			}
			switch dice.IntN(4) {
			case 0:
				at.Begun = own[len(at.Steps):min(len(at.Steps)+5, len(own))]
			case 1:
				at.Steps, at.Begun = own[:min(len(at.Steps)+5, len(own))], nil
			case 2:
				for range dice.IntN(120) {
					at.Verdicts = append(at.Verdicts, rollout.Sample{Verdict: rollout.Pass, Why: fmt.Sprint(len(at.Verdicts))})
				}
			case 3:
				at.Steps, at.Begun = nil, nil // reverted
			}
			for bad = dice.IntN(2) == 0; rec.save(t.Context()) != nil; bad = dice.IntN(2) == 0 {
			}
			bad = false
			again, err := r.Find(t.Context(), run.ID)
			if err != nil {
				t.Fatal(err)
			}
			for i, now := range again.Run.Phases {
				was := run.Phases[i]
				if !slices.EqualFunc(now.Steps, was.Steps, func(x, y plan.PlannedStep) bool { return x.ID == y.ID }) || len(now.Begun) != len(was.Begun) || len(now.Verdicts) != len(was.Verdicts) ||
					len(now.Verdicts) > 0 && now.Verdicts[len(now.Verdicts)-1].Why != was.Verdicts[len(was.Verdicts)-1].Why {
					t.Fatalf("seed %d: phase %s is read as %d, %d, %d, and is %d, %d, %d", seed, now.Name, len(now.Steps), len(now.Begun), len(now.Verdicts), len(was.Steps), len(was.Begun), len(was.Verdicts))
				}
			}
			// What a worker reads of its devices says the same.
			mine := p.Steps[:20]
			own2, err := r.glance(t.Context(), run.ID)
			if err == nil {
				for i := range own2.Run.Phases {
					own2.Run.Phases[i].State = rollout.Running
				}
				err = (&staged{rec: own2}).loadOf(t.Context(), mine)
			}
			if err != nil {
				t.Fatal(err)
			}
			done, part := again.Run.Done(), own2.Run.Done()
			for _, s := range mine {
				if done[s.ID] != part[s.ID] {
					t.Fatalf("seed %d: %s is done: %v, and the worker reads %v", seed, s.ID, done[s.ID], part[s.ID])
				}
			}
		}
	}
}

// A worker asks once for a device that is done, however many gates come after it.
func TestDoneIsAskedOnce(t *testing.T) {
	r := In(t.TempDir())
	run := &rollout.Run{ID: plan.NewRunID(time.Now()), Phases: []rollout.PhaseRun{{Name: "one", State: rollout.Running}}}
	steps := []plan.PlannedStep{{ID: plan.ID{Device: "a", Kind: "v", Name: "1"}, Phase: "one"}, {ID: plan.ID{Device: "b", Kind: "v", Name: "1"}, Phase: "one"}}
	st, err := r.use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := func(device string) {
		t.Helper()
		text, err := json.Marshal(progress{Phase: "one", Device: device, Done: []doneStep{{0, "v", "1"}}})
		if err == nil {
			err = put(t.Context(), st, keyRecord(run.ID, "progress", "one", device), text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s := &staged{}
	seen := func() (list []string) {
		t.Helper()
		run.Phases[0].Steps = nil
		s.rec = &Record{Head: &Head{ID: run.ID}, Run: run, records: r, store: st}
		if err := s.loadOf(t.Context(), steps); err != nil {
			t.Fatal(err)
		}
		for _, x := range s.rec.Run.Phases[0].Steps {
			list = append(list, x.ID.Device)
		}
		slices.Sort(list)
		return list
	}
	done("a")
	if got := seen(); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("%v are done", got)
	}
	done("b")
	if err := remove(t.Context(), st, keyRecord(run.ID, "progress", "one", "a")); err != nil { // who asks for it again misses it
		t.Fatal(err)
	}
	if got := seen(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v are done", got)
	}
	if s.whole = nil; !slices.Equal(seen(), []string{"b"}) {
		t.Error("what was reverted is taken for done")
	}
}
