package fabric

import (
	"math/bits"
	"sync"
)

// A Buffer is memory that takes part in a transfer.
type Buffer struct {
	Bytes  []byte
	Region Region   // what the bytes are part of, where the transport needs it
	Owner  Releaser // is told when a transport no longer needs the bytes; may be nil

	// Shared says that others wait to write to the bytes until they are
	// released: a transport copies what it cannot send at once.
	Shared bool
}

// A Releaser gets memory again that was lent to a transport. Release is called
// exactly once for each buffer, from any goroutine, with the bytes of the
// buffer; it must not block.
type Releaser interface {
	Release(b []byte)
}

// Release gives the bytes back to their owner.
func (b Buffer) Release() {
	if b.Owner != nil {
		b.Owner.Release(b.Bytes)
	}
}

// A Region is memory made ready by Transport.Register.
type Region interface {
	Bytes() []byte
	Close() error
}

// Plain is a Region for transports that need nothing of the kind.
type Plain []byte

// Bytes is the memory.
func (p Plain) Bytes() []byte { return p }

// Close does nothing.
func (p Plain) Close() error { return nil }

const (
	minClass   = 12 // 4 KiB
	maxClass   = 20 // 1 MiB
	numClasses = maxClass - minClass + 1
)

// A Pool lends buffers in powers of two from 4 KiB to 1 MiB, and larger ones
// that are not kept. In steady state it does not allocate. The zero Pool is
// ready; it must not be copied.
type Pool struct {
	classes [numClasses]sync.Pool
}

// PoolSize is how many bytes a buffer of n bytes takes in a Pool.
func PoolSize(n int) int {
	if class := max(bits.Len(uint(max(n, 1)-1)), minClass); class <= maxClass {
		return 1 << class
	}
	return n
}

// Get is a buffer of n bytes of undefined content. Its Owner is the pool's.
func (p *Pool) Get(n int) Buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minClass)
	if class > maxClass {
		return Buffer{Bytes: make([]byte, n)}
	}
	c, _ := p.classes[class-minClass].Get().(*chunk)
	if c == nil {
		c = &chunk{whole: make([]byte, 1<<class), home: &p.classes[class-minClass]}
	}
	return Buffer{Bytes: c.whole[:n], Owner: c}
}

type chunk struct {
	whole []byte
	home  *sync.Pool
}

func (c *chunk) Release([]byte) { c.home.Put(c) }
