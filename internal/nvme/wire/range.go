package wire

// DSMRangeSize is the length of one range of a Dataset Management.
const DSMRangeSize = 16

// MaxDSMRanges is how many ranges one Dataset Management has at most.
const MaxDSMRanges = 256

// DSMRange is one range of a Dataset Management. NVM section 3.2.3.1.
type DSMRange struct {
	Attributes uint32
	Blocks     uint32
	LBA        uint64
}

// AppendBinary appends the 16 bytes. The error is always nil.
func (r *DSMRange) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, DSMRangeSize)
	le.PutUint32(w[0:], r.Attributes)
	le.PutUint32(w[4:], r.Blocks)
	le.PutUint64(w[8:], r.LBA)
	return b, nil
}

// UnmarshalBinary reads the first 16 bytes of b.
func (r *DSMRange) UnmarshalBinary(b []byte) error {
	if err := need(b, DSMRangeSize, "range"); err != nil {
		return err
	}
	r.Attributes = le.Uint32(b[0:])
	r.Blocks = le.Uint32(b[4:])
	r.LBA = le.Uint64(b[8:])
	return nil
}

// DSMCommand is Dataset Management as its fields. NVM section 3.2.3.
type DSMCommand struct {
	NSID       uint32
	Ranges     int // 1 to MaxDSMRanges
	Deallocate bool
}

// DSM is the view of a Dataset Management command.
func (c *Command) DSM() DSMCommand {
	return DSMCommand{NSID: c.NSID, Ranges: int(c.CDW10&0xff) + 1, Deallocate: c.CDW11&4 != 0}
}

// Command is the queue entry, without id and SGL.
func (v DSMCommand) Command() Command {
	c := Command{Opcode: OpDSM, Flags: FlagsSGL, NSID: v.NSID, CDW10: uint32(v.Ranges-1) & 0xff}
	if v.Deallocate {
		c.CDW11 = 4
	}
	return c
}

// DEAC says that blocks which a Write Zeroes has zeroed may be deallocated.
// NVM section 3.2.8.
func (c *Command) DEAC() bool { return c.CDW12&(1<<25) != 0 }
