package wire

// Sizes of queue entries, in bytes.
const (
	CommandSize    = 64
	CompletionSize = 16
	SGLSize        = 16
)

// Opcodes of the admin command set. Base section 5, Admin Command Set.
const (
	OpGetLogPage     = 0x02
	OpIdentify       = 0x06
	OpAbort          = 0x08
	OpSetFeatures    = 0x09
	OpGetFeatures    = 0x0a
	OpAsyncEvent     = 0x0c
	OpKeepAlive      = 0x18
	OpFabrics        = 0x7f // on any queue; the kind is in Command.FabricsType
	OpNSManagement   = 0x0d
	OpNSAttachment   = 0x15
	OpFirmwareCommit = 0x10
)

// Opcodes of the NVM command set. NVM section 3.2.
const (
	OpFlush       = 0x00
	OpWrite       = 0x01
	OpRead        = 0x02
	OpCompare     = 0x05
	OpWriteZeroes = 0x08
	OpDSM         = 0x09
)

// Descriptor types of an SGL: type in bits 7:4, subtype in bits 3:0.
// Base section 4.1.2.
const (
	SGLInCapsule       = 0x01 // data block, subtype offset: the data is in the capsule
	SGLTransport       = 0x5a // transport data block: the transport moves the data
	SGLKeyed           = 0x40 // keyed data block: RDMA
	SGLKeyedInvalidate = 0x4f // keyed, and the key is invalidated by the response
)

// FlagsSGL in Command.Flags says that SGLs are used (PSDT 01b), the only value
// that fabrics allow.
const FlagsSGL = 0x40

// What Command.Fuse says: whether the command is one of two that are performed as
// one. Base section 3.3.3.1, FUSE.
const (
	NotFused   = 0
	FuseFirst  = 1
	FuseSecond = 2
	fuseMask   = 3 // which as a value means nothing
)

// FusesCompareWrite in IdentifyController.FUSES says that Compare and Write can be
// fused.
const FusesCompareWrite = 1

// NSIDAll in Command.NSID means all namespaces.
const NSIDAll = 0xffffffff

// SGL is one scatter gather list descriptor. Base section 4.1.2.
type SGL struct {
	Address uint64 // or the offset in the capsule
	Length  uint32 // bytes; 24 bits in keyed descriptors
	Key     uint32 // keyed descriptors only
	Type    uint8
}

func (s *SGL) keyed() bool { return s.Type>>4 == 4 }

func (s *SGL) put(w []byte) {
	le.PutUint64(w[0:], s.Address)
	if s.keyed() {
		w[8], w[9], w[10] = byte(s.Length), byte(s.Length>>8), byte(s.Length>>16)
		le.PutUint32(w[11:], s.Key)
	} else {
		le.PutUint32(w[8:], s.Length)
	}
	w[15] = s.Type
}

func (s *SGL) get(w []byte) {
	*s = SGL{Address: le.Uint64(w[0:]), Type: w[15]}
	if s.keyed() {
		s.Length = uint32(w[8]) | uint32(w[9])<<8 | uint32(w[10])<<16
		s.Key = le.Uint32(w[11:])
	} else {
		s.Length = le.Uint32(w[8:])
	}
}

// Command is a submission queue entry. Base section 3.3.3.1.
type Command struct {
	Opcode uint8
	Flags  uint8 // FUSE in bits 1:0, PSDT in bits 7:6
	CID    uint16
	NSID   uint32 // in fabrics commands its first byte is the type
	CDW2   uint32
	CDW3   uint32
	MPTR   uint64
	SGL    SGL
	CDW10  uint32
	CDW11  uint32
	CDW12  uint32
	CDW13  uint32
	CDW14  uint32
	CDW15  uint32
}

// AppendBinary appends the 64 bytes of the entry. The error is always nil.
func (c *Command) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, CommandSize)
	c.Put(w)
	return b, nil
}

// Put writes the entry over the first 64 bytes of w.
func (c *Command) Put(w []byte) {
	_ = w[63]
	w[0] = c.Opcode
	w[1] = c.Flags
	le.PutUint16(w[2:], c.CID)
	le.PutUint32(w[4:], c.NSID)
	le.PutUint32(w[8:], c.CDW2)
	le.PutUint32(w[12:], c.CDW3)
	le.PutUint64(w[16:], c.MPTR)
	c.SGL.put(w[24:40])
	le.PutUint32(w[40:], c.CDW10)
	le.PutUint32(w[44:], c.CDW11)
	le.PutUint32(w[48:], c.CDW12)
	le.PutUint32(w[52:], c.CDW13)
	le.PutUint32(w[56:], c.CDW14)
	le.PutUint32(w[60:], c.CDW15)
}

// UnmarshalBinary reads the first 64 bytes of b.
func (c *Command) UnmarshalBinary(b []byte) error {
	if err := need(b, CommandSize, "command"); err != nil {
		return err
	}
	c.Opcode = b[0]
	c.Flags = b[1]
	c.CID = le.Uint16(b[2:])
	c.NSID = le.Uint32(b[4:])
	c.CDW2 = le.Uint32(b[8:])
	c.CDW3 = le.Uint32(b[12:])
	c.MPTR = le.Uint64(b[16:])
	c.SGL.get(b[24:40])
	c.CDW10 = le.Uint32(b[40:])
	c.CDW11 = le.Uint32(b[44:])
	c.CDW12 = le.Uint32(b[48:])
	c.CDW13 = le.Uint32(b[52:])
	c.CDW14 = le.Uint32(b[56:])
	c.CDW15 = le.Uint32(b[60:])
	return nil
}

// Fuse is FuseFirst or FuseSecond of a command that is half of a fused operation.
func (c *Command) Fuse() uint8 { return c.Flags & fuseMask }

// Validate reports what no controller over fabrics accepts in any command: a
// data pointer that is not an SGL.
func (c *Command) Validate() Status {
	if c.Flags&0xc0 != FlagsSGL {
		return InvalidField.WithDNR()
	}
	return Success
}

// Direction is which way the data of a command moves.
type Direction uint8

// The directions, as opcodes carry them in bits 1:0.
const (
	NoData       Direction = 0
	ToController Direction = 1
	ToHost       Direction = 2
	BothWays     Direction = 3 // no command that weft knows
)

// Direction is what the opcode, or the type of a fabrics command, says.
func (c *Command) Direction() Direction {
	if c.Opcode == OpFabrics {
		return Direction(c.NSID & 3)
	}
	return Direction(c.Opcode & 3)
}

// Blocks is the range of a read, write, compare or write zeroes: the first
// block and how many (1..65536).
func (c *Command) Blocks() (lba uint64, n int) {
	return uint64(c.CDW11)<<32 | uint64(c.CDW10), int(c.CDW12&0xffff) + 1
}

// SetBlocks sets the range of a read, write, compare or write zeroes.
// n is 1..65536.
func (c *Command) SetBlocks(lba uint64, n int) {
	c.CDW10, c.CDW11 = uint32(lba), uint32(lba>>32)
	c.CDW12 = c.CDW12&^0xffff | uint32(n-1)&0xffff
}

// FUA says that a read or write must reach the medium. NVM section 3.2.6.
func (c *Command) FUA() bool { return c.CDW12&(1<<30) != 0 }

// Completion is a completion queue entry. Base section 3.3.3.2.
type Completion struct {
	Result uint64 // command specific; dword 0 is the low half
	SQHead uint16 // 0xffff without submission queue flow control
	SQID   uint16
	CID    uint16
	Status Status
}

// SQHeadNoFlow is Completion.SQHead where flow control is disabled.
const SQHeadNoFlow = 0xffff

// AppendBinary appends the 16 bytes of the entry. The error is always nil.
func (c *Completion) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, CompletionSize)
	le.PutUint64(w[0:], c.Result)
	le.PutUint16(w[8:], c.SQHead)
	le.PutUint16(w[10:], c.SQID)
	le.PutUint16(w[12:], c.CID)
	le.PutUint16(w[14:], uint16(c.Status)<<1)
	return b, nil
}

// UnmarshalBinary reads the first 16 bytes of b; the phase bit is dropped.
func (c *Completion) UnmarshalBinary(b []byte) error {
	if err := need(b, CompletionSize, "completion"); err != nil {
		return err
	}
	c.Result = le.Uint64(b[0:])
	c.SQHead = le.Uint16(b[8:])
	c.SQID = le.Uint16(b[10:])
	c.CID = le.Uint16(b[12:])
	c.Status = Status(le.Uint16(b[14:]) >> 1)
	return nil
}
