package wire

import (
	"cmp"
	"fmt"
)

// Sizes of what the two ends of an NVMe/RDMA connection say of themselves while
// it is being made: the private data of the connection manager.
const (
	RDMARequestSize = 32
	RDMAAcceptSize  = 32
	RDMARejectSize  = 4
)

// RDMARequest is what the host sends. RDMA section 3.5, Fabric Dependent
// Settings.
type RDMARequest struct {
	Format  uint16 `at:"0"` // 0
	QID     uint16 `at:"2"` // 0 is the admin queue
	HRQSize uint16 `at:"4"` // responses that the host has room for
	HSQSize uint16 `at:"6"` // entries of its submission queue - 1
	CntlID  uint16 `at:"8"` // that an I/O queue joins; hosts may leave it 0
}

// AppendBinary appends the 32 bytes.
func (r *RDMARequest) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, RDMARequestSize, r)
}

// UnmarshalBinary reads the first 32 bytes of b.
func (r *RDMARequest) UnmarshalBinary(b []byte) error {
	return readTagged(b, RDMARequestSize, "private data of a host", r)
}

// RDMAAccept is what a target answers that accepts the connection.
type RDMAAccept struct {
	Format  uint16 `at:"0"` // 0
	CRQSize uint16 `at:"2"` // commands that the target has room for
}

// AppendBinary appends the 32 bytes.
func (a *RDMAAccept) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, RDMAAcceptSize, a)
}

// UnmarshalBinary reads the first 32 bytes of b.
func (a *RDMAAccept) UnmarshalBinary(b []byte) error {
	return readTagged(b, RDMAAcceptSize, "private data of a target", a)
}

// RDMAReject is what a target answers that refuses the connection.
type RDMAReject struct {
	Format uint16     `at:"0"` // 0
	Status RDMAStatus `at:"2"`
}

// AppendBinary appends the 4 bytes.
func (r *RDMAReject) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, RDMARejectSize, r)
}

// UnmarshalBinary reads the first 4 bytes of b.
func (r *RDMAReject) UnmarshalBinary(b []byte) error {
	return readTagged(b, RDMARejectSize, "private data of a refusal", r)
}

// RDMAStatus is why a target refuses a connection.
type RDMAStatus uint16

// The reasons.
const (
	RDMAInvalidLength  RDMAStatus = 1
	RDMAInvalidFormat  RDMAStatus = 2
	RDMAInvalidQID     RDMAStatus = 3
	RDMAInvalidHSQSize RDMAStatus = 4
	RDMAInvalidHRQSize RDMAStatus = 5
	RDMANoResources    RDMAStatus = 6
	RDMAInvalidIRD     RDMAStatus = 7
	RDMAInvalidORD     RDMAStatus = 8
	RDMAInvalidCntlID  RDMAStatus = 9
)

func (s RDMAStatus) Error() string {
	return cmp.Or(map[RDMAStatus]string{
		RDMAInvalidLength:  "invalid length of private data",
		RDMAInvalidFormat:  "invalid record format",
		RDMAInvalidQID:     "invalid queue id",
		RDMAInvalidHSQSize: "invalid size of the host's submission queue",
		RDMAInvalidHRQSize: "invalid size of the host's receive queue",
		RDMANoResources:    "no resources",
		RDMAInvalidIRD:     "invalid number of inbound RDMA reads",
		RDMAInvalidORD:     "invalid number of outbound RDMA reads",
		RDMAInvalidCntlID:  "invalid controller id",
	}[s], fmt.Sprintf("refused with status %d", uint16(s)))
}
