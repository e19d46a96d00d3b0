package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/store"
	"weft/internal/store/dir"
	"weft/plan"
	"weft/plan/rollout"
)

// sharedAt are records in a store that is a directory, as another machine has them.
func sharedAt(t *testing.T, root string) func() *Records {
	return func() *Records {
		return InShared(t.TempDir(), Sharing{Name: root, Lease: time.Minute, Open: func(ctx context.Context) (store.Store, error) {
			return dir.Open(ctx, root, dir.Options{})
		}})
	}
}

// everyStore does a test in each kind of store that several machines may share.
func everyStore(t *testing.T, do func(t *testing.T, records func() *Records)) {
	t.Parallel()
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		do(t, sharedAt(t, t.TempDir()))
	})
	t.Run("nats", func(t *testing.T) {
		t.Parallel()
		do(t, newHub(t).records(t))
	})
}

// Three machines with nothing but the store in common: one begins, one promotes, one
// reads it all.
func TestRunsOutliveMachines(t *testing.T) { everyStore(t, outlives) }

func outlives(t *testing.T, records func() *Records) {
	f := newFabric(t.TempDir())
	f.model.Rollouts[0].Phases[1].Approve = "manual"
	f.records = records
	var stop *rollout.Stop
	if err := f.start(within(t), f.env()); !errors.As(err, &stop) || stop.State != rollout.Waiting {
		t.Fatalf("it waits: %v", err)
	}
	if err := Promote(within(t), f.env(), Order{}); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
	e := f.env()
	rec, err := e.Records.Latest(within(t), false)
	if err != nil || rec == nil || rec.State != rollout.Passed {
		t.Fatalf("the run is %+v: %v", rec, err)
	}
	if n := len(rec.Run.Phases[0].Steps) + len(rec.Run.Phases[1].Steps); n != 4 {
		t.Errorf("it has %d steps", n)
	}
	journal, err := rec.Journal(within(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(journal)
	if n := bytes.Count(text, []byte(`"do":"step","state":"done"`)); n != 4 || err != nil {
		t.Errorf("the journal tells %d steps, %v:\n%s", n, err, text)
	}
	measured, err := rec.Measured(within(t))
	if err != nil || len(measured) != 2 {
		t.Errorf("%d results are kept: %v", len(measured), err)
	}
	soak, err := rec.Soak(within(t))
	if err != nil || len(soak) != 2 {
		t.Errorf("%d looks are kept: %v", len(soak), err)
	}
}

// While one is at work another machine is told, and nothing is reverted for it.
func TestLeaseKeepsOthersOut(t *testing.T) { everyStore(t, keepsOut) }

func keepsOut(t *testing.T, records func() *Records) {
	f := newFabric(t.TempDir())
	f.records = records
	var told []error
	f.during = func(*Env) {
		other := newFabric(f.dir)
		other.records = f.records
		e := other.env()
		if who := e.Records.AtWork(context.Background(), false); !strings.Contains(who, "is at work") {
			t.Errorf("it is said that %q", who)
		}
		for _, do := range []func(context.Context, *Env, Order) error{Step, Promote, Resume, Abort, Rollback} {
			told = append(told, do(context.Background(), e, Order{}))
		}
	}
	if err := f.start(within(t), f.env()); err != nil {
		t.Fatal(err)
	}
	for _, err := range told {
		var cause *Error
		if !errors.As(err, &cause) || cause.Cause != Taken {
			t.Errorf("another was told %v", err)
		}
	}
	f.is(t, "new")
	if len(told) != 10 {
		t.Errorf("%d were told", len(told))
	}
}

// Who changes a run on which another was at work meanwhile, lease or not, is told, and
// nothing is reverted for it.
func TestOvertaken(t *testing.T) {
	f := newFabric(t.TempDir())
	f.during = func(e *Env) {
		rec, err := In(f.dir).Unfinished(context.Background(), false)
		if err == nil {
			rec.Run.Why = "somebody was here"
			err = rec.save(context.Background())
		}
		if err != nil {
			t.Error(err)
		}
	}
	var cause *Error
	if err := f.start(within(t), f.env()); !errors.As(err, &cause) || cause.Cause != Taken {
		t.Errorf("it was told %v", err)
	}
	if now := f.boxes(t); now["a"].Values["x"] != "new" || now["b"].Values["x"] != "" {
		t.Errorf("the devices are %+v", now)
	}
}

// A plan starts one run.
func TestPlanStartsOneRun(t *testing.T) {
	f := newFabric(t.TempDir())
	e := f.env()
	s := f.site(e)
	made, err := s.Plan(within(t), s.Input, true)
	if err != nil {
		t.Fatal(err)
	}
	made.Run = plan.NewRunID(time.Now())
	if err := Start(within(t), e, s, made, Order{}); err != nil {
		t.Fatal(err)
	}
	var cause *Error
	err = Start(within(t), f.env(), f.site(e), made, Order{})
	if !errors.As(err, &cause) || cause.Cause != Spent || !strings.Contains(err.Error(), made.Run) || !strings.Contains(err.Error(), "that run is passed") {
		t.Errorf("the plan was carried out again: %v", err)
	}
}

// No document of a run over two thousand devices is large.
func TestDocumentsStaySmall(t *testing.T) {
	const devices, most = 2000, 256 << 10
	ctx := within(t)
	r := In(t.TempDir())
	p := &plan.Plan{Format: plan.Format, Owner: "test"}
	var names []string
	for i := range devices {
		device := fmt.Sprintf(`server.node["st%04d.storage.example.net"]`, i)
		names = append(names, device)
		p.Devices = append(p.Devices, plan.PlannedDevice{Address: device})
		for n := range 8 {
			p.Steps = append(p.Steps, plan.PlannedStep{ID: plan.ID{Device: device, Kind: "mtu", Name: fmt.Sprint("p", n)}, Phase: "all", Send: []string{strings.Repeat("x", 100)},
				Changes: []plan.Change{{Path: "mtu", Before: "1500", After: "9000"}}})
		}
	}
	run := &rollout.Run{Format: rollout.Format, ID: plan.NewRunID(time.Now()), Rollout: "rollout.all", State: rollout.Running, Begun: time.Now(),
		Phases: []rollout.PhaseRun{{Name: "all", State: rollout.Running, Begun: p.Steps}}}
	rec, err := r.create(ctx, &Head{ID: run.ID, Rollout: run.Rollout, Begun: run.Begun, State: run.State}, p)
	if err != nil {
		t.Fatal(err)
	}
	rec.Run = run
	run.Why = strings.Repeat(names[0]+" failed; ", devices)
	for range 5000 { // a soak of two days
		run.Phases[0].Verdicts = append(run.Phases[0].Verdicts, rollout.Sample{Verdict: rollout.Pass, Validations: []string{"validation.healthy"}, Time: time.Now()})
	}
	if err := rec.save(ctx); err != nil { // what is begun
		t.Fatal(err)
	}
	res := &prove.Result{}
	for _, name := range names {
		res.Judgements = append(res.Judgements, prove.Judgement{Validation: "healthy", Metric: "p99", Pair: name, Why: "a reason", Verdict: prove.Pass})
	}
	m := &Marking{Mark: plan.Mark{Run: run.ID}, Devices: names, records: r, store: rec.store}
	if err := errors.Join(rec.measured(ctx, "all", Kept{Result: res}), m.save(ctx)); err != nil {
		t.Fatal(err)
	}
	entries, _, err := rec.store.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	run.Phases[0].Steps = p.Steps
	docs, err := rec.changed() // what is done: a document for each device
	if err != nil || len(docs) < devices {
		t.Fatalf("%d documents: %v", len(docs), err)
	}
	for _, e := range entries {
		docs[e.Key] = e.Value
	}
	for key, text := range docs {
		if len(text) > most {
			t.Errorf("%s has %d bytes", key, len(text))
		}
	}
	run.Phases[0].Steps, run.Phases[0].Begun = p.Steps[:100], p.Steps[100:200]
	if err := rec.save(ctx); err != nil {
		t.Fatal(err)
	}
	again, err := In(r.place).Find(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if now := again.Run.Phases[0]; len(now.Steps) != 100 || now.Steps[9].ID != p.Steps[9].ID || len(now.Begun) != 100 || now.Begun[9].ID != p.Steps[109].ID || len(now.Verdicts) != 5000 {
		t.Errorf("it is not read as it was written: %d, %d, %d", len(now.Steps), len(now.Begun), len(now.Verdicts))
	}
	if left, err := In(r.place).marking(ctx, run.ID); err != nil || len(left.Devices) != devices {
		t.Errorf("the mark is not: %v", err)
	}
}

// Runs and baselines in the form before the store are refused, and not read.
func TestFolderOfRunsIsRefused(t *testing.T) {
	for _, name := range []string{"runs/20260101T000000.000000000Z/journal.jsonl", "baseline.json", "baseline-lab.json"} {
		f := newFabric(t.TempDir())
		path := filepath.Join(f.dir, ".weft", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{}\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"start": f.start(within(t), f.env()),
			"list":  func() error { _, err := f.env().Records.Heads(within(t), false); return err }(),
		} {
			if err == nil || !strings.Contains(err.Error(), "does not read") || !strings.Contains(hint.Of(err), "move it away") {
				t.Errorf("%s with %s: %v (%s)", what, name, err, hint.Of(err))
			}
		}
		if len(f.applied) > 0 || isDir(filepath.Join(f.dir, ".weft", "store")) {
			t.Errorf("%s: something was done: %v", name, f.applied)
		}
	}
	f := newFabric(t.TempDir()) // a baseline beside a store is a leftover
	if err := errors.Join(os.MkdirAll(filepath.Join(f.dir, ".weft", "store"), 0o700), os.WriteFile(filepath.Join(f.dir, ".weft", "baseline.json"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.env().Records.Heads(within(t), false); err != nil {
		t.Error(err)
	}
}
