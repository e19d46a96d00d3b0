package initiator

import (
	"errors"
	"fmt"
	"sync"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// A Queue is an I/O queue of a controller. Its methods, and Load, take turns
// when they are called concurrently.
type Queue struct {
	mu    sync.Mutex
	q     fabric.Queue
	addr  string
	depth int
	most  int // bytes of one command; 0 is no limit
}

// Depth is how many commands may be outstanding.
func (q *Queue) Depth() int { return q.depth }

// MaxTransfer is the most bytes of one command; 0 is no limit.
func (q *Queue) MaxTransfer() int { return q.most }

// unlimited is the largest command where the controller has no limit: 65536
// blocks is the most a command can name, and nobody needs it.
const unlimited = 1 << 20

// Read fills p from a namespace, from block lba on. The length of p is a
// multiple of the block size; long reads become several commands.
func (q *Queue) Read(ns Namespace, lba uint64, p []byte) error {
	return q.transfer(wire.OpRead, "read", ns, lba, p)
}

// Write is Read's counterpart.
func (q *Queue) Write(ns Namespace, lba uint64, p []byte) error {
	return q.transfer(wire.OpWrite, "write", ns, lba, p)
}

// Flush makes what was written last.
func (q *Queue) Flush(ns Namespace) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.do(&wire.Command{Opcode: wire.OpFlush, NSID: ns.ID}, nil, "flush", ns)
}

// CompareAndWrite writes p to block lba of a namespace if that holds what want does, as
// one fused operation, and reports whether it did. Both are of one block.
func (q *Queue) CompareAndWrite(ns Namespace, lba uint64, want, p []byte) (same bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	compare, write := wire.Command{Opcode: wire.OpCompare, NSID: ns.ID}, wire.Command{Opcode: wire.OpWrite, NSID: ns.ID}
	compare.SetBlocks(lba, 1)
	write.SetBlocks(lba, 1)
	both, err := fabric.DoFused(q.q, &compare, &write, want, p)
	switch {
	case err != nil:
	case both[0].Status.Code() == wire.CompareFailed && both[1].Status.Code() == wire.AbortedFailedFuse:
		return false, nil
	case both[0].Status.Code() != wire.Success && both[1].Status.Code() == wire.AbortedFailedFuse:
		err = both[0].Status.Err()
	default:
		err = errors.Join(both[0].Status.Err(), both[1].Status.Err())
	}
	if err != nil {
		return false, fmt.Errorf("%s: compare and write namespace %d: %w", q.addr, ns.ID, err)
	}
	return true, nil
}

func (q *Queue) transfer(op uint8, what string, ns Namespace, lba uint64, p []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ns.BlockSize == 0 || len(p)%ns.BlockSize != 0 {
		return fmt.Errorf("%s: %s of %d bytes, want a multiple of %d", q.addr, what, len(p), ns.BlockSize)
	}
	most := q.most
	if most == 0 {
		most = unlimited
	}
	most = max(most/ns.BlockSize, 1) * ns.BlockSize
	for len(p) > 0 {
		part := p[:min(len(p), most)]
		cmd := wire.Command{Opcode: op, NSID: ns.ID}
		cmd.SetBlocks(lba, len(part)/ns.BlockSize)
		if err := q.do(&cmd, part, what, ns); err != nil {
			return err
		}
		lba += uint64(len(part) / ns.BlockSize)
		p = p[len(part):]
	}
	return nil
}

func (q *Queue) do(cmd *wire.Command, data []byte, what string, ns Namespace) error {
	c, err := fabric.Do(q.q, cmd, data)
	if err == nil {
		err = c.Status.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %s namespace %d: %w", q.addr, what, ns.ID, err)
	}
	return nil
}
