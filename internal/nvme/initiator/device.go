package initiator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// Policy is how a Device chooses among paths that are equally good.
type Policy uint8

// The policies.
const (
	RoundRobin Policy = iota // the next one every time
	QueueDepth               // the one with the fewest commands outstanding
)

// A Portal is one way to a subsystem.
type Portal struct {
	Addr      string // logical address
	Transport fabric.Transport
}

// DeviceOptions describe a namespace and all ways to it.
type DeviceOptions struct {
	Options // of every path; Addr is unused, and Queues is how many lanes there are
	Portals []Portal
	NSID    uint32 // 0: the first that the first path shows
	Policy  Policy

	// A path that is lost is dialled again after First, then twice as long each
	// time, at most Most. Commands wait for a path for at most Patience, then
	// they fail; 0 is DefaultPatience, negative is not at all.
	First, Most, Patience time.Duration

	Spin bool         // waiting on several paths never sleeps
	Told func(string) // is told when paths come and go; nil: nobody
}

// Defaults of DeviceOptions.
const (
	DefaultFirst    = 100 * time.Millisecond
	DefaultMost     = 5 * time.Second
	DefaultPatience = 10 * time.Minute
)

// anaEvery is how often the state of asymmetric access is read again.
const anaEvery = time.Second

// A Device is a namespace that is reached over one or more paths. Paths that
// are lost are connected again, and commands that were outstanding on them go
// on elsewhere. Commands go through Lanes.
type Device struct {
	o      DeviceOptions
	paths  []*path
	cancel context.CancelFunc
	wg     sync.WaitGroup

	generation atomic.Uint64 // counts changes of the paths

	mu      sync.Mutex
	ns      Namespace
	changed chan struct{} // closed and replaced with every change
	lanes   int
	depth   int       // of every queue
	lost    time.Time // since when there is no path
	closed  bool
	stats   DeviceStats
}

// DeviceStats count what a Device has lived through.
type DeviceStats struct {
	Lost        int // paths that were lost
	Reconnected int // and those that came back
	Retried     int // commands that were sent more than once
}

// OpenDevice connects all paths. It is an error if none can be connected, or
// if what they lead to differs. The context bounds this only.
func OpenDevice(ctx context.Context, o DeviceOptions) (*Device, error) {
	o.Options = o.Options.withDefaults()
	o.First = cmp.Or(o.First, DefaultFirst)
	o.Most = cmp.Or(o.Most, DefaultMost)
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	if len(o.Portals) == 0 {
		return nil, errors.New("no portal to connect to")
	}
	life, cancel := context.WithCancel(context.Background())
	d := &Device{o: o, cancel: cancel, changed: make(chan struct{})}
	var errs []error
	for _, at := range o.Portals {
		p := &path{d: d, portal: at}
		if err := p.connect(ctx, false); err != nil {
			errs = append(errs, err)
			p.err = err
		}
		d.paths = append(d.paths, p)
	}
	if len(errs) == len(d.paths) {
		cancel()
		return nil, errors.Join(errs...)
	}
	for _, err := range errs {
		d.tell("%v", err)
	}
	d.depth = d.least()
	d.change(nil)
	for _, p := range d.paths {
		d.wg.Go(func() { p.keep(life) })
	}
	return d, nil
}

func (d *Device) tell(format string, args ...any) {
	if d.o.Told != nil {
		d.o.Told(fmt.Sprintf(format, args...))
	}
}

// Namespace is what is at the end of all paths.
func (d *Device) Namespace() Namespace {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ns
}

// MaxTransfer is the most bytes of one command over any path; 0 is no limit.
func (d *Device) MaxTransfer() int {
	most := 0
	for _, p := range d.paths {
		if c, _ := p.now(); c != nil {
			if m := c.identity.MaxTransfer(); m != 0 && (most == 0 || m < most) {
				most = m
			}
		}
	}
	return most
}

// Depth is how many commands each lane may have outstanding.
func (d *Device) Depth() int { return d.depth }

// least is the depth of the shallowest queue.
func (d *Device) least() int {
	least := d.o.QueueSize
	for _, p := range d.paths {
		if c, _ := p.now(); c != nil {
			for _, q := range c.Queues() {
				least = min(least, q.depth)
			}
		}
	}
	return least
}

// Stats are the counts so far.
func (d *Device) Stats() DeviceStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats
}

// PathStatus is what is known of one path.
type PathStatus struct {
	Addr       string
	Controller *Controller // nil while it is not connected
	State      wire.ANAState
	Err        error // why it is not connected
}

// Paths are the paths as they are now.
func (d *Device) Paths() []PathStatus {
	var all []PathStatus
	for _, p := range d.paths {
		p.mu.Lock()
		all = append(all, PathStatus{p.portal.Addr, p.ctrl, p.state, p.err})
		p.mu.Unlock()
	}
	return all
}

// wanted is the number of the namespace; 0: whichever comes first.
func (d *Device) wanted() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.o.NSID == 0 {
		return d.ns.ID
	}
	return d.o.NSID
}

// same notes the first namespace and refuses one that differs from it.
func (d *Device) same(ns Namespace) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ns.ID != 0 {
		if differs := ns.differs(d.ns); len(differs) > 0 {
			return fmt.Errorf("namespace %d is not what it was: %s", ns.ID, strings.Join(differs, ", "))
		}
	}
	d.ns = ns
	return nil
}

// change tells all lanes that a path has come, gone or changed.
func (d *Device) change(count func(*DeviceStats)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if count != nil {
		count(&d.stats)
	}
	d.lost = time.Time{}
	if !slices.ContainsFunc(d.paths, (*path).usable) {
		d.lost = time.Now()
	}
	d.generation.Add(1)
	close(d.changed)
	d.changed = make(chan struct{})
}

// await returns after a change of the paths that came after generation, after
// at most a time, or with why there is nothing to wait for.
func (d *Device) await(ctx context.Context, generation uint64, most time.Duration) error {
	d.mu.Lock()
	changed, lost, closed := d.changed, d.lost, d.closed
	d.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if d.generation.Load() != generation {
		return nil
	}
	if !lost.IsZero() && (time.Since(lost) >= max(d.o.Patience, 0) || !slices.ContainsFunc(d.paths, (*path).hopeful)) {
		return fmt.Errorf("no path to %s for %v: %w", d.o.SubNQN, time.Since(lost).Round(time.Millisecond), d.why())
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return d.interrupted(ctx)
	}
	return nil
}

// interrupted is why nobody waits for a path any more.
func (d *Device) interrupted(ctx context.Context) error {
	return fmt.Errorf("no path to %s: %w", d.o.SubNQN, errors.Join(context.Cause(ctx), d.why()))
}

// why is what is wrong with the paths.
func (d *Device) why() error {
	var errs []error
	for _, p := range d.paths {
		if _, err := p.now(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close ends all paths. Lanes return ErrClosed.
func (d *Device) Close() error {
	d.cancel()
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.wg.Wait()
	d.change(nil)
	return nil
}
