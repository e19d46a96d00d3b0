// Package target is what commands mean: subsystems, their namespaces, the
// controllers of connected hosts, and discovery.
//
// A transport calls one queue (a [fabric.Handler]) per connection. Commands on
// memory are performed at once, on the connection's own goroutine, which is the
// quickest. What may block or takes long goes to workers (see [crew]), so that
// whoever reads from a connection never waits. Workers serve hosts in turn, none
// can have all of them, and what takes long is done in parts with the others' in
// between: one host's commands do not hold up another's. Admin commands never go
// there: keep-alives are answered while disks stall.
package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// Limits that a target reports to hosts; its listeners must keep to them.
const (
	MaxDepth    = 1024      // commands outstanding on one queue pair
	MaxTransfer = 128 << 10 // bytes of one command
	InCapsule   = 8 << 10   // bytes of data in a command capsule
	MaxGroups   = 128       // groups of namespaces, numbered from 1
)

const (
	maxQueues      = 128  // I/O queue pairs of a controller
	maxControllers = 4096 // of a target
	maxDiscovery   = 1024 // of those; anybody may have them, so they must leave room
	maxNamespaces  = 1024 // of a subsystem
	model          = "weft"
)

// Config is what a target serves.
type Config struct {
	Subsystems []Subsystem
	Portals    []Portal     // what discovery names
	Access     []Access     // of groups of namespaces; what is not named is optimized
	Firmware   string       // revision, at most 8 characters
	Generation uint64       // of the discovery log at the start; Reload counts on from there
	Log        *slog.Logger // nil: silence

	// Descriptors are how many files and sockets the process may have open: half of
	// them are for queues, a part for strangers, the rest for everything else. 0: any
	// number.
	Descriptors int

	// Processors are how many the process may keep busy; 0: as many as run Go.
	Processors int

	// Yield lets other threads have the processor of a worker that has gone on for a
	// while; nil: other goroutines, as Go does.
	Yield func()
}

// A Portal is an address of the target as hosts know it.
type Portal struct {
	Transport string // "tcp" or "rdma"
	Address   string // "10.40.1.11:4420"
	TLS       bool   // hosts have to connect with TLS
}

// Access is how well a group of namespaces can be reached at a portal.
type Access struct {
	Portal string // address
	Group  uint32
	State  wire.ANAState
}

// A Subsystem is what hosts connect to.
type Subsystem struct {
	NQN        string
	Serial     string   // at most 20 characters
	AllowHosts []string // host NQNs; nobody else connects
	Portals    []string // addresses that serve it; none: all
	Namespaces []Namespace
	Keys       map[string]Keys // by host NQN; hosts without need not authenticate
}

// A Namespace is a backend that hosts see as a block device.
type Namespace struct {
	ID       uint32 // 1 to names.MaxNSID
	UUID     [16]byte
	NGUID    [16]byte // zero: none
	Backend  backend.Backend
	Group    uint32 // of asymmetric access, 1 to MaxGroups; 0 is 1
	ReadOnly bool   // hosts cannot change it
	Limits   Limits
}

// A Target serves subsystems. Its methods may be called concurrently.
type Target struct {
	log       *slog.Logger
	pace      *pace // of the log
	gate      gate
	workers   sync.WaitGroup
	moving    *crew // for commands on backends that may block
	storing   *crew
	flushing  *crew
	computing *crew // for what keeps processors busy
	proving   *crew // for messages of authentication
	started   time.Time
	loading   atomic.Bool               // a new configuration is being read
	unproven  fabric.Lobby[*controller] // whose hosts have yet to authenticate
	visitors  fabric.Lobby[*controller] // of discovery

	controllerSeats seats // of hosts that do I/O
	queueSeats      seats
	refused         struct { // since the start
		connect, auth, silent atomic.Uint64
	}

	reload sync.Mutex // one at a time
	yield  func()     // Config.Yield

	mu          sync.Mutex
	conf        Config // what is served now
	subsystems  map[string]*subsystem
	portals     map[string]*portal
	generation  uint64
	controllers map[controllerKey]*controller
	lastID      uint16
}

// New returns a target that is ready to serve. The backends belong to it until
// Close, or until a Reload that no longer has them.
func New(c Config) (*Target, error) {
	t := &Target{
		started:     time.Now(),
		controllers: map[controllerKey]*controller{},
		portals:     map[string]*portal{},
		generation:  c.Generation,
	}
	t.share(c.Descriptors)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	quiet := newQuiet(c.Log.Handler())
	t.log, t.pace = slog.New(quiet), quiet.pace
	next, err := t.prepare(c)
	if err != nil {
		return nil, err
	}
	t.install(next)
	if c.Yield == nil {
		c.Yield = runtime.Gosched
	}
	t.yield = c.Yield
	t.moving = t.hire(movers, hostMovers, ofHost, t.perform)
	t.storing = t.hire(storers, hostStorers, ofHost, t.perform)
	t.flushing = t.hire(flushers, hostFlushers, ofHost, t.perform)
	c.Processors = cmp.Or(c.Processors, runtime.GOMAXPROCS(0))
	all, host := computers(c.Processors)
	t.computing = t.hire(all, host, ofHost, t.perform)
	t.proving = t.hire(provers, sourceProvers, ofSource, converse)
	return t, nil
}

// Accept is for Transport.Listen: the handler of a new connection.
func (t *Target) Accept(c fabric.Conn) fabric.Handler { return &queue{t: t, conn: c} }

// Drain finishes the I/O commands under way and begins no more: what arrives
// from now on stays without an answer, and no host can connect. Close the
// listeners next, so that hosts go on elsewhere. The error is the context's.
func (t *Target) Drain(ctx context.Context) error {
	shut := t.shut()
	select {
	case <-shut:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("finishing commands under way: %w", ctx.Err())
	}
}

// shut lets no more commands begin, and those that limits delay go at once. The
// channel is closed when all have ended.
func (t *Target) shut() <-chan struct{} {
	shut := t.gate.shut()
	for _, l := range t.limiters() {
		l.set(Limits{})
	}
	return shut
}

// Close finishes the commands under way, and flushes and closes the backends.
// All listeners must have been closed.
func (t *Target) Close() error {
	<-t.shut()
	t.reload.Lock()
	defer t.reload.Unlock()
	for _, c := range t.connected() {
		c.end("the target is closing")
	}
	for _, c := range t.crews() {
		c.dismiss()
	}
	t.workers.Wait()
	var errs []error
	for _, s := range t.conf.Subsystems {
		for _, n := range s.Namespaces {
			errs = append(errs, closeBackend(s.NQN, n))
		}
	}
	return errors.Join(errs...)
}

func (t *Target) crews() []*crew {
	return []*crew{t.moving, t.storing, t.flushing, t.computing, t.proving}
}

// connected are the controllers there are now.
func (t *Target) connected() []*controller {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.controllers))
}

func closeBackend(nqn string, n Namespace) error {
	if err := errors.Join(n.Backend.Flush(), n.Backend.Close()); err != nil {
		return fmt.Errorf("closing namespace %d of %s: %w", n.ID, nqn, err)
	}
	return nil
}

// A gate counts what is under way and can be shut for good.
type gate struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // closed when shut and empty
}

// enter reports whether one more may begin; it must then leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// shut lets nobody in any more; the channel is closed when all have left.
func (g *gate) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		g.empty = make(chan struct{})
		if g.inside == 0 {
			close(g.empty)
		}
	}
	return g.empty
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}
