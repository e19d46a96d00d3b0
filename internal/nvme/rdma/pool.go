package rdma

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
)

const (
	minClass   = 12 // 4 KiB
	maxClass   = 24 // 16 MiB, more than any command moves
	numClasses = maxClass - minClass + 1
	slabBytes  = 1 << 20 // that are registered at once, for chunks up to that size
)

// A pool lends registered memory in powers of two. Slabs are registered once
// and kept; in steady state nothing is allocated.
type pool struct {
	domain verbs.Domain
	access verbs.Access

	mu     sync.Mutex
	free   [numClasses][]*chunk
	slabs  []*verbs.Memory
	closed bool
}

// chunk is a piece of a slab.
type chunk struct {
	home  *pool
	bytes []byte // all of it
	addr  uint64
	key   uint32
}

// newPool is for what a target reads from hosts, and writes to them.
func newPool(d verbs.Domain) *pool {
	p := &pool{domain: d, access: verbs.LocalWrite}
	if d.Limits().IWARP {
		p.access |= verbs.RemoteWrite
	}
	return p
}

var errPoolClosed = errors.New("the portal is closed")

// get is a chunk of at least n bytes of undefined content.
func (p *pool) get(n int) (*chunk, error) {
	class := max(bits.Len(uint(max(n, 1)-1)), minClass)
	if class > maxClass {
		return nil, fmt.Errorf("%d bytes at once", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	free := &p.free[class-minClass]
	if len(*free) == 0 {
		if err := p.grow(class); err != nil {
			return nil, err
		}
	}
	c := (*free)[len(*free)-1]
	*free = (*free)[:len(*free)-1]
	return c, nil
}

// grow registers one more slab and cuts it up.
func (p *pool) grow(class int) error {
	if p.closed {
		return errPoolClosed
	}
	size := 1 << class
	slab := make([]byte, max(size, slabBytes))
	m, err := p.domain.Register(slab, p.access)
	if err != nil {
		return err
	}
	p.slabs = append(p.slabs, m)
	for at := 0; at < len(slab); at += size {
		c := &chunk{home: p, bytes: slab[at : at+size : at+size], addr: m.Addr + uint64(at), key: m.Local}
		p.free[class-minClass] = append(p.free[class-minClass], c)
	}
	return nil
}

// Release takes a chunk back.
func (c *chunk) Release([]byte) {
	p := c.home
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		class := bits.Len(uint(len(c.bytes))) - 1
		p.free[class-minClass] = append(p.free[class-minClass], c)
	}
}

// buffer is the chunk's first n bytes to be lent.
func (c *chunk) buffer(n int) fabric.Buffer { return fabric.Buffer{Bytes: c.bytes[:n], Owner: c} }

// piece is the chunk's first n bytes for the hardware.
func (c *chunk) piece(n int) verbs.Piece {
	return verbs.Piece{Addr: c.addr, Len: uint32(n), Key: c.key}
}

// close takes the memory back from the hardware. Whoever still has a chunk may
// use it as memory: it goes when nobody has it any more.
func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var errs []error
	for _, m := range p.slabs {
		errs = append(errs, m.Close())
	}
	p.slabs, p.free = nil, [numClasses][]*chunk{}
	return errors.Join(errs...)
}
