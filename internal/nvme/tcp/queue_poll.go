package tcp

import (
	"math"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/wire"
)

// lookEvery is how many polls lie between looks at the clock, and between
// offers of the processor to others if they were empty.
const lookEvery = 1024

// newPolledQueue is a queue that never blocks.
func newPolledQueue(sock *rawsock.Socket, p fabric.DialParams, maxData int, agreed digests) *queue {
	q := &queue{
		addr: p.Addr, sock: sock, out: newPolledOutbox(sock, nil, nil), rx: newReceiver(),
		qid: p.QID, inCapsule: p.InCapsule, maxData: maxData, timeout: p.Timeout,
		start: time.Now(), slots: make([]hostSlot, p.Depth), ready: make([]wire.Completion, 0, p.Depth),
	}
	q.rx.digests = agreed
	q.rx.least = readVector
	return q
}

// turn sends and reads once.
func (q *queue) turn() error {
	if q.out.unsent.Load() {
		if _, err := q.out.push(math.MaxInt); err != nil {
			return q.fail(err)
		}
	}
	n, err := q.sock.Read(q.rx.windows())
	if q.turns++; err == nil && q.turns%lookEvery == 0 {
		q.now = time.Since(q.start)
		if n == 0 {
			err = q.overdue()
			rawsock.Yield()
		}
	}
	if n > 0 || err != nil {
		return q.received(n, err)
	}
	return nil
}
