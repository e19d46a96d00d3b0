package target

import (
	"bytes"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// compare performs Compare: are the blocks what the host has sent?
func (q *queue) compare(x *fabric.Exchange, ns *namespace) wire.Status {
	lba, _ := x.Command.Blocks()
	b := x.Alloc(len(x.Data))
	defer b.Release()
	if err := ns.Backend.ReadBlocks(b.Bytes, lba); err != nil {
		return q.failed(err, wire.UnrecoveredRead, "read", ns)
	}
	ns.count.others.Add(1)
	if !bytes.Equal(b.Bytes, x.Data) {
		return wire.CompareFailed.WithDNR()
	}
	return wire.Success
}

// writeZeroes performs Write Zeroes.
func (q *queue) writeZeroes(x *fabric.Exchange, ns *namespace) wire.Status {
	lba, n := x.Command.Blocks()
	if err := ns.Backend.ZeroBlocks(lba, uint64(n), x.Command.DEAC()); err != nil {
		return q.failed(err, wire.WriteFault, "write zeroes", ns)
	}
	if x.Command.FUA() {
		if err := ns.Backend.Flush(); err != nil {
			return q.failed(err, wire.WriteFault, "flush", ns)
		}
	}
	ns.count.others.Add(1)
	return wire.Success
}

// beginDSM judges a Dataset Management. Linux always sends room for all ranges
// there can be, however few there are.
func (n *namespace) beginDSM(x *fabric.Exchange) (pull int, st wire.Status) {
	const most = wire.MaxDSMRanges * wire.DSMRangeSize
	dsm := x.Command.DSM()
	switch {
	case x.Length() < dsm.Ranges*wire.DSMRangeSize || x.Length() > most:
		return 0, wire.SGLInvalidLength.WithDNR()
	case n.ReadOnly && dsm.Deallocate:
		return 0, wire.NSWriteProtected.WithDNR()
	}
	return x.Length(), wire.Success
}

// manage performs Dataset Management: ranges are deallocated and then read as
// zeroes; what else the host says of them is advice that is not needed. No
// range is touched where one of them does not exist.
func (q *queue) manage(x *fabric.Exchange, ns *namespace) wire.Status {
	dsm := x.Command.DSM()
	var ranges [wire.MaxDSMRanges]wire.DSMRange
	for i := range dsm.Ranges {
		r := &ranges[i]
		if err := r.UnmarshalBinary(x.Data[i*wire.DSMRangeSize:]); err != nil {
			return wire.InternalError.WithDNR()
		}
		if r.LBA > ns.blocks || uint64(r.Blocks) > ns.blocks-r.LBA {
			return wire.LBAOutOfRange.WithDNR()
		}
	}
	if !dsm.Deallocate {
		return wire.Success
	}
	for _, r := range ranges[:dsm.Ranges] {
		if err := ns.Backend.ZeroBlocks(r.LBA, uint64(r.Blocks), true); err != nil {
			return q.failed(err, wire.WriteFault, "deallocate", ns)
		}
	}
	ns.count.others.Add(1)
	return wire.Success
}
