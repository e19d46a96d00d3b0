package rdma

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/wire"
)

// batch is how many completions are fetched at once.
const batch = 64

// queue is the host's end of a queue pair.
type queue struct {
	addr      string
	link      verbs.Link
	hub       verbs.Hub // of pair alone: one goroutine waits for one queue
	pair      verbs.Pair
	poll      bool
	qid       uint16
	inCapsule int
	timeout   time.Duration

	capsules   []byte // of commands, one for each tag
	capsuleMem *verbs.Memory
	answers    []byte // responses are received into
	answerMem  *verbs.Memory

	start       time.Time
	now         time.Duration // since start, as of late
	turns       int           // polls in a row that had nothing
	slots       []hostSlot
	outstanding int
	sends       []verbs.Work // to be posted
	each        int          // of so many sends one tells that they are done
	posted      int          // sends so far
	unknown     int          // of them, not known to be done
	room        int          // for those
	alarm       time.Time    // when sleep looks for commands that are overdue; zero: not set
	recvs       []verbs.Work // the same
	done        [batch]verbs.Done
	ready       []wire.Completion // not yet returned
	spin        spinner
	err         error // the queue is dead

	closed atomic.Bool
	using  sync.Mutex // held by Submit, Poll and Wait, for Close
	once   sync.Once
	broken error // of taking it apart
}

// hostSlot is an outstanding command, and the memory of its tag.
type hostSlot struct {
	buf   []byte
	dir   wire.Direction
	busy  bool
	since time.Duration

	bytes []byte // data that the target reads or writes
	mem   *verbs.Memory
}

// Kinds of works, above the index in their ids. Above that is which of a hub's
// connections they are of.
const (
	workCapsule = iota << workBits // of a host
	workAnswer
	workCommand // of a target
	workRead
	workReply
	workWrite // of the data before a reply

	workBits  = 20 // mostDepth and a few
	workIndex = 1<<workBits - 1
	workKind  = 1<<workOf - 1 - workIndex
	workOf    = 24
)

// tellEvery is how many sends of a host lie between two that tell when they are
// done. That a send is done is nothing to wake up for: who has the response to a
// command knows that the target has its capsule, and takes no more of it should
// the hardware send it again. Only their places must be known to be free.
const tellEvery = 16

func (q *queue) stride() int { return wire.CommandSize + q.inCapsule }

// open makes the queues and their memory, and posts receives.
func (q *queue) open(depth int) (err error) {
	q.start = time.Now()
	q.slots = make([]hostSlot, depth)
	q.ready = make([]wire.Completion, 0, depth)
	q.sends = make([]verbs.Work, 0, depth)
	receives := depth + 1
	q.recvs = make([]verbs.Work, 0, receives)
	d := q.link.Domain()
	q.each = tellEvery
	if l := d.Limits(); l.IWARP || l.Works > 0 && depth+q.each > l.Works {
		q.each = 1 // Soft-iWARP sends what is not told from memory that it only borrows
	}
	q.room = depth + q.each
	if q.hub, err = d.Hub(q.room + receives); err != nil {
		return err
	}
	if q.pair, err = q.link.Open(q.hub, verbs.Queue{Sends: q.room, Receives: receives}); err != nil {
		return err
	}
	q.capsules = make([]byte, depth*q.stride())
	if q.capsuleMem, err = d.Register(q.capsules, verbs.LocalWrite); err != nil {
		return err
	}
	q.answers = make([]byte, receives*wire.CompletionSize)
	if q.answerMem, err = d.Register(q.answers, verbs.LocalWrite); err != nil {
		return err
	}
	for i := range receives {
		q.receive(i)
	}
	return q.post()
}

// receive has one more response received.
func (q *queue) receive(i int) {
	q.recvs = append(q.recvs, verbs.Work{ID: workAnswer | uint64(i), Local: verbs.Piece{
		Addr: q.answerMem.Addr + uint64(i*wire.CompletionSize), Len: wire.CompletionSize, Key: q.answerMem.Local,
	}})
}

// post hands over what is waiting.
func (q *queue) post() error {
	if len(q.recvs) > 0 {
		err := q.pair.Receive(q.recvs)
		q.recvs = q.recvs[:0]
		if err != nil {
			return err
		}
	}
	n := min(len(q.sends), q.room-q.unknown) // room is no less than each: one of those unknown will tell
	if n == 0 {
		return nil
	}
	for i := range q.sends[:n] {
		if q.posted++; q.posted%q.each == 0 {
			q.sends[i].Flags |= verbs.Signaled
		}
	}
	q.unknown += n
	err := q.pair.Send(q.sends[:n])
	q.sends = q.sends[:copy(q.sends, q.sends[n:])]
	return err
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
	dir := cmd.Direction()
	cmd.CID = tag
	cmd.Flags = cmd.Flags&^0xc0 | wire.FlagsSGL
	inside, err := q.describe(s, cmd, buf.Bytes, dir)
	if err != nil {
		return q.fail(err)
	}
	if !q.poll || q.outstanding == 0 {
		q.now = time.Since(q.start)
	}
	s.buf, s.dir, s.busy, s.since = buf.Bytes, dir, true, q.now
	q.outstanding++

	at := int(tag) * q.stride()
	cmd.Put(q.capsules[at:])
	copy(q.capsules[at+wire.CommandSize:], buf.Bytes[:inside])
	q.sends = append(q.sends, verbs.Work{
		ID: workCapsule | uint64(tag), Op: verbs.OpSend,
		Local: verbs.Piece{Addr: q.capsuleMem.Addr + uint64(at), Len: uint32(wire.CommandSize + inside), Key: q.capsuleMem.Local},
	})
	return nil
}

// describe fills in the SGL, and returns how much of the data goes into the
// capsule.
func (q *queue) describe(s *hostSlot, cmd *wire.Command, data []byte, dir wire.Direction) (inside int, err error) {
	n := len(data)
	switch {
	case n == 0 || dir == wire.NoData:
		cmd.SGL = wire.SGL{Type: wire.SGLKeyed}
		return 0, nil
	case dir == wire.ToController && n <= q.inCapsule:
		cmd.SGL = wire.SGL{Type: wire.SGLInCapsule, Length: uint32(n)}
		return n, nil
	}
	if err := s.room(q.link.Domain(), n); err != nil {
		return 0, err
	}
	if dir == wire.ToController {
		copy(s.bytes, data)
	}
	cmd.SGL = wire.SGL{Type: wire.SGLKeyed, Address: s.mem.Addr, Length: uint32(n), Key: s.mem.Remote}
	return 0, nil
}

// room makes the memory of a tag large enough. The tag is free.
func (s *hostSlot) room(d verbs.Domain, n int) error {
	if n <= len(s.bytes) {
		return nil
	}
	if n > maxKeyed {
		return fmt.Errorf("%d bytes in one command, %d is the most", n, maxKeyed)
	}
	if err := s.free(); err != nil {
		return err
	}
	b := make([]byte, 1<<max(bits.Len(uint(n-1)), minClass))
	m, err := d.Register(b, verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteWrite)
	if err != nil {
		return err
	}
	s.bytes, s.mem = b, m
	return nil
}

func (s *hostSlot) free() error {
	m := s.mem
	s.bytes, s.mem = nil, nil
	if m == nil {
		return nil
	}
	return m.Close()
}

// Poll takes what has arrived.
func (q *queue) Poll(done []wire.Completion) (int, error) {
	q.using.Lock()
	defer q.using.Unlock()
	if len(q.ready) == 0 {
		if err := q.alive(); err != nil {
			return 0, err
		}
		if err := q.turn(); err != nil && len(q.ready) == 0 {
			return 0, err
		}
	}
	return q.take(done), nil
}

// lookEvery is how many turns without anything lie between looks at the clock
// and at the connection.
const lookEvery = 1024

// turn sends and receives once.
func (q *queue) turn() error {
	moved, err := q.exchange()
	if err != nil {
		return q.fail(err)
	}
	if moved {
		q.turns = 0
		return nil
	}
	if q.turns++; q.turns%lookEvery != 0 && q.poll {
		return nil
	}
	q.now = time.Since(q.start)
	if err := q.overdue(); err != nil {
		return q.fail(err)
	}
	if q.turns%lookEvery == 0 {
		if err := q.wait(past()); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return q.fail(err)
		}
		rawsock.Yield()
	}
	return nil
}

// past is a deadline that has passed.
func past() time.Time { return time.Unix(1, 0) }

// exchange posts what waits and takes what has completed.
func (q *queue) exchange() (moved bool, err error) {
	if err := q.post(); err != nil {
		return false, err
	}
	n, err := q.hub.Poll(q.done[:])
	if err != nil {
		return false, err
	}
	for i := range q.done[:n] {
		if err := q.completed(&q.done[i]); err != nil {
			return false, err
		}
	}
	return n > 0, q.post()
}

// Wait blocks until something has completed.
func (q *queue) Wait(done []wire.Completion) (int, error) {
	q.using.Lock()
	defer q.using.Unlock()
	for armed := false; len(q.ready) == 0; {
		if err := q.alive(); err != nil {
			return 0, err
		}
		if q.outstanding == 0 {
			return 0, fabric.ErrIdle
		}
		if q.poll {
			if err := q.turn(); err != nil && len(q.ready) == 0 {
				return 0, err
			}
			continue
		}
		moved, err := q.exchange()
		if err != nil {
			if err = q.fail(err); len(q.ready) == 0 {
				return 0, err
			}
			break
		}
		if moved || len(q.ready) > 0 || !armed && q.spin.again() {
			q.spin.found(moved)
			continue
		}
		if !armed {
			if err := q.hub.Arm(); err != nil {
				return 0, q.fail(err)
			}
			armed = true
			continue
		}
		armed = false
		if err := q.sleep(); err != nil {
			return 0, q.fail(err)
		}
	}
	return q.take(done), nil
}

// take returns completions to the caller.
func (q *queue) take(done []wire.Completion) int {
	n := copy(done, q.ready)
	q.ready = q.ready[:copy(q.ready, q.ready[n:])]
	return n
}
