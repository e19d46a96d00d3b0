package verbstest

import (
	"errors"
	"os"
	"sync"
	"time"

	"weft/internal/nvme/rdma/verbs"
)

// pair is the queues of one end. Everything is under the fabric's lock.
type pair struct {
	f      *Fabric
	peer   *pair
	room   verbs.Queue
	posted int          // works of Send so far
	freed  int          // of them, whose place is free again
	recvs  []verbs.Work // posted
	inbox  [][]byte     // what the peer has sent and there was no memory for
	dones  []done
	armed  bool
	broken bool  // nothing moves any more
	left   bool  // the peer has disconnected
	silent bool  // nothing completes any more, and nobody knows
	fault  error // what the device has told

	woken       chan struct{} // has one element when Wait is to look
	interrupted chan struct{}
	once        sync.Once
}

// done is a completion, and for how many works of Send it makes room.
type done struct {
	verbs.Done
	upTo int
}

func newPair(k *link, q verbs.Queue) (verbs.Pair, error) {
	if err := k.f.check(q); err != nil {
		return nil, err
	}
	p := &pair{f: k.f, room: q, woken: make(chan struct{}, 1), interrupted: make(chan struct{})}
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	if k.f.pairs == nil {
		k.f.pairs = map[*pair]bool{}
	}
	k.f.pairs[p] = true
	k.pair = p
	return p, nil
}

func (p *pair) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// finish adds a completion.
func (p *pair) finish(d done) {
	p.dones = append(p.dones, d)
	if p.armed {
		p.armed = false
		p.wake()
	}
}

// fail flushes what is posted.
func (p *pair) fail() {
	if p.broken {
		return
	}
	p.broken = true
	for _, w := range p.recvs {
		p.finish(done{Done: verbs.Done{ID: w.ID, Status: verbs.Flushed}})
	}
	p.recvs = nil
}

var errFull = errors.New("post: cannot allocate memory")

func (p *pair) Receive(works []verbs.Work) error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	for _, w := range works {
		if p.broken {
			p.finish(done{Done: verbs.Done{ID: w.ID, Status: verbs.Flushed}})
			continue
		}
		if len(p.recvs) >= p.room.Receives {
			return errFull
		}
		p.recvs = append(p.recvs, w)
		if len(p.inbox) > 0 {
			b := p.inbox[0]
			p.inbox = p.inbox[1:]
			p.take(b, 0)
		}
	}
	return nil
}

// take receives b.
func (p *pair) take(b []byte, key uint32) verbs.Status {
	w := p.recvs[0]
	mem, ok := p.f.find(w.Local.Addr, w.Local.Len, w.Local.Key, verbs.LocalWrite)
	d := verbs.Done{ID: w.ID, Bytes: len(b), Invalidated: key}
	switch {
	case !ok:
		d.Status = verbs.LocalProtect
	case len(b) > len(mem):
		d.Status = verbs.LengthError
	}
	p.recvs = p.recvs[:copy(p.recvs, p.recvs[1:])] // no memory is needed again and again
	if d.Status == verbs.OK {
		copy(mem, b)
		p.finish(done{Done: d})
		return verbs.OK
	}
	p.finish(done{Done: d})
	p.fail()
	return verbs.BadRequest
}

func (p *pair) Send(works []verbs.Work) error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	for _, w := range works {
		if p.posted-p.freed >= p.room.Sends {
			return errFull
		}
		p.posted++
		if p.silent {
			continue
		}
		d := done{Done: verbs.Done{ID: w.ID}, upTo: p.posted}
		if p.broken || p.peer == nil {
			d.Status = verbs.Flushed
		} else {
			d.Status = p.perform(w)
		}
		if d.Status != verbs.OK || w.Flags&verbs.Signaled != 0 {
			p.finish(d)
		}
		if d.Status != verbs.OK {
			p.fail()
		}
	}
	return nil
}

// perform does one work.
func (p *pair) perform(w verbs.Work) verbs.Status {
	need := verbs.Access(0)
	if w.Op == verbs.OpRead {
		need = verbs.LocalWrite
		if p.f.Limits().IWARP {
			need |= verbs.RemoteWrite
		}
	}
	mem, ok := p.f.find(w.Local.Addr, w.Local.Len, w.Local.Key, need)
	if !ok && w.Local.Len > 0 {
		return verbs.LocalProtect
	}
	if p.f.cut {
		return verbs.NoAnswer
	}
	switch w.Op {
	case verbs.OpWrite, verbs.OpRead:
		return p.access(w, mem)
	case verbs.OpSend, verbs.OpSendInvalidate:
		return p.send(w, mem)
	}
	return verbs.BadRequest
}

// access writes into the peer's memory, or reads from it.
func (p *pair) access(w verbs.Work, mem []byte) verbs.Status {
	if p.f.Limits().IWARP && w.Flags&verbs.Signaled == 0 {
		return verbs.LocalProtect // with Soft-iWARP one does not know when the memory is free
	}
	need := verbs.RemoteWrite
	if w.Op == verbs.OpRead {
		need = verbs.RemoteRead
	}
	far, ok := p.f.find(w.Remote, w.Local.Len, w.Key, need)
	if !ok {
		p.peer.fail()
		return verbs.RemoteAccess
	}
	if w.Op == verbs.OpRead {
		mem, far = far, mem
	}
	copy(far, mem)
	return verbs.OK
}

// send brings memory to what the peer receives into.
func (p *pair) send(w verbs.Work, mem []byte) verbs.Status {
	key := uint32(0)
	if w.Op == verbs.OpSendInvalidate {
		if p.f.regions[w.Key] == nil {
			p.peer.fail()
			return verbs.RemoteAccess
		}
		key = w.Key
	}
	if p.peer.broken {
		return verbs.NoAnswer
	}
	if p.peer.silent {
		return verbs.OK // as far as the device has told yet
	}
	if len(p.peer.recvs) == 0 && p.f.Limits().IWARP {
		p.peer.fail()
		return verbs.NoAnswer
	}
	if len(p.peer.recvs) == 0 { // tried again until there is memory
		p.peer.inbox = append(p.peer.inbox, append([]byte(nil), mem...))
		return verbs.OK
	}
	return p.peer.take(mem, key)
}

func (p *pair) Poll(out []verbs.Done) (int, error) {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	n := min(len(out), len(p.dones))
	for i, d := range p.dones[:n] {
		out[i] = d.Done
		p.freed = max(p.freed, d.upTo)
	}
	p.dones = p.dones[:copy(p.dones, p.dones[n:])]
	return n, nil
}

func (p *pair) Arm() error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	p.armed = true
	return nil
}

func (p *pair) Wait(deadline time.Time) error {
	if err := p.over(true); err != nil {
		return err
	}
	var timer <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-p.interrupted:
		return verbs.ErrInterrupted
	default:
	}
	select {
	case <-p.interrupted:
		return verbs.ErrInterrupted
	case <-timer:
		return os.ErrDeadlineExceeded
	case <-p.woken:
		return p.over(false)
	}
}

// over is why the connection has ended, if it has. What the device has told is
// for who comes to wait, not for who wakes.
func (p *pair) over(told bool) error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	switch {
	case p.left:
		return verbs.ErrDisconnected
	case told:
		return p.fault
	}
	return nil
}

func (p *pair) Interrupt() { p.once.Do(func() { close(p.interrupted) }) }
