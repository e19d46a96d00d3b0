package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"weft/internal/prove"
	"weft/internal/store"
	"weft/plan/rollout"
)

// bent is a store as it was at some time, in which one document says something else.
type bent struct {
	store.Store
	entries []store.Entry
	key     string
	text    []byte
}

func (b *bent) Get(_ context.Context, key string) (store.Entry, error) {
	list, _, _ := b.List(context.Background(), "")
	for _, e := range list {
		if e.Key == key {
			return e, nil
		}
	}
	return store.Entry{}, &store.NotFoundError{Key: key}
}

func (b *bent) List(_ context.Context, folder string) (list []store.Entry, at store.Revision, err error) {
	for _, e := range b.entries {
		if e.Key == b.key {
			e.Value = b.text
		}
		if folder == "" || strings.HasPrefix(e.Key, folder+"/") {
			list = append(list, e)
		}
	}
	return list, 1, nil
}

// No document in a store ends the process that reads it.
func TestBentDocuments(t *testing.T) {
	t.Parallel()
	f := sited(t, sharedAt(t, t.TempDir()))
	f.model.Rollouts[0].Phases[1].Approve = "manual"
	f.crewAt(t, "dc1", "dc2")
	var stop *rollout.Stop
	if err := f.lead(within(t), f.env()); !errors.As(err, &stop) || stop.State != rollout.Waiting {
		t.Fatalf("it waits: %v", err)
	}
	e := f.env()
	ctx := within(t)
	s, err := e.Records.use(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := e.Records.Latest(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	job := &task{ID: "T", Run: rec.ID, Lead: "x", Do: jobApply, Phase: "phase-b", Steps: nil}
	reading := &prove.Snapshot{Samples: []prove.Sample{{Counter: prove.Counter{Device: "a"}}}}
	base := prove.Baseline{Format: prove.BaselineFormat}
	base.Record(&prove.Result{Judgements: []prove.Judgement{{Validation: "healthy", Metric: "p99", Pair: "a to b", Verdict: prove.Pass}}}, time.Now())
	for key, v := range map[string]any{keyWork(false, "dc1"): job, keyRecord(rec.ID, "counters"): reading, keyBaseline(false): base,
		keyAbandoned(rec.ID): Abandoned{Run: "x", Devices: []string{"a"}}} {
		if err := putLarge(ctx, s, key, v); err != nil {
			t.Fatal(err)
		}
	}
	rec.Run.Phases[0].Begun = rec.Run.Phases[0].Steps[:1]
	rec.Run.Phases[0].Steps = rec.Run.Phases[0].Steps[1:]
	if err := errors.Join(rec.save(ctx), rec.PutApproval(ctx, "phase-b", "ann", []byte("{}")), rec.Hold(ctx, "ann")); err != nil {
		t.Fatal(err)
	}
	entries, _, err := s.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	w := f.worker("dc1")
	w.crews, w.clear = map[string]*staged{}, map[cleared]bool{}
	n := 0
	for _, doc := range entries {
		var any any
		if json.Unmarshal(doc.Value, &any) != nil {
			continue // journals are lines
		}
		for at, text := range bends(t, doc.Value) {
			n++
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s with %s\n%s\n%v", doc.Key, at, text, r)
					}
				}()
				reads(ctx, f, w, &bent{s, entries, doc.Key, text}, rec.ID)
			}()
		}
	}
	if n < 500 {
		t.Errorf("only %d documents were bent", n)
	}
}

// reads reads all that is kept of a run, as its leader, its worker and those who look do.
func reads(ctx context.Context, f *fabric, w *Worker, s store.Store, id string) {
	r := &Records{place: f.dir, shared: &Sharing{Name: "bent"}, opened: s}
	e := f.env()
	e.Records = r
	var all []error
	keep := func(_ any, err error) { all = append(all, err) }
	keep(r.Heads(ctx, false))
	keep(r.Unfinished(ctx, false))
	keep(r.markings(ctx, false))
	keep(r.Baseline(ctx, false))
	keep(r.ChangedSince(ctx, time.Time{}, false))
	keep(r.task(ctx, false, "dc1"))
	keep(r.leads(ctx, false, ""))
	keep(r.Viewer().Picture(ctx, id))
	rec, err := r.Find(ctx, id)
	if err != nil || rec == nil {
		return
	}
	keep(rec.Measured(ctx))
	keep(rec.Soak(ctx))
	keep(rec.isHeld(ctx), nil)
	if journal, err := rec.Journal(ctx); err == nil {
		keep(io.ReadAll(journal))
	}
	if lines, err := rec.Audit(ctx); err == nil {
		list, _, err := VerifyAudit(lines)
		keep(AuditEnd(list), err)
	}
	saved, err := rec.Plan(ctx)
	if err != nil {
		return
	}
	if st, err := e.restaged(rec, saved, f.site(e)); err == nil {
		_ = st.former(ctx)
		_, _, err := st.approved(ctx, &st.spec.Phases[0], "")
		keep(st.phaseName(), err)
		c := &crew{run: st, of: map[string]string{"a": "dc1", "b": "dc2"}}
		keep(c.holder(ctx, "dc1"))
	}
	w.Env.Records = r
	if st, err := w.staged(ctx, rec); err == nil {
		if job, err := r.task(ctx, false, "dc1"); err == nil && job != nil {
			all = append(all, w.may(ctx, st, job))
		}
	}
	_ = fmt.Sprint(all)
}
