package target

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/wire"
)

const lossyBlock = 4096

// lossyRig is a rig whose namespace 1 is on a disk that loses what was not
// flushed when its power is cut.
func lossyRig(t *testing.T, forgets bool) (*rig, *nvmetest.Lossy) {
	t.Helper()
	d := nvmetest.NewLossy(4<<20, lossyBlock)
	d.Forgets = forgets
	return rigOn(t, d), d
}

// store writes n blocks of ones, one command each.
func (r *rig) store(q fabric.Queue, lba, n int, flags uint32) {
	r.Helper()
	for i := range n {
		cmd := blocks(wire.OpWrite, 1, uint64(lba+i), 1)
		cmd.CDW12 |= flags
		r.want(wire.Success, q, cmd, bytes.Repeat([]byte{1}, lossyBlock))
	}
}

// survivors are how many of n blocks hold nothing but b.
func survivors(t *testing.T, d *nvmetest.Lossy, lba, n int, b byte) (count int) {
	t.Helper()
	got := make([]byte, n*lossyBlock)
	if err := d.ReadBlocks(got, uint64(lba)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if bytes.Count(got[i*lossyBlock:(i+1)*lossyBlock], []byte{b}) == lossyBlock {
			count++
		}
	}
	return count
}

// TestDurable: what was written through, or flushed, before it was acknowledged
// is there after a power cut. With the disk that forgets, the test of the test,
// it is not.
func TestDurable(t *testing.T) {
	const n = 64 // blocks, each of which is lost as often as not
	for _, forgets := range []bool{false, true} {
		r, d := lossyRig(t, forgets)
		_, q := r.both()
		r.store(q, 0, n, fua)
		r.store(q, 2*n, n, 0)
		r.want(wire.Success, q, wire.Command{Opcode: wire.OpFlush, NSID: 1}, nil)
		r.store(q, 4*n, n, 0)
		r.want(wire.Success, q, wire.Command{Opcode: wire.OpFlush, NSID: wire.NSIDAll}, nil)
		r.store(q, 6*n, n, fua)
		zeroes := blocks(wire.OpWriteZeroes, 1, 6*n, n)
		zeroes.CDW12 |= fua
		r.want(wire.Success, q, zeroes, nil)
		r.store(q, 8*n, n, 0)
		shown := blocks(wire.OpRead, 1, 8*n, 1) // which makes durable what it shows
		shown.CDW12 |= fua
		r.want(wire.Success, q, shown, make([]byte, lossyBlock))
		r.store(q, 10*n, n, 0) // nothing is promised
		d.Cut()
		d.Restore()
		for what, c := range map[string]struct {
			lba int
			b   byte
		}{"written through": {0, 1}, "flushed": {2 * n, 1}, "flushed with all": {4 * n, 1}, "zeroed through": {6 * n, 0}, "shown by a read": {8 * n, 1}} {
			have := survivors(t, d, c.lba, n, c.b)
			switch {
			case !forgets && have != n:
				t.Errorf("%s: %d of %d blocks are there", what, have, n)
			case forgets && have == n && c.b == 1: // zeroes are what is there without any write
				t.Errorf("%s on a disk that forgets: all blocks are there", what)
			}
		}
		if survivors(t, d, 10*n, n, 1) == n {
			t.Error("the power cut has lost nothing")
		}
	}
}

// TestEndsAreDurable: a namespace that is taken away, and a target that ends,
// leave nothing to lose.
func TestEndsAreDurable(t *testing.T) {
	r, d := lossyRig(t, false)
	_, q := r.both()
	r.store(q, 0, 64, 0)
	c := r.another()
	c.Subsystems[0].Namespaces = c.Subsystems[0].Namespaces[1:]
	r.reload(c)
	if lost := d.Cut(); lost != 0 {
		t.Errorf("%d blocks were lost after a reload", lost)
	}
	d.Restore()

	tgt, err := New(Config{Subsystems: []Subsystem{{NQN: subNQN, Serial: "S", Namespaces: []Namespace{{ID: 1, Backend: d}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteBlocks(bytes.Repeat([]byte{2}, 64*lossyBlock), 0); err != nil {
		t.Fatal(err)
	}
	if err := tgt.Close(); err != nil {
		t.Fatal(err)
	}
	if lost := d.Cut(); lost != 0 {
		t.Errorf("%d blocks were lost after the end of the target", lost)
	}
}

// unflushable is a backend that writes but cannot flush.
type unflushable struct{ backend.Backend }

var errUnflushable = errors.New("the cable is loose")

func (unflushable) Flush() error { return errUnflushable }

// TestFlushFails: what had to be durable and is not is no success, and what need
// not be is one.
func TestFlushFails(t *testing.T) {
	m, err := backend.NewMemory(1<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	bad := unflushable{m}
	r := rigOn(t, bad)
	_, q := r.both()
	fault := wire.WriteFault.WithDNR()
	data := make([]byte, 512)
	for op, payload := range map[uint8][]byte{wire.OpWrite: data, wire.OpWriteZeroes: nil, wire.OpRead: data} {
		cmd := blocks(op, 1, 0, 1)
		r.want(wire.Success, q, cmd, payload)
		cmd.CDW12 |= fua
		r.want(fault, q, cmd, payload)
	}
	for _, nsid := range []uint32{1, wire.NSIDAll} {
		r.want(fault, q, wire.Command{Opcode: wire.OpFlush, NSID: nsid}, nil)
	}
	r.want(wire.Success, q, wire.Command{Opcode: wire.OpFlush, NSID: 3}, nil)
	if s := r.target.Stats()[0]; !slices.ContainsFunc(s.Namespaces, func(n NamespaceStat) bool { return n.ID == 1 && n.Errors >= 5 }) {
		t.Errorf("%+v", s)
	}
	// Taken away here, so that the end of the rig is none of a bad disk.
	c := r.another()
	c.Subsystems[0].Namespaces = c.Subsystems[0].Namespaces[1:]
	r.reload(c)
}
