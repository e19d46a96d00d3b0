package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/internal/hint"
	"weft/internal/prove"
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

	Drain *Pauses // a pause: what was taken up is finished, and nothing more is taken up; nil: nobody asks

	crews map[string]*staged  // runs that it works on
	clear map[[2]string]error // phases of runs that it has found approved, or not
	self  string              // tells it from others, and from itself before a restart
	said  string              // so that nothing is said twice in a row
}

const (
	shortIdle = 50 * time.Millisecond // between two questions for a task
	longIdle  = time.Second
	awayIdle  = 5 * time.Second // while the store does not answer
)

// Work works until the context ends, or Drain, or with Once nobody leads a run.
func (w *Worker) Work(ctx context.Context) error {
	w.crews, w.clear, w.self = map[string]*staged{}, map[[2]string]error{}, plan.NewRunID(time.Now())+" "+Holder().Who
	w.Env.Pauses = new(Pauses) // of one task at a time
	defer w.close()
	defer w.Drain.offer()()
	for idle := shortIdle; ; {
		did, led, err := w.turn(ctx)
		wait := idle
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
			return w.came(ctx)
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
	rec, err := w.Env.Records.last(ctx, w.Env.Simulated, func(h *Head) bool { return slices.Contains(h.Sites, w.Site) })
	switch {
	case err != nil || rec == nil || rec.State == rollout.Passed || rec.State == rollout.Aborted:
		return err
	case rec.State.Underway():
		return because(Waits, hint.Wrap(fmt.Errorf("run %s was cut off, and nobody leads it", rec.ID), "weft worker --lead, or weft rollout step %s", rec.ID))
	}
	return ended(nil, hint.Wrap(&rollout.Stop{State: rec.State, Why: fmt.Sprintf("run %s is %s: %s", rec.ID, rec.State, rec.Why)}, "weft rollout status %s", rec.ID))
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
	if o, err := rec.told(ctx, w.Site, t.ID); err != nil || o != nil {
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
				return because(Taken, fmt.Errorf("nobody waits any more for what %s has asked for: what was begun is finished, and nothing more is begun", t.Lead))
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

// do carries a task out. again: not all of it was begun, for the store did not answer.
func (w *Worker) do(ctx context.Context, t *task, rec *Record) (o *outcome, again bool, err error) {
	o = &outcome{}
	s, err := w.staged(ctx, rec)
	if err != nil {
		if ctx.Err() != nil || away(err) {
			return nil, false, err
		}
		o.note(err)
		return o, false, nil
	}
	journal, err := rec.trail()
	if err != nil {
		return nil, false, err
	}
	s.journal = journal
	defer w.Env.end(journal)
	s.site.Input.Journal, s.site.Input.Run = journal, rec.ID
	if t.Do == jobMark || t.Do == jobUnmark {
		w.mark(ctx, s, t, o)
		s.site.Input.Mark = nil // it is read before the next step
		return o, false, nil
	}
	if err := w.may(ctx, s, t); err != nil {
		o.note(err)
		return o, false, nil
	}
	if err := w.settled(ctx, s, t); err != nil {
		o.note(err)
		return o, away(err), nil
	}
	stopped := w.stops(ctx, t)
	switch t.Do {
	case jobApply:
		s.spec.MaxFailures = t.Failures
		part := s.plan.Part(chosen(t.Steps))
		var res *plan.Result
		res, err = s.apply(ctx, part, t.Unavailable)
		o.Result = res
		again = res.Paused() && w.Env.Records.fresh() != nil
	case jobReverse:
		o.Result, err = s.reverse(ctx, s.plan.Part(chosen(t.Steps)).Steps)
	case jobMeasure:
		if err = rec.loadOf(ctx, s.plan.Steps); err != nil {
			break
		}
		look, end := w.Env.Pauses.until(ctx)
		o.Seen, _, err = s.looked(look, s.current(), t.Validations)
		end()
		o.Nothing = errors.Is(err, prove.ErrNoPair) || errors.Is(err, prove.ErrNothing)
	case jobKeep:
		err = s.persist(ctx, t.Devices)
	}
	again = again || away(err)
	if stopped() { // by who leads it, or because nobody does any more
		again = false
	}
	o.note(err)
	return o, again, nil
}

// away reports whether the store did not answer.
func away(err error) bool { return errors.As(err, new(*store.UnavailableError)) }

func chosen(steps []plan.ID) func(plan.PlannedStep) bool {
	of := make(map[plan.ID]bool, len(steps))
	for _, id := range steps {
		of[id] = true
	}
	return func(s plan.PlannedStep) bool { return of[s.ID] }
}

// staged is the part of a run that the site has, as the run is now.
func (w *Worker) staged(ctx context.Context, rec *Record) (*staged, error) {
	s := w.crews[rec.ID]
	if s == nil {
		w.close() // one run at a time
		var err error
		if s, err = w.Env.resume(ctx, rec); err != nil {
			return nil, err
		}
		w.crews[rec.ID] = s
		of := sitesOf(s.site.Model)
		if list := s.site.policed(s.plan); list != nil {
			return nil, fmt.Errorf("%s: %s", list[0].ID, list[0].Text)
		}
		s.plan = s.plan.Part(func(x plan.PlannedStep) bool { return of[x.ID.Device] == w.Site })
		rec.plan = nil // what other sites have in it need not stay in memory
		s.site.Model = atSite(s.site.Model, w.Site)
		for name, d := range s.site.Input.Devices {
			if sw, ok := d.(plan.Saver); ok && of[name] == w.Site {
				sw.SaveLater()
			}
		}
	}
	s.rec, s.run = rec, rec.Run
	if s.site.Input.Mark != nil {
		return s, nil
	}
	m, err := w.Env.Records.marking(ctx, rec.ID)
	if err != nil {
		return nil, err
	}
	if m != nil {
		s.site.Input.Mark = &m.Mark
	}
	return s, nil
}

func (w *Worker) close() {
	for id, s := range w.crews {
		if err := s.site.Close(); err != nil {
			w.say("warn", err)
		}
		delete(w.crews, id)
	}
}

// may refuses what the plan, the approvals that are verified here, or the window do not
// allow, whoever asks for it.
func (w *Worker) may(ctx context.Context, s *staged, t *task) error {
	own := map[plan.ID]string{}
	for _, x := range s.plan.Steps {
		own[x.ID] = x.Phase
	}
	for _, id := range t.Steps {
		if phase, ok := own[id]; !ok || phase != t.Phase {
			return because(Misused, fmt.Errorf("%s is no step of phase %q at site %s: it is asked for, and not in the plan", id, t.Phase, w.Site))
		}
	}
	i := slices.IndexFunc(s.spec.Phases, func(p rollout.Phase) bool { return p.Name == t.Phase })
	if t.Do != jobApply || i < 0 {
		return nil
	}
	p := &s.spec.Phases[i]
	if s.run.State != rollout.Running {
		return because(Waits, fmt.Errorf("run %s is %s, and nothing of it is begun", s.run.ID, s.run.State))
	}
	if now := time.Now(); p.Window != nil && p.Window(now).After(now) {
		return because(Waits, fmt.Errorf("the window of phase %q opens at %s", p.Name, p.Window(now).Format(time.RFC3339)))
	}
	if !p.Approve || !s.signed() {
		return nil
	}
	key := [2]string{s.run.ID, p.Name}
	if _, judged := w.clear[key]; judged {
		return nil
	}
	if _, _, err := s.approved(ctx, p, ""); err != nil {
		return because(Waits, fmt.Errorf("phase %q is not approved, as far as this worker can tell: %w", p.Name, err))
	}
	w.clear[key] = nil
	return nil
}

// settled proves and keeps what another worker, or this one before a restart, may have
// left half done at the site.
func (w *Worker) settled(ctx context.Context, s *staged, t *task) error {
	key := keySite(t.Run, w.Site) + "/by"
	e, err := s.rec.store.Get(ctx, key)
	if err == nil && string(e.Value) == w.self {
		return nil
	}
	if err != nil && !errors.As(err, new(*store.NotFoundError)) {
		return w.Env.Records.trouble(err)
	}
	if err == nil { // somebody was here
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	return w.Env.Records.trouble(put(ctx, s.rec.store, key, []byte(w.self)))
}

// stops asks for a pause once whoever leads the run wants nothing more of a task begun,
// or nobody leads it any more. The function that it returns ends that, and reports
// whether one was asked for.
func (w *Worker) stops(ctx context.Context, t *task) (stopped func() bool) {
	end := w.Env.Pauses.offer()
	asked, ended := make(chan bool, 1), make(chan struct{})
	go func() {
		stop := false
		defer func() { asked <- stop }()
		for !stop {
			select {
			case <-ended:
				return
			case <-ctx.Done():
				return
			case <-time.After(heldEvery):
			}
			now, err := w.Env.Records.task(ctx, w.Env.Simulated, w.Site)
			led, unknown := w.Env.Records.leads(ctx, w.Env.Simulated, t.Lead)
			if err == nil && unknown == nil { // a store that is away is told by the lease
				stop = now == nil || now.ID != t.ID || now.Stop || !led
			}
		}
		w.Env.Pauses.Ask()
	}()
	return func() bool {
		close(ended)
		stop := <-asked
		end()
		return stop
	}
}

// mark marks devices of the site, all or none, or takes marks away.
func (w *Worker) mark(ctx context.Context, s *staged, t *task, o *outcome) {
	in := s.site.Input
	of := sitesOf(s.site.Model)
	if t.Mark == nil || t.Mark.Owner != in.Owner || slices.ContainsFunc(t.Devices, func(d string) bool { return of[d] != w.Site }) {
		o.note(because(Misused, fmt.Errorf("marks of owner %q on %s are asked for, which is not of this site", in.Owner, hint.Few(t.Devices, ", "))))
		return
	}
	if t.Do == jobUnmark {
		o.Left = in.ClearMarks(ctx, *t.Mark, t.Devices)
		return
	}
	if err := s.site.plugged(ctx, s.plan); err != nil {
		o.note(err)
		return
	}
	if err := recalled(ctx, in, t.Devices); err != nil {
		o.note(err)
		return
	}
	in.Mine = s.rec.records.mineOf(s.run.ID, t.Mark.Token)
	_, err := in.SetMarks(ctx, *t.Mark, t.Devices)
	o.note(err)
}
