package tcp

import (
	"io"
	"net"

	"weft/internal/nvme/fabric"
)

// A batch is bytes to be sent in order: headers and short data in one buffer,
// long data where it is.
type batch struct {
	most   int // longest data that is copied into small
	small  []byte
	marked int // how much of small is in segs
	segs   []seg
	size   int // bytes not yet written

	first int // segment that is next to be written
	owned int // segments of which none is shared
}

type seg struct {
	from, to int // in small, if there is no lent memory
	lent     fabric.Buffer
	off      int // written of lent
}

// mark takes in what was appended to small.
func (b *batch) mark() {
	n := len(b.small)
	if n == b.marked {
		return
	}
	if k := len(b.segs); k > 0 && b.segs[k-1].lent.Bytes == nil {
		b.segs[k-1].to = n
	} else {
		b.segs = append(b.segs, seg{from: b.marked, to: n})
	}
	b.size += n - b.marked
	b.marked = n
}

// data adds the bytes of a buffer and releases it, now or when it is written.
func (b *batch) data(buf fabric.Buffer) {
	if len(buf.Bytes) <= b.most {
		b.small = append(b.small, buf.Bytes...)
		b.mark()
		buf.Release()
		return
	}
	b.mark()
	b.segs = append(b.segs, seg{lent: buf})
	b.size += len(buf.Bytes)
}

// rest is what of a segment is still to be written.
func (b *batch) rest(s *seg) []byte {
	if s.lent.Bytes != nil {
		return s.lent.Bytes[s.off:]
	}
	return b.small[s.from:s.to]
}

// vector fills v with what is to be written next.
func (b *batch) vector(v [][]byte) int {
	n := 0
	for i := b.first; i < len(b.segs) && n < len(v); i++ {
		v[n] = b.rest(&b.segs[i])
		n++
	}
	return n
}

// wrote takes n bytes off the front.
func (b *batch) wrote(n int) {
	b.size -= n
	for n > 0 {
		s := &b.segs[b.first]
		k := min(n, len(b.rest(s)))
		n -= k
		if s.lent.Bytes == nil {
			s.from += k
		} else {
			s.off += k
		}
		if len(b.rest(s)) == 0 {
			s.lent.Release()
			b.first++
		}
	}
}

// writeAll writes everything to w, blocking; as one where w can do that.
func (b *batch) writeAll(w io.Writer) error {
	if all, ok := w.(interface {
		WriteBuffers(*net.Buffers) (int64, error)
	}); ok {
		v := make(net.Buffers, 0, len(b.segs)-b.first)
		for i := b.first; i < len(b.segs); i++ {
			v = append(v, b.rest(&b.segs[i]))
		}
		n, err := all.WriteBuffers(&v)
		b.wrote(int(n))
		return err
	}
	for b.first < len(b.segs) {
		n, err := w.Write(b.rest(&b.segs[b.first]))
		b.wrote(n)
		if err != nil {
			return err
		}
	}
	return nil
}

// own copies what is shared into memory of the pool, so that those who wait
// for it need not wait for the peer.
func (b *batch) own(pool *fabric.Pool) {
	for i := max(b.first, b.owned); i < len(b.segs); i++ {
		if s := &b.segs[i]; s.lent.Shared {
			copied := pool.Get(len(s.lent.Bytes) - s.off)
			copy(copied.Bytes, s.lent.Bytes[s.off:])
			s.lent.Release()
			s.lent, s.off = copied, 0
		}
	}
	b.owned = len(b.segs)
}

// smallMost is how long small may stay for its next use. Longer, it stays only
// where it is needed.
const smallMost = 1 << 20

// drop releases what was not written and empties the batch.
func (b *batch) drop() {
	for i := b.first; i < len(b.segs); i++ {
		b.segs[i].lent.Release()
	}
	clear(b.segs)
	if cap(b.small) > smallMost && len(b.small) < cap(b.small)/4 {
		b.small = nil
	}
	b.small, b.segs = b.small[:0], b.segs[:0]
	b.marked, b.size, b.first, b.owned = 0, 0, 0, 0
}
