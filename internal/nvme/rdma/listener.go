package rdma

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
)

// listener is an open portal and its connections.
type listener struct {
	at     netip.AddrPort
	listen func(netip.AddrPort) (verbs.Acceptor, error)
	params fabric.ListenParams
	accept func(fabric.Conn) fabric.Handler

	stopping chan struct{}
	wg       sync.WaitGroup

	waiting fabric.Lobby[*conn] // on which no host has connected yet

	mu      sync.Mutex
	a       verbs.Acceptor
	gone    error              // why nobody can connect now; nil: they can
	conns   map[*conn]struct{} // nil after Close
	pools   map[verbs.Domain]*pool
	pollers []*poller
	once    sync.Once
	closed  error
}

func newListener(v verbs.Provider, a verbs.Acceptor, p fabric.ListenParams, accept func(fabric.Conn) fabric.Handler) *listener {
	l := &listener{
		at: a.Addr(), listen: v.Listen, a: a, params: p, accept: accept, stopping: make(chan struct{}),
		conns: map[*conn]struct{}{}, pools: map[verbs.Domain]*pool{},
	}
	l.waiting.Most = maxWaiting
	if p.Waiting > 0 {
		l.waiting.Most = min(p.Waiting, maxWaiting)
	}
	l.waiting.OfSource = max(1, l.waiting.Most/2)
	l.wg.Go(func() { l.serve(a) })
	return l
}

// Addr is the logical address.
func (l *listener) Addr() string { return logicalAddr(l.params.Addr, l.at) }

// Gone is why nobody can connect now; nil: they can. A device that was removed
// takes its listeners along; another one with the address is waited for.
func (l *listener) Gone() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gone
}

func (l *listener) serve(a verbs.Acceptor) {
	const pause = 50 * time.Millisecond // out of something, most likely: try again
	for {
		link, hello, err := a.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, verbs.ErrRemoved):
			if a = l.again(a, err); a == nil {
				return
			}
			continue
		case err == nil:
			l.start(link, hello)
			continue
		}
		select {
		case <-l.stopping:
			return
		case <-time.After(pause):
		}
	}
}

// again listens anew once there is a device with the address; nil: the listener
// is being closed.
func (l *listener) again(a verbs.Acceptor, why error) verbs.Acceptor {
	const pause = time.Second
	_ = a.Close() // it is of no use any more
	for {
		l.mu.Lock()
		l.gone = why
		l.mu.Unlock()
		select {
		case <-l.stopping:
			return nil
		case <-time.After(pause):
		}
		if a, why = l.listen(l.at); why != nil {
			continue
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		select {
		case <-l.stopping: // it is the former one that Close has closed
			_ = a.Close() // nobody has connected
			return nil
		default:
			l.a, l.gone = a, nil
			return a
		}
	}
}

// start runs a connection unless the listener is being closed.
func (l *listener) start(link verbs.Link, hello verbs.Hello) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		_ = link.Answer(verbs.Hello{}, false) // the host learns it one way or the other
		_ = link.Close()
		return
	}
	c := newConn(l, link)
	l.conns[c] = struct{}{}
	if out, why := l.waiting.Enter(c, fabric.Source(c.remote), ""); why != "" {
		out.Close()
	}
	l.wg.Go(func() {
		c.serve(hello)
		l.waiting.Leave(c)
		l.mu.Lock()
		delete(l.conns, c)
		l.mu.Unlock()
	})
}

// maxWaiting is how many connections may be there on which no host has connected
// yet, half of them of one source. Each holds memory that the hardware keeps in
// place. More push each other out, so that a host that gets on with it is let in.
const maxWaiting = 256

// pool is that of a device.
func (l *listener) pool(d verbs.Domain) *pool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pools[d] == nil {
		l.pools[d] = newPool(d)
	}
	return l.pools[d]
}

// Close stops accepting, ends all connections and waits for them. Then all
// memory is released.
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.stopping)
		l.mu.Lock()
		a := l.a
		l.mu.Unlock()
		errs := []error{a.Close()}
		l.mu.Lock()
		for c := range l.conns {
			c.Close()
		}
		l.conns = nil
		l.mu.Unlock()
		l.wg.Wait()
		for _, p := range l.pools {
			errs = append(errs, p.close())
		}
		l.closed = errors.Join(errs...)
	})
	return l.closed
}
