package rdma

import (
	"errors"
	"fmt"
	"os"
	"time"

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
	if d.ID&workKind == workCapsule {
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
		return fmt.Errorf("response to command %d invalidates key 0x%x without a request", c.CID, d.Invalidated)
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
		return reason(q.hub, q.pair, err)
	}
	if d.ID&workKind == workCapsule {
		return fmt.Errorf("send command %d: %w", d.ID&workIndex, err)
	}
	return fmt.Errorf("receive a response: %w", err)
}

// reason is why the connection of a pair has ended, if the hub sees it, else err.
func reason(h verbs.Hub, p verbs.Pair, err error) error {
	_ = h.Wait(past()) // completions are polled, and news looked for, before the next
	if why := p.Ended(); why != nil {
		return why
	}
	return err
}

// wait is that of the hub. What has ended the connection is an error once there are
// no completions any more, which may say more: the next time.
func (q *queue) wait(deadline time.Time) error {
	if err := q.pair.Ended(); err != nil {
		return err
	}
	err := q.hub.Wait(deadline)
	if errors.Is(err, verbs.ErrNews) {
		return nil
	}
	return err
}

// sleep waits until a completion may be there, or a command is overdue. The alarm
// stays as it is until it has gone off: no command since is overdue before.
func (q *queue) sleep() error {
	if q.timeout > 0 && q.alarm.IsZero() {
		first := q.timeout + time.Since(q.start)
		for i := range q.slots {
			if s := &q.slots[i]; s.busy {
				first = min(first, s.since+q.timeout)
			}
		}
		q.alarm = q.start.Add(first)
	}
	err := q.wait(q.alarm)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	q.alarm, q.now = time.Time{}, time.Since(q.start)
	return q.overdue()
}

// overdue reports the first command that has waited too long.
func (q *queue) overdue() error {
	if q.timeout <= 0 {
		return nil
	}
	for i := range q.slots {
		if s := &q.slots[i]; s.busy && q.now-s.since >= q.timeout {
			return fmt.Errorf("command %d: %w (%v)", i, fabric.ErrTimeout, q.timeout)
		}
	}
	return nil
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
	if q.hub != nil {
		errs = append(errs, q.hub.Close())
	}
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
		q.hub.Wake()
		q.using.Lock() // whoever is inside is awake
		defer q.using.Unlock()
		q.broken = errors.Join(q.broken, q.release())
	})
	return q.broken
}
