package nvmetest

import (
	"fmt"
	"sync"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// memQueue is the host's end of a queue pair in memory.
type memQueue struct {
	addr    string
	timeout time.Duration
	conn    *memConn

	mu    sync.Mutex
	news  sync.Cond // on mu: ready or err
	slots []memSlot
	busy  int
	ready []wire.Completion
	err   error
}

type memSlot struct {
	busy  bool
	since time.Time
}

func newMemQueue(p fabric.DialParams) *memQueue {
	q := &memQueue{addr: p.Addr, timeout: p.Timeout, slots: make([]memSlot, p.Depth)}
	q.news.L = &q.mu
	return q
}

func (q *memQueue) Submit(tag uint16, cmd *wire.Command, buf fabric.Buffer) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return q.err
	}
	if int(tag) >= len(q.slots) || q.slots[tag].busy {
		return fabric.ErrTag
	}
	q.slots[tag] = memSlot{busy: true, since: time.Now()}
	q.busy++
	cmd.CID = tag
	cmd.Flags = cmd.Flags&^0xc0 | wire.FlagsSGL
	cmd.SGL = wire.SGL{Type: wire.SGLTransport, Length: uint32(len(buf.Bytes))}
	c := &memCommand{buf: buf.Bytes}
	c.x = fabric.NewExchange(memCarrier{q.conn, c}, int(tag))
	c.x.Command = *cmd
	q.conn.in <- c // has room for all
	return nil
}

// move copies while the queue lives, so that its death ends all access to the
// host's buffers.
func (q *memQueue) move(dst, src []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		copy(dst, src)
	}
	return q.err == nil
}

func (q *memQueue) complete(c wire.Completion) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return
	}
	q.slots[c.CID].busy = false
	q.busy--
	q.ready = append(q.ready, c)
	q.news.Signal()
}

func (q *memQueue) die(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = fmt.Errorf("%s: %w", q.addr, err)
	}
	q.news.Broadcast()
}

func (q *memQueue) Poll(done []wire.Completion) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(done)
}

func (q *memQueue) take(done []wire.Completion) (int, error) {
	if len(q.ready) == 0 {
		return 0, q.err
	}
	n := copy(done, q.ready)
	q.ready = q.ready[:copy(q.ready, q.ready[n:])]
	return n, nil
}

func (q *memQueue) Wait(done []wire.Completion) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timeout > 0 && len(q.ready) == 0 && q.busy > 0 {
		stop := time.AfterFunc(q.timeout, q.expire)
		defer stop.Stop()
	}
	for len(q.ready) == 0 && q.err == nil {
		if q.busy == 0 {
			return 0, fabric.ErrIdle
		}
		q.news.Wait()
	}
	return q.take(done)
}

// expire fails the queue if a command has waited for as long as a whole Wait.
func (q *memQueue) expire() {
	q.mu.Lock()
	late := false
	for _, s := range q.slots {
		late = late || s.busy && time.Since(s.since) >= q.timeout
	}
	q.mu.Unlock()
	if late {
		q.die(fabric.ErrTimeout)
	}
}

func (q *memQueue) Close() error {
	q.conn.end(nil)
	return nil
}
