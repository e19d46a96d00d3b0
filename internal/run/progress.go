package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"weft/internal/slice"
	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// progress is what a phase has done to a device. The steps themselves stand in the plan.
type progress struct {
	Phase  string     `json:"phase"`
	Device string     `json:"device"`
	Done   []doneStep `json:"done"`
}

// begun are some of the steps that a phase has begun, and may have carried out. All of
// them are written at once, and gone as soon as it is known what became of them.
type begun struct {
	Phase string    `json:"phase"`
	Steps []plan.ID `json:"steps"`
}

const begunOf = 500 // in a document

// A doneStep is a step by its place among those that the phase has carried out.
type doneStep struct {
	Place int    `json:"n"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// verdicts are some of what the gate of a phase said.
type verdicts struct {
	Phase   string           `json:"phase"`
	Samples []rollout.Sample `json:"samples"`
}

const verdictsOf = 100 // in a document

// A drawing is what the documents of a phase say that were written last, so that only
// what has come since is written: a run of many batches costs what it does, not that
// times its batches.
type drawing struct {
	steps    []plan.ID
	of       map[string]*progress // by device
	begun    int                  // documents
	verdicts int                  // samples
}

// changed are the documents beside the head that may not say any more how far the run
// has come; nil is one that is to go.
func (r *Record) changed() (map[string][]byte, error) {
	docs := map[string]any{}
	for i := range r.Run.Phases {
		p := &r.Run.Phases[i]
		d := r.drawn[p.Name]
		if d == nil || !d.goesOn(p.Steps) {
			d = r.redraw(p.Name, docs)
		}
		for n := len(d.steps); n < len(p.Steps); n++ {
			id := p.Steps[n].ID
			at := d.of[id.Device]
			if at == nil {
				at = &progress{Phase: p.Name, Device: id.Device}
				d.of[id.Device] = at
			}
			at.Done = append(at.Done, doneStep{n, id.Kind, id.Name})
			docs[keyRecord(r.ID, "progress", p.Name, id.Device)] = at
			d.steps = append(d.steps, id)
		}
		r.halfDone(p, d, docs)
		for n := d.verdicts / verdictsOf; n*verdictsOf < len(p.Verdicts); n++ {
			v := verdicts{Phase: p.Name, Samples: slices.Clone(p.Verdicts[n*verdictsOf : min((n+1)*verdictsOf, len(p.Verdicts))])}
			for i := range v.Samples {
				v.Samples[i].Why = clip(v.Samples[i].Why)
			}
			docs[piece(keyRecord(r.ID, "verdicts", p.Name), n)] = v
		}
	}
	texts := make(map[string][]byte, len(docs))
	for key, doc := range docs {
		if doc == nil {
			texts[key] = nil
			continue
		}
		text, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		texts[key] = text
	}
	return texts, nil
}

// goesOn reports whether a phase has done what it had when it was written, and maybe more.
func (d *drawing) goesOn(steps []plan.PlannedStep) bool {
	if len(steps) < len(d.steps) {
		return false
	}
	for i, id := range d.steps {
		if steps[i].ID != id {
			return false
		}
	}
	return true
}

// redraw begins a phase anew: whatever stands of it goes, unless it is written again.
func (r *Record) redraw(phase string, docs map[string]any) *drawing {
	for _, kind := range []string{"progress", "begun", "verdicts"} {
		for key := range r.kept {
			if strings.HasPrefix(key, keyRecord(r.ID, kind, phase)+"/") {
				docs[key] = nil
			}
		}
	}
	d := &drawing{of: map[string]*progress{}}
	if r.drawn == nil {
		r.drawn = map[string]*drawing{}
	}
	r.drawn[phase] = d
	return d
}

// halfDone adds the documents of what a phase has begun.
func (r *Record) halfDone(p *rollout.PhaseRun, d *drawing, docs map[string]any) {
	folder, n := keyRecord(r.ID, "begun", p.Name), 0
	for steps := range slices.Chunk(p.Begun, begunOf) {
		b := begun{Phase: p.Name}
		b.Steps = slice.Map(steps, func(s plan.PlannedStep) plan.ID { return s.ID })
		docs[piece(folder, n)] = b
		n++
	}
	for gone := n; gone < d.begun; gone++ {
		docs[piece(folder, gone)] = nil
	}
	d.begun = n
}

// rendered: what was drawn is written.
func (r *Record) rendered() {
	for _, p := range r.Run.Phases {
		r.drawn[p.Name].verdicts = len(p.Verdicts)
	}
}

// loadOf reads how far some steps have come, which are those of a site: what that costs
// has nothing to do with how large the run is, and devices that were found done are not
// asked for again. What else has been done is not known then.
func (s *staged) loadOf(ctx context.Context, steps []plan.PlannedStep) error {
	r := s.rec
	if s.whole == nil {
		s.whole = map[[2]string]bool{}
	}
	of := map[string]map[string][]plan.PlannedStep{} // by phase and device
	for _, s := range steps {
		if of[s.Phase] == nil {
			of[s.Phase] = map[string][]plan.PlannedStep{}
		}
		of[s.Phase][s.ID.Device] = append(of[s.Phase][s.ID.Device], s)
	}
	var mu sync.Mutex
	var errs []error
	turn := make(chan struct{}, writers)
	var all sync.WaitGroup
	for i := range r.Run.Phases {
		p := &r.Run.Phases[i]
		if p.State == rollout.Pending {
			continue
		}
		for device, steps := range of[p.Name] {
			key := [2]string{p.Name, device}
			mu.Lock()
			whole := s.whole[key]
			if whole {
				p.Steps = append(p.Steps, steps...)
			}
			mu.Unlock()
			if whole {
				continue
			}
			turn <- struct{}{}
			all.Go(func() {
				defer func() { <-turn }()
				done, err := r.doneAt(ctx, p.Name, device, steps)
				mu.Lock()
				defer mu.Unlock()
				p.Steps = append(p.Steps, done...)
				s.whole[key] = err == nil && len(done) == len(steps)
				if err != nil {
					errs = append(errs, err)
				}
			})
		}
	}
	all.Wait()
	return r.records.trouble(errors.Join(errs...))
}

// doneAt are the steps of a device that a phase has carried out.
func (r *Record) doneAt(ctx context.Context, phase, device string, steps []plan.PlannedStep) ([]plan.PlannedStep, error) {
	e, err := r.store.Get(ctx, keyRecord(r.ID, "progress", phase, device))
	if errors.As(err, new(*store.NotFoundError)) {
		return nil, nil
	}
	var d progress
	if err == nil {
		err = decode(e.Value, store.MaxValue, &d)
	}
	if err != nil {
		return nil, fmt.Errorf("how far run %s is at %s: %w", r.ID, device, err)
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s plan.PlannedStep) bool {
		return !slices.ContainsFunc(d.Done, func(x doneStep) bool { return x.Kind == s.ID.Kind && x.Name == s.ID.Name })
	}), nil
}
