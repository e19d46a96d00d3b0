package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/require"
	"weft/internal/store"
	"weft/internal/store/dir"
	"weft/inventory"
	"weft/plan"
	"weft/plan/rollout"
)

// sited is a fabric of which a is at dc1 and b at dc2, and what a model says of it.
func sited(t *testing.T, records func() *Records) *fabric {
	f := newFabric(t.TempDir())
	for site, device := range map[string]string{"dc1": "a", "dc2": "b"} {
		f.model.Sites = append(f.model.Sites, &inventory.Site{Name: site, Select: []string{device}})
	}
	f.records = records
	return f
}

// lead begins a run of workers and leads it to where it must stop.
func (f *fabric) lead(ctx context.Context, e *Env) error {
	s := f.site(e)
	made, err := s.Plan(ctx, s.Input, true)
	if err != nil {
		return err
	}
	return Start(ctx, e, s, made, Order{Workers: true})
}

// crewAt are workers, each as on a machine of its own, until the function is called that
// it returns.
func (f *fabric) crewAt(t *testing.T, sites ...string) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, site := range sites {
		w := f.worker(site)
		all.Go(func() {
			if err := w.Work(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("worker of %s: %v", site, err)
			}
		})
	}
	stop = sync.OnceFunc(func() { end(); all.Wait() })
	t.Cleanup(stop)
	return stop
}

func (f *fabric) worker(site string) *Worker {
	own := newFabric(f.dir) // a process of its own
	own.model, own.records, own.gate, own.during, own.kill, own.stepping = f.model, func() *Records { return f.records().ForSite(site) }, f.gate, f.during, f.kill, f.stepping
	return &Worker{Env: own.env(), Site: site}
}

// Workers of two sites carry a run out whose leader reaches no device.
func TestWorkers(t *testing.T) { everyStore(t, workers) }

func workers(t *testing.T, records func() *Records) {
	f := sited(t, records)
	f.crewAt(t, "dc1", "dc2")
	e := f.env()
	if err := f.lead(within(t), e); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
	if len(f.steps()) != 0 || f.looks != 0 {
		t.Errorf("whoever leads has done %v, and looked %d times", f.steps(), f.looks)
	}
	rec, err := f.env().Records.Latest(within(t), false)
	if err != nil || rec.State != rollout.Passed || len(rec.Run.Phases[0].Steps)+len(rec.Run.Phases[1].Steps) != 4 {
		t.Fatalf("the run is %+v: %v", rec, err)
	}
	journal, err := rec.Journal(within(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(journal)
	if n := bytes.Count(text, []byte(`"do":"step","state":"done"`)); n != 4 || err != nil {
		t.Errorf("the journals tell %d steps, %v:\n%s", n, err, text)
	}
	if s, err := e.Records.use(within(t)); err != nil {
		t.Error(err)
	} else if left, _, err := s.List(within(t), "work"); err != nil || len(left) != 0 {
		t.Errorf("tasks are left: %v, %v", left, err)
	}
}

// A gate that fails at one site reverts the run at all of them.
func TestWorkersRollBack(t *testing.T) {
	t.Parallel()
	f := sited(t, sharedAt(t, t.TempDir()))
	f.gate = func(looks int) prove.Verdict {
		return map[bool]prove.Verdict{true: prove.Pass, false: prove.Fail}[looks == 1]
	}
	f.crewAt(t, "dc1", "dc2")
	var stop *rollout.Stop
	if err := f.lead(within(t), f.env()); !errors.As(err, &stop) || stop.State != rollout.RolledBack {
		t.Fatalf("%v", err)
	}
	f.is(t, "")
}

// What two sites would have to do together is refused, and so is what none does.
func TestWorkersRefused(t *testing.T) {
	f := sited(t, sharedAt(t, t.TempDir()))
	f.model.Sites[0].Select = nil
	err := f.lead(within(t), f.env())
	if cause := new(Error); !errors.As(err, &cause) || cause.Cause != Misused || !strings.Contains(err.Error(), "is part of no site") {
		t.Errorf("%v", err)
	}
	f = sited(t, nil)
	if err := f.lead(within(t), f.env()); err == nil || !strings.Contains(err.Error(), "where no worker finds them") {
		t.Errorf("%v", err)
	}
}

// What is not in the plan is not done, whoever asks for it.
func TestWorkerRefuses(t *testing.T) {
	f := sited(t, sharedAt(t, t.TempDir()))
	w := f.worker("dc1")
	s := f.site(w.Env)
	made, err := s.Plan(within(t), s.Input, true)
	if err != nil {
		t.Fatal(err)
	}
	st := &staged{env: w.Env, site: s, spec: SpecOf(f.model), plan: made}
	st.run = rollout.NewRun("r", st.spec, made, made.Created)
	w.clear = map[cleared]bool{}
	for _, x := range made.Steps {
		for i := range st.run.Phases { // those before it have passed
			if st.run.Phases[i].State = rollout.Passed; st.run.Phases[i].Name == x.Phase {
				st.run.Phases[i].State = rollout.Running
				break
			}
		}
		if err := w.may(within(t), st, &task{Do: jobApply, Phase: x.Phase, Steps: []plan.ID{x.ID}}); err != nil {
			t.Errorf("%s: %v", x.ID, err)
		}
		for _, bad := range []*task{
			{Do: jobApply, Phase: "another", Steps: []plan.ID{x.ID}},
			{Do: jobReverse, Phase: x.Phase, Steps: []plan.ID{{Device: x.ID.Device, Kind: x.ID.Kind, Name: "z"}}},
		} {
			if w.may(within(t), st, bad) == nil {
				t.Errorf("it does %+v", bad)
			}
		}
	}
	st.run.State = rollout.Aborted
	if w.may(within(t), st, &task{Do: jobApply, Phase: made.Steps[0].Phase, Steps: []plan.ID{made.Steps[0].ID}}) == nil {
		t.Error("it goes on with a run that was aborted")
	}
	st.run.State, st.run.Signers = rollout.Running, "sha256-of-a-list"
	for i := range st.spec.Phases {
		st.spec.Phases[i].Approve = true
	}
	if err := w.may(within(t), st, &task{Do: jobApply, Phase: made.Steps[0].Phase, Steps: []plan.ID{made.Steps[0].ID}}); err == nil || !strings.Contains(err.Error(), "is not approved, as far as can be verified here") {
		t.Errorf("without signers: %v", err)
	}
}

// While one worker of a site is at work another is told; one that is gone is followed
// when its lease has ended. Here somebody ends it: that it ends by itself, and when,
// is what storetest asks of each store.
func TestOneWorkerOfASite(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	f := sited(t, sharedAt(t, root))
	led := make(chan error, 1)
	ctx := within(t)
	go func() { led <- f.lead(ctx, f.env()) }()
	w := f.worker("dc1")
	w.crews, w.clear, w.Env.Pauses = map[string]*staged{}, map[cleared]bool{}, new(Pauses)
	var asked *task
	for asked == nil && ctx.Err() == nil {
		var err error
		if asked, err = w.Env.Records.task(ctx, false, "dc1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(shortIdle)
	}
	s, err := dir.Open(ctx, root, dir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := s.Lease(ctx, leaseAt(asked.Run, "dc1"), "one that is gone", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = w.turn(ctx)
	if cause := new(Error); !errors.As(err, &cause) || cause.Cause != Taken || !strings.Contains(err.Error(), "one that is gone") {
		t.Errorf("the second worker is told %v", err)
	}
	held, err := s.Leases(ctx, keySite(asked.Run, "dc1"))
	if err != nil || len(held) != 1 {
		t.Fatalf("the leases are %+v: %v", held, err)
	}
	if err := s.Break(ctx, held[0]); err != nil {
		t.Fatal(err)
	}
	f.crewAt(t, "dc1", "dc2")
	if err := <-led; err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
	if err := gone.Renew(ctx); !errors.As(err, new(*store.LostError)) {
		t.Errorf("the one that was gone comes back: %v", err)
	}
}

// What nobody waits for any more is not done: a task whose leader is gone stays as it is
// until the next one asks.
func TestWorkerWithoutLeader(t *testing.T) {
	t.Parallel()
	f := sited(t, sharedAt(t, t.TempDir()))
	ctx, end := context.WithCancel(within(t))
	led := make(chan error, 1)
	e := f.env()
	go func() { led <- f.lead(ctx, e) }()
	w := f.worker("dc1")
	var asked *task
	for asked == nil && ctx.Err() == nil {
		var err error
		if asked, err = w.Env.Records.task(within(t), false, "dc1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(shortIdle)
	}
	end()
	if err := <-led; err == nil {
		t.Error("it was led to its end without workers")
	}
	s, err := w.Env.Records.use(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := putLarge(within(t), s, keyWork(false, "dc1"), asked); err != nil { // as one that was killed leaves it
		t.Fatal(err)
	}
	w.Once = true
	if err := w.Work(within(t)); err != nil {
		t.Errorf("it has nothing to do: %v", err)
	}
	f.is(t, "")
	f.crewAt(t, "dc1", "dc2")
	if err := f.lead(within(t), f.env()); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
}

// The hub goes away while a worker changes a device: what was begun is finished, nothing
// more is begun anywhere, and when it is back workers that nobody has started anew go on
// as soon as one leads. The journal has each step once.
func TestWorkersStoreAway(t *testing.T) {
	require.Long(t, "16 s")
	t.Parallel()
	h := newHub(t)
	f := sited(t, func() *Records { return h.recordsIn(t.TempDir()) })
	var once sync.Once
	f.stepping = func() { once.Do(h.stop) }
	f.crewAt(t, "dc1", "dc2")
	var cause *Error
	if err := f.lead(within(t), f.env()); !errors.As(err, &cause) || cause.Cause != Waits || !strings.Contains(err.Error(), "waiting for the store hub") {
		t.Fatalf("whoever leads is told %v", err)
	}
	for ctx := within(t); f.boxes(t)["a"].Before != nil || f.boxes(t)["a"].Values["y"] != "new"; time.Sleep(shortIdle) {
		if ctx.Err() != nil {
			t.Fatalf("what was begun is not finished: %+v", f.boxes(t)["a"])
		}
	}
	if b := f.boxes(t)["b"]; b.Values["x"] != "" || b.Mark == nil {
		t.Errorf("more was begun: %+v", b)
	}
	h.start(t)
	f.records = h.records(t)
	h.freed(t, f)
	if err := Resume(within(t), f.env(), Order{}); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
	rec, err := f.env().Records.Latest(within(t), false)
	if err != nil || rec.State != rollout.Passed {
		t.Fatalf("the run is %+v: %v", rec, err)
	}
	journal, err := rec.Journal(within(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(journal)
	if n := bytes.Count(text, []byte(`"do":"step","state":"done"`)); n != 4 || err != nil {
		t.Errorf("the journals tell %d steps, %v:\n%s", n, err, text)
	}
}

// constant judges by expressions that say the same of every change.
type constant struct{ inventory.Evaluator }

func (constant) Judge(x hcl.Expression, _ inventory.PolicyChange) (cty.Value, hcl.Diagnostics) {
	return x.Value(nil)
}

// What the files of the plan forbid a worker does not do, however often it is asked.
func TestWorkerPolicy(t *testing.T) {
	t.Parallel()
	f := sited(t, sharedAt(t, t.TempDir()))
	ctx, end := context.WithCancel(within(t))
	led := make(chan error, 1)
	go func() { led <- f.lead(ctx, f.env()) }()
	w := f.worker("dc1")
	var asked *task
	for asked == nil && ctx.Err() == nil {
		var err error
		if asked, err = w.Env.Records.task(ctx, false, "dc1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(shortIdle)
	}
	open := w.Env.Open
	w.Env.Open = func(p *plan.Plan) (*Site, error) {
		s, err := open(p)
		forbidding := *s.Model
		forbidding.Policies = []*inventory.Policy{{Name: "never", Condition: hcl.StaticExpr(cty.False, hcl.Range{}), Message: hcl.StaticExpr(cty.StringVal("never"), hcl.Range{})}}
		forbidding.Evaluator = constant{}
		s.Model = &forbidding
		return s, err
	}
	rec, err := w.Env.Records.glance(ctx, asked.Run)
	if err != nil {
		t.Fatal(err)
	}
	w.crews = map[string]*staged{}
	for range 2 {
		if _, err := w.staged(ctx, rec); err == nil || !strings.Contains(err.Error(), `policy "never" forbids it`) {
			t.Errorf("%v", err)
		}
	}
	end()
	<-led
}

// TestNoWorker holds that a leader says which site has no worker, and gives up after a limit; once
// there are workers the same plan is carried out.
func TestNoWorker(t *testing.T) {
	t.Parallel()
	f := sited(t, sharedAt(t, t.TempDir()))
	e := f.env()
	e.WorkersWait = time.Millisecond
	err := f.lead(within(t), e)
	cause := new(Error)
	if !errors.As(err, &cause) || cause.Cause != Waits || !strings.Contains(err.Error(), "no worker has taken up the part of dc") || !strings.Contains(hint.Of(err), "weft worker --site dc") {
		t.Fatalf("cause %d, %q: %v", cause.Cause, hint.Of(err), err)
	}
	f.crewAt(t, "dc1", "dc2")
	if err := f.lead(within(t), f.env()); err != nil {
		t.Fatal(err)
	}
	f.is(t, "new")
}
