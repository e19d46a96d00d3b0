package wire

import (
	"cmp"
	"fmt"
)

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
	return cmp.Or(map[FatalStatus]string{
		FatalHeaderField:   "invalid PDU header field",
		FatalSequence:      "PDU sequence error",
		FatalHeaderDigest:  "header digest error",
		FatalOutOfRange:    "data transfer out of range",
		FatalLimitExceeded: "data transfer or R2T limit exceeded",
		FatalUnsupported:   "unsupported parameter",
	}[f], fmt.Sprintf("fatal error status 0x%02x", uint16(f)))
}

// TermReq is H2CTermReq or C2HTermReq: the sender will end the connection.
// The header that offended, or its beginning, follows it.
type TermReq struct {
	PDUHeader `at:"0"`
	Reason    FatalStatus `at:"8"`
	Info      uint32      `at:"10"`
}

// NewTermReq is a TermReq with its header filled in; the first n bytes of the
// offending header will follow it, 128 at most.
func NewTermReq(t PDUType, reason FatalStatus, info uint32, n int) TermReq {
	return TermReq{PDUHeader{Type: t, HLen: TermReqSize, PLen: uint32(TermReqSize + n)}, reason, info}
}

// AppendBinary appends the 24 bytes.
func (p *TermReq) AppendBinary(b []byte) ([]byte, error) { return appendTagged(b, TermReqSize, p) }

// UnmarshalBinary reads the first 24 bytes of b.
func (p *TermReq) UnmarshalBinary(b []byte) error { return readTagged(b, TermReqSize, "TermReq", p) }
