package tcp

import (
	"errors"
	"fmt"

	"weft/internal/nvme/wire"
)

// A fatal error is a peer's breach of the protocol. It is told to the peer in
// a TermReq and ends the connection.
type fatal struct {
	reason wire.FatalStatus
	info   uint32
	what   string
	header []byte // what offended
}

func (f *fatal) Error() string { return fmt.Sprintf("%s: %v", f.what, f.reason) }

// breach is a fatal error about the field at offset info.
func breach(reason wire.FatalStatus, info uint32, format string, args ...any) error {
	return &fatal{reason: reason, info: info, what: fmt.Sprintf(format, args...)}
}

// withHeader keeps the beginning of the offending PDU for the TermReq.
func withHeader(err error, raw []byte) error {
	if f := (*fatal)(nil); errors.As(err, &f) && f.header == nil {
		f.header = append([]byte(nil), raw[:min(len(raw), wire.TermReqMax-wire.TermReqSize)]...)
	}
	return err
}

// errTerminated is a TermReq that the peer has sent.
type errTerminated struct {
	reason wire.FatalStatus
	info   uint32
}

func (e *errTerminated) Error() string {
	return fmt.Sprintf("peer ended the connection: %v (info 0x%x)", e.reason, e.info)
}

// Offsets of fields in the common header and behind it, as TermReq reports
// them.
const (
	atType  = 0
	atFlags = 1
	atHLen  = 2
	atPDO   = 3
	atPLen  = 4
	atCID   = 8
	atTTag  = 10
	atOff   = 12
	atLen   = 16
)

// checkSizes judges what is common to all PDUs: a known header length, the
// flags of the digests that were agreed, and a total length between the
// header's and most, digests apart.
func checkSizes(h *wire.PDUHeader, most int, d digests) error {
	want := h.Type.HeaderLen()
	behind := d.behind(h.Type)
	switch {
	case want == 0:
		return breach(wire.FatalHeaderField, atType, "%v", h.Type)
	case int(h.HLen) != want:
		return breach(wire.FatalHeaderField, atHLen, "%v with a header of %d bytes, want %d", h.Type, h.HLen, want)
	case (h.Flags&wire.PDUHeaderDigest != 0) != (behind > 0):
		return breach(wire.FatalHeaderField, atFlags, "%v whose header digest is not as agreed", h.Type)
	case h.PLen < uint32(want+behind):
		return breach(wire.FatalHeaderField, atPLen, "%v of %d bytes, want at least %d", h.Type, h.PLen, want+behind)
	}
	return checkDataDigest(h, want+behind, most+behind, d)
}

// checkDataDigest judges the data digest of a PDU whose header takes head
// bytes. PDUs without data may be flagged: there are peers that do.
func checkDataDigest(h *wire.PDUHeader, head, most int, d digests) error {
	flagged, agreed := h.Flags&wire.PDUDataDigest != 0, d.data
	switch h.Type {
	case wire.PDUICReq, wire.PDUICResp, wire.PDUH2CTermReq, wire.PDUC2HTermReq:
		agreed = false
	}
	if int64(h.PLen) > int64(head) && agreed {
		most += digestSize
	}
	switch {
	case flagged && !agreed || int64(h.PLen) > int64(head) && flagged != agreed:
		return breach(wire.FatalHeaderField, atFlags, "%v whose data digest is not as agreed", h.Type)
	case int64(h.PLen) > int64(most):
		return breach(wire.FatalHeaderField, atPLen, "%v of %d bytes, want at most %d", h.Type, h.PLen, most)
	case int64(h.PLen) > int64(head) && flagged && int64(h.PLen) <= int64(head+digestSize):
		return breach(wire.FatalHeaderField, atPLen, "%v of %d bytes has no data for its data digest", h.Type, h.PLen)
	}
	return nil
}
