package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/prove"
	"weft/internal/store"
	"weft/internal/wait"
	"weft/plan"
	"weft/plan/rollout"
)

// A Viewer reads runs for those who look at them again and again. It changes nothing,
// and does not read twice what is large and stays: plans, and results.
type Viewer struct {
	records *Records

	mu      sync.Mutex
	plans   []*viewedPlan         // the last few
	results map[string]viewedKept // of the run that was looked at last, by key
	of      string                // that run
}

type viewedPlan struct {
	digest store.Digest
	plan   *plan.Plan
}

type viewedKept struct {
	at   store.Revision
	kept Kept
}

// A Picture is what is kept of a run, as it is at a moment. Nothing in it is to be
// changed: pictures share what has stayed the same.
type Picture struct {
	*Head
	Run       *rollout.Run
	Plan      *plan.Plan
	Held      bool           // somebody asked for a pause
	AtWork    string         // who goes on with runs of this store just now; "": nobody is known to
	Measured  []Kept         // the latest results of gates and records
	Soak      []prove.Look   // every look
	Journal   []JournalEntry // the last, the latest at its end
	Journaled int            // entries there are
	Signed    map[string]int // signatures that are kept, by phase; whether they count is not judged
}

// A JournalEntry is what was done to a device, in short.
type JournalEntry struct {
	Time   time.Time `json:"time"`
	Device string    `json:"device"`
	Do     string    `json:"do"`    // begin, step, commit or abort
	State  string    `json:"state"` // start, done or failed
	ID     string    `json:"id"`    // of the step
	Error  string    `json:"error"`
}

// How much a viewer shows and remembers.
const (
	journalTail = 200 // entries
	plansViewed = 4
)

// Viewer makes a viewer of the records.
func (r *Records) Viewer() *Viewer { return &Viewer{records: r} }

// Where says for people where the runs are kept.
func (v *Viewer) Where() string { return v.records.Where() }

// Heads are all runs, of the lab and of real devices, the latest first.
func (v *Viewer) Heads(ctx context.Context) ([]*Head, error) {
	var all []*Head
	for _, simulated := range []bool{false, true} {
		list, err := v.records.Heads(ctx, simulated)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b *Head) int { return b.Begun.Compare(a.Begun) })
	return all, nil
}

// Picture reads a run; nil: there is none of that name.
func (v *Viewer) Picture(ctx context.Context, id string) (*Picture, error) {
	s, err := v.records.look(ctx)
	if s == nil {
		return nil, err
	}
	e, err := s.Get(ctx, keyRun(id))
	if errors.As(err, new(*store.NotFoundError)) {
		return nil, nil
	}
	if err != nil {
		return nil, v.records.trouble(err)
	}
	h, err := readHead(e)
	if err != nil {
		return nil, err
	}
	rec := &Record{Head: h, Run: h.run(), records: v.records, store: s, at: e.Revision}
	if rec.plan, err = v.plan(ctx, rec); err != nil {
		return nil, err
	}
	if err := rec.load(ctx); err != nil {
		return nil, err
	}
	p := &Picture{Head: h, Run: rec.Run, Plan: rec.plan}
	if !h.Over() {
		p.Held = rec.isHeld(ctx)
		p.AtWork = v.records.AtWork(ctx, h.Simulated)
	}
	return p, v.read(ctx, rec, p)
}

// read adds what grows while a run lasts.
func (v *Viewer) read(ctx context.Context, rec *Record, p *Picture) (err error) {
	if p.Measured, err = v.measured(ctx, rec); err != nil {
		return err
	}
	if p.Soak, err = rec.Soak(ctx); err != nil {
		return err
	}
	journal, err := rec.Journal(ctx)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(journal)
	if err != nil {
		return err
	}
	p.Journal, p.Journaled = tailOf(text)
	p.Signed = map[string]int{}
	for _, phase := range rec.Run.Phases {
		list, err := rec.Approvals(ctx, phase.Name)
		if err != nil {
			return err
		}
		p.Signed[phase.Name] = len(list)
	}
	return nil
}

// tailOf reads the last entries of a journal, and counts all of them.
func tailOf(text []byte) (tail []JournalEntry, all int) {
	all = bytes.Count(text, []byte("\n"))
	for len(text) > 0 && len(tail) < journalTail {
		text = bytes.TrimRight(text, "\n")
		i := bytes.LastIndexByte(text, '\n')
		var e JournalEntry
		if json.Unmarshal(text[i+1:], &e) == nil && e.Device != "" { // one may have been cut off
			tail = append(tail, e)
		}
		text = text[:i+1]
	}
	slices.Reverse(tail)
	return tail, all
}

// plan reads the plan of a run, unless it is among the last that were read.
func (v *Viewer) plan(ctx context.Context, rec *Record) (*plan.Plan, error) {
	v.mu.Lock()
	for _, known := range v.plans {
		if known.digest == rec.Head.Plan {
			v.mu.Unlock()
			return known.plan, nil
		}
	}
	v.mu.Unlock()
	p, err := rec.Plan(ctx)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.plans = append(v.plans, &viewedPlan{rec.Head.Plan, p})
	v.plans = v.plans[max(0, len(v.plans)-plansViewed):]
	return p, nil
}

// measured reads the results that are new.
func (v *Viewer) measured(ctx context.Context, rec *Record) ([]Kept, error) {
	entries, _, err := rec.store.List(ctx, keyRecord(rec.ID, "measured"))
	if err != nil {
		return nil, v.records.trouble(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of != rec.ID {
		v.of, v.results = rec.ID, map[string]viewedKept{}
	}
	var list []Kept
	for _, e := range entries {
		known, ok := v.results[e.Key]
		if !ok || known.at != e.Revision {
			known = viewedKept{at: e.Revision}
			err := openLarge(ctx, rec.store, e, &known.kept)
			if errors.As(err, new(*store.NotFoundError)) {
				continue // it is being replaced, and is there the next time
			}
			if err != nil {
				return nil, v.records.trouble(err)
			}
			v.results[e.Key] = known
		}
		list = append(list, known.kept)
	}
	slices.SortStableFunc(list, func(a, b Kept) int { return a.Time.Compare(b.Time) })
	return list, nil
}

// lookAgain is how long a store is left alone that is not there, or does not answer.
const lookAgain = 2 * time.Second

// Follow yields whenever something of a run may have changed ("": of the list of runs),
// first of all at once, until the context or the loop ends. It yields an error where the
// store does not answer, and tries again.
func (v *Viewer) Follow(ctx context.Context, id string) iter.Seq[error] {
	return func(yield func(error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		told := make(chan error, 1)
		tell := func(err error) {
			select {
			case told <- err:
			default: // that something has changed is to be told already
			}
		}
		folders := []string{"run", "pause"}
		if id != "" {
			folders = append(folders, keyRecord(id), "approval/"+store.Segment(id))
		}
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		for _, folder := range folders {
			all.Go(func() { v.follow(ctx, folder, id, tell) })
		}
		for {
			select {
			case <-ctx.Done():
				return
			case err := <-told:
				if !yield(err) {
					return
				}
			}
		}
	}
}

// follow tells of the changes of a folder.
func (v *Viewer) follow(ctx context.Context, folder, id string, tell func(error)) {
	for ctx.Err() == nil {
		s, err := v.records.look(ctx)
		if err == nil && s != nil {
			err = v.watch(ctx, s, folder, id, tell)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.As(err, new(*store.GapError)) {
			tell(v.records.trouble(err))
		}
		wait.For(ctx, lookAgain)
	}
}

func (v *Viewer) watch(ctx context.Context, s store.Store, folder, id string, tell func(error)) error {
	_, at, err := s.List(ctx, keyPause(id+"0")) // nothing is there: only the revision is wanted
	if err != nil {
		return err
	}
	tell(nil) // what has changed before is seen by whoever reads now
	for e, err := range s.Watch(ctx, folder, at) {
		if err != nil {
			return err
		}
		if id == "" || strings.HasPrefix(e.Key, "record/") || strings.HasPrefix(e.Key, "approval/") || e.Key == keyRun(id) || e.Key == keyPause(id) {
			tell(nil)
		}
	}
	return nil
}
