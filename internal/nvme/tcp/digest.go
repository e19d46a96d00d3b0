package tcp

import (
	"encoding/binary"

	"weft/internal/nvme/crc32c"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// digestSize is the length of either digest. TCP section 3.3.1.1.
const digestSize = 4

// digests are the checksums that both ends of a connection have agreed on.
type digests struct {
	header bool // of every header but those of ICReq, ICResp and TermReq
	data   bool // of all data that a PDU carries
}

// Bits of the digest field of ICReq and ICResp.
const (
	askHeaderDigest = 1 << 0
	askDataDigest   = 1 << 1
)

func digestsOf(field uint8) digests {
	return digests{header: field&askHeaderDigest != 0, data: field&askDataDigest != 0}
}

// field is the digest field that says d.
func (d digests) field() (f uint8) {
	if d.header {
		f |= askHeaderDigest
	}
	if d.data {
		f |= askDataDigest
	}
	return f
}

func (d digests) String() string {
	switch {
	case d.header && d.data:
		return "header and data"
	case d.header:
		return "header"
	case d.data:
		return "data"
	}
	return "none"
}

// behind is how many bytes of digest follow the header of a PDU.
func (d digests) behind(t wire.PDUType) int {
	switch t {
	case wire.PDUICReq, wire.PDUICResp, wire.PDUH2CTermReq, wire.PDUC2HTermReq:
		return 0
	}
	if d.header {
		return digestSize
	}
	return 0
}

// dataLen is how much data a PDU carries whose header passed checkSizes.
func (d digests) dataLen(h *wire.PDUHeader) int {
	n := int(h.PLen) - int(h.HLen) - d.behind(h.Type)
	if n > 0 && h.Flags&wire.PDUDataDigest != 0 {
		n -= digestSize
	}
	return n
}

// dress adds to a header what the digests change in it; data says whether the
// PDU carries any.
func (d digests) dress(h *wire.PDUHeader, data bool) {
	if d.header {
		h.Flags |= wire.PDUHeaderDigest
		h.PLen += digestSize
		if h.PDO > 0 {
			h.PDO += digestSize
		}
	}
	if d.data && data {
		h.Flags |= wire.PDUDataDigest
		h.PLen += digestSize
	}
}

// seal adds the digest of the header that begins at from, if agreed, and ends
// the header.
func (b *batch) seal(from int, d digests) {
	if d.header {
		b.small = binary.LittleEndian.AppendUint32(b.small, crc32c.Checksum(b.small[from:]))
	}
	b.mark()
}

// payload adds data and its digest, if agreed.
func (b *batch) payload(buf fabric.Buffer, d digests) {
	if !d.data {
		b.data(buf)
		return
	}
	sum := crc32c.Checksum(buf.Bytes) // before it may be released
	b.data(buf)
	b.small = binary.LittleEndian.AppendUint32(b.small, sum)
	b.mark()
}
