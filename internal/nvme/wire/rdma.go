package wire

import "fmt"

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
	Format  uint16 // 0
	QID     uint16 // 0 is the admin queue
	HRQSize uint16 // responses that the host has room for
	HSQSize uint16 // entries of its submission queue - 1
	CntlID  uint16 // that an I/O queue joins; hosts may leave it 0
}

// AppendBinary appends the 32 bytes. The error is always nil.
func (r *RDMARequest) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, RDMARequestSize)
	le.PutUint16(w[0:], r.Format)
	le.PutUint16(w[2:], r.QID)
	le.PutUint16(w[4:], r.HRQSize)
	le.PutUint16(w[6:], r.HSQSize)
	le.PutUint16(w[8:], r.CntlID)
	return b, nil
}

// UnmarshalBinary reads the first 32 bytes of b.
func (r *RDMARequest) UnmarshalBinary(b []byte) error {
	if err := need(b, RDMARequestSize, "private data of a host"); err != nil {
		return err
	}
	r.Format = le.Uint16(b[0:])
	r.QID = le.Uint16(b[2:])
	r.HRQSize = le.Uint16(b[4:])
	r.HSQSize = le.Uint16(b[6:])
	r.CntlID = le.Uint16(b[8:])
	return nil
}

// RDMAAccept is what a target answers that accepts the connection.
type RDMAAccept struct {
	Format  uint16 // 0
	CRQSize uint16 // commands that the target has room for
}

// AppendBinary appends the 32 bytes. The error is always nil.
func (a *RDMAAccept) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, RDMAAcceptSize)
	le.PutUint16(w[0:], a.Format)
	le.PutUint16(w[2:], a.CRQSize)
	return b, nil
}

// UnmarshalBinary reads the first 32 bytes of b.
func (a *RDMAAccept) UnmarshalBinary(b []byte) error {
	if err := need(b, RDMAAcceptSize, "private data of a target"); err != nil {
		return err
	}
	a.Format = le.Uint16(b[0:])
	a.CRQSize = le.Uint16(b[2:])
	return nil
}

// RDMAReject is what a target answers that refuses the connection.
type RDMAReject struct {
	Format uint16 // 0
	Status RDMAStatus
}

// AppendBinary appends the 4 bytes. The error is always nil.
func (r *RDMAReject) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, RDMARejectSize)
	le.PutUint16(w[0:], r.Format)
	le.PutUint16(w[2:], uint16(r.Status))
	return b, nil
}

// UnmarshalBinary reads the first 4 bytes of b.
func (r *RDMAReject) UnmarshalBinary(b []byte) error {
	if err := need(b, RDMARejectSize, "private data of a refusal"); err != nil {
		return err
	}
	r.Format = le.Uint16(b[0:])
	r.Status = RDMAStatus(le.Uint16(b[2:]))
	return nil
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
	switch s {
	case RDMAInvalidLength:
		return "invalid length of private data"
	case RDMAInvalidFormat:
		return "invalid record format"
	case RDMAInvalidQID:
		return "invalid queue id"
	case RDMAInvalidHSQSize:
		return "invalid size of the host's submission queue"
	case RDMAInvalidHRQSize:
		return "invalid size of the host's receive queue"
	case RDMANoResources:
		return "no resources"
	case RDMAInvalidIRD:
		return "invalid number of inbound RDMA reads"
	case RDMAInvalidORD:
		return "invalid number of outbound RDMA reads"
	case RDMAInvalidCntlID:
		return "invalid controller id"
	}
	return fmt.Sprintf("refused with status %d", uint16(s))
}
