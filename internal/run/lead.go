package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/plan"
	"weft/plan/rollout"
)

const (
	leadIdle  = 2 * time.Second  // between two looks whether there is a run to lead
	leadAgain = 15 * time.Second // before a run that waits is gone on with
)

// Lead leads the run of workers that is on its way, and those that come: it goes on with
// it whenever that is possible, for as long as the context lasts, or, with once, as far
// as it can be gone on with now. It needs the store, and reaches no device.
func Lead(ctx context.Context, e *Env, once bool) error {
	said := ""
	for {
		wait := leadIdle
		led, err := leadNow(ctx, e)
		switch {
		case ctx.Err() != nil:
			return errors.Join(interrupted(ctx), err)
		case once:
			return err
		case err != nil && err.Error() != said:
			said = err.Error()
			e.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: said})
		}
		if led || err != nil {
			wait = leadAgain
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// leadNow goes on with the run of workers that is on its way, if there is one. One that
// was paused waits for who resumes it.
func leadNow(ctx context.Context, e *Env) (led bool, err error) {
	list, err := e.Records.Heads(ctx, e.Simulated)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(list, func(h *Head) bool { return h.Sites != nil && !h.Over() })
	if i < 0 || list[i].State == rollout.Paused {
		return false, nil
	}
	err = e.onRun(ctx, Order{Run: list[i].ID}, func(s *staged) error {
		if s.crew == nil || s.run.State == rollout.Paused {
			return fmt.Errorf("run %s is not one of workers, or paused", s.run.ID)
		}
		return s.advance(ctx, false)
	})
	return true, err
}
