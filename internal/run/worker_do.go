package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"weft/internal/prove"
	"weft/internal/store"
	"weft/internal/text"
	"weft/modules"
	"weft/plan"
)

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
		s.whole = nil
		o.Result, err = s.reverse(ctx, s.plan.Part(chosen(t.Steps)).Steps)
	case jobMeasure:
		if err = s.loadOf(ctx, s.plan.Steps); err != nil {
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

func chosen(steps []plan.ID) func(plan.PlannedStep) bool {
	of := make(map[plan.ID]bool, len(steps))
	for _, id := range steps {
		of[id] = true
	}
	return func(s plan.PlannedStep) bool { return of[s.ID] }
}

// staged is the part of a run that the site has, as the run is now. It is opened again where
// the head names another plan than the one that was opened.
func (w *Worker) staged(ctx context.Context, rec *Record) (*staged, error) {
	s := w.crews[rec.ID]
	if s != nil && s.digest != rec.Head.Plan {
		w.say("warn", fmt.Errorf("run %s names another plan than before: %s, and not %s", rec.ID, rec.Head.Plan, s.digest))
		s = nil
	}
	if s == nil {
		w.close() // one run at a time
		var err error
		if s, err = w.part(ctx, rec); err != nil {
			return nil, err
		}
		w.crews[rec.ID], s.clear = s, w.clear
		for _, d := range s.site.Input.Devices {
			d.SaveLater()
		}
	}
	spec, err := specFor(s.site.Model, rec.Run) // the head may be anybody's
	if err != nil {
		return nil, err
	}
	s.rec, s.run, s.spec = rec, rec.Run, spec
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

// part opens the part of a run that the site has: what the plan says of other sites is
// not even taken apart.
func (w *Worker) part(ctx context.Context, rec *Record) (*staged, error) {
	folded, err := rec.folded(ctx)
	if err != nil {
		return nil, err
	}
	site, err := w.Env.Open(folded.Head)
	if err != nil {
		return nil, err
	}
	of := sitesOf(site.Model)
	here := func(device string) bool { return of[device] == w.Site }
	own, err := folded.Part(here)
	if err == nil {
		if list := site.policed(own); list != nil {
			err = fmt.Errorf("%s: %s", list[0].ID, list[0].Text)
		}
	}
	if err != nil {
		return nil, errors.Join(err, site.Close())
	}
	s, err := w.Env.restaged(rec, own, site)
	if err != nil {
		return nil, err
	}
	site.Model, site.Input = atSite(site.Model, w.Site), site.Input.At(here)
	if f := site.Fleet; f != nil { // the other devices were never opened
		f.Items = site.Input.Items
		maps.DeleteFunc(f.Devices, func(address string, _ modules.Device) bool { return site.Input.Devices[address] == nil })
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
		s.whole = nil
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
		o.note(because(Misused, fmt.Errorf("marks of owner %q on %s are asked for, which is not of this site", in.Owner, text.Few(t.Devices, ", "))))
		return
	}
	if other := "sha256-" + t.Mark.Plan; t.Do == jobMark && (t.Mark.Run != s.run.ID || other != string(s.digest)) {
		o.note(because(Misused, fmt.Errorf("a mark of run %s and plan %s is asked for, and the run is %s with plan %s", t.Mark.Run, other, s.run.ID, s.digest)))
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
