package rdma

import (
	"errors"
	"fmt"
	"os"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/wire"
)

// completed takes what the hardware has done.
func (q *queue) completed(d *verbs.Done) error {
	i := int(d.ID & workIndex)
	if err := d.Err(); err != nil {
		return q.lost(d, err)
	}
	if d.ID&^workIndex == workCapsule {
		q.unknown -= q.each
		return nil
	}
	if d.Bytes != wire.CompletionSize {
		return fmt.Errorf("response of %d bytes, want %d", d.Bytes, wire.CompletionSize)
	}
	var c wire.Completion
	if err := c.UnmarshalBinary(q.answers[i*wire.CompletionSize:]); err != nil {
		return err
	}
	q.receive(i)
	if d.Invalidated != 0 {
		return fmt.Errorf("response to command %d invalidates key 0x%x, which nobody has asked for", c.CID, d.Invalidated)
	}
	if int(c.CID) >= len(q.slots) || !q.slots[c.CID].busy {
		return fmt.Errorf("response to command %d, which is not outstanding", c.CID)
	}
	q.settle(&q.slots[c.CID], c)
	return nil
}

// lost is what a work that failed says of the connection. What is only flushed
// has its reason elsewhere.
func (q *queue) lost(d *verbs.Done, err error) error {
	if d.Status == verbs.Flushed {
		return reason(q.pair, err)
	}
	if d.ID&^workIndex == workCapsule {
		return fmt.Errorf("send command %d: %w", d.ID&workIndex, err)
	}
	return fmt.Errorf("receive a response: %w", err)
}

// reason is why the connection of a pair has ended, if it says so, else err.
func reason(p verbs.Pair, err error) error {
	why := p.Wait(past())
	for _, none := range []error{nil, os.ErrDeadlineExceeded, verbs.ErrInterrupted} {
		if errors.Is(why, none) {
			return err
		}
	}
	return why
}

// settle completes a command.
func (q *queue) settle(s *hostSlot, answer wire.Completion) {
	if s.dir == wire.ToHost && answer.Status.Code() == wire.Success && len(s.buf) > 0 {
		copy(s.buf, s.bytes)
	}
	s.buf, s.busy = nil, false
	q.outstanding--
	q.ready = append(q.ready, answer)
}

// alive is why the queue cannot be used, if so.
func (q *queue) alive() error {
	if q.closed.Load() {
		return fmt.Errorf("%s: %w", q.addr, fabric.ErrClosed)
	}
	return q.err
}

// fail makes the queue dead and tells the target.
func (q *queue) fail(err error) error {
	if q.closed.Load() {
		err = fabric.ErrClosed
	}
	q.err = fmt.Errorf("%s: %w", q.addr, err)
	q.broken = errors.Join(q.broken, q.release())
	return q.err
}

// release ends the connection and then, when nothing touches it any more, takes
// all memory back.
func (q *queue) release() error {
	errs := []error{q.link.Close()}
	for _, m := range []**verbs.Memory{&q.capsuleMem, &q.answerMem} {
		if *m != nil {
			errs = append(errs, (*m).Close())
			*m = nil
		}
	}
	for i := range q.slots {
		errs = append(errs, q.slots[i].free())
	}
	return errors.Join(errs...)
}

// Close ends the connection.
func (q *queue) Close() error {
	q.once.Do(func() {
		q.closed.Store(true)
		q.pair.Interrupt()
		q.using.Lock() // whoever is inside has been interrupted
		defer q.using.Unlock()
		q.broken = errors.Join(q.broken, q.release())
	})
	return q.broken
}
