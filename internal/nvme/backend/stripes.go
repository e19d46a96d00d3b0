package backend

import "sync"

const (
	stripeBytes = 128 << 10 // the unit that one lock covers; a multiple of every block size
	stripeCount = 256
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

// all waits for everybody and runs do alone.
func (s *stripes) all(do func() error) error {
	for i := range s {
		s[i].Lock()
		defer s[i].Unlock()
	}
	return do()
}

// span calls do for the parts of n bytes from byte off on, as a writer. Parts
// are stripes; so long a span that it needs most locks is one part under all.
func (s *stripes) span(off, n int64, do func(off, n int64) error) error {
	if n > stripeCount/2*stripeBytes {
		return s.all(func() error { return do(off, n) })
	}
	for n > 0 {
		part := min(n, stripeBytes-off%stripeBytes)
		if err := s.one(nil, off, true, func(_ []byte, off int64) error { return do(off, part) }); err != nil {
			return err
		}
		off, n = off+part, n-part
	}
	return nil
}
