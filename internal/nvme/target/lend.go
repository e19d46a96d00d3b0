package target

import (
	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
)

// borrow is the memory of blocks itself where the backend lends it, to be sent
// in place: without a copy, and locked only until the transport has it.
func (n *namespace) borrow(lba uint64, size int) (fabric.Buffer, bool) {
	l, ok := n.Backend.(backend.Lender)
	if !ok {
		return fabric.Buffer{}, false
	}
	b, ok := l.Lend(lba, size)
	return fabric.Buffer{Bytes: b, Owner: l, Shared: true}, ok
}

// store writes blocks. Who must wait for others first gives back what it has
// borrowed itself, else both would wait for ever.
func (n *namespace) store(x *fabric.Exchange, lba uint64) error {
	if l, ok := n.Backend.(backend.Lender); ok {
		if done, err := l.TryWrite(x.Data, lba); done {
			return err
		}
		x.Settle()
	}
	return n.Backend.WriteBlocks(x.Data, lba)
}

// settle is for everything else that may wait for a lock of the backend.
func (n *namespace) settle(x *fabric.Exchange) {
	if _, ok := n.Backend.(backend.Lender); ok {
		x.Settle()
	}
}
