package nvmetest

import (
	"sync"
	"sync/atomic"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// BlockSize is that of a Disk, in bytes.
const BlockSize = 512

// Opcodes that a Disk understands besides read, write and flush, to make things
// happen.
const (
	OpFail   = 0xc0 // completes with the status in CDW10
	OpNever  = 0xc4 // never completes
	OpHangup = 0xc8 // ends the connection
	OpTooBig = 0xc2 // pushes one byte more than was asked for
	OpDrop   = 0xd0 // is dropped: its place is free again, without an answer
	OpEcho   = 0xcc // completes with CDW11:CDW10 as result
	OpLend   = 0xc6 // pushes its own zeros in two parts and completes with the status in CDW10; shared with CDW11 1
)

// Disk is memory with what the suite needs of a target: it accepts every
// Connect and executes commands at once or, with Async, in other goroutines.
type Disk struct {
	Data  []byte
	Async bool

	mu    sync.RWMutex // of Data
	wg    sync.WaitGroup
	lent  atomic.Int64 // buffers of OpLend not yet released
	state sync.Mutex
	open  int
	ended []error
}

// Accept is the function for Transport.Listen.
func (d *Disk) Accept(c fabric.Conn) fabric.Handler {
	d.state.Lock()
	defer d.state.Unlock()
	d.open++
	return &diskQueue{d, c}
}

// Wait waits for what Async has started.
func (d *Disk) Wait() { d.wg.Wait() }

// Release ends the lending of a buffer that OpLend has pushed.
func (d *Disk) Release(b []byte) {
	if d.lent.Add(-1) < 0 || len(b) == 0 {
		panic("a buffer came back twice")
	}
}

// Lent is how many buffers of OpLend the transport holds.
func (d *Disk) Lent() int { return int(d.lent.Load()) }

// Snapshot is a copy of the data between two commands.
func (d *Disk) Snapshot() []byte {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return append([]byte(nil), d.Data...)
}

// Open is how many queue pairs are connected, and what Disconnected said about
// the others.
func (d *Disk) Open() (int, []error) {
	d.state.Lock()
	defer d.state.Unlock()
	return d.open, append([]error(nil), d.ended...)
}

type diskQueue struct {
	d    *Disk
	conn fabric.Conn
}

func (h *diskQueue) Begin(x *fabric.Exchange) (int, wire.Status) {
	switch x.Command.Opcode {
	case wire.OpFabrics:
		if x.Command.FabricsType() == wire.FabricsConnect {
			return wire.ConnectDataSize, wire.Success
		}
		return 0, wire.Success
	case wire.OpWrite:
		return h.length(x)
	case wire.OpRead:
		_, st := h.length(x)
		return 0, st
	case wire.OpFlush, OpFail, OpNever, OpDrop, OpHangup, OpTooBig, OpEcho, OpLend:
		return 0, wire.Success
	}
	return 0, wire.InvalidOpcode.WithDNR()
}

func (h *diskQueue) length(x *fabric.Exchange) (int, wire.Status) {
	lba, n := x.Command.Blocks()
	switch {
	case lba > uint64(len(h.d.Data)/BlockSize) || n > len(h.d.Data)/BlockSize-int(lba):
		return 0, wire.LBAOutOfRange.WithDNR()
	case n*BlockSize != x.Length():
		return 0, wire.SGLInvalidLength.WithDNR()
	}
	return n * BlockSize, wire.Success
}

func (h *diskQueue) Execute(x *fabric.Exchange) {
	if h.d.Async {
		h.d.wg.Go(func() {
			h.perform(x)
		})
		return
	}
	h.perform(x)
}

func (h *diskQueue) perform(x *fabric.Exchange) {
	lba, n := x.Command.Blocks()
	at := int(lba) * BlockSize
	switch x.Command.Opcode {
	case wire.OpWrite:
		h.d.mu.Lock()
		copy(h.d.Data[at:], x.Data)
		h.d.mu.Unlock()
	case wire.OpRead:
		b := x.Alloc(n * BlockSize)
		h.d.mu.RLock()
		copy(b.Bytes, h.d.Data[at:])
		h.d.mu.RUnlock()
		x.Push(b)
	case OpFail:
		x.Complete(0, wire.Status(x.Command.CDW10))
		return
	case OpNever:
		return
	case OpDrop:
		x.Drop()
		return
	case OpHangup:
		h.conn.Close()
		return
	case OpLend:
		zeros := make([]byte, x.Length())
		for _, part := range [][]byte{zeros[:len(zeros)/2], zeros[len(zeros)/2:]} {
			if len(part) == 0 {
				continue // nothing to lend
			}
			h.d.lent.Add(1)
			x.Push(fabric.Buffer{Bytes: part, Owner: h.d, Shared: x.Command.CDW11 == 1})
		}
		x.Complete(0, wire.Status(x.Command.CDW10))
		return
	case OpTooBig:
		x.Push(fabric.Buffer{Bytes: make([]byte, x.Length())})
		x.Push(fabric.Buffer{Bytes: []byte{1}})
	case OpEcho:
		x.Complete(uint64(x.Command.CDW11)<<32|uint64(x.Command.CDW10), wire.Success)
		return
	}
	x.Complete(0, wire.Success)
}

func (h *diskQueue) Disconnected(err error) {
	h.d.state.Lock()
	defer h.d.state.Unlock()
	h.d.open--
	h.d.ended = append(h.d.ended, err)
}
