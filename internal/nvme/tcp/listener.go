package tcp

import (
	"errors"
	"net"
	"sync"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tls13"
)

// listener is an open portal and its connections.
type listener struct {
	nl      net.Listener
	params  fabric.ListenParams
	maxData int
	tos     uint8
	accept  func(fabric.Conn) fabric.Handler
	pool    fabric.Pool
	keys    func(identity string) (tls13.Key, bool) // nil: connections are in clear

	pollers *Pollers // nil: event driven

	stopping chan struct{}
	wg       sync.WaitGroup

	waiting fabric.Lobby[*targetConn] // on which no host has connected yet

	mu     sync.Mutex
	conns  map[*targetConn]struct{} // nil after Close
	closed error                    // of the socket
}

// maxWaiting is how many connections may be there on which no host has connected
// yet, a quarter of them of one source. Strangers can open any number: more push
// each other out.
const maxWaiting = 1024

func newListener(nl net.Listener, p fabric.ListenParams, maxData int, t *Transport, accept func(fabric.Conn) fabric.Handler) *listener {
	l := &listener{
		nl: nl, params: p, maxData: maxData, tos: t.ToS, pollers: t.Pollers, accept: accept, keys: t.Keys,
		stopping: make(chan struct{}), conns: map[*targetConn]struct{}{},
	}
	l.waiting.Most = maxWaiting
	if p.Waiting > 0 {
		l.waiting.Most = min(p.Waiting, maxWaiting)
	}
	l.waiting.OfSource = max(1, l.waiting.Most/4)
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
		if l.tos != 0 {
			_ = setToS(conn, l.tos) // the listener has taken it
		}
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
	if out, why := l.waiting.Enter(c, fabric.Source(c.remote), ""); why != "" {
		out.Close()
	}
	l.wg.Add(1)
	if l.pollers != nil && l.keys == nil {
		l.pollers.serve(c)
		return
	}
	go func() {
		c.serve()
		l.ended(c)
	}()
}

// ended says that a connection is over and its handler has been told.
func (l *listener) ended(c *targetConn) {
	l.waiting.Leave(c)
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
