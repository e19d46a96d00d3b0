package target

import (
	"errors"
	"syscall"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// A job is an I/O command for a worker.
type job struct {
	queue *queue
	x     *fabric.Exchange
}

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

// executeIO performs an I/O command, now or when the limits of its namespace
// allow it.
func (q *queue) executeIO(x *fabric.Exchange) {
	if !q.t.gate.enter() {
		return // draining: the connection ends soon
	}
	j := job{q, x}
	if ns, one := x.State.(*namespace); one && ns.limit != nil && !ns.admit(j) {
		return
	}
	q.t.dispatch(j)
}

// dispatch performs an I/O command here or on a worker, who also does what may
// take long on memory.
func (t *Target) dispatch(j job) {
	op := j.x.Command.Opcode
	ns, one := j.x.State.(*namespace)
	if one && !ns.info.MayBlock && op != wire.OpWriteZeroes && op != wire.OpDSM {
		j.queue.perform(j.x)
		return
	}
	if one {
		ns.settle(j.x)
	}
	t.work <- j
}

// perform does what an I/O command says and completes it.
func (q *queue) perform(x *fabric.Exchange) {
	defer q.t.gate.leave()
	if !q.ctrl.ready.Load() {
		// It waited for data or a worker while the controller ended. The host
		// may have written anew elsewhere, which must not be undone.
		x.Complete(0, wire.AbortedSQDeletion)
		return
	}
	ns, _ := x.State.(*namespace)
	switch x.Command.Opcode {
	case wire.OpRead:
		q.read(x, ns)
	case wire.OpWrite:
		x.Complete(0, q.write(x, ns))
	case wire.OpCompare:
		ns.settle(x)
		x.Complete(0, q.compare(x, ns))
	case wire.OpWriteZeroes:
		x.Complete(0, q.writeZeroes(x, ns))
	case wire.OpDSM:
		x.Complete(0, q.manage(x, ns))
	default:
		x.Complete(0, q.flush(ns))
	}
}

func (q *queue) read(x *fabric.Exchange, ns *namespace) {
	lba, n := x.Command.Blocks()
	if x.Command.FUA() {
		// What is read must be on the medium before it is shown.
		if err := ns.Backend.Flush(); err != nil {
			x.Complete(0, q.failed(err, wire.WriteFault, "flush", ns))
			return
		}
	}
	b, lent := ns.borrow(lba, n*ns.info.BlockSize)
	if !lent {
		ns.settle(x)
		b = x.Alloc(n * ns.info.BlockSize)
		if err := ns.Backend.ReadBlocks(b.Bytes, lba); err != nil {
			b.Release()
			x.Complete(0, q.failed(err, wire.UnrecoveredRead, "read", ns))
			return
		}
	}
	ns.count.reads.Add(1)
	ns.count.bytesRead.Add(uint64(len(b.Bytes)))
	x.Push(b)
	x.Complete(0, wire.Success)
}

func (q *queue) write(x *fabric.Exchange, ns *namespace) wire.Status {
	lba, _ := x.Command.Blocks()
	if err := ns.store(x, lba); err != nil {
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

// flush makes one namespace durable, or all of them for nil.
func (q *queue) flush(ns *namespace) wire.Status {
	if ns != nil {
		if err := ns.Backend.Flush(); err != nil {
			return q.failed(err, wire.WriteFault, "flush", ns)
		}
		ns.count.others.Add(1)
		return wire.Success
	}
	l := q.ctrl.sub.now.Load()
	for _, id := range l.ids {
		err := l.namespaces[id].Backend.Flush()
		switch {
		case errors.Is(err, backend.ErrClosed): // a reload has just taken it away, flushed
		case err != nil:
			return q.failed(err, wire.WriteFault, "flush", l.namespaces[id])
		default:
			l.namespaces[id].count.others.Add(1)
		}
	}
	return wire.Success
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
