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
	VID       uint16
	SSVID     uint16
	SN        string // at most 20 bytes
	MN        string // at most 40 bytes
	FR        string // at most 8 bytes
	RAB       uint8
	IEEE      [3]byte
	CMIC      uint8 // bit 0 many ports, bit 1 many controllers, bit 3 ANA
	MDTS      uint8 // largest transfer is 2^MDTS × 4 KiB; 0 is no limit
	CNTLID    uint16
	VER       uint32
	RTD3R     uint32
	RTD3E     uint32
	OAES      uint32
	CTRATT    uint32
	CntrlType uint8
	CRDT      [3]uint16
	OACS      uint16
	ACL       uint8
	AERL      uint8
	FRMW      uint8
	LPA       uint8
	ELPE      uint8
	NPSS      uint8
	KAS       uint16 // granularity of keep alive in 100 ms
	ANATT     uint8
	ANACAP    uint8
	ANAGRPMAX uint32
	NANAGRPID uint32
	SQES      uint8
	CQES      uint8
	MAXCMD    uint16
	NN        uint32
	ONCS      uint16
	FUSES     uint16
	FNA       uint8
	VWC       uint8
	AWUN      uint16
	AWUPF     uint16
	NWPC      uint8
	ACWU      uint16
	SGLS      uint32
	MNAN      uint32
	SubNQN    string
	IOCCSZ    uint32 // capsule of an I/O command in 16 bytes: entry and data
	IORCSZ    uint32 // response capsule in 16 bytes
	ICDOFF    uint16
	FCATT     uint8
	MSDBD     uint8
	OFCS      uint16
	DCTYPE    uint8
}

// AppendBinary appends the 4096 bytes. The error is always nil.
func (c *IdentifyController) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, IdentifySize)
	le.PutUint16(w[0:], c.VID)
	le.PutUint16(w[2:], c.SSVID)
	putPadded(w[4:24], c.SN)
	putPadded(w[24:64], c.MN)
	putPadded(w[64:72], c.FR)
	w[72] = c.RAB
	copy(w[73:76], c.IEEE[:])
	w[76] = c.CMIC
	w[77] = c.MDTS
	le.PutUint16(w[78:], c.CNTLID)
	le.PutUint32(w[80:], c.VER)
	le.PutUint32(w[84:], c.RTD3R)
	le.PutUint32(w[88:], c.RTD3E)
	le.PutUint32(w[92:], c.OAES)
	le.PutUint32(w[96:], c.CTRATT)
	w[111] = c.CntrlType
	le.PutUint16(w[128:], c.CRDT[0])
	le.PutUint16(w[130:], c.CRDT[1])
	le.PutUint16(w[132:], c.CRDT[2])
	le.PutUint16(w[256:], c.OACS)
	w[258] = c.ACL
	w[259] = c.AERL
	w[260] = c.FRMW
	w[261] = c.LPA
	w[262] = c.ELPE
	w[263] = c.NPSS
	le.PutUint16(w[320:], c.KAS)
	w[342] = c.ANATT
	w[343] = c.ANACAP
	le.PutUint32(w[344:], c.ANAGRPMAX)
	le.PutUint32(w[348:], c.NANAGRPID)
	w[512] = c.SQES
	w[513] = c.CQES
	le.PutUint16(w[514:], c.MAXCMD)
	le.PutUint32(w[516:], c.NN)
	le.PutUint16(w[520:], c.ONCS)
	le.PutUint16(w[522:], c.FUSES)
	w[524] = c.FNA
	w[525] = c.VWC
	le.PutUint16(w[526:], c.AWUN)
	le.PutUint16(w[528:], c.AWUPF)
	w[531] = c.NWPC
	le.PutUint16(w[532:], c.ACWU)
	le.PutUint32(w[536:], c.SGLS)
	le.PutUint32(w[540:], c.MNAN)
	putName(w[768:1024], c.SubNQN)
	le.PutUint32(w[1792:], c.IOCCSZ)
	le.PutUint32(w[1796:], c.IORCSZ)
	le.PutUint16(w[1800:], c.ICDOFF)
	w[1802] = c.FCATT
	w[1803] = c.MSDBD
	le.PutUint16(w[1804:], c.OFCS)
	w[1806] = c.DCTYPE
	return b, nil
}

// UnmarshalBinary reads the first 4096 bytes of b.
func (c *IdentifyController) UnmarshalBinary(b []byte) error {
	if err := need(b, IdentifySize, "identify controller"); err != nil {
		return err
	}
	c.VID = le.Uint16(b[0:])
	c.SSVID = le.Uint16(b[2:])
	c.SN = padded(b[4:24])
	c.MN = padded(b[24:64])
	c.FR = padded(b[64:72])
	c.RAB = b[72]
	copy(c.IEEE[:], b[73:76])
	c.CMIC = b[76]
	c.MDTS = b[77]
	c.CNTLID = le.Uint16(b[78:])
	c.VER = le.Uint32(b[80:])
	c.RTD3R = le.Uint32(b[84:])
	c.RTD3E = le.Uint32(b[88:])
	c.OAES = le.Uint32(b[92:])
	c.CTRATT = le.Uint32(b[96:])
	c.CntrlType = b[111]
	c.CRDT[0] = le.Uint16(b[128:])
	c.CRDT[1] = le.Uint16(b[130:])
	c.CRDT[2] = le.Uint16(b[132:])
	c.OACS = le.Uint16(b[256:])
	c.ACL = b[258]
	c.AERL = b[259]
	c.FRMW = b[260]
	c.LPA = b[261]
	c.ELPE = b[262]
	c.NPSS = b[263]
	c.KAS = le.Uint16(b[320:])
	c.ANATT = b[342]
	c.ANACAP = b[343]
	c.ANAGRPMAX = le.Uint32(b[344:])
	c.NANAGRPID = le.Uint32(b[348:])
	c.SQES = b[512]
	c.CQES = b[513]
	c.MAXCMD = le.Uint16(b[514:])
	c.NN = le.Uint32(b[516:])
	c.ONCS = le.Uint16(b[520:])
	c.FUSES = le.Uint16(b[522:])
	c.FNA = b[524]
	c.VWC = b[525]
	c.AWUN = le.Uint16(b[526:])
	c.AWUPF = le.Uint16(b[528:])
	c.NWPC = b[531]
	c.ACWU = le.Uint16(b[532:])
	c.SGLS = le.Uint32(b[536:])
	c.MNAN = le.Uint32(b[540:])
	c.SubNQN = name(b[768:1024])
	c.IOCCSZ = le.Uint32(b[1792:])
	c.IORCSZ = le.Uint32(b[1796:])
	c.ICDOFF = le.Uint16(b[1800:])
	c.FCATT = b[1802]
	c.MSDBD = b[1803]
	c.OFCS = le.Uint16(b[1804:])
	c.DCTYPE = b[1806]
	return nil
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
