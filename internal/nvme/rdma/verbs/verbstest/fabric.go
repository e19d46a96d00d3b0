// Package verbstest is RDMA in memory: what package verbs offers, without
// hardware, for tests of who uses it. It is stricter than hardware: works that
// are too many, keys that are not good and memory that is released too early
// do not pass.
package verbstest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"unsafe"

	"weft/internal/nvme/rdma/verbs"
)

// A Fabric joins everything in this process that uses it. The zero Fabric is
// ready; it must not be copied.
type Fabric struct {
	Limit   verbs.Limits // of its one device; zero fields are generous
	MemLock int          // bytes that may be registered at a time; 0: any

	mu        sync.Mutex
	acceptors map[netip.AddrPort]*acceptor
	removed   bool // the device, by Remove
	cut       bool // the cable, by Cut
	regions   map[uint32]*region
	pairs     map[*pair]bool
	hubs      int
	bytes     int // registered
	next      uint32
}

var _ verbs.Provider = (*Fabric)(nil)

// region is registered memory.
type region struct {
	mem    []byte
	access verbs.Access
}

const firstPort = 20000

// Registered is how many regions there are now.
func (f *Fabric) Registered() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.regions)
}

// Bytes is how much memory is registered now.
func (f *Fabric) Bytes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes
}

// Links is how many connections have queues now.
func (f *Fabric) Links() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pairs)
}

// Hubs is how many there are now.
func (f *Fabric) Hubs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hubs
}

// Remove takes the device away, with all that listens on it, or puts it back.
// Connections stay.
func (f *Fabric) Remove(gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removed = gone
	for _, a := range f.acceptors {
		if gone {
			a.lost.Do(func() { close(a.removed) })
		}
	}
}

// Cut takes the cable out somewhere on the way, where the device does not see it,
// or puts it back: meanwhile peers do not answer, and connections that wanted
// something from them are over.
func (f *Fabric) Cut(out bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = out
}

// Fail has the device tell that it has failed: nothing completes any more.
func (f *Fabric) Fail() {
	f.happen(func(p *pair) {
		p.silent = true
		p.end(verbs.DeviceFailed(f.Limits().Device))
	})
}

// QueueError has the device put all queue pairs into error, and tell so.
func (f *Fabric) QueueError() {
	f.happen(func(p *pair) {
		p.end(fmt.Errorf("queue pair on %s: %w", f.Limits().Device, verbs.ErrQueue))
		p.fail()
	})
}

// happen is an asynchronous event that concerns all pairs there are.
func (f *Fabric) happen(does func(*pair)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.pairs {
		does(p)
	}
}

// Devices is one device.
func (f *Fabric) Devices() ([]verbs.Device, error) {
	return []verbs.Device{{Name: f.Limits().Device, Ports: []verbs.Port{{Number: 1, State: verbs.PortActive, Ethernet: true, MTU: 4096}}}}, nil
}

// Limits are those of the device.
func (f *Fabric) Limits() verbs.Limits {
	l := verbs.Limits{Device: "memory", Works: 1 << 14, Dones: 1 << 16, Reads: 16, Issues: 16}
	if f.Limit != (verbs.Limits{}) {
		l = f.Limit
	}
	return l
}

// Register makes memory known.
func (f *Fabric) Register(b []byte, a verbs.Access) (*verbs.Memory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(b) == 0:
		return nil, errors.New("register no memory at all")
	case a&verbs.RemoteWrite != 0 && a&verbs.LocalWrite == 0:
		return nil, errors.New("remote write without local write")
	case f.MemLock > 0 && f.bytes+len(b) > f.MemLock:
		return nil, fmt.Errorf("register %d bytes: %w", len(b), syscall.ENOMEM)
	}
	if f.regions == nil {
		f.regions = map[uint32]*region{}
	}
	f.next++
	key := f.next<<8 | 0x5a
	r := &region{mem: b, access: a}
	f.regions[key] = r
	f.bytes += len(b)
	return verbs.NewMemory(addr(b), key, key, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.regions[key] != r {
			return errors.New("memory was released twice")
		}
		for p := range f.pairs {
			for _, w := range p.recvs {
				if w.Local.Key == key && !p.broken {
					return errors.New("memory is released that something may be received into")
				}
			}
		}
		delete(f.regions, key)
		f.bytes -= len(b)
		return nil
	}), nil
}

func addr(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// find is the memory that an address, a length and a key name.
func (f *Fabric) find(at uint64, n, key uint32, need verbs.Access) ([]byte, bool) {
	r := f.regions[key]
	if r == nil || r.access&need != need {
		return nil, false
	}
	from := at - addr(r.mem)
	if at < addr(r.mem) || from > uint64(len(r.mem)) || uint64(n) > uint64(len(r.mem))-from {
		return nil, false
	}
	return r.mem[from : from+uint64(n)], true
}

// Listen takes an address.
func (f *Fabric) Listen(at netip.AddrPort) (verbs.Acceptor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.acceptors == nil {
		f.acceptors = map[netip.AddrPort]*acceptor{}
	}
	if at.Port() == 0 {
		f.next++
		at = netip.AddrPortFrom(at.Addr(), uint16(firstPort+f.next))
	}
	switch {
	case f.acceptors[at] != nil:
		return nil, errors.New("address already in use")
	case f.removed:
		return nil, errors.New("the interface with the address has no RDMA device")
	}
	a := &acceptor{f: f, at: at, come: make(chan *link, 64), gone: make(chan struct{}), removed: make(chan struct{})}
	f.acceptors[at] = a
	return a, nil
}

// Resolve always finds the device.
func (f *Fabric) Resolve(ctx context.Context, r verbs.Route) (verbs.Link, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	from := r.From
	if !from.IsValid() {
		from = r.To.Addr()
	}
	return &link{f: f, local: netip.AddrPortFrom(from, uint16(firstPort+f.next)), remote: r.To, answer: make(chan reply, 1)}, nil
}

// acceptor is an address that is listened on.
type acceptor struct {
	f    *Fabric
	at   netip.AddrPort
	come chan *link
	gone chan struct{}
	once sync.Once

	removed chan struct{} // closed with the device
	lost    sync.Once
}

func (a *acceptor) Addr() netip.AddrPort { return a.at }

func (a *acceptor) Accept() (verbs.Link, verbs.Hello, error) {
	select {
	case <-a.gone:
		return nil, verbs.Hello{}, net.ErrClosed
	default:
	}
	select {
	case <-a.gone:
		return nil, verbs.Hello{}, net.ErrClosed
	case <-a.removed:
		return nil, verbs.Hello{}, verbs.ErrRemoved
	case k := <-a.come:
		return k, k.hello, nil
	}
}

func (a *acceptor) Close() error {
	a.once.Do(func() {
		close(a.gone)
		a.f.mu.Lock()
		delete(a.f.acceptors, a.at)
		a.f.mu.Unlock()
		for {
			select {
			case k := <-a.come:
				k.other.answer <- reply{err: &verbs.RefusedError{Reason: 8}}
			default:
				return
			}
		}
	})
	return nil
}
