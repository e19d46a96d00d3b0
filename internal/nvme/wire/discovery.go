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
	GenCtr uint64 `at:"0"` // changes whenever the log does
	NumRec uint64 `at:"8"`
	RecFmt uint16 `at:"16"` // 0
}

// AppendBinary appends the 1024 bytes.
func (h *DiscoveryHeader) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, DiscoveryHeaderSize, h)
}

// UnmarshalBinary reads the first 1024 bytes of b.
func (h *DiscoveryHeader) UnmarshalBinary(b []byte) error {
	return readTagged(b, DiscoveryHeaderSize, "discovery log header", h)
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

// TreqSecure in DiscoveryEntry.Treq says that hosts have to connect by a secure
// channel.
const TreqSecure = 1 << 0

// TSASOverTLS is DiscoveryEntry.TSAS of TCP with TLS 1.3. TCP section 3.7, Transport
// Specific Address Subtype.
func TSASOverTLS() (b [256]byte) {
	b[0] = 2
	return b
}

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
	TrType  uint8     `at:"0"`
	AdrFam  uint8     `at:"1"`
	SubType uint8     `at:"2"`
	Treq    uint8     `at:"3"`
	PortID  uint16    `at:"4"`
	CntlID  uint16    `at:"6"`
	ASQSize uint16    `at:"8"` // entries of the admin queue, at least 32
	EFlags  uint16    `at:"10"`
	SvcID   string    `at:"32,32,spaces"` // port number in decimal
	SubNQN  string    `at:"256,256,zeros"`
	Address string    `at:"512,256,spaces"`
	TSAS    [256]byte `at:"768"` // transport specific; of TCP the first byte is the kind of security
}

// AppendBinary appends the 1024 bytes.
func (e *DiscoveryEntry) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, DiscoveryEntrySize, e)
}

// UnmarshalBinary reads the first 1024 bytes of b.
func (e *DiscoveryEntry) UnmarshalBinary(b []byte) error {
	return readTagged(b, DiscoveryEntrySize, "discovery log entry", e)
}
