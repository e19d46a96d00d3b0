package target

import (
	"sync"
	"sync/atomic"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// fusing is what a queue knows of fused operations: a Compare and then a Write of the
// same block that are performed as one (Base section 6.2, NVM section 6.2.1). Hosts
// that share blocks take locks that way.
//
// Halves find each other in the order of Begin, which is that of the submission queue;
// their data may come in any order. Until both have it, a half holds its own place and
// data, as every command does that waits for data, and nothing else: no lock, and no
// place at the gate or in the line of a crew. A pair is of one block, as ACWU says, so
// that a first half never takes the room that its second half needs for its data.
type fusing struct {
	open atomic.Pointer[pair] // whose first half was the command before

	mu    sync.Mutex // guards what follows, and all pairs
	pairs map[*pair]struct{}
}

// pair is two fused commands. It has failed when one of them has.
type pair struct {
	half [2]half
	ns   *namespace // once both have come
}

// The halves.
const (
	compareHalf = iota
	writeHalf
)

// half is one of two fused commands.
type half struct {
	x       *fabric.Exchange // nil: it has not come, or is completed
	arrived bool             // with its data, or without it for good
	st      wire.Status      // that it is completed with, if the pair has failed
}

// fail notes why half i has failed, and what that means for the other one. The caller
// holds fusing.mu.
func (p *pair) fail(i int, st, other wire.Status) {
	for _, h := range []struct {
		*half
		st wire.Status
	}{{&p.half[i], st}, {&p.half[1-i], other}} {
		if h.half.st == wire.Success {
			h.half.st = h.st
		}
	}
}

// beginFused judges half of a fused operation, or the command behind a first half.
func (q *queue) beginFused(x *fabric.Exchange) (pull int, st wire.Status) {
	fuse := x.Command.Fuse()
	p := q.fusing.open.Swap(nil)
	if p != nil && fuse != wire.FuseSecond {
		q.resolve(p, func() { p.fail(compareHalf, wire.AbortedMissingFuse, wire.AbortedMissingFuse) })
	}
	switch {
	case fuse == wire.NotFused:
		return q.begin(x)
	case q.ctrl == nil || q.qid == 0 || fuse != wire.FuseFirst && fuse != wire.FuseSecond:
		return 0, wire.InvalidField.WithDNR()
	case fuse == wire.FuseFirst:
		p = new(pair)
	case p == nil:
		return 0, wire.AbortedMissingFuse
	}
	pull, st = q.beginHalf(x, fuse)
	if fuse == wire.FuseFirst {
		q.fusing.begin(p, x)
		q.fusing.open.Store(p)
		return pull, st
	}
	return pull, q.fusing.join(p, x, st)
}

// beginHalf judges half of a fused operation by itself.
func (q *queue) beginHalf(x *fabric.Exchange, fuse uint8) (pull int, st wire.Status) {
	if op := x.Command.Opcode; fuse == wire.FuseFirst && op != wire.OpCompare || fuse == wire.FuseSecond && op != wire.OpWrite {
		return 0, wire.InvalidField.WithDNR() // FUSES has nothing but Compare and Write
	}
	pull, st = q.begin(x)
	if _, n := x.Command.Blocks(); st == wire.Success && n > 1 {
		st = wire.AtomicUnitExceeded.WithDNR()
	}
	return pull, st
}

// begin makes a command the first half of a pair.
func (f *fusing) begin(p *pair, x *fabric.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.half[compareHalf].x = x
	x.State = p
	f.keep(p)
}

// join makes a command, of which st was found, the second half, and returns what is to
// be said of it.
func (f *fusing) join(p *pair, x *fabric.Exchange, st wire.Status) wire.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.ns, _ = x.State.(*namespace)
	p.half[writeHalf].x = x
	x.State = p
	f.keep(p)
	if failed := p.half[writeHalf].st; failed != wire.Success {
		return failed
	}
	if st == wire.Success && !sameBlock(&p.half[compareHalf].x.Command, &x.Command) {
		st = wire.InvalidField.WithDNR()
		p.fail(writeHalf, st, st)
	}
	return st
}

// sameBlock says that two commands are about the same block.
func sameBlock(a, b *wire.Command) bool {
	la, _ := a.Blocks()
	lb, _ := b.Blocks()
	return a.NSID == b.NSID && la == lb
}

// keep notes a pair with halves that are not completed. The caller holds mu.
func (f *fusing) keep(p *pair) {
	if f.pairs == nil {
		f.pairs = map[*pair]struct{}{}
	}
	f.pairs[p] = struct{}{}
}

// Lost ends a command that is not executed.
func (q *queue) Lost(x *fabric.Exchange, st wire.Status) {
	if _, half := x.State.(*pair); half {
		q.arrive(x, st)
		return
	}
	x.Complete(0, st)
}

// arrive takes a half that has its data or, unless st is success, will not have it. The
// pair is performed when both halves have theirs; when one of them has failed, both are
// completed, each when it is here.
func (q *queue) arrive(x *fabric.Exchange, st wire.Status) {
	p := x.State.(*pair)
	q.resolve(p, func() {
		for i := range p.half {
			if h := &p.half[i]; h.x == x {
				h.arrived = true
				if st != wire.Success {
					p.fail(i, st, wire.AbortedFailedFuse)
				}
			}
		}
	})
}

// resolve changes a pair and does what is to be done then.
func (q *queue) resolve(p *pair, change func()) {
	f := &q.fusing
	f.mu.Lock()
	change()
	both := p.half
	for i := range p.half {
		switch h := &p.half[i]; {
		case !h.arrived || h.st == wire.Success:
			both[i].x = nil
		default:
			h.x = nil
		}
	}
	first, second := p.half[compareHalf], p.half[writeHalf]
	whole := first.x != nil && first.arrived && second.x != nil && second.arrived
	if whole || first.x == nil && second.x == nil {
		delete(f.pairs, p)
	}
	f.mu.Unlock()
	for _, h := range both {
		if h.x != nil {
			h.x.Complete(0, h.st)
		}
	}
	if whole && q.t.gate.enter() {
		second.x.State = p.ns
		q.t.submit(job{queue: q, x: second.x, compare: first.x})
	}
}

// part ends all halves that are here, when the queue has ended.
func (q *queue) part() {
	f := &q.fusing
	f.open.Store(nil)
	f.mu.Lock()
	pairs := f.pairs
	f.pairs = nil
	f.mu.Unlock()
	for p := range pairs {
		q.resolve(p, func() { p.fail(compareHalf, wire.AbortedSQDeletion, wire.AbortedSQDeletion) })
	}
}

// abort performs Abort, which gives up nothing but a first half that waits for its
// second: everything else runs to its end.
func (c *controller) abort(x *fabric.Exchange) {
	const done, not = 0, 1
	sqid, cid := uint16(x.Command.CDW10), uint16(x.Command.CDW10>>16)
	c.mu.Lock()
	q := c.queues[sqid]
	c.mu.Unlock()
	if q != nil && q.unfuse(cid) {
		x.Complete(done, wire.Success)
		return
	}
	x.Complete(not, wire.Success)
}

// unfuse aborts a first half whose second half has not come.
func (q *queue) unfuse(cid uint16) (aborted bool) {
	p := q.fusing.open.Load()
	if p == nil {
		return false
	}
	q.resolve(p, func() {
		h := &p.half[compareHalf]
		if aborted = h.x != nil && h.arrived && h.x.Command.CID == cid && q.fusing.open.CompareAndSwap(p, nil); aborted {
			p.fail(compareHalf, wire.AbortRequested, wire.AbortedMissingFuse)
		}
	})
	return aborted
}

// compareAndWrite performs a pair.
func (q *queue) compareAndWrite(j *job, ns *namespace) {
	ns.settle(j.x)
	lba, _ := j.x.Command.Blocks()
	same, err := ns.Backend.CompareAndWrite(j.compare.Data, j.x.Data, lba)
	compared, written := wire.Success, wire.AbortedFailedFuse
	switch {
	case same:
		ns.count.others.Add(1)
		written = q.written(j.x, ns, err)
	case err != nil:
		compared = q.failed(err, wire.UnrecoveredRead, "compare", ns)
	default:
		ns.count.others.Add(1)
		compared = wire.CompareFailed.WithDNR()
	}
	j.compare.Complete(0, compared)
	q.complete(j.x, written)
}
