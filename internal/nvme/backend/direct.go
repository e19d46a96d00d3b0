package backend

import "unsafe"

// aligned says that memory begins where direct I/O wants it to.
func (b *file) aligned(p []byte) bool {
	return b.align == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(p)))%uintptr(b.align) == 0
}

// bounce is aligned memory of a stripe at most, to copy through.
func (b *file) bounce(n int) (p []byte, giveBack func()) {
	whole, _ := b.spare.Get().(*[]byte)
	if whole == nil {
		raw := make([]byte, stripeBytes+b.align)
		off := 0
		for !b.aligned(raw[off:]) {
			off++
		}
		raw = raw[off : off+stripeBytes]
		whole = &raw
	}
	return (*whole)[:n], func() { b.spare.Put(whole) }
}

// readAt reads at most a stripe.
func (b *file) readAt(p []byte, off int64) (int, error) {
	if b.aligned(p) {
		return b.f.ReadAt(p, off)
	}
	q, giveBack := b.bounce(len(p))
	defer giveBack()
	n, err := b.f.ReadAt(q, off)
	return copy(p, q[:n]), err
}

// writeAt writes at most a stripe.
func (b *file) writeAt(p []byte, off int64) (int, error) {
	if b.aligned(p) {
		return b.f.WriteAt(p, off)
	}
	q, giveBack := b.bounce(len(p))
	defer giveBack()
	copy(q, p)
	return b.f.WriteAt(q, off)
}
