package wire

// CNS values of Identify. Base section 5.17.
const (
	CNSNamespace     = 0x00
	CNSController    = 0x01
	CNSActiveNS      = 0x02
	CNSNSDescriptors = 0x03
	CNSIOCommandSet  = 0x05 // namespace, command set specific
	CNSCtrlIO        = 0x06 // controller, command set specific
	CNSActiveNSIO    = 0x07 // as CNSActiveNS, of one command set
	CNSNSIndependent = 0x08
)

// IdentifySize is the length of everything that Identify returns.
const IdentifySize = 4096

// IdentifyCommand is Identify as its fields. Base section 5.17.
type IdentifyCommand struct {
	NSID  uint32
	CNS   uint8
	CNTID uint16
	CSI   uint8
}

// Identify is the view of an Identify command.
func (c *Command) Identify() IdentifyCommand {
	return IdentifyCommand{
		NSID:  c.NSID,
		CNS:   uint8(c.CDW10),
		CNTID: uint16(c.CDW10 >> 16),
		CSI:   uint8(c.CDW11 >> 24),
	}
}

// Command is the queue entry, without id and SGL.
func (v IdentifyCommand) Command() Command {
	return Command{
		Opcode: OpIdentify, Flags: FlagsSGL, NSID: v.NSID,
		CDW10: uint32(v.CNS) | uint32(v.CNTID)<<16,
		CDW11: uint32(v.CSI) << 24,
	}
}

// Log page identifiers. Base section 5.16.
const (
	LogSupported = 0x00
	LogError     = 0x01
	LogSmart     = 0x02
	LogFirmware  = 0x03
	LogChangedNS = 0x04
	LogEffects   = 0x05
	LogANA       = 0x0c
	LogDiscovery = 0x70
)

// GetLogPageCommand is Get Log Page as its fields. Base section 5.16.
type GetLogPageCommand struct {
	NSID   uint32
	LID    uint8
	LSP    uint8  // log specific, 7 bits
	RAE    bool   // keep the asynchronous event
	Length uint64 // bytes, a multiple of 4
	LSI    uint16
	Offset uint64 // bytes
	Index  bool   // Offset is an index
	CSI    uint8
}

// GetLogPage is the view of a Get Log Page command.
func (c *Command) GetLogPage() GetLogPageCommand {
	return GetLogPageCommand{
		NSID:   c.NSID,
		LID:    uint8(c.CDW10),
		LSP:    uint8(c.CDW10>>8) & 0x7f,
		RAE:    c.CDW10&(1<<15) != 0,
		Length: (uint64(c.CDW11&0xffff)<<16|uint64(c.CDW10>>16))*4 + 4,
		LSI:    uint16(c.CDW11 >> 16),
		Offset: uint64(c.CDW13)<<32 | uint64(c.CDW12),
		Index:  c.CDW14&(1<<23) != 0,
		CSI:    uint8(c.CDW14 >> 24),
	}
}

// Command is the queue entry, without id and SGL.
func (v GetLogPageCommand) Command() Command {
	numd := uint32(v.Length/4 - 1)
	c := Command{
		Opcode: OpGetLogPage, Flags: FlagsSGL, NSID: v.NSID,
		CDW10: uint32(v.LID) | uint32(v.LSP&0x7f)<<8 | numd<<16,
		CDW11: numd>>16 | uint32(v.LSI)<<16,
		CDW12: uint32(v.Offset),
		CDW13: uint32(v.Offset >> 32),
		CDW14: uint32(v.CSI) << 24,
	}
	if v.RAE {
		c.CDW10 |= 1 << 15
	}
	if v.Index {
		c.CDW14 |= 1 << 23
	}
	return c
}

// Feature identifiers. Base section 5.27.1.
const (
	FeatureArbitration = 0x01
	FeaturePower       = 0x02
	FeatureTemperature = 0x04
	FeatureErrorRecov  = 0x05
	FeatureWriteCache  = 0x06
	FeatureQueues      = 0x07
	FeatureAtomicity   = 0x0a
	FeatureAsyncEvents = 0x0b
	FeatureKeepAlive   = 0x0f
	FeatureHostID      = 0x81
)

// FeatureCommand is Set Features or Get Features as its fields.
// Base sections 5.27 and 5.15.
type FeatureCommand struct {
	NSID  uint32
	Set   bool
	FID   uint8
	Sel   uint8 // of Get: 0 current, 1 default, 2 saved, 3 supported
	Save  bool  // of Set
	Value uint32
}

// Feature is the view of a Set Features or Get Features command.
func (c *Command) Feature() FeatureCommand {
	v := FeatureCommand{
		NSID:  c.NSID,
		Set:   c.Opcode == OpSetFeatures,
		FID:   uint8(c.CDW10),
		Value: c.CDW11,
	}
	if v.Set {
		v.Save = c.CDW10&(1<<31) != 0
	} else {
		v.Sel = uint8(c.CDW10>>8) & 7
	}
	return v
}

// Command is the queue entry, without id and SGL.
func (v FeatureCommand) Command() Command {
	c := Command{Opcode: OpGetFeatures, Flags: FlagsSGL, NSID: v.NSID, CDW10: uint32(v.FID), CDW11: v.Value}
	if !v.Set {
		c.CDW10 |= uint32(v.Sel&7) << 8
		return c
	}
	c.Opcode = OpSetFeatures
	if v.Save {
		c.CDW10 |= 1 << 31
	}
	return c
}

// QueueCounts is the value and the result of the number-of-queues feature: how
// many submission and completion queues for I/O, each at least 1.
// Base section 5.27.1.5.
type QueueCounts struct {
	Submission int
	Completion int
}

// Value is the feature's dword.
func (q QueueCounts) Value() uint32 {
	return uint32(q.Completion-1)<<16 | uint32(q.Submission-1)&0xffff
}

// QueueCountsOf reads the feature's dword.
func QueueCountsOf(v uint32) QueueCounts {
	return QueueCounts{Submission: int(v&0xffff) + 1, Completion: int(v>>16) + 1}
}
