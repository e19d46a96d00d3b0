// Package target is what commands mean: subsystems, their namespaces, the
// controllers of connected hosts, and discovery.
//
// A transport calls one queue (a [fabric.Handler]) per connection. Commands on
// memory are performed at once, on the connection's own goroutine, which is the
// quickest. Commands on a backend that may block go to a few workers that all
// connections share, so that a slow disk holds up no connection's reader; when
// all workers are busy the readers wait, which slows the hosts down in turn.
// Admin commands never go there: keep-alives are answered while disks stall.
package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// Limits that a target reports to hosts; its listeners must keep to them.
const (
	MaxDepth    = 128       // commands outstanding on one queue pair
	MaxTransfer = 128 << 10 // bytes of one command
	InCapsule   = 8 << 10   // bytes of data in a command capsule
)

const (
	maxQueues      = 128  // I/O queue pairs of a controller
	maxControllers = 4096 // of a target
	maxDiscovery   = 1024 // of those; anybody may have them, so they must leave room
	model          = "weft"
	workers        = 32 // for backends that may block
)

// Config is what a target serves.
type Config struct {
	Subsystems []Subsystem
	Portals    []Portal     // what discovery names
	Firmware   string       // revision, at most 8 characters
	Generation uint64       // of the discovery log: higher whenever the rest has changed
	Log        *slog.Logger // nil: silence
}

// A Portal is an address of the target as hosts know it.
type Portal struct {
	Transport string // "tcp" or "rdma"
	Address   string // "10.40.1.11:4420"
}

// A Subsystem is what hosts connect to.
type Subsystem struct {
	NQN        string
	Serial     string   // at most 20 characters
	AllowHosts []string // host NQNs; nobody else connects
	Namespaces []Namespace
}

// A Namespace is a backend that hosts see as a block device.
type Namespace struct {
	ID      uint32 // 1 to 0xfffffffe
	UUID    [16]byte
	Backend backend.Backend
}

// A Target serves subsystems. Its methods may be called concurrently.
type Target struct {
	conf       Config
	log        *slog.Logger
	subsystems map[string]*subsystem
	gate       gate
	work       chan job
	workers    sync.WaitGroup

	mu          sync.Mutex
	controllers map[uint16]*controller
	discovering int // controllers of discovery
	lastID      uint16
}

// subsystem is a Subsystem at work.
type subsystem struct {
	Subsystem
	allowed    map[string]bool
	namespaces map[uint32]*namespace
	ids        []uint32 // of the namespaces, ascending
	read       atomic.Uint64
	written    atomic.Uint64
}

// namespace is a Namespace at work.
type namespace struct {
	Namespace
	info   backend.Info
	blocks uint64
}

// New returns a target that is ready to serve. The backends belong to it until
// Close.
func New(c Config) (*Target, error) {
	t := &Target{
		conf: c, log: c.Log,
		subsystems:  map[string]*subsystem{},
		work:        make(chan job),
		controllers: map[uint16]*controller{},
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	for _, s := range c.Subsystems {
		if t.subsystems[s.NQN] != nil || s.NQN == wire.DiscoveryNQN {
			return nil, fmt.Errorf("subsystem %q is there twice", s.NQN)
		}
		sub, err := newSubsystem(s)
		if err != nil {
			return nil, fmt.Errorf("subsystem %q: %w", s.NQN, err)
		}
		t.subsystems[s.NQN] = sub
	}
	for range workers {
		t.workers.Go(func() {
			for j := range t.work {
				j.queue.perform(j.x)
			}
		})
	}
	return t, nil
}

func newSubsystem(s Subsystem) (*subsystem, error) {
	if err := wire.ValidNQN(s.NQN); err != nil {
		return nil, err
	}
	sub := &subsystem{Subsystem: s, allowed: map[string]bool{}, namespaces: map[uint32]*namespace{}}
	for _, h := range s.AllowHosts {
		sub.allowed[h] = true
	}
	for _, n := range s.Namespaces {
		if n.ID == 0 || n.ID == wire.NSIDAll || sub.namespaces[n.ID] != nil {
			return nil, fmt.Errorf("namespace id %d is impossible or there twice", n.ID)
		}
		info := n.Backend.Info()
		sub.namespaces[n.ID] = &namespace{n, info, uint64(info.Size / int64(info.BlockSize))}
		sub.ids = append(sub.ids, n.ID)
	}
	slices.Sort(sub.ids)
	return sub, nil
}

// lastNSID is the highest namespace id, 0 without namespaces.
func (s *subsystem) lastNSID() uint32 {
	if len(s.ids) == 0 {
		return 0
	}
	return s.ids[len(s.ids)-1]
}

// Accept is for Transport.Listen: the handler of a new connection.
func (t *Target) Accept(c fabric.Conn) fabric.Handler { return &queue{t: t, conn: c} }

// Stat counts what a subsystem has served.
type Stat struct {
	NQN          string
	Controllers  int // connected now
	BytesRead    uint64
	BytesWritten uint64
}

// Stats returns the counts of the subsystems in the order of Config.
func (t *Target) Stats() []Stat {
	connected := map[*subsystem]int{}
	t.mu.Lock()
	for _, c := range t.controllers {
		connected[c.sub]++
	}
	t.mu.Unlock()
	var all []Stat
	for _, s := range t.conf.Subsystems {
		sub := t.subsystems[s.NQN]
		all = append(all, Stat{s.NQN, connected[sub], sub.read.Load(), sub.written.Load()})
	}
	return all
}

// Drain finishes the I/O commands under way and begins no more: what arrives
// from now on stays without an answer, and no host can connect. Close the
// listeners next, so that hosts go on elsewhere. The error is the context's.
func (t *Target) Drain(ctx context.Context) error {
	select {
	case <-t.gate.shut():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("finishing commands under way: %w", ctx.Err())
	}
}

// Close finishes the commands under way, and flushes and closes the backends.
// All listeners must have been closed.
func (t *Target) Close() error {
	<-t.gate.shut()
	t.mu.Lock()
	var left []*controller
	for _, c := range t.controllers {
		left = append(left, c)
	}
	t.mu.Unlock()
	for _, c := range left {
		c.end("the target is closing")
	}
	close(t.work)
	t.workers.Wait()
	var errs []error
	for _, s := range t.conf.Subsystems {
		for _, n := range s.Namespaces {
			if err := errors.Join(n.Backend.Flush(), n.Backend.Close()); err != nil {
				errs = append(errs, fmt.Errorf("closing namespace %d of %s: %w", n.ID, s.NQN, err))
			}
		}
	}
	return errors.Join(errs...)
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
