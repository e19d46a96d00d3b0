package wire

import (
	"fmt"

	"weft/internal/nvme/names"
)

// Types of fabrics commands, the first byte of Command.NSID. Base section 6.
const (
	FabricsPropertySet = 0x00
	FabricsConnect     = 0x01
	FabricsPropertyGet = 0x04
	FabricsAuthSend    = 0x05
	FabricsAuthReceive = 0x06
	FabricsDisconnect  = 0x08
)

// FabricsType is the type of a fabrics command.
func (c *Command) FabricsType() uint8 { return uint8(c.NSID) }

// ConnectCommand is the entry of a Connect. Base section 6.3.
type ConnectCommand struct {
	RecordFormat uint16 // 0
	QID          uint16 // 0 is the admin queue
	SQSize       uint16 // entries - 1
	Attributes   uint8  // ConnectNoFlow and others
	KATO         uint32 // keep alive timeout in ms; 0 is none
}

// ConnectNoFlow in ConnectCommand.Attributes asks to disable submission queue
// flow control.
const ConnectNoFlow = 1 << 2

// Connect is the view of a Connect command.
func (c *Command) Connect() ConnectCommand {
	return ConnectCommand{
		RecordFormat: uint16(c.CDW10),       // 40
		QID:          uint16(c.CDW10 >> 16), // 42
		SQSize:       uint16(c.CDW11),       // 44
		Attributes:   uint8(c.CDW11 >> 16),  // 46
		KATO:         c.CDW12,               // 48
	}
}

// Command is the queue entry, without id and SGL.
func (v ConnectCommand) Command() Command {
	return Command{
		Opcode: OpFabrics, Flags: FlagsSGL, NSID: FabricsConnect,
		CDW10: uint32(v.RecordFormat) | uint32(v.QID)<<16,
		CDW11: uint32(v.SQSize) | uint32(v.Attributes)<<16,
		CDW12: v.KATO,
	}
}

// NoFlow says that the host asks to disable submission queue flow control.
func (v ConnectCommand) NoFlow() bool { return v.Attributes&ConnectNoFlow != 0 }

// PropertyCommand is the entry of a Property Get or Property Set.
// Base sections 6.5 and 6.6.
type PropertyCommand struct {
	Set    bool
	Wide   bool   // 8 bytes instead of 4
	Offset uint32 // of the property: PropCAP and others
	Value  uint64 // of a set
}

// Property is the view of a Property Get or Property Set command.
func (c *Command) Property() PropertyCommand {
	return PropertyCommand{
		Set:    c.FabricsType() == FabricsPropertySet,
		Wide:   c.CDW10&7 == 1,                        // 40
		Offset: c.CDW11,                               // 44
		Value:  uint64(c.CDW13)<<32 | uint64(c.CDW12), // 48
	}
}

// Command is the queue entry, without id.
func (v PropertyCommand) Command() Command {
	c := Command{Opcode: OpFabrics, Flags: FlagsSGL, NSID: FabricsPropertyGet, CDW11: v.Offset}
	if v.Wide {
		c.CDW10 = 1
	}
	if v.Set {
		c.NSID = FabricsPropertySet
		c.CDW12, c.CDW13 = uint32(v.Value), uint32(v.Value>>32)
	}
	return c
}

// Offsets of properties. Base section 3.1.3, Controller Properties.
const (
	PropCAP  = 0x00 // 8 bytes
	PropVS   = 0x08
	PropCC   = 0x14
	PropCSTS = 0x1c
	PropNSSR = 0x20
)

// CAP is the controller capabilities property, as far as fabrics use it.
// Base section 3.1.3.1.
type CAP struct {
	MQES   uint16 // queue entries - 1
	CQR    bool   // queues are physically contiguous: true over fabrics
	TO     uint8  // time to become ready, in 500 ms
	CSS    uint8  // command sets: bit 0 NVM, bit 6 others
	MPSMIN uint8  // 2^(12+MPSMIN) bytes
	MPSMAX uint8
}

// Value is the property's 64 bits.
func (c CAP) Value() uint64 {
	v := uint64(c.MQES) | uint64(c.TO)<<24 | uint64(c.CSS)<<37 | uint64(c.MPSMIN&15)<<48 | uint64(c.MPSMAX&15)<<52
	if c.CQR {
		v |= 1 << 16
	}
	return v
}

// CAPOf reads the property's 64 bits.
func CAPOf(v uint64) CAP {
	return CAP{
		MQES: uint16(v), CQR: v&(1<<16) != 0, TO: uint8(v >> 24), CSS: uint8(v >> 37),
		MPSMIN: uint8(v>>48) & 15, MPSMAX: uint8(v>>52) & 15,
	}
}

// Bits of the controller configuration property. Base section 3.1.3.5.
const (
	CCEnable      = 1 << 0
	CCShutdown    = 1 << 14 // SHN 01b: normal shutdown
	CCShutdownAny = 3 << 14
	CCIOSQES      = 6 << 16 // 64 byte entries
	CCIOCQES      = 4 << 20 // 16 byte entries
)

// Bits of the controller status property. Base section 3.1.3.6.
const (
	CSTSReady            = 1 << 0
	CSTSFatal            = 1 << 1
	CSTSShutdownMask     = 3 << 2
	CSTSShutdownComplete = 2 << 2
)

// Values of the version property.
const (
	Version13 = 0x00010300
	Version14 = 0x00010400
	Version20 = 0x00020000
)

// ConnectDataSize is the length of the data of a Connect.
const ConnectDataSize = 1024

// DynamicController in ConnectData.ControllerID asks for any controller.
const DynamicController = 0xffff

// MaxNQN is the longest NVMe qualified name in bytes. Base section 4.5.
const MaxNQN = names.MaxNQN

// ConnectData is the data of a Connect. Base section 6.3.
type ConnectData struct {
	HostID       [16]byte `at:"0"`
	ControllerID uint16   `at:"16"` // DynamicController, or of the controller that an I/O queue joins
	SubNQN       string   `at:"256,256,zeros"`
	HostNQN      string   `at:"512,256,zeros"`
}

// AppendBinary appends the 1024 bytes. Names are cut to 256 bytes.
func (d *ConnectData) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, ConnectDataSize, d)
}

// UnmarshalBinary reads the first 1024 bytes of b.
func (d *ConnectData) UnmarshalBinary(b []byte) error {
	return readTagged(b, ConnectDataSize, "connect data", d)
}

// Offsets in ConnectData, as a Connect that is refused with
// ConnectInvalidParam reports them in its result.
const (
	ConnectDataControllerID = 16
	ConnectDataSubNQN       = 256
	ConnectDataHostNQN      = 512
)

// ConnectInvalidResult is the result of a Connect refused with
// ConnectInvalidParam: where the offending field begins, in the command or in
// the data.
func ConnectInvalidResult(offset uint16, inData bool) uint64 {
	v := uint64(offset)
	if inData {
		v |= 1 << 16
	}
	return v
}

// Validate reports names that are empty, too long or not printable.
func (d *ConnectData) Validate() error {
	if err := ValidNQN(d.SubNQN); err != nil {
		return fmt.Errorf("subsystem name: %w", err)
	}
	if err := ValidNQN(d.HostNQN); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	return nil
}

// ValidNQN reports whether s may be an NVMe qualified name: 1 to 223 bytes, no
// control characters, beginning with "nqn.". Base section 4.5.
func ValidNQN(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("empty NQN")
	case len(s) > MaxNQN:
		return fmt.Errorf("NQN of %d bytes, at most %d", len(s), MaxNQN)
	case len(s) < 4 || s[:4] != "nqn.":
		return fmt.Errorf("NQN %q does not begin with nqn", s)
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return fmt.Errorf("NQN %q holds a control character", s)
		}
	}
	return nil
}
