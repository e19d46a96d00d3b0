package tcp

import (
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
)

// listener is an open portal and its connections.
type listener struct {
	nl      net.Listener
	params  fabric.ListenParams
	maxData int
	tos     uint8
	accept  func(fabric.Conn) fabric.Handler
	pool    fabric.Pool

	spinning atomic.Int32 // event driven connections that are not blocked yet
	pollers  *Pollers     // nil: event driven

	stopping chan struct{}
	wg       sync.WaitGroup

	mu     sync.Mutex
	conns  map[*targetConn]struct{} // nil after Close
	newest []*targetConn            // in the order of their arrival: all that have yet to connect, and some others
	closed error                    // of the socket
}

// maxWaiting is how many connections may be there on which no host has connected
// yet. Strangers can open any number: more push out those that have waited
// longest, so that a host that gets on with it is let in.
const maxWaiting = 1024

func newListener(nl net.Listener, p fabric.ListenParams, maxData int, t *Transport, accept func(fabric.Conn) fabric.Handler) *listener {
	l := &listener{
		nl: nl, params: p, maxData: maxData, tos: t.ToS, pollers: t.Pollers, accept: accept,
		stopping: make(chan struct{}), conns: map[*targetConn]struct{}{},
	}
	l.wg.Add(1)
	go l.serve()
	return l
}

// Addr is the logical address.
func (l *listener) Addr() string { return logicalAddr(l.params.Addr, l.nl.Addr()) }

func (l *listener) serve() {
	defer l.wg.Done()
	const pause = 50 * time.Millisecond // out of descriptors, most likely: try again
	for {
		conn, err := l.nl.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			select {
			case <-l.stopping:
				return
			case <-time.After(pause):
				continue
			}
		}
		noDelay(conn)
		_ = setToS(conn, l.tos) // the listener has taken it
		l.start(conn)
	}
}

// start runs a connection unless the listener is being closed.
func (l *listener) start(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		_ = conn.Close()
		return
	}
	c := newTargetConn(l, conn)
	l.conns[c] = struct{}{}
	l.pushOut(c)
	l.wg.Add(1)
	if l.pollers != nil {
		l.pollers.serve(c)
		return
	}
	go func() {
		c.serve()
		l.ended(c)
	}()
}

// pushOut makes room for a new connection among those that wait. The caller
// holds mu.
func (l *listener) pushOut(c *targetConn) {
	l.newest = append(l.newest, c)
	if len(l.newest) <= maxWaiting {
		return
	}
	l.newest = slices.DeleteFunc(l.newest, func(c *targetConn) bool {
		_, there := l.conns[c]
		return !there || c.isConnected()
	})
	if len(l.newest) > maxWaiting {
		l.newest[0].Close()
		l.newest = slices.Delete(l.newest, 0, 1)
	}
}

// ended says that a connection is over and its handler has been told.
func (l *listener) ended(c *targetConn) {
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
	l.wg.Done()
}

// Close stops accepting, ends all connections and waits for them.
func (l *listener) Close() error {
	l.mu.Lock()
	if l.conns != nil {
		close(l.stopping)
		l.closed = l.nl.Close()
		for c := range l.conns {
			c.Close()
		}
		l.conns = nil
	}
	err := l.closed
	l.mu.Unlock()
	l.wg.Wait()
	return err
}
