package tcp

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"weft/internal/nvme/rawsock"
)

// Pollers are threads that serve connections of listeners without ever
// blocking. Each keeps a processor busy, whether there is work or not.
type Pollers struct {
	loops []*pollLoop
	wg    sync.WaitGroup
	next  atomic.Uint32
}

// PollerOptions say how many pollers there are and where they run.
type PollerOptions struct {
	Threads int   // at most one less than GOMAXPROCS; 0 is as many
	CPUs    []int // processors that they are kept on, in turn; empty: any
	Empty   int   // rounds without anything after which the processor is offered to other threads; 0 is DefaultEmpty
}

// DefaultEmpty is the default of PollerOptions.Empty.
const DefaultEmpty = 1024

// NewPollers starts the threads; Close ends them.
func NewPollers(o PollerOptions) (*Pollers, error) { return newPollers(o, usualCrowding()) }

func newPollers(o PollerOptions, when crowding) (*Pollers, error) {
	most := runtime.GOMAXPROCS(0) - 1
	if o.Threads == 0 {
		o.Threads = most
	}
	if o.Empty == 0 {
		o.Empty = DefaultEmpty
	}
	switch {
	case runtime.GOOS != "linux":
		return nil, rawsock.ErrUnsupported
	case most < 1:
		return nil, errors.New("polling needs a processor besides the pollers' and there is one: GOMAXPROCS is 1")
	case o.Threads < 1 || o.Threads > most:
		return nil, fmt.Errorf("%d pollers, want 1 to %d: one less than GOMAXPROCS", o.Threads, most)
	case o.Empty < 0:
		return nil, fmt.Errorf("%d empty rounds before the processor is offered to others", o.Empty)
	}
	p := new(Pollers)
	started := make(chan error)
	for i := range o.Threads {
		cpu := -1
		if len(o.CPUs) > 0 {
			cpu = o.CPUs[i%len(o.CPUs)]
		}
		l := &pollLoop{empty: o.Empty, crowd: crowd{when: when}}
		p.loops = append(p.loops, l)
		p.wg.Go(func() { l.run(cpu, started) })
	}
	var errs []error
	for range p.loops {
		errs = append(errs, <-started)
	}
	if err := errors.Join(errs...); err != nil {
		p.Close()
		return nil, fmt.Errorf("start pollers: %w", err)
	}
	return p, nil
}

// Close ends the threads. All listeners that use them must be closed.
func (p *Pollers) Close() {
	for _, l := range p.loops {
		l.mu.Lock()
		l.stopping = true
		l.mu.Unlock()
		l.attend()
	}
	p.wg.Wait()
}

// serve gives a connection to the next poller.
func (p *Pollers) serve(c *targetConn) {
	l := p.loops[int(p.next.Add(1))%len(p.loops)]
	c.polled = &polled{c: c, loop: l}
	l.mu.Lock()
	l.joining = append(l.joining, c.polled)
	l.mu.Unlock()
	l.attend()
}
