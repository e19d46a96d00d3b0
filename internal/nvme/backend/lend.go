package backend

import "unsafe"

// A Lender is a backend whose blocks can be sent from where they are.
type Lender interface {
	Backend

	// Lend is n bytes from block lba on, in place. Nobody writes to them until
	// they are given back, once, with Release. It never waits: false, also for
	// blocks that are not there, says that they must be read instead.
	Lend(lba uint64, n int) ([]byte, bool)

	// Release takes lent bytes back: exactly those that Lend returned.
	Release(b []byte)

	// TryWrite is WriteBlocks unless it had to wait for others; then it
	// reports false and has written nothing.
	TryWrite(p []byte, lba uint64) (bool, error)
}

var _ Lender = (*memory)(nil)

func (m *memory) Lend(lba uint64, n int) ([]byte, bool) {
	off, err := m.info.offset(n, lba)
	if err != nil || n == 0 || !m.locks.tryShare(off, int64(n)) {
		return nil, false
	}
	if m.bytes == nil {
		m.locks.unshare(off, int64(n))
		return nil, false
	}
	return m.bytes[off : off+int64(n) : off+int64(n)], true
}

func (m *memory) Release(b []byte) {
	// Close waits for everything lent, so bytes is there.
	off := int64(uintptr(unsafe.Pointer(&b[0])) - uintptr(unsafe.Pointer(&m.bytes[0])))
	m.locks.unshare(off, int64(len(b)))
}

func (m *memory) TryWrite(p []byte, lba uint64) (bool, error) {
	off, err := m.info.offset(len(p), lba)
	if err != nil {
		return true, err
	}
	n := int64(len(p))
	if !m.locks.tryOwn(off, n) {
		return false, nil
	}
	defer m.locks.disown(off, n)
	if m.bytes == nil {
		return true, ErrClosed
	}
	m.put(off, p)
	return true, nil
}

// tryShare shares the stripes of n bytes from off on, all or none.
func (s *stripes) tryShare(off, n int64) bool {
	first, last := off/stripeBytes, (off+n-1)/stripeBytes
	for i := first; i <= last; i++ {
		if !s[i%stripeCount].TryRLock() {
			for i--; i >= first; i-- {
				s[i%stripeCount].RUnlock()
			}
			return false
		}
	}
	return true
}

func (s *stripes) unshare(off, n int64) {
	for i := off / stripeBytes; i <= (off+n-1)/stripeBytes; i++ {
		s[i%stripeCount].RUnlock()
	}
}

// tryOwn owns the stripes of n bytes from off on, all or none. Stripes that
// share a lock are too many.
func (s *stripes) tryOwn(off, n int64) bool {
	first, last := off/stripeBytes, (off+n-1)/stripeBytes
	if n == 0 || last-first >= stripeCount {
		return false
	}
	for i := first; i <= last; i++ {
		if !s[i%stripeCount].TryLock() {
			for i--; i >= first; i-- {
				s[i%stripeCount].Unlock()
			}
			return false
		}
	}
	return true
}

func (s *stripes) disown(off, n int64) {
	for i := off / stripeBytes; i <= (off+n-1)/stripeBytes; i++ {
		s[i%stripeCount].Unlock()
	}
}
