//go:build unix

package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"

	"weft/internal/prove"
	"weft/internal/store"
	"weft/internal/store/nats"
	"weft/inventory"
	"weft/plan"
	"weft/plan/rollout"
)

// BenchmarkFleet is what a run takes beside what devices take: two phases, each with its
// gate, over devices that do nothing, each with two steps. alone keeps it in a directory,
// as without a hub; the others have the workers of so many sites carry it out with
// nothing but a hub in common. All of it, the hub too, is in one process.
func BenchmarkFleet(b *testing.B) {
	for _, c := range []struct {
		name         string
		sites, each  int
		batch        string
		alone, large bool
	}{
		{"2000/alone", 4, 500, "500", true, false},
		{"2000/workers=4", 4, 500, "500", false, false},
		{"10000/workers=50", 50, 200, "1000", false, false},
		{"20000/workers=50", 50, 400, "2000", false, false},
		{"20000/batches=50", 50, 400, "400", false, false},
		{"100000/workers=50", 50, 2000, "10000", false, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			if c.large && os.Getenv("WEFT_LARGE") == "" {
				b.Skip("it takes long: WEFT_LARGE=1")
			}
			for b.Loop() {
				b.StopTimer()
				y := newYard(b, c.sites, c.each, c.batch)
				if c.alone {
					y.records = func() *Records { return In(b.TempDir()) }
				}
				y.run(b, !c.alone)
			}
		})
	}
}

// A yard is devices in memory that do nothing, and a rollout over them.
type yard struct {
	model   *inventory.Model
	devices map[string]plan.Device
	items   []plan.Item
	records func() *Records
	count   *counted
	digest  store.Digest  // of the plan
	reads   chan struct{} // of it, at once
}

func newYard(b *testing.B, sites, each int, batch string) *yard {
	v := &inventory.Validation{Name: "healthy"}
	v.Addr = "validation.healthy"
	r := &inventory.Rollout{Name: "all", MaxFailures: 1, OnFailure: rollout.RollbackAll}
	r.Addr = "rollout.all"
	y := &yard{model: &inventory.Model{Name: "test", Rollouts: []*inventory.Rollout{r}, Validations: []*inventory.Validation{v}}, devices: map[string]plan.Device{}, count: &counted{}, reads: make(chan struct{}, 1)}
	first := &inventory.Phase{Name: "first", Gate: []*inventory.Validation{v}, Batch: []string{batch}}
	for i := range sites {
		site := &inventory.Site{Name: fmt.Sprintf("dc%02d", i)}
		for n := range each {
			name := fmt.Sprintf("server.%s-n%05d", site.Name, n)
			site.Select = append(site.Select, name)
			y.devices[name] = &idle{name: name}
			for _, setting := range []string{"mtu", "pfc"} {
				y.items = append(y.items, plan.Item{ID: plan.ID{Device: name, Kind: "setting", Name: setting}, Resource: &switched{setting}, Blocks: []string{name}})
			}
		}
		first.Select = append(first.Select, site.Select[:each/2]...)
		y.model.Sites = append(y.model.Sites, site)
	}
	r.Phases = []*inventory.Phase{first, {Name: "rest", Remaining: true, Gate: []*inventory.Validation{v}, Batch: []string{batch}}}
	h := newHub(b)
	y.records = func() *Records {
		return InShared(b.TempDir(), Sharing{Name: "hub", Owner: "test", Lease: time.Hour, Open: func(ctx context.Context) (store.Store, error) {
			s, err := nats.Open(ctx, nats.Options{URL: "nats://hub", Owner: "test", Timeout: time.Minute, Connect: []client.Option{client.SetCustomDialer(h)}})
			return counting{s, y.count, y}, err
		}})
	}
	return y
}

func (y *yard) env(records *Records) *Env {
	e := &Env{Records: records, By: "ann"}
	e.Open = func(*plan.Plan) (*Site, error) {
		<-y.reads
		return y.site(e), nil
	}
	e.Measure = func(context.Context, prove.Input) (*prove.Result, error) {
		res := &prove.Result{}
		res.Add(&prove.Result{Judgements: []prove.Judgement{{Validation: "healthy", Metric: "metric", Pair: "a to b", Counted: true, Value: 1, Verdict: prove.Pass}}})
		return res, nil
	}
	return e
}

func (y *yard) site(e *Env) *Site {
	return &Site{Model: y.model, Input: plan.Input{Owner: "test", Version: "v0", Items: y.items, Devices: y.devices, Parallelism: 64, Mine: e.Records.Mine}}
}

// run plans, and times how the plan is carried out.
func (y *yard) run(b *testing.B, workers bool) {
	ctx, end := context.WithCancel(b.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	e := y.env(y.records())
	s := y.site(e)
	made, err := s.Plan(ctx, s.Input, true)
	if err != nil || len(made.Steps) != 2*len(y.devices) {
		b.Fatalf("%d steps: %v", len(made.Steps), err)
	}
	for _, site := range y.model.Sites {
		if w := (&Worker{Env: y.env(y.records().ForSite(site.Name)), Site: site.Name}); workers {
			all.Go(func() { _ = w.Work(ctx) })
		}
	}
	d, err := made.Digest()
	if err != nil {
		b.Fatal(err)
	}
	y.digest = store.Digest("sha256-" + d)
	before, most := heap(), peak(ctx)
	b.StartTimer()
	cpu, begun := processor(b), time.Now()
	if err := Start(ctx, e, s, made, Order{Workers: workers}); err != nil {
		b.Fatal(err)
	}
	took, cpu := time.Since(begun), processor(b)-cpu
	b.StopTimer()
	n := float64(len(y.devices))
	b.ReportMetric(float64(took.Microseconds())/n, "µs/device")
	b.ReportMetric(float64(cpu.Microseconds())/n, "cpu-µs/device")
	b.ReportMetric(float64(most()-before)/(1<<20), "MB")
	var text meter
	if err := made.Write(&text); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(text.n)/n, "plan-B/device")
	if workers {
		b.ReportMetric(float64(y.count.writes.Load())/n, "writes/device")
		b.ReportMetric(float64(y.count.reads.Load())/n, "reads/device")
		b.ReportMetric(float64(y.count.bytes.Load())/n, "written-B/device")
	}
	b.StartTimer()
}

// processor is how long this process has been at work, whatever else the machine does.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// peak watches how large the heap becomes.
func peak(ctx context.Context) (most func() uint64) {
	var max atomic.Uint64
	ctx, end := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if m.HeapInuse > max.Load() {
				max.Store(m.HeapInuse)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { end(); <-done; return max.Load() }
}

// counted is what is asked of a store.
type counted struct{ writes, reads, bytes atomic.Int64 }

// counting counts it. A list counts as all that it reads.
type counting struct {
	store.Store
	*counted
	yard *yard
}

func (c counting) Blob(ctx context.Context, d store.Digest) (io.ReadCloser, error) {
	if d == c.yard.digest {
		c.yard.reads <- struct{}{} // until the files are opened that go with it
	}
	return c.Store.Blob(ctx, d)
}

func (c counting) wrote(n int) { c.writes.Add(1); c.bytes.Add(int64(n)) }

func (c counting) Get(ctx context.Context, key string) (store.Entry, error) {
	c.reads.Add(1)
	return c.Store.Get(ctx, key)
}

func (c counting) List(ctx context.Context, folder string) ([]store.Entry, store.Revision, error) {
	list, at, err := c.Store.List(ctx, folder)
	c.reads.Add(int64(len(list)) + 1)
	return list, at, err
}

func (c counting) Create(ctx context.Context, key string, value []byte) (store.Revision, error) {
	c.wrote(len(value))
	return c.Store.Create(ctx, key, value)
}

func (c counting) Update(ctx context.Context, key string, value []byte, at store.Revision) (store.Revision, error) {
	c.wrote(len(value))
	return c.Store.Update(ctx, key, value, at)
}

func (c counting) Delete(ctx context.Context, key string, at store.Revision) error {
	c.wrote(0)
	return c.Store.Delete(ctx, key, at)
}

func (c counting) PutBlob(ctx context.Context, from io.Reader) (store.Digest, error) {
	n := &meter{Reader: from}
	d, err := c.Store.PutBlob(ctx, n)
	c.wrote(n.n)
	return d, err
}

type meter struct {
	io.Reader
	n int
}

func (m *meter) Write(p []byte) (int, error) {
	m.n += len(p)
	return len(p), nil
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.n += n
	return n, err
}

// An idle device takes whatever it is given at once.
type idle struct {
	plan.Unsupported
	name string
	mu   sync.Mutex
	set  map[string]bool
	mark *plan.Mark
}

func (d *idle) Capabilities() plan.Capabilities {
	return plan.Capabilities{Marks: true, Reverse: true}
}

func (d *idle) Open(context.Context) (plan.Identity, error) {
	return plan.Identity{MachineID: d.name}, nil
}

func (d *idle) Read(_ context.Context, rs []plan.Resource) ([]plan.State, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	states := make([]plan.State, len(rs))
	for i, r := range rs {
		states[i] = d.set[r.(*switched).name]
	}
	return states, nil
}

func (d *idle) Begin(context.Context, []plan.Step) error { return nil }
func (d *idle) Commit(context.Context) error             { return nil }
func (d *idle) Abort(context.Context) error              { return nil }

func (d *idle) Apply(_ context.Context, s plan.Step) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.set == nil {
		d.set = map[string]bool{}
	}
	d.set[s.ID.Name] = true
	return nil
}

func (d *idle) Marks() []plan.Mark {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mark == nil {
		return nil
	}
	return []plan.Mark{*d.mark}
}

func (d *idle) Mark(_ context.Context, m plan.Mark, _ func(plan.Mark) bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mark = &m
	return nil
}

func (d *idle) Unmark(context.Context, plan.Mark) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mark = nil
	return nil
}

func (d *idle) ReadMarks(context.Context) ([]plan.Mark, error) { return d.Marks(), nil }

func (d *idle) BreakMark(ctx context.Context, m plan.Mark) error { return d.Unmark(ctx, m) }

// switched is on, or to be switched on.
type switched struct{ name string }

func (s *switched) Diff(have plan.State) plan.Diff {
	if on, _ := have.(bool); on {
		return plan.Diff{}
	}
	return plan.Diff{Changes: []plan.Change{{Path: s.name, Before: "off", After: "on"}}, Send: []string{s.name + " on"}, Undo: []string{s.name + " off"}}
}

func (s *switched) Verify(context.Context) error { return nil }

func (d *idle) Reverse(string, plan.PlannedStep) (plan.Resource, error) {
	return nil, plan.ErrUntouched
}
