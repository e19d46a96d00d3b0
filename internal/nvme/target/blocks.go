package target

import (
	"bytes"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// compare performs Compare: are the blocks what the host has sent?
func (q *queue) compare(x *fabric.Exchange, ns *namespace) wire.Status {
	ns.settle(x)
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

// zeroTurn is how many bytes are zeroed or deallocated at a time. A command of
// more then waits for its turn again, so that those of other hosts come between.
const zeroTurn = 64 << 20

// writeZeroes performs a part of Write Zeroes, and reports whether there is more.
func (q *queue) writeZeroes(j *job, ns *namespace) (st wire.Status, more bool) {
	lba, n := j.x.Command.Blocks()
	whole := [1]wire.DSMRange{{LBA: lba, Blocks: uint32(n)}}
	if more, err := ns.zeroSome(j, whole[:], j.x.Command.DEAC()); more || err != nil {
		return q.failedIf(err, "write zeroes", ns), more
	}
	if j.x.Command.FUA() {
		if err := ns.Backend.Flush(); err != nil {
			return q.failed(err, wire.WriteFault, "flush", ns), false
		}
	}
	ns.count.others.Add(1)
	return wire.Success, false
}

// zeroSome zeroes what comes next of some ranges, and reports whether there is
// more.
func (n *namespace) zeroSome(j *job, ranges []wire.DSMRange, free bool) (more bool, err error) {
	left := uint64(zeroTurn / n.info.BlockSize)
	skip := j.past
	for _, r := range ranges {
		lba, blocks := r.LBA, uint64(r.Blocks)
		if skip >= blocks {
			skip -= blocks
			continue
		}
		if left == 0 {
			return true, nil
		}
		lba, blocks, skip = lba+skip, blocks-skip, 0
		part := min(blocks, left)
		if err := n.Backend.ZeroBlocks(lba, part, free); err != nil {
			return false, err
		}
		j.past += part
		if left -= part; part < blocks {
			return true, nil
		}
	}
	return false, nil
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

// manage performs a part of Dataset Management, and reports whether there is
// more: ranges are deallocated and then read as zeroes; what else the host says of
// them is advice that is not needed. No range is touched where one of them does
// not exist.
func (q *queue) manage(j *job, ns *namespace) (st wire.Status, more bool) {
	dsm := j.x.Command.DSM()
	var ranges [wire.MaxDSMRanges]wire.DSMRange
	for i := range dsm.Ranges {
		r := &ranges[i]
		if err := r.UnmarshalBinary(j.x.Data[i*wire.DSMRangeSize:]); err != nil {
			return wire.InternalError.WithDNR(), false
		}
		if r.LBA > ns.blocks || uint64(r.Blocks) > ns.blocks-r.LBA {
			return wire.LBAOutOfRange.WithDNR(), false
		}
	}
	if !dsm.Deallocate {
		return wire.Success, false
	}
	more, err := ns.zeroSome(j, ranges[:dsm.Ranges], true)
	if err == nil && !more {
		ns.count.others.Add(1)
	}
	return q.failedIf(err, "deallocate", ns), more
}
