package initiator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"weft/internal/nvme/wire"
)

// A path is one way of a Device, with the controller at its end while there is
// one.
type path struct {
	d      *Device
	portal Portal

	mu    sync.Mutex
	ctrl  *Controller // nil: not connected
	state wire.ANAState
	err   error         // why not
	given bool          // up: the target does not want this host
	again chan struct{} // wakes keep to read the state of access again
}

// usable reports whether commands can go here.
func (p *path) usable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ctrl != nil && usable(p.state) > 0
}

// hopeful reports whether they may be able to later.
func (p *path) hopeful() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.given
}

// now is the controller, or why there is none.
func (p *path) now() (*Controller, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ctrl, p.err
}

// connect connects and finds the namespace; again says that it counts.
func (p *path) connect(ctx context.Context, again bool) error {
	o := p.d.o.Options
	o.Addr = p.portal.Addr
	c, err := Connect(ctx, p.portal.Transport, o)
	if err != nil {
		return err
	}
	state, err := p.find(c)
	if err != nil {
		_ = c.Close()
		return fmt.Errorf("%s at %s: %w", o.SubNQN, o.Addr, err)
	}
	p.d.change(func(s *DeviceStats) {
		if again { // no command is answered on it before it is counted
			s.Reconnected++
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ctrl, p.state, p.err = c, state, nil
		if p.again == nil {
			p.again = make(chan struct{}, 1)
		}
	})
	return nil
}

// find judges what a new controller offers.
func (p *path) find(c *Controller) (wire.ANAState, error) {
	if have := len(c.Queues()); have < p.d.o.Queues {
		return 0, fmt.Errorf("the controller grants %d I/O queues, want %d", have, p.d.o.Queues)
	}
	for _, q := range c.Queues() {
		if q.depth < p.d.depth {
			return 0, fmt.Errorf("the controller has queues of depth %d, had %d", q.depth, p.d.depth)
		}
	}
	want := p.d.wanted()
	for _, ns := range c.Namespaces() {
		if want != 0 && ns.ID != want {
			continue
		}
		if err := p.d.same(ns); err != nil {
			return 0, err
		}
		return c.ANAState(ns)
	}
	if want == 0 {
		return 0, errors.New("it shows this host no namespace")
	}
	return 0, fmt.Errorf("there is no namespace %d", want)
}

// keep keeps the path connected until ctx ends.
func (p *path) keep(ctx context.Context) {
	defer func() {
		if c, _ := p.now(); c != nil { // connected just before the end
			_ = c.Close()
		}
	}()
	for ctx.Err() == nil {
		if c, _ := p.now(); c != nil {
			p.watch(ctx, c)
			p.mu.Lock()
			p.ctrl, p.err = nil, c.Err()
			p.mu.Unlock()
			_ = c.Close() // lost, or on purpose: there is nothing to tell
			if ctx.Err() == nil {
				p.d.change(func(s *DeviceStats) { s.Lost++ })
				p.d.tell("path lost: %v", c.Err())
			}
			continue
		}
		if !p.reconnect(ctx) {
			<-ctx.Done()
		}
	}
}

// watch returns when the controller is lost or ctx has ended. Until then it
// reads how well the namespace can be reached, now and then and when a lane
// says so.
func (p *path) watch(ctx context.Context, c *Controller) {
	tick := time.NewTicker(anaEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.Done():
			return
		case <-p.again:
		case <-tick.C:
			if c.identity.CMIC&cmicANA == 0 {
				continue
			}
		}
		state, err := c.ANAState(p.d.Namespace())
		if err != nil {
			continue // the controller will be lost, or it is read again
		}
		p.mu.Lock()
		changed := p.state != state
		p.state = state
		p.mu.Unlock()
		if changed {
			p.d.change(nil)
			p.d.tell("path %s: access is now %v", p.portal.Addr, state)
		}
	}
}

// reconnect dials until it succeeds. false says that the target does not want
// this host any more, or that ctx has ended.
func (p *path) reconnect(ctx context.Context) bool {
	told := ""
	for pause := p.d.o.First; ; pause = min(2*pause, p.d.o.Most) {
		// A little disorder keeps hosts that were lost together apart.
		timer := time.NewTimer(pause*3/4 + rand.N(pause/2+1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		dialling, cancel := context.WithTimeoutCause(ctx, p.d.o.Timeout, fmt.Errorf("%s did not answer within %v", p.portal.Addr, p.d.o.Timeout))
		err := p.connect(dialling, true)
		cancel()
		if err == nil {
			p.d.tell("path connected again: %s", p.portal.Addr)
			return true
		}
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		var st wire.Status
		if errors.As(err, &st) && st.DNR() {
			p.mu.Lock()
			p.given = true
			p.mu.Unlock()
			p.d.change(nil)
			p.d.tell("path given up: %v", err)
			return false
		}
		if now := reason(err); ctx.Err() == nil && now != told {
			told = now
			p.d.tell("path not connected again, it is tried on: %v", err)
		}
	}
}

// reason is what an attempt has failed for, without what is another every time:
// the port that this end has had.
func reason(err error) string {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}

// recheck has the state of access read again.
func (p *path) recheck() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.again <- struct{}{}:
	default:
	}
}
