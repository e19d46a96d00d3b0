package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/plan"
)

// keptDoc is a document as it was last written or read.
type keptDoc struct {
	at   store.Revision
	text []byte
}

// writers is how many documents are written at the same time.
const writers = 16

// save keeps how far the run has come: first what devices have got, then that it is not
// merely begun any more, then the head. Who is killed in between has done no more than
// is kept, or has kept as begun what was not: both is done again. It fails where another weft has changed the run since.
func (r *Record) save(ctx context.Context) error {
	changed, err := r.changed()
	if err != nil {
		r.drawn = nil
		return err
	}
	var todo, gone []string
	for key, text := range changed {
		switch was, ok := r.kept[key]; {
		case text == nil && ok:
			gone = append(gone, key)
		case text != nil && (!ok || !bytes.Equal(was.text, text)):
			todo = append(todo, key)
		}
	}
	for _, keys := range [][]string{todo, gone} {
		if err := r.write(ctx, keys, changed); err != nil {
			r.drawn = nil // the next time all is held against what stands
			return err
		}
	}
	r.rendered()
	r.put(r.Run)
	return r.saveHead(ctx)
}

// write writes documents, several at a time, each as nobody has changed it since.
func (r *Record) write(ctx context.Context, todo []string, docs map[string][]byte) error {
	errs, ats := make([]error, len(todo)), make([]store.Revision, len(todo))
	turn := make(chan struct{}, writers)
	var all sync.WaitGroup
	for i, key := range todo {
		was, text := r.kept[key], docs[key]
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			switch {
			case text == nil:
				errs[i] = r.store.Delete(ctx, key, was.at)
			case was.at == 0:
				ats[i], errs[i] = r.store.Create(ctx, key, text)
			default:
				ats[i], errs[i] = r.store.Update(ctx, key, text, was.at)
			}
		})
	}
	all.Wait()
	for i, key := range todo {
		switch {
		case errs[i] != nil:
		case docs[key] == nil:
			delete(r.kept, key)
		default:
			r.kept[key] = keptDoc{ats[i], docs[key]}
		}
	}
	return r.refused(errors.Join(errs...))
}

// saveHead changes the head, as nobody has changed it since.
func (r *Record) saveHead(ctx context.Context) error {
	r.Changed = time.Now().UTC()
	text, err := json.Marshal(r.Head)
	if err != nil {
		return err
	}
	at, err := r.store.Update(ctx, keyRun(r.ID), text, r.at)
	if err == nil {
		r.at = at
	}
	return r.refused(err)
}

// refused says what kept a change of the run from being made.
func (r *Record) refused(err error) error {
	if raced(err) {
		return because(Taken, hint.Wrap(fmt.Errorf("another process changed run %s meanwhile and continues it: %w", r.ID, err), "see weft rollout status"))
	}
	if err == nil {
		return nil
	}
	err = r.records.trouble(fmt.Errorf("keep the run: %w", err))
	if r.at > 0 && !r.records.Shared() && errors.As(err, new(*store.UnavailableError)) { // it has begun: who hears of it must not think that nothing was changed
		return because(Waits, hint.Wrap(err, "nothing more is begun; when %s can be written again, as when there is room: weft rollout resume", r.records.Where()))
	}
	return err
}

// load reads how far the run has come.
func (r *Record) load(ctx context.Context) error {
	r.kept, r.drawn = map[string]keptDoc{}, nil
	if r.Plain() {
		return nil
	}
	p, err := r.Plan(ctx)
	if err != nil {
		return err
	}
	steps := make(map[plan.ID]plan.PlannedStep, len(p.Steps))
	for _, s := range p.Steps {
		steps[s.ID] = s
	}
	done, err := details[progress](ctx, r, "progress")
	if err != nil {
		return err
	}
	half, err := details[begun](ctx, r, "begun")
	if err != nil {
		return err
	}
	samples, err := details[verdicts](ctx, r, "verdicts")
	if err != nil {
		return err
	}
	for i := range r.Run.Phases {
		p := &r.Run.Phases[i]
		var list []placed
		for _, d := range done {
			for _, s := range d.Done {
				if d.Phase == p.Name {
					list = append(list, placed{s.Place, plan.ID{Device: d.Device, Kind: s.Kind, Name: s.Name}})
				}
			}
		}
		slices.SortFunc(list, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
		var also []placed
		for _, b := range half {
			for _, id := range b.Steps {
				if b.Phase == p.Name {
					also = append(also, placed{id: id})
				}
			}
		}
		var errs [2]error
		p.Steps, errs[0] = inPlan(list, steps)
		p.Begun, errs[1] = inPlan(also, steps)
		if err := errors.Join(errs[:]...); err != nil {
			return fmt.Errorf("run %s: %w", r.ID, err)
		}
		for _, v := range samples {
			if v.Phase == p.Name {
				p.Verdicts = append(p.Verdicts, v.Samples...)
			}
		}
	}
	return nil
}

// details reads documents of one kind, in the order of their keys.
func details[T any](ctx context.Context, r *Record, kind string) ([]T, error) {
	entries, _, err := r.store.List(ctx, keyRecord(r.ID, kind))
	if err != nil {
		return nil, r.records.trouble(err)
	}
	list := make([]T, len(entries))
	for i, e := range entries {
		if err := decode(e.Value, store.MaxValue, &list[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Key, err)
		}
		r.kept[e.Key] = keptDoc{e.Revision, e.Value}
	}
	return list, nil
}

// placed is a step with its place in a phase.
type placed struct {
	place int
	id    plan.ID
}

// inPlan finds steps in the plan.
func inPlan(list []placed, steps map[plan.ID]plan.PlannedStep) (out []plan.PlannedStep, err error) {
	for _, p := range list {
		step, ok := steps[p.id]
		if !ok {
			return nil, fmt.Errorf("its plan has no step %s", p.id)
		}
		out = append(out, step)
	}
	return out, nil
}

// drop forgets a run that never began.
func (r *Record) drop(ctx context.Context) error {
	entries, _, err := r.store.List(ctx, keyRecord(r.ID))
	errs := []error{err}
	for _, e := range entries {
		errs = append(errs, remove(ctx, r.store, e.Key))
	}
	errs = append(errs, remove(ctx, r.store, keyPause(r.ID)))
	if err := errors.Join(errs...); err != nil {
		return r.records.trouble(err)
	}
	err = r.store.Delete(ctx, keyRun(r.ID), r.at)
	if err == nil {
		_, err = r.store.Get(ctx, keyPlan(r.Head.Plan))
		if errors.As(err, new(*store.NotFoundError)) { // nobody else keeps it
			err = r.store.DeleteBlob(ctx, r.Head.Plan)
		}
	}
	return r.records.trouble(err)
}
