package tcp

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/wire"
)

// queue is the host's end of a queue pair.
type queue struct {
	addr      string
	conn      net.Conn        // nil if polled
	sock      *rawsock.Socket // nil if event driven
	out       *outbox
	rx        receiver
	poller    *poller
	spin      *spinner
	qid       uint16
	inCapsule int
	maxData   int
	timeout   time.Duration

	start       time.Time
	now         time.Duration // since start, as of late
	turns       int           // how often it was polled
	armed       time.Duration // when the read deadline was last set
	slots       []hostSlot
	outstanding int
	ready       []wire.Completion // not yet returned
	answered    bool              // R2Ts were answered and not flushed
	landing     uint16            // command that data is being read for
	success     bool              // and which has succeeded then
	err         error             // the queue is dead

	closed atomic.Bool
	using  sync.Mutex // held by Submit, Poll and Wait, for Close
	once   sync.Once
}

// hostSlot is an outstanding command.
type hostSlot struct {
	buf   []byte
	dir   wire.Direction
	busy  bool
	since time.Duration
	moved int          // bytes received, or asked for by R2T
	torn  bool         // some of them are not what their digest says
	lent  atomic.Int32 // parts of buf that are still being sent
}

// Release ends the lending of a part of the command's buffer.
func (s *hostSlot) Release([]byte) { s.lent.Add(-1) }

func newQueue(conn net.Conn, p fabric.DialParams, maxData int, agreed digests, spinning *fabric.Spinning) *queue {
	q := &queue{
		addr: p.Addr, conn: conn, out: newOutbox(conn, p.Timeout, nil, nil), rx: newReceiver(), poller: newPoller(conn),
		qid: p.QID, inCapsule: p.InCapsule, maxData: maxData, timeout: p.Timeout,
		start: time.Now(), slots: make([]hostSlot, p.Depth), ready: make([]wire.Completion, 0, p.Depth),
	}
	q.rx.digests = agreed
	q.spin = newSpinner(q.poller, runtime.GOMAXPROCS(0), spinning)
	return q
}

// Submit queues a command; Poll and Wait send it.
func (q *queue) Submit(tag uint16, cmd *wire.Command, buf fabric.Buffer) error {
	q.using.Lock()
	defer q.using.Unlock()
	if err := q.alive(); err != nil {
		return err
	}
	if int(tag) >= len(q.slots) || q.slots[tag].busy {
		return fabric.ErrTag
	}
	s := &q.slots[tag]
	s.buf, s.dir, s.busy, s.moved, s.torn = buf.Bytes, cmd.Direction(), true, 0, false
	if q.sock == nil || q.outstanding == 0 {
		q.now = time.Since(q.start)
	}
	s.since = q.now
	q.outstanding++

	cmd.CID = tag
	cmd.Flags = cmd.Flags&^0xc0 | wire.FlagsSGL
	cmd.SGL = wire.SGL{Type: wire.SGLTransport, Length: uint32(len(s.buf))}
	inside := 0
	if s.dir == wire.ToController && len(s.buf) <= q.capsule(cmd) {
		inside = len(s.buf)
	}
	if inside > 0 {
		cmd.SGL.Type = wire.SGLInCapsule
		s.moved = inside
	}
	p := wire.NewCapsuleCmd(cmd, inside)
	q.rx.digests.dress(&p.PDUHeader, inside > 0)
	b := q.out.lock()
	from := len(b.small)
	b.small, _ = p.AppendBinary(b.small)
	b.seal(from, q.rx.digests)
	if inside > 0 {
		s.lent.Add(1)
		b.payload(fabric.Buffer{Bytes: s.buf, Owner: s}, q.rx.digests)
	}
	if q.sock != nil {
		q.out.unsent.Store(true)
	}
	q.out.unlock()
	return nil
}

// capsule is how much data a capsule may hold.
func (q *queue) capsule(cmd *wire.Command) int {
	if q.qid == 0 || cmd.Opcode == wire.OpFabrics {
		return adminCapsule
	}
	return q.inCapsule
}

// Poll takes what has arrived.
func (q *queue) Poll(done []wire.Completion) (int, error) {
	q.using.Lock()
	defer q.using.Unlock()
	if len(q.ready) == 0 {
		if err := q.alive(); err != nil {
			return 0, err
		}
		if q.sock != nil {
			err := q.turn()
			return q.take(done), err
		}
		q.out.flush()
		n, err := q.poller.read(q.rx.window())
		if n == 0 && err == nil && q.outstanding > 0 {
			err = q.overdue()
		}
		if err := q.received(n, err); err != nil && len(q.ready) == 0 {
			return 0, err
		}
	}
	return q.take(done), nil
}

// Wait blocks until something has completed.
func (q *queue) Wait(done []wire.Completion) (int, error) {
	q.using.Lock()
	defer q.using.Unlock()
	for len(q.ready) == 0 {
		if err := q.alive(); err != nil {
			return 0, err
		}
		if q.outstanding == 0 {
			return 0, fabric.ErrIdle
		}
		if q.sock != nil {
			if err := q.turn(); err != nil {
				return 0, err
			}
			continue
		}
		q.out.flush()
		if err := q.arm(); err != nil {
			return 0, q.fail(err)
		}
		n, err := q.spin.read(q.rx.window())
		if n == 0 && err == nil {
			n, err = q.conn.Read(q.rx.window())
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if err = q.overdue(); err == nil {
				q.armed = 0
			}
		}
		if err := q.received(n, err); err != nil && len(q.ready) == 0 {
			return 0, err
		}
	}
	return q.take(done), nil
}

// arm sets the read deadline, often enough that a command is found overdue
// soon after its time, and seldom enough to cost nothing.
func (q *queue) arm() error {
	if q.timeout <= 0 {
		if q.armed == 0 { // a poll may have left one behind
			q.armed = 1
			return q.conn.SetReadDeadline(time.Time{})
		}
		return nil
	}
	now := time.Since(q.start)
	if q.armed != 0 && now-q.armed < q.timeout/4 {
		return nil
	}
	if err := q.overdue(); err != nil {
		return err
	}
	q.armed = now
	return q.conn.SetReadDeadline(time.Now().Add(q.timeout + q.timeout/4))
}

// overdue reports the first command that has waited too long.
func (q *queue) overdue() error {
	if q.timeout <= 0 {
		return nil
	}
	now := time.Since(q.start)
	for i := range q.slots {
		if s := &q.slots[i]; s.busy && now-s.since >= q.timeout {
			return fmt.Errorf("command %d: %w (%v)", i, fabric.ErrTimeout, q.timeout)
		}
	}
	return nil
}

// received works on n bytes that were read and on the error that came with
// them.
func (q *queue) received(n int, err error) error {
	if n > 0 {
		q.rx.filled(n)
		if e := q.rx.drain(q); e != nil {
			err = e
		}
		if q.answered {
			q.answered = false
			q.out.flush()
		}
	}
	if err != nil {
		return q.fail(err)
	}
	return nil
}

// take returns completions to the caller.
func (q *queue) take(done []wire.Completion) int {
	n := copy(done, q.ready)
	q.ready = q.ready[:copy(q.ready, q.ready[n:])]
	return n
}

// alive is why the queue cannot be used, if so.
func (q *queue) alive() error {
	if q.closed.Load() {
		return fmt.Errorf("%s: %w", q.addr, fabric.ErrClosed)
	}
	return q.err
}

// fail makes the queue dead.
func (q *queue) fail(err error) error {
	if q.closed.Load() {
		err = fabric.ErrClosed
	} else if broken := q.out.failure(); broken != nil && !errors.As(err, new(*fatal)) {
		err = broken // the write that failed closed the connection
	}
	q.err = fmt.Errorf("%s: %w", q.addr, err)
	if f := (*fatal)(nil); errors.As(err, &f) {
		p := wire.NewTermReq(wire.PDUH2CTermReq, f.reason, f.info, len(f.header))
		b := q.out.lock()
		b.small, _ = p.AppendBinary(b.small)
		b.small = append(b.small, f.header...)
		b.mark()
		q.out.unlock()
		q.out.flush()
	}
	if q.sock != nil {
		_, _ = q.out.push(math.MaxInt)
		_ = q.sock.Hangup()
		return q.err
	}
	_ = q.conn.Close()
	return q.err
}

// Close ends the connection.
func (q *queue) Close() error {
	q.once.Do(func() {
		q.closed.Store(true)
		if q.sock == nil {
			_ = q.conn.Close()
		}
		q.using.Lock() // whoever is inside has seen the connection closed
		defer q.using.Unlock()
		if q.sock != nil {
			_ = q.sock.Close()
		}
		q.out.stop()
	})
	return nil
}
