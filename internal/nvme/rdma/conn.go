package rdma

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/wire"
)

// adminCapsule is how much data a capsule on an admin queue may hold here. Hosts
// need none there; some send what they connect with.
const adminCapsule = 4096

// conn is the target's end of one queue pair. Its poller owns what is not otherwise
// marked, from when it is taken in until it is let go.
//
// Each capsule that can be received has a slot. It is posted again right before
// the response to its command: a host that has the response may send the next.
//
// Connections do not share what they receive into, although they share where they
// complete. 64 of them with queues of 128 keep 68 MB in place (TestManyConnections),
// which a shared receive queue of 4096 would halve. But there a host that sends more
// than it has announced, or none that answers, takes the room of all others: over
// iWARP that ends their connections. What a message was being received into when its
// connection ended Soft-RoCE never gives back, and nobody can tell what that was. It is
// no faster either: receives are posted with one call for a batch, and that call
// stays. The kernel's target does without by default, too.
type conn struct {
	l          *listener
	link       verbs.Link
	home       *poller // nil before open
	id         uint64  // of its works, for the poller
	pool       *pool
	local      string
	remote     string
	handler    fabric.Handler
	hangup     atomic.Bool // by Close
	stale      atomic.Bool // no host has connected in time
	late       *time.Timer // for that
	short      atomic.Bool // the handler knows that there was no memory
	issues     int         // RDMA reads in progress, at most
	writeFlags verbs.Flags // of writes, whose end the response after them tells
	depth      int         // slots
	lazy       int         // replies beyond depth, that are done and do not tell
	stride     int         // bytes of a capsule

	capsules  [2]room // commands are received into: of the first slots, and of the others once a host has connected
	answers   []byte  // responses, one for each reply
	answerMem *verbs.Memory

	// Of the poller, which sets some of it before it serves.
	of      *source
	room    int // completions
	turn    *fabric.Turn
	pending []verbs.Done // what has completed, to be worked for
	let     bool         // go

	over chan error  // why it was let go
	gone atomic.Bool // nothing more will complete

	mu        sync.Mutex // guards what follows, and state in slots
	pair      verbs.Pair // nil before the connection is made
	slots     []slot
	replies   []*chunk        // data of responses under way, by reply
	free      []uint32        // replies that are not under way
	under     []uint32        // those that are, in their order
	quiet     int             // the newest of them that do not tell when they are done
	held      int             // bytes of data they keep
	waiting   []answer        // that no reply is free for
	incoming  *fabric.Account // of data that is fetched
	parked    []int           // slots whose data will be fetched when there is room, in order
	recvs     []verbs.Work
	sends     []verbs.Work
	later     bool // what is to be sent is posted at the end of the batch
	connected bool
	noFlow    bool
	qid       uint16
	sqHead    uint16
	sqEntries uint16
	fault     error // of posting
	dead      bool
}

var (
	_ fabric.Carrier = (*conn)(nil)
	_ fabric.Conn    = (*conn)(nil)
)

func newConn(l *listener, link verbs.Link) *conn {
	local, remote := link.Ends()
	return &conn{l: l, link: link, local: logicalAddr(l.Addr(), local), remote: remote.String(), over: make(chan error, 1)}
}

func (c *conn) Transport() string { return "rdma" }
func (c *conn) Local() string     { return c.local }
func (c *conn) Remote() string    { return c.remote }

// Close ends the connection without waiting.
func (c *conn) Close() {
	c.hangup.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.home != nil {
		c.home.hub.Wake()
	}
}

// serve runs the connection from the host's offer to its end.
func (c *conn) serve(hello verbs.Hello) {
	if st := c.judge(hello); st != 0 {
		c.refuse(st)
		return
	}
	if c.handler = c.l.accept(c); c.handler == nil {
		c.refuse(wire.RDMANoResources)
		return
	}
	err := c.open()
	if err != nil {
		c.refuse(wire.RDMANoResources)
	} else {
		acc := wire.RDMAAccept{CRQSize: uint16(c.depth)}
		private, _ := acc.AppendBinary(nil)
		err = c.link.Answer(verbs.Hello{Private: private, Issues: c.issues}, true)
	}
	if c.home != nil {
		c.fail(err)
		err = <-c.over
	}
	if c.hangup.Load() {
		err = nil
	}
	c.bury()
	if c.home != nil {
		c.home.leave(c)
	}
	c.handler.Disconnected(err)
}

// fail has the poller let go of the connection, if there is an error or Close was
// called before there was a poller.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault == nil {
		c.fault = err
	}
	c.home.hub.Wake()
}

// ended is why the connection is over; nil: it goes on.
func (c *conn) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.hangup.Load():
		return net.ErrClosed
	case c.fault != nil:
		return c.fault
	case c.stale.Load() && !c.connected:
		return os.ErrDeadlineExceeded
	case c.pair == nil:
		return nil
	}
	return c.pair.Ended()
}

// judge reads what the host says of itself; 0 accepts it.
func (c *conn) judge(hello verbs.Hello) wire.RDMAStatus {
	var req wire.RDMARequest
	limits := c.link.Domain().Limits()
	if limits.IWARP {
		// Soft-iWARP gives TCP the memory itself where nobody waits for the
		// completion, and TCP sends it when it likes.
		c.writeFlags = verbs.Signaled
	}
	c.issues = min(hello.Issues, limits.Issues)
	c.depth = 0
	if req.UnmarshalBinary(hello.Private) != nil {
		return wire.RDMAInvalidLength
	}
	c.depth = int(req.HSQSize) + 1
	c.stride = wire.CommandSize + max(c.l.params.InCapsule, adminCapsule)
	c.lazy = lazyReplies
	if limits.IWARP || limits.Works > 0 && c.sendRoom() > limits.Works {
		c.lazy = 0
	}
	switch {
	case req.Format != 0:
		return wire.RDMAInvalidFormat
	case req.HSQSize == 0 || c.depth > c.l.params.MaxDepth+1 || limits.Works > 0 && c.sendRoom() > limits.Works:
		return wire.RDMAInvalidHSQSize
	case req.HRQSize == 0:
		return wire.RDMAInvalidHRQSize
	case c.issues == 0:
		return wire.RDMAInvalidIRD // nothing could be read from it
	}
	return 0
}

// A reply that tells when it is done wakes who serves the connection, for nothing
// but to take memory back. So up to lazyReplies in a row do not tell, with no
// more than lazyBytes of data; the next one tells for them, too.
const (
	lazyReplies = 8
	lazyBytes   = 32 << 10
)

// sendRoom is how many works may be under way: a read for each slot, and for
// each reply a write and a send.
func (c *conn) sendRoom() int { return c.depth + 2*(c.depth+c.lazy) + 1 }

// refuse tells the host why.
func (c *conn) refuse(st wire.RDMAStatus) {
	rej := wire.RDMAReject{Status: st}
	private, _ := rej.AppendBinary(nil)
	_ = c.link.Answer(verbs.Hello{Private: private}, false) // it learns it one way or the other
	if c.handler == nil {
		_ = c.link.Close() // nothing depends on it
	}
}

// open makes the queues and their memory, and posts all receives.
func (c *conn) open() error {
	d := c.link.Domain()
	c.pool = c.l.pool(d)
	if err := c.l.takeIn(c, c.sendRoom()+c.depth); err != nil {
		return err
	}
	pair, err := c.link.Open(c.home.hub, verbs.Queue{Sends: c.sendRoom(), Receives: c.depth, Inline: wire.CompletionSize})
	if err != nil {
		return err
	}
	if err := c.capsules[0].open(d, c.early()*c.stride); err != nil {
		return err
	}
	replies := c.depth + c.lazy
	c.answers = make([]byte, replies*wire.CompletionSize)
	if c.answerMem, err = d.Register(c.answers, verbs.LocalWrite); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pair = pair
	c.late = time.AfterFunc(c.l.params.Timeout, func() {
		c.stale.Store(true)
		c.home.hub.Wake()
	})
	c.incoming = c.l.params.Budget.Open(c.remote)
	c.slots = make([]slot, c.depth)
	c.replies = make([]*chunk, replies)
	c.under = make([]uint32, 0, replies)
	for i := range c.replies {
		c.free = append(c.free, uint32(replies-1-i))
	}
	c.recvs = make([]verbs.Work, 0, c.depth)
	c.sends = make([]verbs.Work, 0, c.sendRoom())
	for i := range c.slots {
		c.slots[i].x = fabric.NewExchange(c, i)
	}
	for i := range c.early() {
		c.receive(i)
	}
	return c.post()
}

// chunk is registered memory for data. Where none can be had the target is told
// why, the first time.
func (c *conn) chunk(n int) (*chunk, error) {
	got, err := c.pool.get(n)
	if err != nil {
		c.tell(err)
	}
	return got, err
}

// tell tells the target once what this machine is short of.
func (c *conn) tell(err error) {
	if told, ok := c.handler.(fabric.Short); ok && !c.short.Swap(true) {
		told.Short(err)
	}
}

// post hands over what is waiting: first the room for new commands, then the
// responses that allow hosts to send them. The caller holds mu.
func (c *conn) post() error {
	if len(c.recvs) > 0 {
		err := c.pair.Receive(c.recvs)
		c.recvs = c.recvs[:0]
		if err != nil {
			return err
		}
	}
	if len(c.sends) == 0 {
		return nil
	}
	err := c.pair.Send(c.sends)
	c.sends = c.sends[:0]
	return err
}

// some is how many completions a connection works for before it asks whether others
// wait.
const some = 8

// work takes what has completed, until others wait, and posts at its end what that has
// led to. It reports whether that was all.
func (c *conn) work(others func() bool) (all bool, err error) {
	c.turn.Take()
	defer c.turn.Leave()
	c.mu.Lock()
	c.later = true
	c.mu.Unlock()
	n := 0
	for ; n < len(c.pending) && err == nil && (n == 0 || n%some > 0 || !others()); n++ {
		err = c.completed(&c.pending[n])
	}
	c.pending = c.pending[:copy(c.pending, c.pending[n:])]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.later = false
	if err == nil {
		err = c.fault
	}
	if err == nil {
		err = c.post()
	}
	return len(c.pending) == 0, err
}

// bury ends the connection and then, when nothing touches it any more, takes
// all memory back. Commands with the handler keep their data until it
// completes them. Nobody else is at work for it.
func (c *conn) bury() {
	c.mu.Lock()
	c.dead = true
	c.mu.Unlock()
	_ = c.link.Close() // what it complains of is over
	for _, m := range []*verbs.Memory{c.capsules[0].mem, c.capsules[1].mem, c.answerMem} {
		if m != nil {
			_ = m.Close()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.incoming != nil {
		c.incoming.Close()
	}
	if c.late != nil {
		c.late.Stop()
	}
	if c.turn != nil {
		c.turn.Close()
	}
	for i := range c.slots {
		s := &c.slots[i]
		s.dropOut()
		if s.state == slotReading {
			s.dropIn()
		}
	}
	for i := range c.replies {
		release(&c.replies[i])
	}
	for i := range c.waiting {
		release(&c.waiting[i].out)
	}
}
