package tcp

import "weft/internal/nvme/wire"

const (
	readSize   = 64 << 10 // of the buffer that PDUs are taken from, once it was full
	readFirst  = 2 << 10  // of it before: connections that say little cost little
	readDirect = 16 << 10 // payload still missing that is worth a read of its own
)

// A sink is what PDUs are delivered to.
type sink interface {
	// check judges a common header before anything else of the PDU is waited
	// for. It returns nil only if HLen is the true length of the header, at
	// least that of the common header, and PLen not less.
	check(h *wire.PDUHeader) error

	// header takes a whole header. The payload goes to dst, and what is longer
	// than dst is dropped.
	header(h *wire.PDUHeader, raw []byte) (dst []byte, err error)

	// payload says that dst is full.
	payload() error
}

// A receiver puts PDUs together from what is read. It does not read itself:
// read into window, tell filled, then drain.
type receiver struct {
	buf  []byte
	r, w int // unread part of buf

	h       wire.PDUHeader // of the PDU being delivered
	dst     []byte         // payload still to come
	skip    int            // payload still to be dropped after that
	pending bool           // in a payload
	direct  bool           // the window was dst
}

func newReceiver() receiver { return receiver{buf: make([]byte, readFirst)} }

// window is where the next read should go; never empty after drain.
func (r *receiver) window() []byte {
	if r.r == r.w {
		r.r, r.w = 0, 0
	}
	r.direct = r.w == 0 && len(r.dst) >= readDirect
	if r.direct {
		return r.dst
	}
	if r.r > 0 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	return r.buf[r.w:]
}

// filled says that n bytes were read into the window.
func (r *receiver) filled(n int) {
	if r.direct {
		r.dst = r.dst[n:]
		return
	}
	if r.w += n; r.w == readFirst && len(r.buf) == readFirst {
		r.buf = append(make([]byte, 0, readSize), r.buf...)[:readSize]
	}
}

// drain delivers everything that is there.
func (r *receiver) drain(s sink) error {
	for {
		if r.pending {
			n := copy(r.dst, r.buf[r.r:r.w])
			r.dst = r.dst[n:]
			r.r += n
			n = min(r.skip, r.w-r.r)
			r.skip -= n
			r.r += n
			if len(r.dst)+r.skip > 0 {
				return nil
			}
			r.pending, r.dst = false, nil
			if err := s.payload(); err != nil {
				return err
			}
		}
		more, err := r.next(s)
		if err != nil || !more {
			return err
		}
	}
}

// next delivers one header, if it is there.
func (r *receiver) next(s sink) (bool, error) {
	have := r.buf[r.r:r.w]
	if len(have) < wire.PDUHeaderSize {
		return false, nil
	}
	h := &r.h // a local one would move to the heap
	if err := h.UnmarshalBinary(have); err != nil {
		return false, err
	}
	if err := s.check(h); err != nil {
		return false, withHeader(err, have)
	}
	n := int(h.HLen)
	if len(have) < n {
		return false, nil
	}
	dst, err := s.header(h, have[:n])
	if err != nil {
		return false, withHeader(err, have[:n])
	}
	r.r += n
	if rest := int(h.PLen) - n; rest > 0 {
		r.pending, r.dst, r.skip = true, dst, rest-len(dst)
	}
	return true, nil
}
