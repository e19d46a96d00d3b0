package plan

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// A pause: what was begun is finished, nothing more is begun, and another apply
// does the rest.
func TestApplyPaused(t *testing.T) {
	for _, test := range []struct {
		name, at string // the pause is asked for during this call; "": before
		wants    func(*world)
		fails    string // this call fails
		paused   bool
		outcomes []string
	}{
		{"nothing is begun", "", func(w *world) {
			w.want("a/v.1", "1")
			w.want("b/v.1", "1")
		}, "", true, []string{"a unchanged: 1 skipped", "b unchanged: 1 skipped"}},
		{"what waits for it is not begun", "apply a/v.1", func(w *world) {
			w.want("a/v.1", "1")
			w.want("b/v.1", "1", "a/v.1")
		}, "", true, []string{"a changed: 1 done", "b unchanged: 1 skipped"}},
		{"who needs what was not begun is put back", "apply a/v.1", func(w *world) {
			w.want("a/v.1", "1")
			w.want("b/v.1", "1", "a/v.1")
			w.want("a/v.2", "1", "b/v.1")
		}, "", true, []string{"a rolled-back: 1 rolled-back, 2 skipped", "b unchanged: 1 skipped"}},
		{"a failure is no pause", "apply a/v.1", func(w *world) {
			w.want("a/v.1", "1")
			w.want("b/v.1", "1", "a/v.1")
		}, "commit a", false, []string{"a rolled-back: 1 rolled-back", "b unchanged: 1 skipped"}},
		{"it came too late", "commit a", func(w *world) { w.want("a/v.1", "1") }, "", false, []string{"a changed: 1 done"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, w := within(t), newWorld()
			test.wants(w)
			var asked atomic.Bool
			asked.Store(test.at == "")
			in := w.input()
			in.Parallelism, in.Pause = 1, asked.Load
			w.fault = func(call string, _ int) error {
				if call == test.at {
					asked.Store(true)
				}
				if call == test.fails {
					return errors.New("it does not")
				}
				return nil
			}
			res, err := Apply(ctx, mustMake(t, ctx, in), in)
			if got := outcomes(res); !slices.Equal(got, test.outcomes) || res.Paused() != test.paused {
				t.Errorf("paused %t: %q\nwant %t: %q", res.Paused(), got, test.paused, test.outcomes)
			}
			if (err == nil) != (res.Outcome() == RunDone) {
				t.Errorf("outcome %s, error %v", res.Outcome(), err)
			}
			goesOn(ctx, t, w, in)
		})
	}
}

// goesOn applies what is left, and then nothing is.
func goesOn(ctx context.Context, t *testing.T, w *world, in Input) {
	t.Helper()
	in.Pause, w.fault = nil, nil
	if res, err := Apply(ctx, mustMake(t, ctx, in), in); err != nil {
		t.Errorf("the rest: %v, %v", err, outcomes(res))
	}
	if p := mustMake(t, ctx, in); !p.Empty() {
		t.Errorf("not converged: %+v", p.Steps)
	}
}
