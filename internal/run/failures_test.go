package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weft/internal/hint"
	"weft/internal/require"
	"weft/plan"
	"weft/plan/rollout"
)

// onePhase has both devices in one phase, one after the other.
func onePhase(f *fabric) {
	r := f.model.Rollouts[0]
	r.Phases = r.Phases[:1]
	r.Phases[0].Name, r.Phases[0].Select, r.Phases[0].Batch = "both", []string{"a", "b"}, []string{"1"}
}

// awayDuring stops the hub when the first device is being changed, and says what the
// one at work was told.
func (h *hub) awayDuring(t *testing.T, f *fabric) {
	t.Helper()
	place := t.TempDir()
	f.records = func() *Records { return h.recordsIn(place) }
	var once sync.Once
	f.stepping = func() { once.Do(h.stop) }
	var cause *Error
	err := f.start(within(t), f.env())
	if !errors.As(err, &cause) || cause.Cause != Waits || !strings.Contains(err.Error(), "waiting for the store hub") {
		t.Fatalf("the store is away: %v", err)
	}
	now := f.boxes(t)
	if a := now["a"].Values; a["x"] != "new" || a["y"] != "new" || now["a"].Before != nil {
		t.Errorf("what was begun is not finished: %+v", now["a"])
	}
	if now["b"].Values["x"] != "" || now["b"].Mark == nil {
		t.Errorf("more was begun: %+v", now["b"])
	}
}

// The hub goes away while a phase is carried out: the batch is finished, the next is
// not begun, and it goes on when the hub is back.
func TestStoreAwayInPhase(t *testing.T) {
	require.Long(t, "11 s")
	t.Parallel()
	h := newHub(t)
	f := newFabric(t.TempDir())
	onePhase(f)
	h.awayDuring(t, f)
	h.start(t)
	f.stepping = nil
	f.records = h.records(t) // another machine
	h.freed(t, f)
	if err := Resume(within(t), f.env(), Order{}); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
	if got := stateOf(t, f.env()); got != rollout.Passed {
		t.Errorf("the run is %s", got)
	}
}

// The directory that keeps the run cannot be written any more in the middle of a phase, as
// where a disk is full: nobody is told that nothing was changed, and it goes on when it can.
func TestDirectoryAwayInPhase(t *testing.T) {
	f := newFabric(t.TempDir())
	onePhase(f)
	documents := filepath.Join(f.env().Records.root(), "keys", "new")
	var once sync.Once
	f.stepping = func() {
		once.Do(func() {
			if err := errors.Join(os.Rename(documents, documents+".away"), os.WriteFile(documents, nil, 0o600)); err != nil {
				t.Error(err)
			}
		})
	}
	var cause *Error
	err := f.start(within(t), f.env())
	if !errors.As(err, &cause) || cause.Cause != Waits || !strings.Contains(hint.Of(err), "weft rollout resume") {
		t.Fatalf("it is said that %v (%s)", err, hint.Of(err))
	}
	f.stepping = nil
	if err := errors.Join(os.Remove(documents), os.Rename(documents+".away", documents)); err != nil {
		t.Fatal(err)
	}
	if err := Resume(within(t), f.env(), Order{}); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
}

// freed ends the lease of whoever could not give it back.
func (h *hub) freed(t *testing.T, f *fabric) {
	t.Helper()
	s, err := f.env().Records.look(within(t))
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Leases(within(t), "fabric")
	if err != nil || len(list) != 1 {
		t.Fatalf("the leases are %+v: %v", list, err)
	}
	if err := s.Break(within(t), list[0]); err != nil {
		t.Fatal(err)
	}
}

// The hub is lost for good in the middle of a phase, with all that it had: the devices
// are as they were left, say whose they are and what to do, and are taken over.
func TestStoreLostForGood(t *testing.T) {
	require.Long(t, "15 s")
	t.Parallel()
	h := newHub(t)
	f := newFabric(t.TempDir())
	onePhase(f)
	h.awayDuring(t, f)
	f.stepping = nil
	f.records = newHub(t).records(t)

	if err := Resume(within(t), f.env(), Order{}); errors.As(err, new(*rollout.Stop)) || err == nil || !strings.Contains(err.Error(), "no rollout is on its way") {
		t.Errorf("a hub that knows nothing goes on: %v", err)
	}
	held := new(plan.HeldError)
	err := f.start(within(t), f.env())
	if !errors.As(err, &held) || held.Mark == nil || !strings.Contains(hint.Of(err), "weft apply --takeover="+held.Mark.Run) {
		t.Fatalf("it is said that %v (%s)", err, hint.Of(err))
	}
	e := f.env()
	s := f.site(e)
	made, err := s.Plan(within(t), s.Input, true)
	if err != nil || len(made.Steps) != 2 {
		t.Fatalf("what is left to do is %+v: %v", made.Steps, err)
	}
	if err := e.Records.TakeOver(within(t), &s.Input, held.Mark.Run, "bob"); err != nil {
		t.Fatal(err)
	}
	if err := Start(within(t), e, s, made, Order{}); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
}

// Whoever gives orders at the same moment, from wherever: each is carried out or told
// that another is at work or was, and nothing is ever rolled back for it.
func TestOrdersAtOnce(t *testing.T) { everyStore(t, ordersAtOnce) }

func ordersAtOnce(t *testing.T, records func() *Records) {
	f := newFabric(t.TempDir())
	f.records = records
	f.model.Rollouts[0].Phases[1].Approve = "manual"
	if err := f.start(within(t), f.env()); !errors.As(err, new(*rollout.Stop)) {
		t.Fatal(err)
	}
	ctx := within(t)
	pause := func(ctx context.Context, e *Env, _ Order) error {
		rec, err := e.Records.Unfinished(ctx, false)
		if err == nil && rec != nil {
			err = rec.Hold(ctx, "bob")
		}
		return err
	}
	again := func(ctx context.Context, e *Env, _ Order) error { return f.start(ctx, e) }
	orders := []func(context.Context, *Env, Order) error{Promote, Abort, pause, again, Promote, Abort}
	errs := make([]error, len(orders))
	var all sync.WaitGroup
	for i, order := range orders {
		each := newFabric(f.dir)
		each.model, each.records = f.model, records
		all.Go(func() { errs[i] = order(ctx, each.env(), Order{}) })
	}
	all.Wait()
	for i, err := range errs {
		var cause *Error
		var stop *rollout.Stop
		switch {
		case err == nil:
		case errors.As(err, &stop) && (stop.State == rollout.Paused || stop.State == rollout.Waiting):
		case errors.As(err, &cause) && (cause.Cause == Taken || cause.Cause == None || cause.Cause == Waits):
		case errors.As(err, new(*plan.HeldError)):
		case strings.Contains(err.Error(), "no phase waits for approval"): // the pause came first
		default:
			t.Errorf("order %d was told %v", i, err)
		}
	}
	rec, err := f.env().Records.Latest(ctx, false)
	if err != nil || rec == nil {
		t.Fatal(err)
	}
	now := f.boxes(t)
	switch b := now["b"].Values["x"]; rec.State {
	case rollout.Passed:
		f.is(t, "new")
	case rollout.Aborted, rollout.Paused, rollout.Waiting:
		if now["a"].Values["x"] != "new" || b != "" && b != "new" {
			t.Errorf("%s, and the devices are %+v", rec.State, now)
		}
	default:
		t.Errorf("the run is %s: %s", rec.State, rec.Run.Why)
	}
}
