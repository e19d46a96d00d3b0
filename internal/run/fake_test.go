package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"weft/internal/prove"
	"weft/inventory"
	"weft/plan"
	"weft/plan/rollout"
)

// A fabric is devices that are files, so that they outlive whoever works on them,
// and a rollout over them in two phases.
type fabric struct {
	dir   string
	kill  int // the call at which this process dies; 0: none
	model *inventory.Model

	records func() *Records // nil: those of dir

	mu      sync.Mutex
	calls   int
	applied []string                      // steps, in their order
	gate    func(looks int) prove.Verdict // of the look; nil: all pass
	during  func(*Env)                    // what happens while a gate looks; may be nil
	looks   int

	stepping func() // what happens while a device is changed; may be nil
}

// newFabric is two devices, b after a, each with two settings.
func newFabric(dir string) *fabric {
	v := &inventory.Validation{Name: "healthy"}
	v.Addr = "validation.healthy"
	r := &inventory.Rollout{Name: "both", MaxUnavailable: 1, MaxFailures: 1, OnFailure: rollout.RollbackAll}
	r.Addr = "rollout.both"
	for _, name := range []string{"a", "b"} {
		r.Phases = append(r.Phases, &inventory.Phase{Name: "phase-" + name, Select: []string{name}, Gate: []*inventory.Validation{v}})
	}
	return &fabric{dir: dir, model: &inventory.Model{Name: "test", Rollouts: []*inventory.Rollout{r}, Validations: []*inventory.Validation{v}}}
}

func (f *fabric) env() *Env {
	e := &Env{Records: In(f.dir), By: "ann"}
	if f.records != nil {
		e.Records = f.records()
	}
	e.Open = func(*plan.Plan) (*Site, error) { return f.site(e), nil }
	e.Measure = func(context.Context, prove.Input) (*prove.Result, error) {
		f.looks++
		verdict := prove.Pass
		if f.gate != nil {
			verdict = f.gate(f.looks)
		}
		if f.during != nil {
			f.during(e)
		}
		res := &prove.Result{}
		res.Add(&prove.Result{Judgements: []prove.Judgement{{Validation: "healthy", Metric: "metric", Pair: "a to b", Counted: true, Value: 1, Verdict: verdict, Why: "a reason"}}})
		return res, nil
	}
	return e
}

func (f *fabric) site(e *Env) *Site {
	in := plan.Input{Owner: "test", Version: "v0", Devices: map[string]plan.Device{}, Parallelism: 2, Mine: e.Records.Mine}
	for _, device := range []string{"a", "b"} {
		d := &box{fabric: f, name: device}
		in.Devices[device] = d
		for _, name := range []string{"x", "y"} {
			id := plan.ID{Device: device, Kind: "setting", Name: name}
			in.Items = append(in.Items, plan.Item{ID: id, Resource: &setting{d, name, "new"}, Blocks: []string{device}})
		}
	}
	return &Site{Model: f.model, Input: in}
}

// start plans and carries out, or takes away what is left behind.
func (f *fabric) start(ctx context.Context, e *Env) error {
	s := f.site(e)
	defer s.Close()
	made, err := s.Plan(ctx, s.Input, true)
	if err != nil {
		return err
	}
	if len(made.Steps) == 0 {
		return Tidy(ctx, e, s)
	}
	return Start(ctx, e, s, made, Order{})
}

// tick counts a moment at which weft can die.
func (f *fabric) tick() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls++; f.calls == f.kill {
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Kill()
		}
		select {}
	}
}

// boxes reads all devices as they are.
func (f *fabric) boxes(t *testing.T) map[string]kept {
	t.Helper()
	out := map[string]kept{}
	for _, name := range []string{"a", "b"} {
		d := &box{fabric: f, name: name}
		if err := d.load(); err != nil {
			t.Fatal(err)
		}
		out[name] = d.kept
	}
	return out
}

// is demands a value of all settings, and nothing left of runs.
func (f *fabric) is(t *testing.T, value string) {
	t.Helper()
	for name, k := range f.boxes(t) {
		if k.Values["x"] != value || k.Values["y"] != value || k.Mark != nil || k.Before != nil {
			t.Errorf("%s: %+v, wanted %q and no mark", name, k, value)
		}
	}
}

// kept is what a device keeps.
type kept struct {
	Values map[string]string
	Before map[string]string // when the transaction began; nil: none is open
	Former map[string]former // what runs found
	Mark   *plan.Mark
}

type former struct{ Run, Value string }

// A box is a device in a file.
type box struct {
	plan.Unsupported
	fabric *fabric
	name   string
	kept   kept
}

func (d *box) Capabilities() plan.Capabilities { return plan.Capabilities{Marks: true, Reverse: true} }

func (d *box) path() string { return filepath.Join(d.fabric.dir, d.name+".json") }

func (d *box) load() error {
	d.kept = kept{Values: map[string]string{}, Former: map[string]former{}}
	raw, err := os.ReadFile(d.path())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, &d.kept)
}

// change does something to the device; weft may die before and after.
func (d *box) change(do func()) error {
	d.fabric.tick()
	do()
	err := writeJSON(d.path(), d.kept)
	d.fabric.tick()
	return err
}

func (d *box) Open(context.Context) (plan.Identity, error) {
	err := d.load()
	if err == nil && d.kept.Before != nil { // whoever began died, and the device has reverted itself
		d.kept.Values, d.kept.Before = d.kept.Before, nil
		err = writeJSON(d.path(), d.kept)
	}
	return plan.Identity{MachineID: d.name}, err
}

func (d *box) Read(_ context.Context, rs []plan.Resource) ([]plan.State, error) {
	states := make([]plan.State, len(rs))
	for i, r := range rs {
		v := d.kept.Values[r.(*setting).name]
		states[i] = &v
	}
	return states, nil
}

func (d *box) Begin(context.Context, []plan.Step) error {
	return d.change(func() {
		d.kept.Before = map[string]string{}
		for k, v := range d.kept.Values {
			d.kept.Before[k] = v
		}
	})
}

func (d *box) Apply(_ context.Context, s plan.Step) error {
	r := s.Resource.(*setting)
	d.fabric.mu.Lock()
	d.fabric.applied = append(d.fabric.applied, s.ID.String())
	d.fabric.mu.Unlock()
	if d.fabric.stepping != nil {
		d.fabric.stepping()
	}
	return d.change(func() {
		switch {
		case s.Reverse:
			delete(d.kept.Former, r.name)
		case d.kept.Former[r.name].Run != s.Run:
			d.kept.Former[r.name] = former{s.Run, d.kept.Values[r.name]}
		}
		d.kept.Values[r.name] = r.value
	})
}

func (d *box) Commit(context.Context) error { return d.change(func() { d.kept.Before = nil }) }

func (d *box) Abort(context.Context) error {
	return d.change(func() {
		if d.kept.Before != nil {
			d.kept.Values, d.kept.Before = d.kept.Before, nil
		}
	})
}

func (d *box) Reverse(run string, s plan.PlannedStep) (plan.Resource, error) {
	was := d.kept.Former[s.ID.Name]
	if was.Run != run {
		return nil, plan.ErrUntouched
	}
	return &setting{d, s.ID.Name, was.Value}, nil
}

func (d *box) Marks() []plan.Mark {
	if d.kept.Mark == nil {
		return nil
	}
	return []plan.Mark{*d.kept.Mark}
}

func (d *box) Mark(_ context.Context, m plan.Mark, mine func(plan.Mark) bool) error {
	if err := d.load(); err != nil {
		return err
	}
	if d.kept.Mark != nil && !mine(*d.kept.Mark) {
		return plan.NewMarkedError(d.name, *d.kept.Mark)
	}
	return d.change(func() { d.kept.Mark = &m })
}

func (d *box) Unmark(_ context.Context, m plan.Mark) error {
	if err := d.load(); err != nil || d.kept.Mark == nil || d.kept.Mark.Run != m.Run {
		return err
	}
	return d.change(func() { d.kept.Mark = nil })
}

func (d *box) ReadMarks(context.Context) ([]plan.Mark, error) { return d.Marks(), d.load() }

func (d *box) BreakMark(ctx context.Context, m plan.Mark) error { return d.Unmark(ctx, m) }

// A setting wants one value.
type setting struct {
	device      *box
	name, value string
}

func (r *setting) Diff(have plan.State) plan.Diff {
	before, _ := have.(*string)
	if before != nil && *before == r.value {
		return plan.Diff{}
	}
	was := ""
	if before != nil {
		was = *before
	}
	return plan.Diff{Changes: []plan.Change{{Path: "value", Before: was, After: r.value}}, Send: []string{"set " + r.value}, Undo: []string{"set " + was}}
}

func (r *setting) Verify(context.Context) error {
	if got := r.device.kept.Values[r.name]; got != r.value {
		return fmt.Errorf("%s is %q", r.name, got)
	}
	return nil
}

// within bounds a test that hangs, generously.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// stateOf is the state of the latest run.
func stateOf(t *testing.T, e *Env) rollout.State {
	t.Helper()
	rec, err := e.Records.Latest(t.Context(), false)
	if err != nil || rec == nil {
		t.Fatalf("no run: %v", err)
	}
	return rec.Run.State
}

func (f *fabric) steps() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.applied)
	slices.Sort(list)
	return list
}
