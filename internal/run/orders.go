package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"weft/internal/hint"
	"weft/plan/rollout"
)

// Step goes on with the run that is on its way until one gate is passed.
func Step(ctx context.Context, e *Env, o Order) error {
	return e.onRun(o, func(s *staged) error { return s.advance(ctx, true) })
}

// Promote approves the phase that waits for approval, which o.Phase may name, and
// goes on.
func Promote(ctx context.Context, e *Env, o Order) error {
	return e.onRun(o, func(s *staged) error {
		if err := s.run.Approve(o.Phase, e.By, time.Now()); err != nil {
			advice := "weft rollout status shows what waits"
			if s.run.State == rollout.Paused {
				advice = "a rollout that is paused goes on with: weft rollout resume"
			}
			return hint.Wrap(err, "%s", advice)
		}
		return s.advance(ctx, false)
	})
}

// Resume goes on with a run that is held.
func Resume(ctx context.Context, e *Env, o Order) error {
	return e.onRun(o, func(s *staged) error {
		if err := os.Remove(filepath.Join(s.dir, pauseFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		s.run.State = rollout.Running
		return s.advance(ctx, false)
	})
}

// Abort ends the run and leaves the devices as they are.
func Abort(ctx context.Context, e *Env, o Order) error {
	return e.onRun(o, func(s *staged) error {
		s.run.State, s.run.Why = rollout.Aborted, "aborted by "+e.By
		return s.at(ctx, func(rollout.Engine) error { return s.save(s.run) })
	})
}

// Rollback takes back what the latest run did, or the phase that o names, and proves
// it. That it is rolled back is no error.
func Rollback(ctx context.Context, e *Env, o Order) error {
	return e.withRun(e.Records.Latest, func(s *staged) error {
		err := s.at(ctx, func(engine rollout.Engine) error { return rollout.Rollback(ctx, engine, s.run, o.Phase) })
		var stop *rollout.Stop
		if errors.As(err, &stop) && stop.State == rollout.RolledBack {
			return nil // as it was asked for
		}
		return err
	})
}

// onRun does something with the run that is on its way.
func (e *Env) onRun(o Order, do func(*staged) error) error {
	return e.withRun(e.Records.Unfinished, func(s *staged) error {
		if err := s.accept(o.Accept); err != nil {
			return err
		}
		return do(s)
	})
}

// withRun does something with the run that find finds, as the only weft here.
func (e *Env) withRun(find func(simulated bool) (*Record, error), do func(*staged) error) error {
	held, err := Hold(e.Place) // before how far it has come is read
	if err != nil {
		return err
	}
	defer held.Close()
	rec, err := find(e.Simulated)
	if err != nil {
		return err
	}
	if rec == nil {
		return ErrNone()
	}
	s, err := e.resume(rec)
	if err != nil {
		return err
	}
	defer s.site.Close()
	return do(s)
}

// ErrNone says that there is no run to go on with.
func ErrNone() error { return because(None, errors.New("no rollout is on its way in this directory")) }
