package tcp

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tls13"
	"weft/internal/nvme/wire"
)

// adminCapsule is how much data admin and fabrics commands may always carry in
// their capsule. TCP section 3.3.1.
const adminCapsule = 8192

// answerMost is more than what the PDUs of one answer hold besides its data.
const answerMost = 512

// targetConn is the target's end of one queue pair. Its reader owns what is
// not otherwise marked.
type targetConn struct {
	l       *listener
	conn    net.Conn    // nil if polled
	secure  *tls13.Conn // over conn; nil where nothing is encrypted
	polled  *polled     // nil if event driven
	local   string
	remote  string
	out     *outbox
	handler fabric.Handler
	rx      receiver
	hangup  atomic.Bool   // by Close
	resumed chan struct{} // there may be room for a command again; event driven only
	turn    *fabric.Turn  // of the reader; likewise

	unsent    int  // bytes of answers of which none is being sent, when a command was last let in
	full      bool // the next command waits for room, or for the next turn
	begun     int  // commands that this turn has begun, and what they move: see turnUnit
	most      int  // of it in one turn; 0: any number
	ready     bool // ICReq was answered
	hostAlign int  // of data in C2HData, in bytes
	landing   *slot

	mu        sync.Mutex // guards what follows, and state in slots
	slots     []slot
	free      []uint16
	incoming  *fabric.Account // of data that hosts were asked for
	parked    []uint16        // slots whose data will be asked for when there is room, in order
	limit     int             // of commands outstanding
	inCapsule int
	connected bool
	noFlow    bool
	qid       uint16
	sqHead    uint16
	sqEntries uint16
	dead      bool
}

// slot is the place of one outstanding command.
type slot struct {
	x     fabric.Exchange
	state slotState
	data  fabric.Buffer // memory of x.Data
	owed  int           // bytes that the outbox reckons with
	asked int           // bytes that incoming reckons with
	pull  int           // bytes that were asked for
	got   int           // of them are there

	torn     bool          // some of it is not what its digest says
	last     fabric.Buffer // pushed, kept back to be marked as last
	pushed   int
	overflow bool // more was pushed than asked for
}

type slotState uint8

const (
	slotFree      slotState = iota
	slotCapsule             // data comes in the capsule
	slotParked              // data is going to be asked for
	slotR2T                 // data was asked for by R2T
	slotExecuting           // with the handler
)

var (
	_ fabric.Carrier = (*targetConn)(nil)
	_ fabric.Secured = (*targetConn)(nil)
)

func newTargetConn(l *listener, conn net.Conn) *targetConn {
	return &targetConn{
		l: l, conn: conn, limit: 1, inCapsule: adminCapsule,
		local: logicalAddr(l.Addr(), conn.LocalAddr()), remote: conn.RemoteAddr().String(),
		rx: newReceiver(), resumed: make(chan struct{}, 1),
	}
}

func (c *targetConn) Transport() string { return "tcp" }
func (c *targetConn) Local() string     { return c.local }
func (c *targetConn) Remote() string    { return c.remote }

// Identity is that of the key which the host has shown to have; "" without TLS.
func (c *targetConn) Identity() string {
	if c.secure == nil {
		return ""
	}
	return c.secure.Key().Identity
}

// Close ends the connection without waiting.
func (c *targetConn) Close() {
	c.hangup.Store(true)
	if c.polled != nil {
		c.polled.loop.attend()
		return
	}
	hangUp(c.conn)
	c.resume()
}

// hangUp closes a connection without waiting for who reads or writes it: they may wait
// for the turn that the caller has.
func hangUp(c net.Conn) { go func() { _ = c.Close() }() }

// resume lets the reader look again whether there is room for a command.
func (c *targetConn) resume() {
	select {
	case c.resumed <- struct{}{}:
	default:
	}
}

// account begins to count what the peer makes this side hold. resume is told
// when there is room for a command again.
func (c *targetConn) account(resume func()) {
	c.out.account, c.out.resume = c.l.params.Budget.Open(c.remote), resume
	c.incoming = c.l.params.Budget.Open(c.remote)
}

// sayWhy adds what tells the host why the connection ends.
func (c *targetConn) sayWhy(f *fatal) {
	p := wire.NewTermReq(wire.PDUC2HTermReq, f.reason, f.info, len(f.header))
	b := c.out.lock()
	b.small, _ = p.AppendBinary(b.small)
	b.small = append(b.small, f.header...)
	b.mark()
	c.out.unlock()
}

// bury releases what commands hold that will not complete. Those with the
// handler keep their data until it completes them.
func (c *targetConn) bury() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	c.incoming.Close()
	for i := range c.slots {
		s := &c.slots[i]
		s.last.Release()
		s.last = fabric.Buffer{}
		if s.state == slotCapsule || s.state == slotR2T {
			s.data.Release()
			s.data = fabric.Buffer{}
		}
	}
}

// Alloc lends memory for data towards the host.
func (c *targetConn) Alloc(_ *fabric.Exchange, n int) fabric.Buffer { return c.l.pool.Get(n) }

// Push sends what was kept back and keeps back the new: only Complete knows
// which data is the last.
func (c *targetConn) Push(x *fabric.Exchange, buf fabric.Buffer) {
	if len(buf.Bytes) == 0 {
		buf.Release()
		return
	}
	s := &c.slots[x.Slot()]
	c.mu.Lock()
	fits := s.pushed+len(buf.Bytes) <= x.Length() && x.Command.Direction() == wire.ToHost
	if c.dead || !fits || s.overflow {
		s.overflow = s.overflow || !fits
		c.mu.Unlock()
		buf.Release()
		return
	}
	before, at := s.last, s.pushed-len(s.last.Bytes)
	s.last = buf
	s.pushed += len(buf.Bytes)
	c.mu.Unlock()
	if before.Bytes != nil {
		b := c.out.lock()
		c.putData(b, x.Command.CID, at, before, 0)
		c.out.unlock()
		c.out.flush()
	}
}

// putData adds one C2HData.
func (c *targetConn) putData(b *batch, cid uint16, at int, buf fabric.Buffer, flags uint8) {
	p := wire.NewDataPDU(wire.PDUC2HData, cid, at, len(buf.Bytes))
	p.Flags = flags
	c.rx.digests.dress(&p.PDUHeader, true)
	pad := 0
	if c.hostAlign > 0 {
		pad = (c.hostAlign - int(p.PDO)%c.hostAlign) % c.hostAlign
	}
	p.PDO += uint8(pad)
	p.PLen += uint32(pad)
	from := len(b.small)
	b.small, _ = p.AppendBinary(b.small)
	b.seal(from, c.rx.digests)
	for range pad {
		b.small = append(b.small, 0)
	}
	b.mark()
	b.payload(buf, c.rx.digests)
}

// Complete sends the last data and the response, or only the one where it says
// both, and frees the place of the command.
func (c *targetConn) Complete(x *fabric.Exchange, result uint64, st wire.Status) {
	s := &c.slots[x.Slot()]
	c.mu.Lock()
	if s.state != slotExecuting {
		c.mu.Unlock()
		return
	}
	if s.overflow && st.Code() == wire.Success {
		st = wire.SGLInvalidLength.WithDNR()
	}
	if st == wire.Success && x.Command.Opcode == wire.OpFabrics && x.Command.FabricsType() == wire.FabricsConnect {
		c.connect(x.Command.Connect())
	}
	cqe := wire.Completion{Result: result, SQHead: wire.SQHeadNoFlow, SQID: c.qid, CID: x.Command.CID, Status: st}
	left, noFlow := c.vacate(s), c.noFlow
	if !noFlow {
		cqe.SQHead = c.sqHead
	}
	c.mu.Unlock()

	left.data.Release()
	if left.dead {
		return
	}
	b := c.out.lock()
	c.putEnd(b, cqe, left.at, left.last, noFlow)
	c.out.owed.Add(-int64(left.owed))
	c.out.unlock()
	if left.asks {
		c.unpark()
	}
	c.out.flush()
}

// Drop frees the place of a command that is not answered.
func (c *targetConn) Drop(x *fabric.Exchange) {
	s := &c.slots[x.Slot()]
	c.mu.Lock()
	if s.state != slotExecuting {
		c.mu.Unlock()
		return
	}
	left := c.vacate(s)
	c.mu.Unlock()

	left.data.Release()
	if left.dead {
		return
	}
	left.last.Release()
	c.out.owed.Add(-int64(left.owed))
	if left.asks {
		c.unpark()
	}
	c.out.flush()
}

// left is what a command leaves behind.
type left struct {
	last fabric.Buffer // of what was pushed, and how far in it is
	at   int
	data fabric.Buffer
	owed int
	asks bool // others may ask for data now
	dead bool // the connection is, which has taken last
}

// vacate frees the place of a command. The caller holds mu.
func (c *targetConn) vacate(s *slot) left {
	if c.sqHead++; c.sqHead >= c.sqEntries {
		c.sqHead = 0
	}
	l := left{
		last: s.last, at: s.pushed - len(s.last.Bytes), data: s.data, owed: s.owed,
		asks: len(c.parked) > 0 && !c.dead, dead: c.dead,
	}
	if s.asked > 0 && !c.dead {
		c.incoming.Set(c.incoming.Used() - s.asked)
	}
	i := s.x.Slot()
	*s = slot{x: fabric.NewExchange(c, i)}
	c.free = append(c.free, uint16(i))
	return l
}

// putEnd adds the last PDUs of a command. A host that disabled flow control
// does not need the response after a read that went well.
func (c *targetConn) putEnd(b *batch, cqe wire.Completion, at int, last fabric.Buffer, noFlow bool) {
	switch {
	case cqe.Status.Code() != wire.Success:
		last.Release()
	case last.Bytes != nil && noFlow && cqe.Result == 0 && cqe.Status == wire.Success:
		c.putData(b, cqe.CID, at, last, wire.PDULast|wire.PDUSuccess)
		return
	case last.Bytes != nil:
		c.putData(b, cqe.CID, at, last, wire.PDULast)
	}
	p := wire.NewCapsuleResp(cqe)
	c.rx.digests.dress(&p.PDUHeader, false)
	from := len(b.small)
	b.small, _ = p.AppendBinary(b.small)
	b.seal(from, c.rx.digests)
}

// connect takes over what a Connect that succeeded has agreed. The caller
// holds mu.
func (c *targetConn) connect(v wire.ConnectCommand) {
	if c.connected {
		return
	}
	c.connected = true
	c.l.waiting.Leave(c)
	c.qid = v.QID
	c.noFlow = v.NoFlow()
	c.sqEntries = v.SQSize + 1
	c.limit = min(int(v.SQSize)+1, c.l.params.MaxDepth)
	if v.QID != 0 {
		c.inCapsule = max(c.l.params.InCapsule, adminCapsule) // the latter for fabrics commands
	}
	if c.conn != nil {
		_ = c.conn.SetReadDeadline(time.Time{})
	}
}

// isConnected reports whether a Connect has succeeded here.
func (c *targetConn) isConnected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connected
}

// Settle releases what is shared of everything that was pushed.
func (c *targetConn) Settle(*fabric.Exchange) {
	c.mu.Lock()
	for i := range c.slots {
		if s := &c.slots[i]; s.last.Shared {
			copied := c.l.pool.Get(len(s.last.Bytes))
			copy(copied.Bytes, s.last.Bytes)
			s.last.Release()
			s.last = copied
		}
	}
	c.mu.Unlock()
	c.out.share()
}
