package tcp

import (
	"encoding/binary"
	"errors"

	"weft/internal/nvme/crc32c"
	"weft/internal/nvme/wire"
)

const (
	readSize   = 64 << 10 // of the buffer that PDUs are taken from, once it was full
	readFirst  = 2 << 10  // of it before: connections that say little cost little
	readDirect = 16 << 10 // payload still missing that is worth a read of its own
	readVector = 1 << 10  // the same where one read fills two places
	readBehind = 4 << 10  // of what follows a long payload: headers, but hardly more that would be copied
)

// errFull is what a sink says of a PDU that it cannot take now: drain again, with
// nothing more read, when it can.
var errFull = errors.New("no room for a command")

// A sink is what PDUs are delivered to.
type sink interface {
	// check judges a common header before anything else of the PDU is waited
	// for. It returns nil only if HLen is the true length of the header, at
	// least that of the common header, the flags name the digests that are
	// there, and PLen holds all of that.
	check(h *wire.PDUHeader) error

	// header takes a whole header. The payload goes to dst, and what is longer
	// than dst is dropped.
	header(h *wire.PDUHeader, raw []byte) (dst []byte, err error)

	// payload says that dst is full, and whether it is what its digest says.
	payload(intact bool) error
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
	long    bool           // the last payload was worth reads of its own
	least   int            // payload still missing that is worth a read of its own

	digests digests // agreed
	summed  bool    // the payload has a digest
	sum     uint32  // of the payload so far
	trailer []byte  // its digest, as far as it is there
}

func newReceiver() receiver {
	return receiver{buf: make([]byte, readFirst), trailer: make([]byte, 0, digestSize), least: readDirect}
}

// window is where the next read should go; never empty after drain.
func (r *receiver) window() []byte {
	if r.r == r.w {
		r.r, r.w = 0, 0
	}
	r.direct = r.w == 0 && len(r.dst) >= r.least && r.least > 0
	if r.direct {
		return r.dst
	}
	if r.r > 0 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	return r.behind()
}

// behind is the free part of buf, as much of it as is worth reading into.
func (r *receiver) behind() []byte {
	free := r.buf[r.w:]
	if r.long && len(free) > readBehind {
		free = free[:readBehind]
	}
	return free
}

// windows is window, and where more may go in the same read, which is told to
// filled as if the one continued the other.
func (r *receiver) windows() (first, second []byte) {
	first = r.window()
	if r.direct {
		second = r.behind()
	}
	return first, second
}

// filled says that n bytes were read into the window.
func (r *receiver) filled(n int) {
	if r.direct {
		k := min(n, len(r.dst))
		r.add(r.dst[:k])
		r.dst = r.dst[k:]
		n -= k
	}
	if r.w += n; r.w == readFirst && len(r.buf) == readFirst {
		r.buf = append(make([]byte, 0, readSize), r.buf...)[:readSize]
	}
}

// drain delivers everything that is there.
func (r *receiver) drain(s sink) error {
	for {
		if r.pending {
			if !r.fill() {
				return nil
			}
			r.pending, r.dst = false, nil
			if err := s.payload(r.intact()); err != nil {
				return err
			}
		}
		more, err := r.next(s)
		if err != nil || !more {
			return err
		}
	}
}

// fill moves what is there of the payload and reports whether that is all.
func (r *receiver) fill() bool {
	n := copy(r.dst, r.buf[r.r:r.w])
	r.add(r.dst[:n])
	r.dst = r.dst[n:]
	r.r += n
	n = min(r.skip, r.w-r.r)
	r.add(r.buf[r.r : r.r+n])
	r.skip -= n
	r.r += n
	if len(r.dst)+r.skip > 0 {
		return false
	}
	if !r.summed {
		return true
	}
	n = min(digestSize-len(r.trailer), r.w-r.r)
	r.trailer = append(r.trailer, r.buf[r.r:r.r+n]...)
	r.r += n
	return len(r.trailer) == digestSize
}

// add takes a part of the payload into its digest.
func (r *receiver) add(part []byte) {
	if r.summed {
		r.sum = crc32c.Update(r.sum, part)
	}
}

// intact reports whether the payload is what its digest says.
func (r *receiver) intact() bool {
	return !r.summed || binary.LittleEndian.Uint32(r.trailer) == r.sum
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
	if err := s.check(h); err == errFull {
		return false, err
	} else if err != nil {
		return false, withHeader(err, have)
	}
	n := int(h.HLen)
	whole := n + r.digests.behind(h.Type)
	if len(have) < whole {
		return false, nil
	}
	if whole > n {
		said := binary.LittleEndian.Uint32(have[n:])
		if sum := crc32c.Checksum(have[:n]); sum != said {
			return false, withHeader(breach(wire.FatalHeaderDigest, said, "%v with header digest 0x%08x, want 0x%08x", h.Type, said, sum), have[:n])
		}
	}
	dst, err := s.header(h, have[:n])
	if err != nil {
		return false, withHeader(err, have[:n])
	}
	r.r += whole
	if int(h.PLen) > whole {
		r.pending, r.dst, r.skip = true, dst, int(h.PLen)-whole-len(dst)
		r.long = len(dst) >= readDirect
		r.summed, r.sum, r.trailer = h.Flags&wire.PDUDataDigest != 0, 0, r.trailer[:0]
		if r.summed {
			r.skip -= digestSize
		}
	}
	return true, nil
}
