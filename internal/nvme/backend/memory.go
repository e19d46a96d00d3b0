package backend

import (
	"bytes"
	"fmt"
)

// MaxMemory is the largest memory backend, in bytes.
const MaxMemory = 1 << 40

// memory keeps blocks in the memory of this process; they are gone with it.
type memory struct {
	info  Info
	locks stripes
	bytes []byte // nil when closed
}

// NewMemory returns size bytes of zeroes in this process's memory. Pages that
// were never written take no space where the system supports it.
func NewMemory(size int64, block int) (Backend, error) {
	m := &memory{info: Info{Size: size, BlockSize: block}}
	if err := m.info.validate(); err != nil {
		return nil, fmt.Errorf("memory backend: %w", err)
	}
	if size > MaxMemory {
		return nil, fmt.Errorf("memory backend: %d GiB are more than memory is used for (%d GiB); keep it in a file", size>>30, MaxMemory>>30)
	}
	b, err := allocate(int(size))
	if err != nil {
		return nil, fmt.Errorf("memory backend: %d bytes: %w", size, err)
	}
	m.bytes = b
	largePages(b)
	return m, nil
}

func (m *memory) ReadBlocks(p []byte, lba uint64) error {
	off, err := m.info.offset(len(p), lba)
	if err != nil {
		return err
	}
	return m.locks.each(p, off, false, func(part []byte, off int64) error {
		if m.bytes == nil {
			return ErrClosed
		}
		copy(part, m.bytes[off:])
		return nil
	})
}

func (m *memory) WriteBlocks(p []byte, lba uint64) error {
	off, err := m.info.offset(len(p), lba)
	if err != nil {
		return err
	}
	return m.locks.each(p, off, true, func(part []byte, off int64) error {
		if m.bytes == nil {
			return ErrClosed
		}
		m.put(off, part)
		return nil
	})
}

// streamAt is how long data is that memory takes past the processor's caches.
// A line is then not fetched in order to be overwritten, and what is in the
// caches, of which so much would be displaced, stays there. Whoever reads the
// data soon waits for it a little longer.
const streamAt = 64 << 10

// put copies data to where it is kept, in whole blocks. Its lock is held.
func (m *memory) put(off int64, p []byte) {
	if dst := m.bytes[off:][:len(p)]; len(p) >= streamAt {
		stream(dst, p)
	} else {
		copy(dst, p)
	}
}

func (m *memory) ZeroBlocks(lba, n uint64, free bool) error {
	off, length, err := m.info.span(lba, n)
	if err != nil {
		return err
	}
	return m.locks.span(off, length, zeroedAtOnce(free), func(off, n int64) error {
		if m.bytes == nil {
			return ErrClosed
		}
		part := m.bytes[off : off+n]
		if free && off%stripeBytes == 0 && n%stripeBytes == 0 { // whole pages
			return zeroPages(part)
		}
		clear(part)
		return nil
	})
}

func (m *memory) CompareAndWrite(want, p []byte, lba uint64) (same bool, err error) {
	off, err := m.info.block(want, p, lba)
	if err != nil {
		return false, err
	}
	err = m.locks.one(p, off, true, func(p []byte, off int64) error {
		if m.bytes == nil {
			return ErrClosed
		}
		if same = bytes.Equal(want, m.bytes[off:off+int64(len(p))]); same {
			m.put(off, p)
		}
		return nil
	})
	return same, err
}

// Flush has nothing to do: memory is no more durable later than now.
func (m *memory) Flush() error { return nil }

func (m *memory) Info() Info { return m.info }

func (m *memory) Close() error {
	return m.locks.all(func() error {
		b := m.bytes
		if b == nil {
			return nil
		}
		m.bytes = nil
		return free(b)
	})
}
