package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within bounds a test that hangs, generously.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A world is devices that hold values, and items that want some.
type world struct {
	items   []Item
	devices map[string]Device

	mu      sync.Mutex
	applied []ID           // in the order in which devices applied them
	calls   []string       // "begin a", "apply a/v.x" …
	counts  map[string]int // calls by their text
	faults  []string       // calls that failed
	fault   func(call string, nth int) error
	events  []Event
	dead    bool // the weft that calls was killed

	holds  map[string][]string      // what resources hold that one alone can, by ID
	serves map[string][]string      // what resources provide that others may as well, by ID
	during func(call string)        // what a call does meanwhile; may be nil
	turns  func(device string) bool // devices that need a turn; nil: none
	inside int                      // of those, at work now
	most   int                      // at work at the same time, ever
}

func newWorld() *world {
	return &world{devices: map[string]Device{}, counts: map[string]int{}}
}

// call notes a call and says whether it fails.
func (w *world) call(text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, text)
	w.counts[text]++
	if w.fault == nil {
		return nil
	}
	err := w.fault(text, w.counts[text])
	if err != nil {
		w.faults = append(w.faults, text)
	}
	return err
}

// failOn makes the calls that start like one of these fail.
func (w *world) failOn(prefixes ...string) {
	w.fault = func(call string, _ int) error {
		for _, p := range prefixes {
			if strings.HasPrefix(call, p) {
				return errors.New("fault: " + call)
			}
		}
		return nil
	}
}

func (w *world) called(prefix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	return n
}

func (w *world) device(address string) *fakeDevice {
	d, ok := w.devices[address].(*fakeDevice)
	if !ok {
		d = &fakeDevice{
			world: w, address: address, values: map[string]string{},
			identity: Identity{Address: "127.0.0.1", MachineID: "machine-" + address, BootID: "1"},
		}
		w.devices[address] = d
	}
	return d
}

// want adds an item: "a/v.x" is x on device a.
func (w *world) want(id, value string, needs ...string) *fakeResource {
	parsed, err := ParseID(id)
	if err != nil {
		panic(err)
	}
	d := w.device(parsed.Device)
	r := &fakeResource{device: d, id: parsed, value: value}
	item := Item{ID: parsed, Resource: r, Range: rangeAt("fake.weft.hcl", len(w.items)+1)}
	for _, n := range needs {
		need, err := ParseID(n)
		if err != nil {
			panic(err)
		}
		item.Needs = append(item.Needs, need)
	}
	w.items = append(w.items, item)
	return r
}

func (w *world) input() Input {
	return Input{Owner: "test", Version: "v0", Items: w.items, Devices: w.devices, Parallelism: 3,
		Emit: func(e Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		}}
}

func (w *world) eventTypes() map[EventType]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[EventType]int{}
	for _, e := range w.events {
		n[e.Type]++
	}
	return n
}

func rangeAt(file string, line int) hcl.Range {
	at := hcl.Pos{Line: line, Column: 1}
	return hcl.Range{Filename: file, Start: at, End: at}
}

// A fakeResource wants one value; "" wants nothing there.
type fakeResource struct {
	device *fakeDevice
	id     ID
	value  string
	impact Impact
	alone  bool
	refuse error
}

func (r *fakeResource) key() string { return r.id.Kind + "." + r.id.Name }

func (r *fakeResource) Diff(have State) Diff {
	if r.refuse != nil {
		return Diff{Err: r.refuse}
	}
	var before string
	if v, ok := have.(*string); ok {
		before = *v
	}
	if before == r.value {
		return Diff{}
	}
	return Diff{
		Changes: []Change{{Path: "value", Before: before, After: r.value, Impact: r.impact}},
		Send:    []string{"set " + r.key() + " " + r.value},
		Undo:    []string{"set " + r.key() + " " + before},
		Alone:   r.alone,
	}
}

func (r *fakeResource) Holds(have State) (now, then []string) {
	names := r.device.world.holds[r.id.String()]
	if v, ok := have.(*string); ok && *v != "" {
		now = names
	}
	if r.value != "" {
		then = names
	}
	return now, then
}

func (r *fakeResource) Provides(have State) (now, then []string) {
	names := r.device.world.serves[r.id.String()]
	if v, ok := have.(*string); ok && *v != "" {
		now = names
	}
	if r.value != "" {
		then = names
	}
	return now, then
}

func (r *fakeResource) Verify(ctx context.Context) error {
	defer r.device.enter()()
	if err := r.device.world.call("verify " + r.id.String()); err != nil {
		return err
	}
	if got := r.device.values[r.key()]; got != r.value {
		return fmt.Errorf("%s is %q", r.id, got)
	}
	return ctx.Err()
}

// A fakeDevice keeps values in memory and checks how it is called.
type fakeDevice struct {
	Unsupported
	world    *world
	address  string
	identity Identity
	values   map[string]string
	before   map[string]string // when the transaction began; nil: none is open
	busy     atomic.Bool
}

func (d *fakeDevice) enter() (leave func()) {
	if d.busy.Swap(true) {
		panic(d.address + ": two calls at the same time")
	}
	return func() { d.busy.Store(false) }
}

// change enters a call that may change something. What needs a turn is counted.
func (d *fakeDevice) change(call string) func() {
	leave := d.enter()
	w := d.world
	if w.turns == nil || !w.turns(d.address) {
		w.meanwhile(call)
		return leave
	}
	w.count(1)
	w.meanwhile(call)
	return func() {
		w.count(-1)
		leave()
	}
}

func (w *world) meanwhile(call string) {
	runtime.Gosched()
	if w.during != nil {
		w.during(call)
	}
}

func (w *world) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside += n
	w.most = max(w.most, w.inside)
}

func (d *fakeDevice) Open(context.Context) (Identity, error) {
	defer d.enter()()
	return d.identity, d.world.call("open " + d.address)
}

func (d *fakeDevice) Read(_ context.Context, resources []Resource) ([]State, error) {
	defer d.enter()()
	states := make([]State, len(resources))
	for i, r := range resources {
		if v, ok := d.values[r.(*fakeResource).key()]; ok {
			states[i] = &v
		}
	}
	return states, d.world.call("read " + d.address)
}

func (d *fakeDevice) Begin(_ context.Context, steps []Step) error {
	defer d.change("begin " + d.address)()
	if d.before != nil || len(steps) == 0 {
		panic(d.address + ": begin in a transaction or without steps")
	}
	if err := d.world.call("begin " + d.address); err != nil {
		return err
	}
	d.before = maps.Clone(d.values)
	return nil
}

func (d *fakeDevice) Apply(ctx context.Context, s Step) error {
	defer d.change("apply " + s.ID.String())()
	if d.before == nil {
		panic(d.address + ": apply without begin")
	}
	r := s.Resource.(*fakeResource)
	if err := d.world.call("apply " + s.ID.String()); err != nil {
		d.values[r.key()] = "half done"
		return err
	}
	if r.value == "" {
		delete(d.values, r.key())
	} else {
		d.values[r.key()] = r.value
	}
	d.world.mu.Lock()
	d.world.applied = append(d.world.applied, s.ID)
	d.world.mu.Unlock()
	return ctx.Err()
}

func (d *fakeDevice) Commit(ctx context.Context) error {
	defer d.change("commit " + d.address)()
	if err := d.world.call("commit " + d.address); err != nil {
		return err
	}
	d.before = nil
	return ctx.Err()
}

func (d *fakeDevice) Abort(ctx context.Context) error {
	defer d.change("abort " + d.address)()
	err := d.world.call("abort " + d.address)
	if d.before != nil && err == nil {
		d.values = d.before
	}
	d.before = nil
	return errors.Join(err, ctx.Err())
}

// mustMake plans a world that has no faults in planning.
func mustMake(t testing.TB, ctx context.Context, in Input) *Plan {
	t.Helper()
	p, err := Make(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// throughFile writes the plan and reads it again.
func throughFile(t testing.TB, p *Plan) *Plan {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	back, err := ReadPlan(&b)
	if err != nil {
		t.Fatal(err)
	}
	return back
}
