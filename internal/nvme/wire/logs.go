package wire

import (
	"cmp"
	"fmt"
)

// ANAState is how well a namespace can be reached over a controller.
// Base section 8.1.3.
type ANAState uint8

// The states of asymmetric namespace access.
const (
	ANAOptimized    ANAState = 0x1
	ANANonOptimized ANAState = 0x2
	ANAUnreachable  ANAState = 0x3 // commands end with ANAInaccessible
	ANALost         ANAState = 0x4 // as unreachable, and for good
	ANAChanging     ANAState = 0xf // commands end with ANATransition
)

// String is the name of the state, as the kernel's target has it.
func (s ANAState) String() string {
	return cmp.Or(map[ANAState]string{
		ANAOptimized: "optimized", ANANonOptimized: "non-optimized", ANAUnreachable: "inaccessible", ANALost: "persistent-loss", ANAChanging: "change",
	}[s], fmt.Sprintf("state %d", uint8(s)))
}

// Sizes in the asymmetric namespace access log page.
const (
	ANAHeaderSize = 16
	anaGroupSize  = 32 // and 4 for each namespace
)

// ANAGroup is one descriptor of the asymmetric namespace access log page.
type ANAGroup struct {
	ID      uint32
	Changes uint64 // of this group's state
	State   ANAState
	NSIDs   []uint32 // ascending; none where only groups were asked for
}

// ANALog is the asymmetric namespace access log page (0Ch): which groups of
// namespaces can be reached how. Base section 5.16.1.13.
type ANALog struct {
	Changes uint64 // of the log
	Groups  []ANAGroup
}

// AppendBinary appends the page.
func (l *ANALog) AppendBinary(b []byte) ([]byte, error) {
	if len(l.Groups) > 0xffff {
		return b, fmt.Errorf("ANA log of %d groups", len(l.Groups))
	}
	b, w := grow(b, ANAHeaderSize)
	le.PutUint64(w[0:], l.Changes)
	le.PutUint16(w[8:], uint16(len(l.Groups)))
	for _, g := range l.Groups {
		b, w = grow(b, anaGroupSize+4*len(g.NSIDs))
		le.PutUint32(w[0:], g.ID)
		le.PutUint32(w[4:], uint32(len(g.NSIDs)))
		le.PutUint64(w[8:], g.Changes)
		w[16] = uint8(g.State)
		for i, id := range g.NSIDs {
			le.PutUint32(w[32+4*i:], id)
		}
	}
	return b, nil
}

// UnmarshalBinary reads the page; what follows it is ignored.
func (l *ANALog) UnmarshalBinary(b []byte) error {
	if err := need(b, ANAHeaderSize, "ANA log"); err != nil {
		return err
	}
	*l = ANALog{Changes: le.Uint64(b[0:])}
	n := int(le.Uint16(b[8:]))
	b = b[ANAHeaderSize:]
	for range n {
		if err := need(b, anaGroupSize, "ANA group"); err != nil {
			return err
		}
		g := ANAGroup{ID: le.Uint32(b[0:]), Changes: le.Uint64(b[8:]), State: ANAState(b[16] & 15)}
		ids := uint64(le.Uint32(b[4:]))
		b = b[anaGroupSize:]
		if ids > uint64(len(b)/4) {
			return fmt.Errorf("ANA group %d of %d namespaces in %d bytes", g.ID, ids, len(b))
		}
		for i := range int(ids) {
			g.NSIDs = append(g.NSIDs, le.Uint32(b[4*i:]))
		}
		b = b[4*ids:]
		l.Groups = append(l.Groups, g)
	}
	return nil
}

// SmartLogSize is the length of the SMART log page.
const SmartLogSize = 512

// SmartLog is the SMART / health information log page (02h), as far as
// software has something to say. Base section 5.16.1.3.
type SmartLog struct {
	Warning       uint8  `at:"0"`
	Temperature   uint16 `at:"1"` // Kelvin
	Spare         uint8  `at:"3"` // percent
	SpareLimit    uint8  `at:"4"`
	Used          uint8  `at:"5"`  // percent
	UnitsRead     uint64 `at:"32"` // 1000 × 512 bytes, rounded up
	UnitsWritten  uint64 `at:"48"`
	Reads         uint64 `at:"64"` // commands
	Writes        uint64 `at:"80"`
	PowerOnHours  uint64 `at:"128"`
	MediaErrors   uint64 `at:"160"`
	ErrorsEntered uint64 `at:"176"`
}

// AppendBinary appends the 512 bytes.
func (s *SmartLog) AppendBinary(b []byte) ([]byte, error) { return appendTagged(b, SmartLogSize, s) }

// UnmarshalBinary reads the first 512 bytes of b; of counters of 16 bytes the
// lower 8.
func (s *SmartLog) UnmarshalBinary(b []byte) error {
	return readTagged(b, SmartLogSize, "SMART log", s)
}

// FirmwareLogSize is the length of the firmware slot log page.
const FirmwareLogSize = 512

// FirmwareLog is the firmware slot log page (03h) of a controller with one
// slot. Base section 5.16.1.4.
type FirmwareLog struct {
	Active   uint8  `at:"0"`
	Revision string `at:"8,8,spaces"` // at most 8 bytes
}

// AppendBinary appends the 512 bytes.
func (f *FirmwareLog) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, FirmwareLogSize, f)
}

// UnmarshalBinary reads the first 512 bytes of b.
func (f *FirmwareLog) UnmarshalBinary(b []byte) error {
	return readTagged(b, FirmwareLogSize, "firmware log", f)
}

// What a command does, as the effects log says it. Base section 5.16.1.6.
const (
	EffectSupported = 1 << 0
	EffectContent   = 1 << 1 // it may change what blocks hold
)

// EffectsLogSize is the length of the commands supported and effects log page.
const EffectsLogSize = 4096

// EffectsLog is the commands supported and effects log page (05h), by opcode.
type EffectsLog struct {
	Admin [256]uint32 `at:"0"`
	IO    [256]uint32 `at:"1024"`
}

// AppendBinary appends the 4096 bytes.
func (e *EffectsLog) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, EffectsLogSize, e)
}

// UnmarshalBinary reads the first 4096 bytes of b.
func (e *EffectsLog) UnmarshalBinary(b []byte) error {
	return readTagged(b, EffectsLogSize, "effects log", e)
}

// SupportedLogsSize is the length of the supported log pages log page.
const SupportedLogsSize = 1024

// SupportedLogs is the supported log pages log page (00h): which identifiers
// there are. Base section 5.16.1.1.
type SupportedLogs [256]bool

// AppendBinary appends the 1024 bytes. The error is always nil.
func (s *SupportedLogs) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, SupportedLogsSize)
	for i, there := range s {
		if there {
			w[4*i] = 1
		}
	}
	return b, nil
}

// UnmarshalBinary reads the first 1024 bytes of b.
func (s *SupportedLogs) UnmarshalBinary(b []byte) error {
	if err := need(b, SupportedLogsSize, "supported log pages"); err != nil {
		return err
	}
	for i := range s {
		s[i] = b[4*i]&1 != 0
	}
	return nil
}
