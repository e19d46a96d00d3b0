package wire

import "fmt"

// FatalStatus is why one end ends a connection. TCP sections 3.6.2.4 and
// 3.6.2.5.
type FatalStatus uint16

// The reasons.
const (
	FatalHeaderField   FatalStatus = 0x01 // TermReq.Info is its offset
	FatalSequence      FatalStatus = 0x02
	FatalHeaderDigest  FatalStatus = 0x03
	FatalOutOfRange    FatalStatus = 0x04
	FatalLimitExceeded FatalStatus = 0x05
	FatalUnsupported   FatalStatus = 0x06 // TermReq.Info is its offset
)

// String is the reason in words.
func (f FatalStatus) String() string {
	switch f {
	case FatalHeaderField:
		return "invalid PDU header field"
	case FatalSequence:
		return "PDU sequence error"
	case FatalHeaderDigest:
		return "header digest error"
	case FatalOutOfRange:
		return "data transfer out of range"
	case FatalLimitExceeded:
		return "data transfer or R2T limit exceeded"
	case FatalUnsupported:
		return "unsupported parameter"
	}
	return fmt.Sprintf("fatal error status 0x%02x", uint16(f))
}

// TermReq is H2CTermReq or C2HTermReq: the sender will end the connection.
// The header that offended, or its beginning, follows it.
type TermReq struct {
	PDUHeader
	Reason FatalStatus
	Info   uint32
}

// NewTermReq is a TermReq with its header filled in; the first n bytes of the
// offending header will follow it, 128 at most.
func NewTermReq(t PDUType, reason FatalStatus, info uint32, n int) TermReq {
	return TermReq{PDUHeader{Type: t, HLen: TermReqSize, PLen: uint32(TermReqSize + n)}, reason, info}
}

// AppendBinary appends the 24 bytes. The error is always nil.
func (p *TermReq) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, TermReqSize)
	p.put(w)
	le.PutUint16(w[8:], uint16(p.Reason))
	le.PutUint32(w[10:], p.Info)
	return b, nil
}

// UnmarshalBinary reads the first 24 bytes of b.
func (p *TermReq) UnmarshalBinary(b []byte) error {
	if err := need(b, TermReqSize, "TermReq"); err != nil {
		return err
	}
	p.Reason = FatalStatus(le.Uint16(b[8:]))
	p.Info = le.Uint32(b[10:])
	return p.PDUHeader.UnmarshalBinary(b)
}
