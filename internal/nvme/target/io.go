package target

import (
	"errors"
	"slices"
	"syscall"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// A job is a command for a worker.
type job struct {
	queue   *queue
	x       *fabric.Exchange
	compare *fabric.Exchange // that x, a Write, is fused with; nil: none
	past    uint64           // what of it is done, of a command that is done in parts: blocks, or the id of a namespace
}

// host is the NQN of the host that the command is of.
func (j *job) host() string { return j.queue.ctrl.host.HostNQN }

// beginIO judges an I/O command and notes its namespace in the exchange.
func (q *queue) beginIO(x *fabric.Exchange) (pull int, st wire.Status) {
	cmd := &x.Command
	if !q.ctrl.ready.Load() {
		return 0, q.ctrl.unready()
	}
	switch cmd.Opcode {
	case wire.OpRead, wire.OpWrite, wire.OpCompare, wire.OpWriteZeroes, wire.OpDSM:
	case wire.OpFlush:
		if cmd.NSID == wire.NSIDAll {
			return 0, wire.Success
		}
	default:
		return 0, wire.InvalidOpcode.WithDNR()
	}
	ns := q.ctrl.sub.now.Load().namespaces[cmd.NSID]
	if ns == nil {
		return 0, wire.InvalidNamespace.WithDNR()
	}
	if st := q.portal.reach(ns.Group); st != wire.Success {
		return 0, st
	}
	x.State = ns
	switch cmd.Opcode {
	case wire.OpFlush:
		return 0, wire.Success
	case wire.OpDSM:
		return ns.beginDSM(x)
	}
	return ns.beginBlocks(x)
}

// beginBlocks judges a command on one range of blocks.
func (n *namespace) beginBlocks(x *fabric.Exchange) (pull int, st wire.Status) {
	lba, count := x.Command.Blocks()
	op, bytes := x.Command.Opcode, count*n.info.BlockSize
	if op == wire.OpWriteZeroes {
		bytes = 0
	}
	switch {
	case bytes > MaxTransfer:
		return 0, wire.InvalidField.WithDNR()
	case lba > n.blocks || uint64(count) > n.blocks-lba:
		return 0, wire.LBAOutOfRange.WithDNR()
	case x.Length() != bytes:
		return 0, wire.SGLInvalidLength.WithDNR()
	case op == wire.OpRead:
		return 0, wire.Success
	case n.ReadOnly && op != wire.OpCompare:
		return 0, wire.NSWriteProtected.WithDNR()
	}
	return bytes, wire.Success
}

// executeIO performs an I/O command, now or when its turn comes.
func (q *queue) executeIO(x *fabric.Exchange) {
	if x.Command.Fuse() != wire.NotFused {
		q.arrive(x, wire.Success)
		return
	}
	if !q.t.gate.enter() {
		return // draining: the connection ends soon
	}
	q.t.submit(job{queue: q, x: x})
}

// submit performs a command, or what is left of one, when the limits of its
// namespace allow it.
func (t *Target) submit(j job) {
	if ns, one := j.x.State.(*namespace); one && ns.limit != nil && !ns.admit(j) {
		return
	}
	t.dispatch(j)
}

// dispatch performs a command here, where it is certain to take no time, or on a
// worker.
func (t *Target) dispatch(j job) {
	if ns, one := j.x.State.(*namespace); one {
		if j.compare == nil && j.queue.atOnce(j.x, ns) {
			return
		}
		ns.settle(j.x)
		if !ns.info.MayBlock {
			t.computing.add(j)
			return
		}
	}
	switch c := &j.x.Command; {
	case c.Opcode == wire.OpWriteZeroes || c.Opcode == wire.OpDSM:
		t.computing.add(j)
	case c.Opcode == wire.OpFlush || c.FUA():
		t.flushing.add(j)
	case c.Opcode == wire.OpWrite && cached(j.x):
		t.storing.add(j)
	default:
		t.moving.add(j)
	}
}

func cached(x *fabric.Exchange) bool {
	ns, one := x.State.(*namespace)
	return one && ns.info.Cached
}

// atOnce performs a command on memory, or a read of what a device need not be
// asked for, unless it had to wait for others, and reports whether it did.
func (q *queue) atOnce(x *fabric.Exchange, ns *namespace) bool {
	op := x.Command.Opcode
	if ns.info.MayBlock && op != wire.OpRead {
		return false
	}
	if op == wire.OpRead && x.Command.FUA() || op != wire.OpRead && op != wire.OpWrite && op != wire.OpFlush {
		return false
	}
	if !q.alive() {
		q.complete(x, wire.AbortedSQDeletion)
		return true
	}
	switch op {
	case wire.OpRead:
		b, ok := ns.tryRead(x)
		if ok {
			q.show(x, ns, b)
		}
		return ok
	case wire.OpWrite:
		done, err := ns.tryStore(x)
		if done {
			q.complete(x, q.written(x, ns, err))
		}
		return done
	}
	q.complete(x, q.flush(ns))
	return true
}

// alive says that commands of the queue may still be performed. Some wait for
// data, a limit or a worker while the controller ends. The host may have written
// anew elsewhere, which must not be undone.
func (q *queue) alive() bool { return q.ctrl.ready.Load() && !q.gone.Load() }

// complete ends a command that executeIO has begun.
func (q *queue) complete(x *fabric.Exchange, st wire.Status) {
	x.Complete(0, st)
	q.t.gate.leave()
}

// abort ends a command that executeIO has begun and nobody waits for.
func (q *queue) abort(j job) {
	if j.compare != nil {
		j.compare.Complete(0, wire.AbortedSQDeletion)
	}
	q.complete(j.x, wire.AbortedSQDeletion)
}

// perform does what an I/O command says, or a part of it, and completes it or has
// the rest wait for its turn. It may block.
func (t *Target) perform(j job) {
	q, x := j.queue, j.x
	if !q.alive() {
		q.abort(j)
		return
	}
	ns, _ := x.State.(*namespace)
	if j.compare != nil {
		q.compareAndWrite(&j, ns)
		return
	}
	st, more := wire.Success, false
	switch x.Command.Opcode {
	case wire.OpRead:
		q.read(x, ns)
		return
	case wire.OpWrite:
		st = q.write(x, ns)
	case wire.OpCompare:
		st = q.compare(x, ns)
	case wire.OpWriteZeroes:
		st, more = q.writeZeroes(&j, ns)
	case wire.OpDSM:
		st, more = q.manage(&j, ns)
	default:
		if ns != nil {
			st = q.flush(ns)
		} else {
			st, more = q.flushNext(&j)
		}
	}
	if more {
		t.submit(j)
		return
	}
	q.complete(x, st)
}

// read performs Read.
func (q *queue) read(x *fabric.Exchange, ns *namespace) {
	if x.Command.FUA() {
		// What is read must be on the medium before it is shown.
		if err := ns.Backend.Flush(); err != nil {
			q.complete(x, q.failed(err, wire.WriteFault, "flush", ns))
			return
		}
	}
	b, err := ns.load(x)
	if err != nil {
		q.complete(x, q.failed(err, wire.UnrecoveredRead, "read", ns))
		return
	}
	q.show(x, ns, b)
}

// show sends what was read.
func (q *queue) show(x *fabric.Exchange, ns *namespace, b fabric.Buffer) {
	ns.count.reads.Add(1)
	ns.count.bytesRead.Add(uint64(len(b.Bytes)))
	x.Push(b)
	q.complete(x, wire.Success)
}

// write performs Write.
func (q *queue) write(x *fabric.Exchange, ns *namespace) wire.Status {
	return q.written(x, ns, ns.store(x))
}

// written ends a write that the backend has done, or has not done.
func (q *queue) written(x *fabric.Exchange, ns *namespace, err error) wire.Status {
	if err != nil {
		return q.failed(err, wire.WriteFault, "write", ns)
	}
	if x.Command.FUA() {
		if err := ns.Backend.Flush(); err != nil {
			return q.failed(err, wire.WriteFault, "flush", ns)
		}
	}
	ns.count.writes.Add(1)
	ns.count.bytesWritten.Add(uint64(len(x.Data)))
	return wire.Success
}

// flush makes one namespace durable.
func (q *queue) flush(ns *namespace) wire.Status {
	if err := ns.Backend.Flush(); err != nil {
		return q.failed(err, wire.WriteFault, "flush", ns)
	}
	ns.count.others.Add(1)
	return wire.Success
}

// flushNext flushes the next one of all namespaces, and reports whether there are
// more.
func (q *queue) flushNext(j *job) (st wire.Status, more bool) {
	l := q.ctrl.sub.now.Load()
	i, _ := slices.BinarySearch(l.ids, uint32(j.past)+1)
	if i == len(l.ids) {
		return wire.Success, false
	}
	j.past = uint64(l.ids[i])
	ns := l.namespaces[l.ids[i]]
	err := ns.Backend.Flush()
	switch {
	case errors.Is(err, backend.ErrClosed): // a reload has just taken it away, flushed
	case err != nil:
		return q.failed(err, wire.WriteFault, "flush", ns), false
	default:
		ns.count.others.Add(1)
	}
	return wire.Success, i+1 < len(l.ids)
}

// failedIf is the status of zeroing that went well, or did not.
func (q *queue) failedIf(err error, what string, ns *namespace) wire.Status {
	if err == nil {
		return wire.Success
	}
	return q.failed(err, wire.WriteFault, what, ns)
}

// failed is the status that tells the host of a backend's error; otherwise is
// that of an error without a status of its own.
func (q *queue) failed(err error, otherwise wire.Status, what string, ns *namespace) wire.Status {
	q.t.log.Error("backend", "error", err, "doing", what, "subsystem", q.ctrl.sub.nqn, "namespace", ns.ID)
	ns.count.errors.Add(1)
	switch {
	case errors.Is(err, backend.ErrClosed):
		return wire.InvalidNamespace.WithDNR() // a reload has taken it away
	case errors.Is(err, backend.ErrRange):
		return wire.LBAOutOfRange.WithDNR()
	case errors.Is(err, syscall.ENOSPC):
		return wire.CapacityExceeded.WithDNR()
	}
	return otherwise.WithDNR()
}
