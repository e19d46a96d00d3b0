package wire

import (
	"cmp"
	"fmt"
)

// PDUType is the first byte of a PDU of NVMe/TCP. TCP section 3.6.
type PDUType uint8

// The PDUs.
const (
	PDUICReq       PDUType = 0x00
	PDUICResp      PDUType = 0x01
	PDUH2CTermReq  PDUType = 0x02
	PDUC2HTermReq  PDUType = 0x03
	PDUCapsuleCmd  PDUType = 0x04
	PDUCapsuleResp PDUType = 0x05
	PDUH2CData     PDUType = 0x06
	PDUC2HData     PDUType = 0x07
	PDUR2T         PDUType = 0x09
)

// String is the name the specification uses.
func (t PDUType) String() string {
	return cmp.Or(map[PDUType]string{
		PDUICReq:       "ICReq",
		PDUICResp:      "ICResp",
		PDUH2CTermReq:  "H2CTermReq",
		PDUC2HTermReq:  "C2HTermReq",
		PDUCapsuleCmd:  "CapsuleCmd",
		PDUCapsuleResp: "CapsuleResp",
		PDUH2CData:     "H2CData",
		PDUC2HData:     "C2HData",
		PDUR2T:         "R2T",
	}[t], fmt.Sprintf("PDU type 0x%02x", uint8(t)))
}

// HeaderLen is the length of the header of a PDU of this type, the common
// header included; 0 for unknown types.
func (t PDUType) HeaderLen() int {
	switch t {
	case PDUICReq, PDUICResp:
		return ICSize
	case PDUCapsuleCmd:
		return CapsuleCmdSize
	case PDUH2CTermReq, PDUC2HTermReq, PDUCapsuleResp, PDUH2CData, PDUC2HData, PDUR2T:
		return DataHeaderSize
	}
	return 0
}

// Sizes of PDU headers, in bytes.
const (
	PDUHeaderSize   = 8   // common to all
	ICSize          = 128 // ICReq and ICResp
	CapsuleCmdSize  = 72
	CapsuleRespSize = 24
	DataHeaderSize  = 24 // H2CData, C2HData
	R2TSize         = 24
	TermReqSize     = 24
	TermReqMax      = 152 // with as much of the offending header as may follow
)

// Flags in the common header.
const (
	PDUHeaderDigest = 1 << 0
	PDUDataDigest   = 1 << 1
	PDULast         = 1 << 2 // H2CData, C2HData: last of its transfer
	PDUSuccess      = 1 << 3 // C2HData: the command succeeded, no response follows
)

// PDUHeader is the common header. TCP section 3.6.1.
type PDUHeader struct {
	Type  PDUType
	Flags uint8
	HLen  uint8  // length of the header
	PDO   uint8  // where the data begins; 0 without data
	PLen  uint32 // length of all
}

func (h *PDUHeader) put(w []byte) {
	w[0] = uint8(h.Type)
	w[1] = h.Flags
	w[2] = h.HLen
	w[3] = h.PDO
	le.PutUint32(w[4:], h.PLen)
}

// AppendBinary appends the 8 bytes. The error is always nil.
func (h *PDUHeader) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, PDUHeaderSize)
	h.put(w)
	return b, nil
}

// UnmarshalBinary reads the first 8 bytes of b.
func (h *PDUHeader) UnmarshalBinary(b []byte) error {
	if err := need(b, PDUHeaderSize, "PDU header"); err != nil {
		return err
	}
	h.Type = PDUType(b[0])
	h.Flags = b[1]
	h.HLen = b[2]
	h.PDO = b[3]
	h.PLen = le.Uint32(b[4:])
	return nil
}

// ICReq opens a connection, host to controller. TCP section 3.6.2.2.
type ICReq struct {
	PDUHeader `at:"0"`
	PFV       uint16 `at:"8"`  // 0
	HPDA      uint8  `at:"10"` // alignment of data in C2HData, in dwords, minus 1
	Digest    uint8  `at:"11"` // bit 0 header digest, bit 1 data digest
	MaxR2T    uint32 `at:"12"` // R2Ts at once per command, minus 1
}

// NewICReq is an ICReq with its header filled in.
func NewICReq() ICReq {
	return ICReq{PDUHeader: PDUHeader{Type: PDUICReq, HLen: ICSize, PLen: ICSize}}
}

// AppendBinary appends the 128 bytes.
func (p *ICReq) AppendBinary(b []byte) ([]byte, error) { return appendTagged(b, ICSize, p) }

// UnmarshalBinary reads the first 128 bytes of b.
func (p *ICReq) UnmarshalBinary(b []byte) error { return readTagged(b, ICSize, "ICReq", p) }

// ICResp answers ICReq. TCP section 3.6.2.3.
type ICResp struct {
	PDUHeader  `at:"0"`
	PFV        uint16 `at:"8"`  // 0
	CPDA       uint8  `at:"10"` // alignment of data in capsules and H2CData, in dwords, minus 1
	Digest     uint8  `at:"11"`
	MaxH2CData uint32 `at:"12"` // most bytes in one H2CData; at least 4096, a multiple of 4
}

// NewICResp is an ICResp with its header filled in.
func NewICResp() ICResp {
	return ICResp{PDUHeader: PDUHeader{Type: PDUICResp, HLen: ICSize, PLen: ICSize}}
}

// AppendBinary appends the 128 bytes.
func (p *ICResp) AppendBinary(b []byte) ([]byte, error) { return appendTagged(b, ICSize, p) }

// UnmarshalBinary reads the first 128 bytes of b.
func (p *ICResp) UnmarshalBinary(b []byte) error { return readTagged(b, ICSize, "ICResp", p) }

// Validate reports what a host does not accept that asked for no digests.
func (p *ICResp) Validate() error {
	switch {
	case p.Type != PDUICResp || p.HLen != ICSize || p.PLen != ICSize:
		return fmt.Errorf("%v of %d bytes with a header of %d, want ICResp of %d", p.Type, p.PLen, p.HLen, ICSize)
	case p.PFV != 0:
		return fmt.Errorf("ICResp: PDU format version %d, want 0", p.PFV)
	case p.Digest != 0:
		return fmt.Errorf("ICResp: digests 0x%x that were not asked for", p.Digest)
	case p.CPDA != 0:
		return fmt.Errorf("ICResp: data alignment %d, not yet supported", p.CPDA)
	case p.MaxH2CData < 4096 || p.MaxH2CData%4 != 0:
		return fmt.Errorf("ICResp: %d bytes per H2CData", p.MaxH2CData)
	}
	return nil
}

// CapsuleCmd carries a command and perhaps its data. TCP section 3.6.2.6.
type CapsuleCmd struct {
	PDUHeader
	Command Command
}

// NewCapsuleCmd is a CapsuleCmd around c with n bytes of data after it.
func NewCapsuleCmd(c *Command, n int) CapsuleCmd {
	p := CapsuleCmd{PDUHeader{Type: PDUCapsuleCmd, HLen: CapsuleCmdSize, PLen: CapsuleCmdSize}, *c}
	if n > 0 {
		p.PDO = CapsuleCmdSize
		p.PLen += uint32(n)
	}
	return p
}

// AppendBinary appends the 72 bytes before the data. The error is always nil.
func (p *CapsuleCmd) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, CapsuleCmdSize)
	p.put(w)
	p.Command.Put(w[8:])
	return b, nil
}

// UnmarshalBinary reads the first 72 bytes of b.
func (p *CapsuleCmd) UnmarshalBinary(b []byte) error {
	if err := need(b, CapsuleCmdSize, "CapsuleCmd"); err != nil {
		return err
	}
	if err := p.Command.UnmarshalBinary(b[8:]); err != nil {
		return err
	}
	return p.PDUHeader.UnmarshalBinary(b)
}

// CapsuleResp carries a completion. TCP section 3.6.2.7.
type CapsuleResp struct {
	PDUHeader
	Completion Completion
}

// NewCapsuleResp is a CapsuleResp around c.
func NewCapsuleResp(c Completion) CapsuleResp {
	return CapsuleResp{PDUHeader{Type: PDUCapsuleResp, HLen: CapsuleRespSize, PLen: CapsuleRespSize}, c}
}

// AppendBinary appends the 24 bytes. The error is always nil.
func (p *CapsuleResp) AppendBinary(b []byte) ([]byte, error) {
	b, _ = p.PDUHeader.AppendBinary(b)
	return p.Completion.AppendBinary(b)
}

// UnmarshalBinary reads the first 24 bytes of b.
func (p *CapsuleResp) UnmarshalBinary(b []byte) error {
	if err := need(b, CapsuleRespSize, "CapsuleResp"); err != nil {
		return err
	}
	if err := p.Completion.UnmarshalBinary(b[8:]); err != nil {
		return err
	}
	return p.PDUHeader.UnmarshalBinary(b)
}

// DataPDU is the header of H2CData and C2HData. TCP sections 3.6.2.8 and
// 3.6.2.9.
type DataPDU struct {
	PDUHeader
	CID    uint16
	TTag   uint16 // of R2T, and of the H2CData that answers it
	Offset uint32 // of the data in the command's buffer
	Length uint32
}

// NewDataPDU is the header of n bytes of data that follow it directly.
func NewDataPDU(t PDUType, cid uint16, offset, n int) DataPDU {
	return DataPDU{
		PDUHeader: PDUHeader{Type: t, HLen: DataHeaderSize, PDO: DataHeaderSize, PLen: DataHeaderSize + uint32(n)},
		CID:       cid, Offset: uint32(offset), Length: uint32(n),
	}
}

// AppendBinary appends the 24 bytes before the data. The error is always nil.
func (p *DataPDU) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, DataHeaderSize)
	p.put(w)
	le.PutUint16(w[8:], p.CID)
	le.PutUint16(w[10:], p.TTag)
	le.PutUint32(w[12:], p.Offset)
	le.PutUint32(w[16:], p.Length)
	return b, nil
}

// UnmarshalBinary reads the first 24 bytes of b.
func (p *DataPDU) UnmarshalBinary(b []byte) error {
	if err := need(b, DataHeaderSize, "data PDU"); err != nil {
		return err
	}
	p.CID = le.Uint16(b[8:])
	p.TTag = le.Uint16(b[10:])
	p.Offset = le.Uint32(b[12:])
	p.Length = le.Uint32(b[16:])
	return p.PDUHeader.UnmarshalBinary(b)
}

// R2T asks the host for data: a DataPDU that nothing follows. TCP section
// 3.6.2.10.
type R2T = DataPDU

// NewR2T is an R2T with its header filled in.
func NewR2T(cid, ttag uint16, offset, n int) R2T {
	return R2T{PDUHeader{Type: PDUR2T, HLen: R2TSize, PLen: R2TSize}, cid, ttag, uint32(offset), uint32(n)}
}
