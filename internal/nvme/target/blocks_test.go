package target

import (
	"bytes"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// fill writes ones to the first blocks of a namespace.
func (r *rig) fill(q fabric.Queue, nsid uint32, block, n int) {
	r.Helper()
	r.want(wire.Success, q, blocks(wire.OpWrite, nsid, 0, n), bytes.Repeat([]byte{1}, n*block))
}

// zeroes checks which of the first blocks are zero; the others hold ones.
func (r *rig) zeroes(q fabric.Queue, nsid uint32, block, n int, zero func(lba int) bool) {
	r.Helper()
	got := make([]byte, n*block)
	r.want(wire.Success, q, blocks(wire.OpRead, nsid, 0, n), got)
	for lba := range n {
		want := byte(1)
		if zero(lba) {
			want = 0
		}
		if b := got[lba*block : (lba+1)*block]; bytes.Count(b, []byte{want}) != block {
			r.Errorf("namespace %d: block %d is not all %d", nsid, lba, want)
		}
	}
}

func TestCompare(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, q := r.both()
		for nsid, block := range map[uint32]int{1: 512, 3: 4096} {
			r.fill(q, nsid, block, 4)
			same := bytes.Repeat([]byte{1}, 4*block)
			r.want(wire.Success, q, blocks(wire.OpCompare, nsid, 0, 4), same)
			same[4*block-1] = 2
			r.want(wire.CompareFailed.WithDNR(), q, blocks(wire.OpCompare, nsid, 0, 4), same)
			r.want(wire.Success, q, blocks(wire.OpCompare, nsid, 0, 3), same[:3*block])
		}
	})
}

func TestWriteZeroes(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, q := r.both()
		const deac = 1 << 25
		for nsid, block := range map[uint32]int{1: 512, 3: 4096} {
			for _, flags := range []uint32{0, fua, deac, fua | deac} {
				r.fill(q, nsid, block, 8)
				cmd := blocks(wire.OpWriteZeroes, nsid, 2, 3)
				cmd.CDW12 |= flags
				r.want(wire.Success, q, cmd, nil)
				r.zeroes(q, nsid, block, 8, func(lba int) bool { return lba >= 2 && lba < 5 })
			}
			all := 1 << 20 / block // more than one transfer may hold
			r.want(wire.Success, q, blocks(wire.OpWriteZeroes, nsid, 0, all), nil)
			r.zeroes(q, nsid, block, 8, func(int) bool { return true })
			r.want(wire.LBAOutOfRange.WithDNR(), q, blocks(wire.OpWriteZeroes, nsid, 1, all), nil)
			r.want(wire.LBAOutOfRange.WithDNR(), q, blocks(wire.OpWriteZeroes, nsid, ^uint64(0), 2), nil)
		}
		for _, nsid := range []uint32{0, 2, wire.NSIDAll} {
			r.want(wire.InvalidNamespace.WithDNR(), q, blocks(wire.OpWriteZeroes, nsid, 0, 1), nil)
		}
	})
}

func TestDatasetManagement(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, q := r.both()
		dsm := func(want wire.Status, nsid uint32, deallocate bool, room int, ranges ...wire.DSMRange) {
			t.Helper()
			var b []byte
			for _, one := range ranges {
				b, _ = one.AppendBinary(b)
			}
			b = append(b, make([]byte, room)...)
			r.want(want, q, wire.DSMCommand{NSID: nsid, Ranges: len(ranges), Deallocate: deallocate}.Command(), b)
		}
		for nsid, block := range map[uint32]int{1: 512, 3: 4096} {
			last := uint64(1<<20/block - 1)
			for _, room := range []int{0, 4096 - 32} { // exactly, and as Linux does
				r.fill(q, nsid, block, 8)
				dsm(wire.Success, nsid, false, room, wire.DSMRange{LBA: 0, Blocks: 8}, wire.DSMRange{})
				r.zeroes(q, nsid, block, 8, func(int) bool { return false })
				dsm(wire.LBAOutOfRange.WithDNR(), nsid, true, room, wire.DSMRange{LBA: 0, Blocks: 8}, wire.DSMRange{LBA: last, Blocks: 2})
				r.zeroes(q, nsid, block, 8, func(int) bool { return false })
				dsm(wire.Success, nsid, true, room, wire.DSMRange{LBA: 1, Blocks: 2}, wire.DSMRange{LBA: 6, Blocks: 1})
				r.zeroes(q, nsid, block, 8, func(lba int) bool { return lba == 1 || lba == 2 || lba == 6 })
			}
			dsm(wire.LBAOutOfRange.WithDNR(), nsid, true, 0, wire.DSMRange{LBA: ^uint64(0), Blocks: ^uint32(0)})
		}
		dsm(wire.Success, 1, true, 0, make([]wire.DSMRange, wire.MaxDSMRanges)...)
		dsm(wire.SGLInvalidLength.WithDNR(), 1, true, 4096, wire.DSMRange{})
		r.want(wire.SGLInvalidLength.WithDNR(), q, wire.DSMCommand{NSID: 1, Ranges: 2, Deallocate: true}.Command(), make([]byte, 16))
		dsm(wire.InvalidNamespace.WithDNR(), wire.NSIDAll, true, 0, wire.DSMRange{})
	})
}

func TestReadOnly(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, q := r.both()
		r.fill(q, 1, 512, 8)
		c := r.another()
		c.Subsystems[0].Namespaces[0].ReadOnly = true
		r.reload(c)
		protected := wire.NSWriteProtected.WithDNR()
		r.want(protected, q, blocks(wire.OpWrite, 1, 0, 1), make([]byte, 512))
		r.want(protected, q, blocks(wire.OpWriteZeroes, 1, 0, 1), nil)
		r.want(protected, q, wire.DSMCommand{NSID: 1, Ranges: 1, Deallocate: true}.Command(), make([]byte, 16))
		r.want(wire.Success, q, blocks(wire.OpCompare, 1, 0, 1), bytes.Repeat([]byte{1}, 512))
		r.want(wire.Success, q, wire.Command{Opcode: wire.OpFlush, NSID: 1}, nil)
		r.zeroes(q, 1, 512, 8, func(int) bool { return false })
	})
}
