package rdma

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
)

// listener is an open portal and its connections.
type listener struct {
	a      verbs.Acceptor
	params fabric.ListenParams
	accept func(fabric.Conn) fabric.Handler

	stopping chan struct{}
	wg       sync.WaitGroup

	mu     sync.Mutex
	conns  map[*conn]struct{} // nil after Close
	newest []*conn            // in the order of their arrival: all that have yet to connect, and some others
	pools  map[verbs.Domain]*pool
	once   sync.Once
	closed error
}

func newListener(a verbs.Acceptor, p fabric.ListenParams, accept func(fabric.Conn) fabric.Handler) *listener {
	l := &listener{
		a: a, params: p, accept: accept, stopping: make(chan struct{}),
		conns: map[*conn]struct{}{}, pools: map[verbs.Domain]*pool{},
	}
	l.wg.Go(l.serve)
	return l
}

// Addr is the logical address.
func (l *listener) Addr() string { return logicalAddr(l.params.Addr, l.a.Addr()) }

func (l *listener) serve() {
	const pause = 50 * time.Millisecond // out of something, most likely: try again
	for {
		link, hello, err := l.a.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
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
	l.pushOut(c)
	l.wg.Go(func() {
		c.serve(hello)
		l.mu.Lock()
		delete(l.conns, c)
		l.mu.Unlock()
	})
}

// maxWaiting is how many connections may be there on which no host has connected
// yet. Each holds memory that the hardware keeps in place. More push out those
// that have waited longest, so that a host that gets on with it is let in.
const maxWaiting = 256

// pushOut makes room for a new connection among those that wait. The caller
// holds mu.
func (l *listener) pushOut(c *conn) {
	l.newest = append(l.newest, c)
	if len(l.newest) <= maxWaiting {
		return
	}
	l.newest = slices.DeleteFunc(l.newest, func(c *conn) bool {
		_, there := l.conns[c]
		return !there || c.isConnected()
	})
	if len(l.newest) > maxWaiting {
		l.newest[0].Close()
		l.newest = slices.Delete(l.newest, 0, 1)
	}
}

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
// memory is taken back.
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.stopping)
		errs := []error{l.a.Close()}
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
