package backend

import (
	"bytes"
	"sync"

	"weft/internal/nvme/rawsock"
)

const (
	stripeBytes = 128 << 10 // the unit that one lock covers; a multiple of every block size
	stripeCount = 256
	pieceBytes  = 16 * stripeBytes // what is deallocated at once; stripeCount*stripeBytes is a multiple
)

// stripes are the locks that keep blocks whole: a reader shares and a writer
// owns the stripe it is copying. Stripes far apart may share a lock.
type stripes [stripeCount]sync.RWMutex

// each calls do for the parts of p, which begins at byte off, stripe by stripe
// under the stripe's lock. It holds one lock at a time, so it cannot deadlock.
func (s *stripes) each(p []byte, off int64, write bool, do func(part []byte, off int64) error) error {
	for len(p) > 0 {
		n := min(int64(len(p)), stripeBytes-off%stripeBytes)
		if err := s.one(p[:n], off, write, do); err != nil {
			return err
		}
		p, off = p[n:], off+n
	}
	return nil
}

func (s *stripes) one(part []byte, off int64, write bool, do func([]byte, int64) error) error {
	l := &s[off/stripeBytes%stripeCount]
	if write {
		l.Lock()
		defer l.Unlock()
	} else {
		l.RLock()
		defer l.RUnlock()
	}
	return do(part, off)
}

// swap writes p, a block, over what is at off if that is what want holds, and reports
// whether it is. It has read and write called as an owner of the stripe.
func (s *stripes) swap(want, p []byte, off int64, read, write func(part []byte, off int64) error) (same bool, err error) {
	have := make([]byte, len(want))
	err = s.one(p, off, true, func(p []byte, off int64) error {
		if err := read(have, off); err != nil {
			return err
		}
		if same = bytes.Equal(want, have); !same {
			return nil
		}
		return write(p, off)
	})
	return same, err
}

// all waits for everybody and runs do alone.
func (s *stripes) all(do func() error) error {
	for i := range s {
		s[i].Lock()
		defer s[i].Unlock()
	}
	return do()
}

// span calls do for the parts of n bytes from byte off on, as a writer. A part is
// some of one stripe, or whole stripes of one piece of most bytes (a power of two
// stripes, at most pieceBytes). Nothing else is owned meanwhile: however long the
// span is, others wait for one part of it. That is so for processors, too: after
// each part other threads have this one if they wait for it, which without that
// would be for milliseconds.
func (s *stripes) span(off, n, most int64, do func(off, n int64) error) error {
	for n > 0 {
		part := min(n, most-off%most)
		if head := off % stripeBytes; head > 0 {
			part = min(part, stripeBytes-head)
		} else if part > stripeBytes {
			part -= part % stripeBytes
		}
		if err := s.own(off, part, do); err != nil {
			return err
		}
		off, n = off+part, n-part
		rawsock.Yield()
	}
	return nil
}

// own runs do alone with n bytes from byte off on, within one piece. The locks of
// a piece have ascending numbers, as those of all, so that owners of several
// cannot deadlock.
func (s *stripes) own(off, n int64, do func(off, n int64) error) error {
	for i := off / stripeBytes; i <= (off+n-1)/stripeBytes; i++ {
		s[i%stripeCount].Lock()
	}
	defer s.disown(off, n)
	return do(off, n)
}

// zeroedAtOnce is how much a backend zeroes as one part: space is given back in
// little time however much it is, zeroes may have to be written.
func zeroedAtOnce(free bool) int64 {
	if free {
		return pieceBytes
	}
	return stripeBytes
}
