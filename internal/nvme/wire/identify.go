package wire

import "fmt"

// Kinds of controllers, IdentifyController.CntrlType.
const (
	ControllerIO        = 1
	ControllerDiscovery = 2
)

// IdentifyController is what Identify with CNS 01h returns, as far as fabrics
// use it. The strings SN, MN and FR are filled up with spaces on the wire.
//
// Base section 5.17.2.1, Identify Controller data structure.
type IdentifyController struct {
	VID       uint16    `at:"0"`
	SSVID     uint16    `at:"2"`
	SN        string    `at:"4,20,spaces"`
	MN        string    `at:"24,40,spaces"`
	FR        string    `at:"64,8,spaces"`
	RAB       uint8     `at:"72"`
	IEEE      [3]byte   `at:"73"`
	CMIC      uint8     `at:"76"` // bit 0 many ports, bit 1 many controllers, bit 3 ANA
	MDTS      uint8     `at:"77"` // largest transfer is 2^MDTS × 4 KiB; 0 is no limit
	CNTLID    uint16    `at:"78"`
	VER       uint32    `at:"80"`
	RTD3R     uint32    `at:"84"`
	RTD3E     uint32    `at:"88"`
	OAES      uint32    `at:"92"`
	CTRATT    uint32    `at:"96"`
	CntrlType uint8     `at:"111"`
	CRDT      [3]uint16 `at:"128"`
	OACS      uint16    `at:"256"`
	ACL       uint8     `at:"258"`
	AERL      uint8     `at:"259"`
	FRMW      uint8     `at:"260"`
	LPA       uint8     `at:"261"`
	ELPE      uint8     `at:"262"`
	NPSS      uint8     `at:"263"`
	KAS       uint16    `at:"320"` // granularity of keep alive in 100 ms
	ANATT     uint8     `at:"342"`
	ANACAP    uint8     `at:"343"`
	ANAGRPMAX uint32    `at:"344"`
	NANAGRPID uint32    `at:"348"`
	SQES      uint8     `at:"512"`
	CQES      uint8     `at:"513"`
	MAXCMD    uint16    `at:"514"`
	NN        uint32    `at:"516"`
	ONCS      uint16    `at:"520"`
	FUSES     uint16    `at:"522"`
	FNA       uint8     `at:"524"`
	VWC       uint8     `at:"525"`
	AWUN      uint16    `at:"526"`
	AWUPF     uint16    `at:"528"`
	NWPC      uint8     `at:"531"`
	ACWU      uint16    `at:"532"`
	SGLS      uint32    `at:"536"`
	MNAN      uint32    `at:"540"`
	SubNQN    string    `at:"768,256,zeros"`
	IOCCSZ    uint32    `at:"1792"` // capsule of an I/O command in 16 bytes: entry and data
	IORCSZ    uint32    `at:"1796"` // response capsule in 16 bytes
	ICDOFF    uint16    `at:"1800"`
	FCATT     uint8     `at:"1802"`
	MSDBD     uint8     `at:"1803"`
	OFCS      uint16    `at:"1804"`
	DCTYPE    uint8     `at:"1806"`
}

// AppendBinary appends the 4096 bytes.
func (c *IdentifyController) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, IdentifySize, c)
}

// UnmarshalBinary reads the first 4096 bytes of b.
func (c *IdentifyController) UnmarshalBinary(b []byte) error {
	return readTagged(b, IdentifySize, "identify controller", c)
}

// MaxTransfer is the largest transfer of one command in bytes; 0 is no limit.
func (c *IdentifyController) MaxTransfer() int {
	if c.MDTS == 0 || c.MDTS > 18 {
		return 0
	}
	return 4096 << c.MDTS
}

// InCapsule is how many bytes of data an I/O command may carry itself.
func (c *IdentifyController) InCapsule() int {
	if c.IOCCSZ < CommandSize/16 || c.IOCCSZ > 1<<20 {
		return 0
	}
	return int(c.IOCCSZ)*16 - CommandSize
}

// Validate reports what an initiator cannot live with in a controller that it
// reached over NVMe/TCP.
func (c *IdentifyController) Validate() error {
	switch {
	case c.SQES&15 > 6 || c.CQES&15 > 4:
		return fmt.Errorf("identify controller: queue entry sizes 0x%02x and 0x%02x", c.SQES, c.CQES)
	case c.SGLS&3 == 0:
		return fmt.Errorf("identify controller: no support of SGLs")
	case c.ICDOFF != 0:
		return fmt.Errorf("identify controller: in-capsule data at offset %d, want 0", c.ICDOFF)
	case c.CntrlType == ControllerIO && c.IOCCSZ < CommandSize/16:
		return fmt.Errorf("identify controller: command capsule of %d bytes, want at least %d", c.IOCCSZ*16, CommandSize)
	}
	return nil
}
