package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// A Worker does at the devices of a site what whoever leads a run asks for, with
// credentials of its own. It asks the store; nobody calls it.
type Worker struct {
	Env  *Env // its records are those of Records.ForSite
	Site string
	Once bool // to return when nobody leads a run

	Patience time.Duration // with Once: how long a leader is waited for

	Drain *Pauses // a pause: what was taken up is finished, and nothing more is taken up; nil: nobody asks

	crews map[string]*staged // runs that it works on
	clear map[cleared]bool   // phases that it has found approved
	self  string             // tells it from others, and from itself before a restart
	said  string             // so that nothing is said twice in a row
}

const (
	shortIdle = 50 * time.Millisecond // between two questions for a task
	longIdle  = time.Second
	awayIdle  = 5 * time.Second // while the store does not answer
)

// Work works until the context ends, or Drain, or with Once nobody leads a run.
func (w *Worker) Work(ctx context.Context) error {
	w.crews, w.clear, w.self = map[string]*staged{}, map[cleared]bool{}, plan.NewRunID(time.Now())+" "+Holder().Who
	w.Env.Pauses = new(Pauses) // of one task at a time
	defer w.close()
	defer w.Drain.offer()()
	seen, begun := false, time.Now()
	for idle := shortIdle; ; {
		did, led, err := w.turn(ctx)
		wait := idle
		seen = seen || did || led
		switch cause := new(Error); {
		case ctx.Err() != nil:
			return interrupted(ctx)
		case w.Drain.wanted() && (err == nil || away(err)):
			return nil // what it had taken up it has told
		case err == nil:
		case w.Once:
			return err
		case errors.As(err, &cause) && cause.Cause == Waits:
			w.say("warn", err)
			wait = awayIdle
		default:
			w.say("warn", err)
			wait = longIdle
		}
		if did {
			idle = shortIdle
			continue
		}
		if w.Once && !led {
			if seen || time.Since(begun) >= w.Patience {
				return w.came(ctx)
			}
			w.say("warn", fmt.Errorf("no run is led yet: waiting up to %v for weft apply --workers", w.Patience))
		}
		select {
		case <-ctx.Done():
			return interrupted(ctx)
		case <-time.After(wait):
		}
		idle = min(2*idle, longIdle)
	}
}

// say tells of what keeps it from working, once.
func (w *Worker) say(level string, err error) {
	if text := err.Error(); text != w.said {
		w.said = text
		w.Env.emit(plan.Event{Type: plan.EventNote, Level: level, Message: text})
	}
}

// came is what the last run of the site has come to, as an exit code would tell it.
func (w *Worker) came(ctx context.Context) error {
	h, err := w.Env.Records.last(ctx, w.Env.Simulated, func(h *Head) bool { return slices.Contains(h.Sites, w.Site) })
	switch {
	case err != nil || h == nil || h.State == rollout.Passed || h.State == rollout.Aborted:
		return err
	case h.State.Underway():
		return because(Waits, hint.Wrap(fmt.Errorf("run %s was interrupted and has no leader", h.ID), "weft worker --lead, or weft rollout step %s", h.ID))
	}
	return ended(nil, hint.Wrap(&rollout.Stop{State: h.State, Why: fmt.Sprintf("run %s is %s: %s", h.ID, h.State, h.Why)}, "weft rollout status %s", h.ID))
}

// turn takes one task up, if there is one. led reports whether anybody leads a run.
func (w *Worker) turn(ctx context.Context) (did, led bool, err error) {
	r := w.Env.Records
	t, err := r.task(ctx, w.Env.Simulated, w.Site)
	if err != nil {
		return false, false, err
	}
	if w.Once {
		if led, err = r.leads(ctx, w.Env.Simulated, ""); err != nil {
			return false, false, err
		}
	}
	if t == nil {
		return false, led, nil
	}
	if still, err := r.leads(ctx, w.Env.Simulated, t.Lead); err != nil || !still {
		return false, led, err // who has asked is gone: whoever leads the run next asks again
	}
	held, err := r.hold(ctx, leaseAt(t.Run, w.Site))
	if err != nil {
		return false, led, err
	}
	did, err = w.take(ctx, t, held)
	return did, led, errors.Join(err, held.Close())
}

// take does a task, unless another worker has meanwhile, and tells what came of it.
func (w *Worker) take(ctx context.Context, t *task, held *Holding) (did bool, err error) {
	r := w.Env.Records
	if now, err := r.task(ctx, w.Env.Simulated, w.Site); err != nil || now == nil || now.ID != t.ID {
		return false, err
	}
	rec, err := r.glance(ctx, t.Run)
	if err != nil {
		return false, err
	}
	if rec == nil {
		return false, fmt.Errorf("there is no run %s, which %s asks to be worked on", t.Run, t.Lead)
	}
	if o, _, err := rec.told(ctx, w.Site, t.ID); err != nil || o != nil {
		return false, err
	}
	w.said = ""
	for {
		o, again, err := w.do(ctx, t, rec)
		if err != nil || ctx.Err() != nil {
			return false, err // another takes it up again
		}
		if again { // the store was away: what is left is for when it is back
			if err := w.back(ctx, t, held); err != nil {
				return false, err
			}
			continue
		}
		return true, w.tell(ctx, t, o, held)
	}
}

// back waits until the lease is renewed again, and the task still stands.
func (w *Worker) back(ctx context.Context, t *task, held *Holding) error {
	for {
		if err := sleep(ctx, longIdle); err != nil {
			return err
		}
		err := held.fresh()
		if err == nil {
			now, failed := w.Env.Records.task(ctx, w.Env.Simulated, w.Site)
			led, unknown := w.Env.Records.leads(ctx, w.Env.Simulated, t.Lead)
			if err = errors.Join(failed, unknown); err == nil && (now == nil || now.ID != t.ID || !led) {
				return because(Taken, fmt.Errorf("%s no longer waits for its request: steps in progress are finished, and no others start", t.Lead))
			}
			if err == nil {
				return nil
			}
		}
		if lost := new(Error); errors.As(err, &lost) && lost.Cause == Taken {
			return err
		}
		w.say("warn", err)
	}
}

// tell keeps what came of a task, as soon as the store takes it. Who was overtaken tells
// nothing: another is at it, or has told.
func (w *Worker) tell(ctx context.Context, t *task, o *outcome, held *Holding) error {
	o.Task, o.By = t.ID, held.who
	for {
		err := held.fresh()
		if lost := new(Error); errors.As(err, &lost) && lost.Cause == Taken {
			return err
		}
		if err == nil {
			if err = w.Env.Records.tell(ctx, t, o); !away(err) {
				return err
			}
		}
		w.say("warn", err)
		if err := sleep(ctx, longIdle); err != nil {
			return err
		}
	}
}

// away reports whether the store did not answer.
func away(err error) bool { return errors.As(err, new(*store.UnavailableError)) }
