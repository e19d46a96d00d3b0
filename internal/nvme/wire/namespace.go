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
	NSZE     uint64 // size in blocks
	NCAP     uint64 // capacity in blocks; 0: no such namespace
	NUSE     uint64
	NSFEAT   uint8
	NLBAF    uint8 // formats - 1
	FLBAS    uint8 // format in use
	MC       uint8
	DPC      uint8
	DPS      uint8
	NMIC     uint8 // bit 0: may be attached to many controllers
	RESCAP   uint8
	FPI      uint8
	DLFEAT   uint8
	NOIOB    uint16
	NPWG     uint16
	NPWA     uint16
	NPDG     uint16
	NPDA     uint16
	NOWS     uint16
	ANAGRPID uint32
	NSATTR   uint8 // bit 0: write protected
	NVMSETID uint16
	ENDGID   uint16
	NGUID    [16]byte
	EUI64    [8]byte
	LBAF     [16]LBAFormat
}

// AppendBinary appends the 4096 bytes. The error is always nil.
func (n *IdentifyNamespace) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, IdentifySize)
	le.PutUint64(w[0:], n.NSZE)
	le.PutUint64(w[8:], n.NCAP)
	le.PutUint64(w[16:], n.NUSE)
	w[24] = n.NSFEAT
	w[25] = n.NLBAF
	w[26] = n.FLBAS
	w[27] = n.MC
	w[28] = n.DPC
	w[29] = n.DPS
	w[30] = n.NMIC
	w[31] = n.RESCAP
	w[32] = n.FPI
	w[33] = n.DLFEAT
	le.PutUint16(w[46:], n.NOIOB)
	le.PutUint16(w[64:], n.NPWG)
	le.PutUint16(w[66:], n.NPWA)
	le.PutUint16(w[68:], n.NPDG)
	le.PutUint16(w[70:], n.NPDA)
	le.PutUint16(w[72:], n.NOWS)
	le.PutUint32(w[92:], n.ANAGRPID)
	w[99] = n.NSATTR
	le.PutUint16(w[100:], n.NVMSETID)
	le.PutUint16(w[102:], n.ENDGID)
	copy(w[104:120], n.NGUID[:])
	copy(w[120:128], n.EUI64[:])
	for i, f := range n.LBAF {
		le.PutUint16(w[128+4*i:], f.MS)
		w[130+4*i] = f.LBADS
		w[131+4*i] = f.RP
	}
	return b, nil
}

// UnmarshalBinary reads the first 4096 bytes of b.
func (n *IdentifyNamespace) UnmarshalBinary(b []byte) error {
	if err := need(b, IdentifySize, "identify namespace"); err != nil {
		return err
	}
	n.NSZE = le.Uint64(b[0:])
	n.NCAP = le.Uint64(b[8:])
	n.NUSE = le.Uint64(b[16:])
	n.NSFEAT = b[24]
	n.NLBAF = b[25]
	n.FLBAS = b[26]
	n.MC = b[27]
	n.DPC = b[28]
	n.DPS = b[29]
	n.NMIC = b[30]
	n.RESCAP = b[31]
	n.FPI = b[32]
	n.DLFEAT = b[33]
	n.NOIOB = le.Uint16(b[46:])
	n.NPWG = le.Uint16(b[64:])
	n.NPWA = le.Uint16(b[66:])
	n.NPDG = le.Uint16(b[68:])
	n.NPDA = le.Uint16(b[70:])
	n.NOWS = le.Uint16(b[72:])
	n.ANAGRPID = le.Uint32(b[92:])
	n.NSATTR = b[99]
	n.NVMSETID = le.Uint16(b[100:])
	n.ENDGID = le.Uint16(b[102:])
	copy(n.NGUID[:], b[104:120])
	copy(n.EUI64[:], b[120:128])
	for i := range n.LBAF {
		n.LBAF[i] = LBAFormat{MS: le.Uint16(b[128+4*i:]), LBADS: b[130+4*i], RP: b[131+4*i]}
	}
	return nil
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
