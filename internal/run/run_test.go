package run

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"weft/internal/prove"
	"weft/internal/require"
	"weft/plan/rollout"
)

func TestRunPasses(t *testing.T) {
	t.Parallel()
	f := newFabric(t.TempDir())
	e := f.env()
	if err := f.start(within(t), e); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
	if got := stateOf(t, e); got != rollout.Passed || f.looks != 2 {
		t.Errorf("the run is %s after %d looks", got, f.looks)
	}
	if list, err := e.Records.markings(within(t), false); err != nil || len(list) != 0 {
		t.Errorf("markings are left: %v, %v", list, err)
	}
	var none *Error
	if err := Step(within(t), e, Order{}); !errors.As(err, &none) || none.Cause != None {
		t.Errorf("a run that has passed goes on: %v", err)
	}
}

// A gate that fails reverts everything that the run did, and says so by its type.
func TestGateFails(t *testing.T) {
	f := newFabric(t.TempDir())
	f.gate = func(looks int) prove.Verdict {
		return []prove.Verdict{prove.Pass, prove.Fail}[min(looks, 2)-1]
	}
	e := f.env()
	err := f.start(within(t), e)
	var cause *Error
	var stop *rollout.Stop
	if !errors.As(err, &cause) || cause.Cause != Ended || !errors.As(err, &stop) || stop.State != rollout.RolledBack || stop.Verdict != rollout.Fail {
		t.Fatalf("the gate failed: %v", err)
	}
	f.is(t, "")
	if got := stateOf(t, e); got != rollout.RolledBack {
		t.Errorf("the run is %s", got)
	}
}

// A run that is held keeps its devices, and another process goes on with it.
func TestHoldAndResume(t *testing.T) {
	t.Parallel()
	f := newFabric(t.TempDir())
	f.during = func(e *Env) {
		rec, err := e.Records.Unfinished(context.Background(), false)
		if err == nil {
			err = rec.Hold(context.Background(), "bob")
		}
		if err != nil {
			t.Error(err)
		}
	}
	var stop *rollout.Stop
	if err := f.start(within(t), f.env()); !errors.As(err, &stop) || stop.State != rollout.Paused {
		t.Fatalf("it was held: %v", err)
	}
	now := f.boxes(t)
	if now["a"].Values["x"] != "new" || now["b"].Values["x"] != "" || now["a"].Mark == nil || now["b"].Mark == nil {
		t.Fatalf("while it is held: %+v", now)
	}

	elsewhere := newFabric(t.TempDir()) // without the record, on the same devices
	for _, name := range []string{"a", "b"} {
		if err := os.Link((&box{fabric: f, name: name}).path(), (&box{fabric: elsewhere, name: name}).path()); err != nil {
			t.Skip("no links:", err)
		}
	}
	var cause *Error
	if err := elsewhere.start(within(t), elsewhere.env()); !errors.As(err, &cause) || cause.Cause != Ended {
		t.Errorf("somebody without the record: %v", err)
	}

	other := newFabric(f.dir)
	if rec, err := other.env().Records.Unfinished(within(t), false); err != nil || rec == nil {
		t.Fatalf("no record: %v", err)
	} else if err := Continue(within(t), other.env(), rec, Order{}); !errors.As(err, &cause) || cause.Cause != Waits {
		t.Errorf("a run that is held was overtaken: %v", err)
	}
	if err := Resume(within(t), other.env(), Order{}); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
	if got := other.steps(); !slices.Equal(got, []string{"b/setting.x", "b/setting.y"}) {
		t.Errorf("it did again what was done: %v", got)
	}
}

// Of two who promote at once one goes on, and the other is told.
func TestTwoPromotes(t *testing.T) {
	require.Long(t, "5 s")
	t.Run("own", func(t *testing.T) { promotedTwice(t, nil) })
	everyStore(t, promotedTwice)
}

func promotedTwice(t *testing.T, records func() *Records) {
	f := newFabric(t.TempDir())
	f.records = records
	f.model.Rollouts[0].Phases[1].Approve = "manual"
	var stop *rollout.Stop
	if err := f.start(within(t), f.env()); !errors.As(err, &stop) || stop.State != rollout.Waiting {
		t.Fatalf("it waits: %v", err)
	}
	both := []*fabric{newFabric(f.dir), newFabric(f.dir)}
	errs := make([]error, 2)
	ctx := within(t)
	var all sync.WaitGroup
	for i, each := range both {
		each.model, each.records = f.model, records
		all.Go(func() { errs[i] = Promote(ctx, each.env(), Order{Phase: "phase-b"}) })
	}
	all.Wait()
	slices.SortFunc(both, func(a, b *fabric) int { return len(b.steps()) - len(a.steps()) })
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("one of them goes on: %v; %v", errs[0], errs[1])
	}
	if first, second := both[0].steps(), both[1].steps(); len(first) != 2 || len(second) != 0 {
		t.Errorf("they did %v and %v", first, second)
	}
	f.is(t, "new")
}

const killedAt, killedIn = "WEFT_RUN_KILL", "WEFT_RUN_DIR"

// TestKilled kills a process that carries a plan out, at each moment before and
// after it changes anything, and another goes on to the same end.
func TestKilled(t *testing.T) {
	t.Parallel()
	if at, err := strconv.Atoi(os.Getenv(killedAt)); err == nil {
		f := newFabric(os.Getenv(killedIn))
		f.kill = at
		if err := f.start(within(t), f.env()); err != nil {
			t.Fatal(err)
		}
		return
	}
	const together = 12
	var over atomic.Bool
	for first := 1; !over.Load() && !t.Failed(); first += together {
		t.Run("moments from "+strconv.Itoa(first), func(t *testing.T) {
			for at := first; at < first+together; at++ {
				t.Run(strconv.Itoa(at), func(t *testing.T) {
					t.Parallel()
					if !killedThen(t, at) {
						over.Store(true)
					}
				})
			}
		})
	}
}

// killedThen has a process killed at a moment and another go on; false: the process ended
// before there was so late a moment.
func killedThen(t *testing.T, at int) bool {
	f := newFabric(t.TempDir())
	child := exec.CommandContext(within(t), os.Args[0], "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), killedAt+"="+strconv.Itoa(at), killedIn+"="+f.dir)
	out, err := child.CombinedOutput()
	if err == nil {
		if at < 20 {
			t.Errorf("it did nothing that it could be killed at: %d moments", at)
		}
		f.is(t, "new")
		return false
	}
	if child.ProcessState.Exited() {
		t.Fatalf("at moment %d it was not killed: %s", at, out)
	}
	if err := goOn(within(t), f); err != nil {
		t.Fatalf("killed at moment %d: %v", at, err)
	}
	f.is(t, "new")
	return true
}

// goOn is what an apply does in the directory of one that was killed.
func goOn(ctx context.Context, f *fabric) error {
	e := f.env()
	rec, err := e.Records.Unfinished(ctx, false)
	if err != nil {
		return err
	}
	if rec != nil {
		return Continue(ctx, e, rec, Order{})
	}
	return f.start(ctx, e)
}
