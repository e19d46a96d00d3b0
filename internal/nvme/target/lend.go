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

// tryRead is the blocks that a read wants, and false where it had to wait for
// others to have them.
func (n *namespace) tryRead(x *fabric.Exchange) (fabric.Buffer, bool) {
	if n.info.MayBlock {
		return n.peek(x)
	}
	if _, lends := n.Backend.(backend.Lender); !lends {
		b, err := n.load(x) // an error has no buffer, and is found again by who may wait
		return b, err == nil
	}
	lba, blocks := x.Command.Blocks()
	b, ok := n.borrow(lba, blocks*n.info.BlockSize)
	if !ok {
		x.Settle() // they may wait for what this connection has borrowed
		b, ok = n.borrow(lba, blocks*n.info.BlockSize)
	}
	return b, ok
}

// peek is the blocks that a read wants where they are at hand.
func (n *namespace) peek(x *fabric.Exchange) (fabric.Buffer, bool) {
	p, peeks := n.Backend.(backend.Peeker)
	if !peeks {
		return fabric.Buffer{}, false
	}
	lba, blocks := x.Command.Blocks()
	b := x.Alloc(blocks * n.info.BlockSize)
	if done, err := p.TryRead(b.Bytes, lba); !done || err != nil {
		b.Release() // an error is found again by who may wait
		return fabric.Buffer{}, false
	}
	return b, true
}

// load is the blocks that a read wants.
func (n *namespace) load(x *fabric.Exchange) (fabric.Buffer, error) {
	lba, blocks := x.Command.Blocks()
	size := blocks * n.info.BlockSize
	if b, lent := n.borrow(lba, size); lent {
		return b, nil
	}
	n.settle(x)
	b := x.Alloc(size)
	if err := n.Backend.ReadBlocks(b.Bytes, lba); err != nil {
		b.Release()
		return fabric.Buffer{}, err
	}
	return b, nil
}

// tryStore writes blocks unless it had to wait for others; then it reports false.
func (n *namespace) tryStore(x *fabric.Exchange) (bool, error) {
	l, lends := n.Backend.(backend.Lender)
	if !lends {
		return true, n.store(x)
	}
	lba, _ := x.Command.Blocks()
	done, err := l.TryWrite(x.Data, lba)
	if !done {
		x.Settle()
		done, err = l.TryWrite(x.Data, lba)
	}
	return done, err
}

// store writes blocks. Who must wait for others first gives back what it has
// borrowed itself, else both would wait for ever.
func (n *namespace) store(x *fabric.Exchange) error {
	n.settle(x)
	lba, _ := x.Command.Blocks()
	return n.Backend.WriteBlocks(x.Data, lba)
}

// settle is for everything that may wait for a lock of the backend.
func (n *namespace) settle(x *fabric.Exchange) {
	if _, ok := n.Backend.(backend.Lender); ok {
		x.Settle()
	}
}
