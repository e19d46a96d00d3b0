package wire

import (
	"fmt"

	"weft/internal/nvme/names"
)

// DiscoveryNQN is the well-known name of discovery subsystems.
const DiscoveryNQN = names.Discovery

// Sizes in the discovery log page.
const (
	DiscoveryHeaderSize = 1024
	DiscoveryEntrySize  = 1024
)

// DiscoveryHeader is the head of the discovery log page.
// Base section 5.16.1.23.
type DiscoveryHeader struct {
	GenCtr uint64 // changes whenever the log does
	NumRec uint64
	RecFmt uint16 // 0
}

// AppendBinary appends the 1024 bytes. The error is always nil.
func (h *DiscoveryHeader) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, DiscoveryHeaderSize)
	le.PutUint64(w[0:], h.GenCtr)
	le.PutUint64(w[8:], h.NumRec)
	le.PutUint16(w[16:], h.RecFmt)
	return b, nil
}

// UnmarshalBinary reads the first 1024 bytes of b.
func (h *DiscoveryHeader) UnmarshalBinary(b []byte) error {
	if err := need(b, DiscoveryHeaderSize, "discovery log header"); err != nil {
		return err
	}
	h.GenCtr = le.Uint64(b[0:])
	h.NumRec = le.Uint64(b[8:])
	h.RecFmt = le.Uint16(b[16:])
	return nil
}

// Validate reports a record format that is not known.
func (h *DiscoveryHeader) Validate() error {
	if h.RecFmt != 0 {
		return fmt.Errorf("discovery log of record format %d, want 0", h.RecFmt)
	}
	return nil
}

// Kinds of transports, DiscoveryEntry.TrType.
const (
	TransportRDMA = 1
	TransportFC   = 2
	TransportTCP  = 3
	TransportLoop = 254
)

// Address families, DiscoveryEntry.AdrFam.
const (
	FamilyIPv4 = 1
	FamilyIPv6 = 2
	FamilyIB   = 3
	FamilyFC   = 4
)

// Kinds of subsystems, DiscoveryEntry.SubType.
const (
	SubsystemReferral  = 1 // another discovery service
	SubsystemNVM       = 2
	SubsystemDiscovery = 3 // this discovery service
)

// Flags of DiscoveryEntry.EFlags.
const (
	DiscoveryDuplicate  = 1 << 0 // other ports return the same
	DiscoveryPersistent = 1 << 1 // explicit persistent connections are supported
)

// TreqNoFlow in DiscoveryEntry.Treq says that submission queue flow control
// may be disabled.
const TreqNoFlow = 1 << 2

// TSASOverRDMA is DiscoveryEntry.TSAS of RDMA: connected queue pairs, of no
// particular provider, made with the RDMA connection manager.
// RDMA section 3.4, Transport Specific Address Subtype.
func TSASOverRDMA() (b [256]byte) {
	b[0], b[1], b[2] = 1, 1, 1
	return b
}

// DiscoveryEntry is one record of the discovery log page.
// Base section 5.16.1.23, Discovery Log Page Entry.
type DiscoveryEntry struct {
	TrType  uint8
	AdrFam  uint8
	SubType uint8
	Treq    uint8
	PortID  uint16
	CntlID  uint16
	ASQSize uint16 // entries of the admin queue, at least 32
	EFlags  uint16
	SvcID   string // port number in decimal
	SubNQN  string
	Address string
	TSAS    [256]byte // transport specific; of TCP the first byte is the kind of security
}

// AppendBinary appends the 1024 bytes. The error is always nil.
func (e *DiscoveryEntry) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, DiscoveryEntrySize)
	w[0] = e.TrType
	w[1] = e.AdrFam
	w[2] = e.SubType
	w[3] = e.Treq
	le.PutUint16(w[4:], e.PortID)
	le.PutUint16(w[6:], e.CntlID)
	le.PutUint16(w[8:], e.ASQSize)
	le.PutUint16(w[10:], e.EFlags)
	putPadded(w[32:64], e.SvcID)
	putName(w[256:512], e.SubNQN)
	putPadded(w[512:768], e.Address)
	copy(w[768:1024], e.TSAS[:])
	return b, nil
}

// UnmarshalBinary reads the first 1024 bytes of b.
func (e *DiscoveryEntry) UnmarshalBinary(b []byte) error {
	if err := need(b, DiscoveryEntrySize, "discovery log entry"); err != nil {
		return err
	}
	e.TrType = b[0]
	e.AdrFam = b[1]
	e.SubType = b[2]
	e.Treq = b[3]
	e.PortID = le.Uint16(b[4:])
	e.CntlID = le.Uint16(b[6:])
	e.ASQSize = le.Uint16(b[8:])
	e.EFlags = le.Uint16(b[10:])
	e.SvcID = padded(b[32:64])
	e.SubNQN = name(b[256:512])
	e.Address = padded(b[512:768])
	copy(e.TSAS[:], b[768:1024])
	return nil
}
