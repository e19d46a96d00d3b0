package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weft/internal/hint"
	"weft/plan/rollout"
)

// Step goes on with the run that is on its way until one gate is passed.
func Step(ctx context.Context, e *Env, o Order) error {
	return e.onRun(ctx, o, func(s *staged) error { return s.advance(ctx, true) })
}

// Promote approves the phase that waits for approval, which o.Phase may name, and
// goes on.
func Promote(ctx context.Context, e *Env, o Order) error {
	return e.onRun(ctx, o, func(s *staged) error {
		if s.signed() {
			if err := s.promotable(ctx, o.Phase); err != nil {
				return err
			}
			return s.advance(ctx, false)
		}
		if err := s.run.Approve(o.Phase, e.By, time.Now()); err != nil {
			advice := "weft rollout status shows what waits"
			if s.run.State == rollout.Paused {
				advice = "a rollout that is paused goes on with: weft rollout resume"
			}
			return hint.Wrap(err, "%s", advice)
		}
		if err := s.rec.audit(ctx, AuditEntry{What: auditPromoted, Phase: o.Phase, By: e.By}); err != nil {
			return err
		}
		return s.advance(ctx, false)
	})
}

// Resume goes on with a run that is held.
func Resume(ctx context.Context, e *Env, o Order) error {
	return e.onRun(ctx, o, func(s *staged) error {
		if err := s.rec.release(ctx); err != nil {
			return err
		}
		if err := s.rec.audit(ctx, AuditEntry{What: auditResumed, By: e.By}); err != nil {
			return err
		}
		s.run.State = rollout.Running
		return s.advance(ctx, false)
	})
}

// Abort ends the run and leaves the devices as they are.
func Abort(ctx context.Context, e *Env, o Order) error {
	return e.onRun(ctx, o, func(s *staged) error {
		s.run.State, s.run.Why = rollout.Aborted, "aborted by "+e.By
		return s.at(ctx, func(rollout.Engine) error { return s.save(s.run) })
	})
}

// Rollback reverts what the latest run did, or the phase that o names, and proves
// it. That it is rolled back is no error.
func Rollback(ctx context.Context, e *Env, o Order) error {
	return e.withRun(ctx, o.Run, e.Records.Latest, func(s *staged) error {
		s.ordered = true
		if err := s.mayRevert(ctx, s.phasesIn(func(p rollout.PhaseRun) bool {
			return len(p.Steps)+len(p.Begun) > 0 && (o.Phase == "" || p.Name == o.Phase)
		})); err != nil {
			return err
		}
		if err := s.rec.audit(ctx, AuditEntry{What: auditRollback, Phase: o.Phase, By: e.By}); err != nil {
			return err
		}
		err := s.at(ctx, func(engine rollout.Engine) error { return rollout.Rollback(ctx, engine, s.run, o.Phase) })
		var stop *rollout.Stop
		if errors.As(err, &stop) && stop.State == rollout.RolledBack {
			return nil // as it was asked for
		}
		return err
	})
}

// onRun does something with the run that is on its way, or that o names.
func (e *Env) onRun(ctx context.Context, o Order, do func(*staged) error) error {
	return e.withRun(ctx, o.Run, e.Records.Unfinished, func(s *staged) error {
		if s.run.State.Over() {
			return because(None, hint.Wrap(fmt.Errorf("run %s is over: it is %s", s.run.ID, s.run.State), "weft rollout status %s shows it, weft apply begins another", s.run.ID))
		}
		if err := s.accept(ctx, o.Accept); err != nil {
			return err
		}
		return do(s)
	})
}

// withRun does something with the run of a name, or the one that find finds, as the
// only weft that uses these records.
func (e *Env) withRun(ctx context.Context, id string, find func(ctx context.Context, simulated bool) (*Record, error), do func(*staged) error) error {
	held, err := e.Records.Hold(ctx, e.Simulated) // before how far it has come is read
	if err != nil {
		return err
	}
	defer held.Close()
	var rec *Record
	if id != "" {
		rec, err = e.Records.Named(ctx, id, e.Simulated)
	} else {
		rec, err = find(ctx, e.Simulated)
	}
	if err != nil {
		return err
	}
	if rec == nil {
		return ErrNone()
	}
	s, err := e.resume(ctx, rec)
	if err != nil {
		return err
	}
	defer s.site.Close()
	return do(s)
}

// ErrNone says that there is no run to go on with.
func ErrNone() error { return because(None, errors.New("no rollout is on its way in this directory")) }
