package verbstest

import (
	"errors"

	"weft/internal/nvme/rdma/verbs"
)

// pair is the queues of one end. Everything is under the fabric's lock.
type pair struct {
	f      *Fabric
	hub    *hub
	peer   *pair
	room   verbs.Queue
	posted int          // works of Send so far
	freed  int          // of them, whose place is free again
	recvs  []verbs.Work // posted
	inbox  [][]byte     // what the peer has sent and there was no memory for
	broken bool         // nothing moves any more
	silent bool         // nothing completes any more, and nobody knows
	why    error        // the connection has ended
	told   error        // the same, once Wait has seen it
}

// done is a completion, and for how many works of Send it makes room.
type done struct {
	verbs.Done
	of   *pair
	upTo int
}

func newPair(k *link, h *hub, q verbs.Queue) (verbs.Pair, error) {
	if err := k.f.check(q); err != nil {
		return nil, err
	}
	p := &pair{f: k.f, hub: h, room: q}
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	if h.room < q.Sends+q.Receives {
		return nil, errors.New("the hub has no room for the completions of a pair")
	}
	h.room -= q.Sends + q.Receives
	h.pairs = append(h.pairs, p)
	if k.f.pairs == nil {
		k.f.pairs = map[*pair]bool{}
	}
	k.f.pairs[p] = true
	k.pair = p
	return p, nil
}

// finish adds a completion.
func (p *pair) finish(d done) {
	d.of = p
	p.hub.add(d)
}

// end is for who knows why the connection has ended.
func (p *pair) end(why error) {
	if p.why == nil {
		p.why = why
		p.hub.wake(true)
	}
}

func (p *pair) Ended() error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	return p.told
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
