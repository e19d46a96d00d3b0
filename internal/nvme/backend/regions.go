package backend

import (
	"math/bits"
	"sync"
)

// regionBytes is the unit of what a mirror notes; a multiple of stripeBytes.
const regionBytes = 1 << 20

// regions are marks on parts of a backend.
type regions struct {
	mu   sync.Mutex
	size int64
	bits []uint64
	gen  []uint32 // of each region: how often it was marked
}

func newRegions(size int64) *regions {
	n := int((size + regionBytes - 1) / regionBytes)
	return &regions{size: size, bits: make([]uint64, (n+63)/64), gen: make([]uint32, n)}
}

// mark marks the regions that n bytes from off on are in.
func (r *regions) mark(off, n int64) {
	if n == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := off / regionBytes; i <= (off+n-1)/regionBytes; i++ {
		r.bits[i/64] |= 1 << (i % 64)
		r.gen[i]++
	}
}

func (r *regions) all() { r.mark(0, r.size) }

// marked is how often a region was marked, and whether it still is.
type marked struct {
	region int64
	gen    uint32
}

// copied are the marks there are now.
func (r *regions) copied() (all []marked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w, word := range r.bits {
		for ; word != 0; word &= word - 1 {
			i := int64(w*64 + bits.TrailingZeros64(word))
			all = append(all, marked{i, r.gen[i]})
		}
	}
	return all
}

// clear takes marks away, but not of regions that were marked again since.
func (r *regions) clear(some []marked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range some {
		if r.gen[one.region] == one.gen {
			r.bits[one.region/64] &^= 1 << (one.region % 64)
		}
	}
}

// first is the first region that is marked.
func (r *regions) first() (off, n int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w, word := range r.bits {
		if word != 0 {
			off = int64(w*64+bits.TrailingZeros64(word)) * regionBytes
			return off, min(regionBytes, r.size-off), true
		}
	}
	return 0, 0, false
}

// unmark takes the mark of the region at off away.
func (r *regions) unmark(off int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := off / regionBytes
	r.bits[i/64] &^= 1 << (i % 64)
}

// bytes is how much is marked.
func (r *regions) bytes() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, word := range r.bits {
		n += int64(bits.OnesCount64(word)) * regionBytes
	}
	return min(n, r.size)
}
