package wire

import "fmt"

// LBAFormat is one format of a namespace. NVM section 4.1.5.1.
type LBAFormat struct {
	MS    uint16 // bytes of metadata
	LBADS uint8  // blocks of 2^LBADS bytes
	RP    uint8
}

// IdentifyNamespace is what Identify with CNS 00h returns, as far as fabrics
// use it. NVM section 4.1.5.1, Identify Namespace data structure.
type IdentifyNamespace struct {
	NSZE     uint64        `at:"0"` // size in blocks
	NCAP     uint64        `at:"8"` // capacity in blocks; 0: no such namespace
	NUSE     uint64        `at:"16"`
	NSFEAT   uint8         `at:"24"`
	NLBAF    uint8         `at:"25"` // formats - 1
	FLBAS    uint8         `at:"26"` // format in use
	MC       uint8         `at:"27"`
	DPC      uint8         `at:"28"`
	DPS      uint8         `at:"29"`
	NMIC     uint8         `at:"30"` // bit 0: may be attached to many controllers
	RESCAP   uint8         `at:"31"`
	FPI      uint8         `at:"32"`
	DLFEAT   uint8         `at:"33"`
	NOIOB    uint16        `at:"46"`
	NPWG     uint16        `at:"64"`
	NPWA     uint16        `at:"66"`
	NPDG     uint16        `at:"68"`
	NPDA     uint16        `at:"70"`
	NOWS     uint16        `at:"72"`
	ANAGRPID uint32        `at:"92"`
	NSATTR   uint8         `at:"99"` // bit 0: write protected
	NVMSETID uint16        `at:"100"`
	ENDGID   uint16        `at:"102"`
	NGUID    [16]byte      `at:"104"`
	EUI64    [8]byte       `at:"120"`
	LBAF     [16]LBAFormat `at:"128"`
}

// AppendBinary appends the 4096 bytes.
func (n *IdentifyNamespace) AppendBinary(b []byte) ([]byte, error) {
	return appendTagged(b, IdentifySize, n)
}

// UnmarshalBinary reads the first 4096 bytes of b.
func (n *IdentifyNamespace) UnmarshalBinary(b []byte) error {
	return readTagged(b, IdentifySize, "identify namespace", n)
}

// Format is the format in use.
func (n *IdentifyNamespace) Format() LBAFormat { return n.LBAF[n.FLBAS&15] }

// BlockSize is the size of a block in bytes; 0 where the format says nonsense.
func (n *IdentifyNamespace) BlockSize() int {
	if f := n.Format(); f.LBADS >= 9 && f.LBADS <= 24 {
		return 1 << f.LBADS
	}
	return 0
}

// Validate reports what an initiator cannot use: no capacity, a block size out
// of range, metadata or protection information.
func (n *IdentifyNamespace) Validate() error {
	switch f := n.Format(); {
	case n.NCAP == 0 || n.NSZE == 0:
		return fmt.Errorf("identify namespace: no capacity")
	case n.BlockSize() == 0:
		return fmt.Errorf("identify namespace: blocks of 2^%d bytes", f.LBADS)
	case n.NSZE > 1<<63/uint64(n.BlockSize()):
		return fmt.Errorf("identify namespace: %d blocks of %d bytes", n.NSZE, n.BlockSize())
	case f.MS != 0:
		return fmt.Errorf("identify namespace: %d bytes of metadata, not yet supported", f.MS)
	case n.DPS&7 != 0:
		return fmt.Errorf("identify namespace: protection information, not yet supported")
	}
	return nil
}

// NSList is a list of at most 1024 namespace ids, ascending, as Identify with
// CNS 02h returns it. Base section 5.17.2.2.
type NSList []uint32

// MaxNSList is the length of a full NSList.
const MaxNSList = 1024

// AppendBinary appends the 4096 bytes; unused places are zero.
func (l NSList) AppendBinary(b []byte) ([]byte, error) {
	if len(l) > MaxNSList {
		return b, fmt.Errorf("namespace list of %d ids, at most %d", len(l), MaxNSList)
	}
	b, w := grow(b, IdentifySize)
	for i, id := range l {
		le.PutUint32(w[4*i:], id)
	}
	return b, nil
}

// UnmarshalBinary reads ids up to the first zero.
func (l *NSList) UnmarshalBinary(b []byte) error {
	if err := need(b, IdentifySize, "namespace list"); err != nil {
		return err
	}
	*l = (*l)[:0]
	for i := 0; i < IdentifySize; i += 4 {
		id := le.Uint32(b[i:])
		if id == 0 {
			break
		}
		*l = append(*l, id)
	}
	return nil
}

// Types of namespace identification descriptors.
const (
	nidEUI64 = 1
	nidNGUID = 2
	nidUUID  = 3
	nidCSI   = 4
)

// NSDescriptors is the namespace identification descriptor list of Identify
// with CNS 03h. Zero identifiers are left out, except the command set, which
// is always there. Base section 5.17.2.3.
type NSDescriptors struct {
	EUI64 [8]byte
	NGUID [16]byte
	UUID  [16]byte
	CSI   uint8 // 0: NVM
}

// AppendBinary appends the 4096 bytes. The error is always nil.
func (d *NSDescriptors) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, IdentifySize)
	put := func(kind uint8, id []byte) {
		w[0] = kind
		w[1] = uint8(len(id))
		w = w[4+copy(w[4:], id):]
	}
	if d.EUI64 != [8]byte{} {
		put(nidEUI64, d.EUI64[:])
	}
	if d.NGUID != [16]byte{} {
		put(nidNGUID, d.NGUID[:])
	}
	if d.UUID != [16]byte{} {
		put(nidUUID, d.UUID[:])
	}
	put(nidCSI, []byte{d.CSI})
	return b, nil
}

// UnmarshalBinary reads descriptors up to the first of length zero; unknown
// types are skipped.
func (d *NSDescriptors) UnmarshalBinary(b []byte) error {
	if err := need(b, IdentifySize, "namespace descriptors"); err != nil {
		return err
	}
	*d = NSDescriptors{}
	for b = b[:IdentifySize]; len(b) >= 4 && b[1] != 0; {
		kind, n := b[0], int(b[1])
		if len(b) < 4+n {
			return fmt.Errorf("namespace descriptor of %d bytes beyond the end", n)
		}
		id := b[4 : 4+n]
		ok := true
		switch kind {
		case nidEUI64:
			ok = copy(d.EUI64[:], id) == n && n == len(d.EUI64)
		case nidNGUID:
			ok = copy(d.NGUID[:], id) == n && n == len(d.NGUID)
		case nidUUID:
			ok = copy(d.UUID[:], id) == n && n == len(d.UUID)
		case nidCSI:
			ok = n == 1
			d.CSI = id[0]
		}
		if !ok {
			return fmt.Errorf("namespace descriptor type %d of %d bytes", kind, n)
		}
		b = b[4+n:]
	}
	return nil
}
