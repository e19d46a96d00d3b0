package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/internal/store/dir"
	"weft/plan"
	"weft/plan/rollout"
)

// Records are the runs that are kept in a store. Whoever has the record of a run goes
// on with it.
type Records struct {
	place  string // the directory with .weft: spools, and the store where there is no other
	shared *Sharing

	site string // whose workers use them: what they write stands below it; "": it is none

	mu      sync.Mutex
	opened  store.Store
	holding *Holding // while this process carries something out; see Hold

	asking   sync.Once
	itsEpoch uint64 // of the store, once it was asked; see epoch

	known tokens // of marks of runs, as they were asked for

	takes string     // the run that is taken over, if one is
	taken *Abandoned // it, until that is recorded
}

// Sharing is a store that several machines use.
type Sharing struct {
	Name  string // for people: where it is
	Owner string // whose runs it keeps; "": nobody has asked
	Lease time.Duration
	Open  func(context.Context) (store.Store, error)
}

// In are the records of a directory: place/.weft/store.
func In(place string) *Records { return &Records{place: place} }

// InShared are records in a store that others use, too. What is on its way there is
// spooled in place/.weft.
func InShared(place string, s Sharing) *Records { return &Records{place: place, shared: &s} }

// ForSite are the same records for the workers of a site, which spool in a directory of
// their own and write where their credentials let them.
func (r *Records) ForSite(site string) *Records {
	return &Records{place: filepath.Join(r.place, ".weft", "worker", store.Segment(site)), shared: r.shared, site: site}
}

// Where says for people where runs are kept.
func (r *Records) Where() string {
	if r.shared != nil {
		return r.shared.Name
	}
	return r.root()
}

// Shared reports whether others may use the store.
func (r *Records) Shared() bool { return r.shared != nil }

func (r *Records) root() string { return filepath.Join(r.place, ".weft", "store") }

// look opens the store to read; nil: nothing was ever kept.
func (r *Records) look(ctx context.Context) (store.Store, error) { return r.open(ctx, false) }

// use opens the store to write.
func (r *Records) use(ctx context.Context) (store.Store, error) { return r.open(ctx, true) }

func (r *Records) open(ctx context.Context, make bool) (store.Store, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened != nil {
		return r.opened, nil
	}
	if r.shared != nil {
		s, err := r.shared.Open(ctx)
		if err == nil {
			if err = r.belongs(ctx, s); err != nil {
				err = errors.Join(err, s.Close())
			}
		}
		if err != nil {
			return nil, r.trouble(err)
		}
		r.opened = s
		return s, nil
	}
	if err := r.refuseFolder(); err != nil {
		return nil, err
	}
	if !make && !isDir(r.root()) {
		return nil, nil
	}
	s, err := dir.Open(ctx, r.root(), dir.Options{})
	if err != nil {
		return nil, err
	}
	r.opened = s
	return s, nil
}

// refuseFolder refuses runs in the form that preceded the store: one folder for each, and a baseline file.
func (r *Records) refuseFolder() error {
	old := []string{filepath.Join(r.place, ".weft", "runs")}
	if !isDir(r.root()) {
		old = append(old, filepath.Join(r.place, ".weft", "baseline.json"), filepath.Join(r.place, ".weft", "baseline-lab.json"))
	}
	for _, path := range old {
		if _, err := os.Stat(path); err == nil {
			return hint.Wrap(fmt.Errorf("%s has the form of a development version of weft, which this version does not read", path),
				"end unfinished runs with the version that began them, then move it away; weft plan shows run locks that are left on devices, and weft unlock --force removes them")
		}
	}
	return nil
}

// belongs refuses a store of another owner: its runs would be taken for one's own.
func (r *Records) belongs(ctx context.Context, s store.Store) error {
	if r.shared.Owner == "" {
		return nil
	}
	text, err := json.Marshal(r.shared.Owner)
	if err != nil {
		return err
	}
	e, err := s.Get(ctx, keyOwner)
	if errors.As(err, new(*store.NotFoundError)) {
		_, err = s.Create(ctx, keyOwner, text)
		if errors.As(err, new(*store.ExistsError)) {
			e, err = s.Get(ctx, keyOwner)
		}
	}
	if err == nil && e.Value != nil && !bytes.Equal(e.Value, text) {
		return because(Misused, hint.Wrap(fmt.Errorf("%s keeps the runs of owner %s, and these files are of %s", r.shared.Name, e.Value, text), "each owner has its own store"))
	}
	return err
}

// Close lets go of the store.
func (r *Records) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened == nil {
		return nil
	}
	err := r.opened.Close()
	r.opened = nil
	return err
}

// trouble says what a store that does not do what it should means for a run.
func (r *Records) trouble(err error) error {
	var away *store.UnavailableError
	if errors.As(err, &away) {
		if r.shared == nil {
			return err
		}
		return because(Waits, hint.Wrap(fmt.Errorf("waiting for the store %s: %w", r.shared.Name, err),
			"nothing more is begun until it answers; ask again then. What was begun was finished, and the devices' marks say whose they are"))
	}
	return err
}

// A Record is what is kept of a run.
type Record struct {
	*Head
	Run *rollout.Run // how far it has come

	records *Records
	store   store.Store
	at      store.Revision // of the head
	plan    *plan.Plan     // once it was read
	kept    map[string]keptDoc
	drawn   map[string]*drawing // of each phase, as it was last written
	fresh   bool                // this process has made it
}

// Plan reads the plan that the run carries out.
func (r *Record) Plan(ctx context.Context) (*plan.Plan, error) {
	if r.plan != nil {
		return r.plan, nil
	}
	text, err := r.PlanText(ctx)
	if err != nil {
		return nil, err
	}
	r.plan, err = plan.ReadPlan(bytes.NewReader(text))
	return r.plan, err
}

// folded reads it for who works on a part of it.
func (r *Record) folded(ctx context.Context) (*plan.Folded, error) {
	text, err := r.PlanText(ctx)
	if err != nil {
		return nil, err
	}
	return plan.ReadFolded(text)
}

// PlanText is the plan that the run carries out, as it was reviewed.
func (r *Record) PlanText(ctx context.Context) ([]byte, error) {
	text, err := readBlob(ctx, r.store, r.Head.Plan, plan.MaxFile)
	if err != nil {
		return nil, r.records.trouble(fmt.Errorf("the plan of run %s: %w", r.ID, err))
	}
	return text, nil
}

// Hold asks the run to stop before it touches anything more, whoever is at work
// on it.
func (r *Record) Hold(ctx context.Context, by string) error {
	text, err := json.Marshal(map[string]any{"by": by, "time": time.Now().UTC()})
	if err == nil {
		err = put(ctx, r.store, keyPause(r.ID), text)
	}
	if err == nil {
		err = r.audit(ctx, AuditEntry{What: auditPause, By: by})
	}
	if err != nil {
		return r.records.trouble(fmt.Errorf("pause: %w", err))
	}
	return nil
}

// release lets the run go on.
func (r *Record) release(ctx context.Context) error {
	return r.records.trouble(remove(ctx, r.store, keyPause(r.ID)))
}

// isHeld reports whether an operator asked for a pause. A store that does not answer says
// nothing: whether more may be begun is not decided here.
func (r *Record) isHeld(ctx context.Context) bool {
	_, err := r.store.Get(ctx, keyPause(r.ID))
	return err == nil
}

// putPlan keeps the text of a plan, by its digest.
func putPlan(ctx context.Context, s store.Store, p *plan.Plan) (store.Digest, error) {
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return "", err
	}
	return s.PutBlob(ctx, &text)
}

// ReadPlan reads a plan file.
func ReadPlan(path string) (*plan.Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := plan.ReadPlan(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// absent: there is no such file.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
