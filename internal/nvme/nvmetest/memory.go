// Package nvmetest proves implementations of the seam: a transport in memory,
// a handler that is a block of memory, and the suite that every transport has
// to pass.
package nvmetest

import (
	"context"
	"fmt"
	"net"
	"sync"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// Memory is a transport without sockets: it joins both ends in one process.
// The zero Memory is an empty fabric; it must not be copied.
type Memory struct {
	mu      sync.Mutex
	portals map[string]*memListener
	next    int
}

var _ fabric.Transport = (*Memory)(nil)

// Name is "memory".
func (m *Memory) Name() string { return "memory" }

// Register does nothing.
func (m *Memory) Register(b []byte) (fabric.Region, error) { return fabric.Plain(b), nil }

// Listen opens a portal.
func (m *Memory) Listen(_ context.Context, p fabric.ListenParams, accept func(fabric.Conn) fabric.Handler) (fabric.Listener, error) {
	p = p.WithDefaults()
	host, port, err := net.SplitHostPort(p.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", p.Addr, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if port == "0" {
		m.next++
		p.Addr = net.JoinHostPort(host, fmt.Sprint(10000+m.next))
	}
	if m.portals == nil {
		m.portals = map[string]*memListener{}
	}
	if m.portals[p.Addr] != nil {
		return nil, fmt.Errorf("listen on %s: address in use", p.Addr)
	}
	l := &memListener{m: m, params: p, accept: accept, conns: map[*memConn]struct{}{}}
	m.portals[p.Addr] = l
	return l, nil
}

// Dial opens a queue pair.
func (m *Memory) Dial(ctx context.Context, p fabric.DialParams) (fabric.Queue, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	l := m.portals[p.Addr]
	m.next++
	remote := fmt.Sprintf("memory:%d", m.next)
	m.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("connect to %s: connection refused", p.Addr)
	}
	q := newMemQueue(p)
	if err := l.start(q, remote); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", p.Addr, err)
	}
	return q, nil
}

type memListener struct {
	m      *Memory
	params fabric.ListenParams
	accept func(fabric.Conn) fabric.Handler
	pool   fabric.Pool
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[*memConn]struct{} // nil after Close
}

func (l *memListener) Addr() string { return l.params.Addr }

func (l *memListener) start(q *memQueue, remote string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		return fabric.ErrClosed
	}
	c := &memConn{l: l, q: q, remote: remote, in: make(chan *memCommand, len(q.slots)), gone: make(chan struct{})}
	q.conn = c
	if c.handler = l.accept(c); c.handler == nil {
		return fmt.Errorf("refused")
	}
	l.conns[c] = struct{}{}
	l.wg.Go(func() {
		c.serve()
		l.mu.Lock()
		delete(l.conns, c)
		l.mu.Unlock()
	})
	return nil
}

func (l *memListener) Close() error {
	l.m.mu.Lock()
	if l.m.portals[l.params.Addr] == l {
		delete(l.m.portals, l.params.Addr)
	}
	l.m.mu.Unlock()
	l.mu.Lock()
	for c := range l.conns {
		c.Close()
	}
	l.conns = nil
	l.mu.Unlock()
	l.wg.Wait()
	return nil
}

// memConn is the target's end.
type memConn struct {
	l       *memListener
	q       *memQueue
	remote  string
	handler fabric.Handler
	in      chan *memCommand
	gone    chan struct{}
	once    sync.Once
	fault   error // why gone was closed
}

// memCommand is a command on its way.
type memCommand struct {
	x      fabric.Exchange
	buf    []byte // of the host
	data   fabric.Buffer
	pushed int
	over   bool
}

func (c *memConn) Transport() string { return "memory" }
func (c *memConn) Local() string     { return c.l.params.Addr }
func (c *memConn) Remote() string    { return c.remote }
func (c *memConn) Close()            { c.end(nil) }

func (c *memConn) end(err error) {
	c.once.Do(func() {
		c.fault = err
		c.q.die(fabric.ErrClosed)
		close(c.gone)
	})
}

func (c *memConn) serve() {
	for {
		select {
		case <-c.gone:
			c.handler.Disconnected(c.fault)
			return
		case cmd := <-c.in:
			c.run(cmd)
		}
	}
}

func (c *memConn) run(cmd *memCommand) {
	x := &cmd.x
	pull, st := fabric.Begin(c.handler, x, x.Command.Validate(), c.l.params.MaxTransfer)
	if st != wire.Success {
		fabric.Lose(c.handler, x, st)
		return
	}
	if pull > 0 {
		cmd.data = c.l.pool.Get(pull)
		if !c.q.move(cmd.data.Bytes, cmd.buf) {
			cmd.data.Release()
			return
		}
		x.Data = cmd.data.Bytes
	}
	c.handler.Execute(x)
}

// memCarrier is a command as its exchange's carrier.
type memCarrier struct {
	c   *memConn
	cmd *memCommand
}

func (m memCarrier) Alloc(_ *fabric.Exchange, n int) fabric.Buffer { return m.c.l.pool.Get(n) }

func (m memCarrier) Push(x *fabric.Exchange, b fabric.Buffer) {
	defer b.Release()
	if m.cmd.pushed+len(b.Bytes) > x.Length() || x.Command.Direction() != wire.ToHost {
		m.cmd.over = true
		return
	}
	m.c.q.move(m.cmd.buf[m.cmd.pushed:], b.Bytes)
	m.cmd.pushed += len(b.Bytes)
}

// Settle has nothing to do: Push releases.
func (m memCarrier) Settle(*fabric.Exchange) {}

// Drop leaves the tag with the host, who has given the command up.
func (m memCarrier) Drop(*fabric.Exchange) { m.cmd.data.Release() }

func (m memCarrier) Complete(x *fabric.Exchange, result uint64, st wire.Status) {
	if m.cmd.over && st.Code() == wire.Success {
		st = wire.SGLInvalidLength.WithDNR()
	}
	m.cmd.data.Release()
	if st.Code() == wire.Success && x.Command.Direction() == wire.ToHost && m.cmd.pushed < x.Length() {
		m.c.end(fmt.Errorf("command %d completed with %d of %d bytes", x.Command.CID, m.cmd.pushed, x.Length()))
		return
	}
	m.c.q.complete(wire.Completion{Result: result, SQHead: wire.SQHeadNoFlow, CID: x.Command.CID, Status: st})
}
