package load_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"weft/internal/nvme/initiator"
	"weft/internal/nvme/load"
	"weft/internal/nvme/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a lane on memory that completes in reverse order, and may lie.
type disk struct {
	data    []byte
	depth   int
	over    []initiator.Done
	ops     map[uint8]int
	lie     func(op uint8, lba uint64, buf []byte) (drop bool, err error)
	touched map[uint64]bool
}

func newDisk(n, depth int) *disk {
	return &disk{data: make([]byte, n), depth: depth, ops: map[uint8]int{}, touched: map[uint64]bool{}}
}

func (d *disk) Depth() int { return d.depth }

func (d *disk) Submit(slot int, op uint8, lba uint64, blocks int, buf []byte) error {
	d.ops[op]++
	d.touched[lba] = true
	if op != wire.OpFlush && blocks*512 != len(buf) {
		return errors.New("length")
	}
	at := lba * 512
	if op == wire.OpRead {
		copy(buf, d.data[at:])
	}
	drop, err := false, error(nil)
	if d.lie != nil {
		drop, err = d.lie(op, lba, buf)
	}
	if op == wire.OpWrite && !drop {
		copy(d.data[at:], buf)
	}
	d.over = append(d.over, initiator.Done{Slot: slot, Err: err})
	return nil
}

func (d *disk) Wait(_ context.Context, done []initiator.Done, block bool) (int, error) {
	if len(d.over) == 0 {
		return 0, errors.New("idle")
	}
	done[0] = d.over[len(d.over)-1]
	d.over = d.over[:len(d.over)-1]
	return 1, nil
}

func options(p load.Pattern) load.Options {
	return load.Options{Pattern: p, Size: 1024, Depth: 8, Count: 2000, BlockSize: 512, Capacity: 64 << 10, Seed: 1, ReadShare: 70}
}

func TestPatterns(t *testing.T) {
	for _, p := range load.Patterns() {
		if p == string(load.Database) {
			continue // its jobs differ: TestDatabase
		}
		o := options(load.Pattern(p))
		o.FlushEach = 10
		a, b := newDisk(64<<10, 8), newDisk(64<<10, 8)
		r, err := load.Run(t.Context(), []load.Lane{a, b}, o)
		if err != nil {
			t.Fatal(err)
		}
		done, bytes := r.All()
		if done+r.Flush.Done != 2000 || bytes != done*1024 || r.Read.Latency.Count() != r.Read.Done || r.First != nil {
			t.Errorf("%s: %+v", p, r)
		}
		reads := float64(r.Read.Done) / float64(done)
		switch want := map[bool]float64{true: 0.7, false: 0}[strings.HasSuffix(p, "rw")]; {
		case strings.HasSuffix(p, "read") && reads != 1, strings.HasSuffix(p, "write") && reads != 0, want > 0 && (reads < 0.6 || reads > 0.8):
			t.Errorf("%s: %.2f of them reads", p, reads)
		}
		if want := int64(0); load.Pattern(p).Writes() && r.Flush.Done == want {
			t.Errorf("%s: no flush after %d writes", p, r.Write.Done)
		}
		// Each job keeps to its own half, and all of it is used.
		for lba := range a.touched {
			if lba >= 64 || b.touched[lba] && lba != 0 { // a flush has address 0
				t.Fatalf("%s: both jobs at %d", p, lba)
			}
		}
		if len(a.touched) < 32 || len(b.touched) < 32 {
			t.Errorf("%s: %d and %d places of 32", p, len(a.touched), len(b.touched))
		}
	}
}

// TestLastFlush: a write that the end of the load overtakes is flushed like the others, so
// that a device that takes as long as the load does not look as if nothing was flushed.
func TestLastFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(load.SeqWrite)
		o.Count, o.Depth, o.FlushEach, o.Time = 0, 1, 1, time.Second
		d := newDisk(64<<10, 1)
		d.lie = func(uint8, uint64, []byte) (bool, error) { time.Sleep(2 * time.Second); return false, nil }
		r, err := load.Run(t.Context(), []load.Lane{d}, o)
		if err != nil || r.Write.Done != 1 || r.Flush.Done != 1 {
			t.Errorf("%v, %d writes, %d flushes", err, r.Write.Done, r.Flush.Done)
		}
	})
}

func TestEnds(t *testing.T) {
	o := options(load.RandRead)
	o.Count, o.Time, o.Warmup = 0, 30*time.Millisecond, 10*time.Millisecond
	r, err := load.Run(t.Context(), []load.Lane{newDisk(64<<10, 8)}, o)
	for ; err == nil && r.Read.Done == 0 && o.Time < time.Minute; o.Time *= 2 { // a machine that slept meanwhile
		r, err = load.Run(t.Context(), []load.Lane{newDisk(64<<10, 8)}, o)
	}
	if err != nil || r.Read.Done == 0 || r.Elapsed > time.Minute {
		t.Errorf("%v, %+v", err, r)
	}
	o.Time = time.Hour
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("enough")
	time.AfterFunc(10*time.Millisecond, func() { cancel(gone) })
	if _, err := load.Run(ctx, []load.Lane{newDisk(64<<10, 8)}, o); !errors.Is(err, gone) {
		t.Error(err)
	}
	o = options(load.RandRead)
	o.Count, o.Rate = 20, 1000
	start := time.Now()
	if r, err = load.Run(t.Context(), []load.Lane{newDisk(64<<10, 8)}, o); err != nil || r.Read.Done != 20 {
		t.Errorf("%v, %+v", err, r)
	}
	if took := time.Since(start); took < 15*time.Millisecond { // 19 steps of a millisecond
		t.Errorf("20 commands at 1000 in a second took %v", took)
	}
	refused := errors.New("refused")
	d := newDisk(64<<10, 8)
	d.lie = func(uint8, uint64, []byte) (bool, error) { return false, refused }
	if r, err = load.Run(t.Context(), []load.Lane{d}, options(load.RandWrite)); err != nil || r.Write.Failed != 2000 || r.Write.Done != 0 || !errors.Is(r.First, refused) {
		t.Errorf("%v, %+v", err, r)
	}
	for what, change := range map[string]func(*load.Options){
		"pattern": func(o *load.Options) { o.Pattern = "sideways" },
		"multip":  func(o *load.Options) { o.Size = 1000 },
		"depth":   func(o *load.Options) { o.Depth = 9 },
		"neither": func(o *load.Options) { o.Count = 0 },
		"room":    func(o *load.Options) { o.Span = 4096 },
		"negativ": func(o *load.Options) { o.Rate = -1 },
	} {
		o := options(load.RandRead)
		change(&o)
		if r, err := load.Run(t.Context(), []load.Lane{newDisk(64<<10, 8)}, o); r != nil || err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v, %v", what, r, err)
		}
	}
}

// TestVerify: an honest device passes, and each kind of lie is told from the
// others.
func TestVerify(t *testing.T) {
	writes := 0
	for _, c := range []struct {
		name  string
		count func(load.Check) int64 // nil: nothing is wrong
		lie   func(d *disk) func(op uint8, lba uint64, buf []byte) (bool, error)
	}{
		{"honest", nil, func(*disk) func(uint8, uint64, []byte) (bool, error) { return nil }},
		{"failed writes", nil, func(d *disk) func(uint8, uint64, []byte) (bool, error) {
			return func(op uint8, lba uint64, buf []byte) (bool, error) {
				if writes++; op == wire.OpWrite && writes%7 == 0 {
					return writes%2 == 0, errors.New("nobody knows whether it was done")
				}
				return false, nil
			}
		}},
		{"lost", func(c load.Check) int64 { return c.Lost }, func(d *disk) func(uint8, uint64, []byte) (bool, error) {
			return func(op uint8, lba uint64, buf []byte) (bool, error) {
				return op == wire.OpWrite && lba == 6 && d.ops[wire.OpWrite] > 100, nil
			}
		}},
		{"never written", func(c load.Check) int64 { return c.Lost }, func(d *disk) func(uint8, uint64, []byte) (bool, error) {
			return func(op uint8, lba uint64, buf []byte) (bool, error) { return lba == 6, nil }
		}},
		{"stale", func(c load.Check) int64 { return c.Stale }, func(d *disk) func(uint8, uint64, []byte) (bool, error) {
			var old []byte
			reads := map[uint64]int{}
			return func(op uint8, lba uint64, buf []byte) (bool, error) {
				if lba != 6 {
					return false, nil
				}
				if op == wire.OpWrite {
					old, reads[lba] = append([]byte(nil), d.data[6*512:][:1024]...), 0
				} else if reads[lba]++; reads[lba] == 2 && binary.LittleEndian.Uint64(old) != 0 {
					copy(buf, old)
				}
				return false, nil
			}
		}},
		{"torn", func(c load.Check) int64 { return c.Torn }, func(d *disk) func(uint8, uint64, []byte) (bool, error) {
			return func(op uint8, lba uint64, buf []byte) (bool, error) {
				if op == wire.OpWrite && lba == 6 && d.ops[op] > 100 {
					copy(d.data[6*512:], buf[:300])
					copy(d.data[7*512:], buf[512:])
					return true, nil
				}
				return false, nil
			}
		}},
		{"misplaced", func(c load.Check) int64 { return c.Misplaced }, func(d *disk) func(uint8, uint64, []byte) (bool, error) {
			return func(op uint8, lba uint64, buf []byte) (bool, error) {
				if op == wire.OpWrite && lba == 6 {
					copy(d.data[10*512:], buf)
				}
				return false, nil
			}
		}},
		{"corrupt", func(c load.Check) int64 { return c.Corrupt }, func(d *disk) func(uint8, uint64, []byte) (bool, error) {
			return func(op uint8, lba uint64, buf []byte) (bool, error) {
				if op == wire.OpRead && lba == 6 {
					buf[700] ^= 4
				}
				return false, nil
			}
		}},
	} {
		d := newDisk(64<<10, 8)
		d.lie = c.lie(d)
		o := options(load.RandMix)
		o.ReadShare, o.Verify = 50, true
		r, err := load.Run(t.Context(), []load.Lane{d}, o)
		if err != nil {
			t.Fatal(err)
		}
		if c.count == nil {
			if r.Check.Bad() != 0 || r.Check.Blocks < 64 || r.Check.First != "" {
				t.Errorf("%s: %+v", c.name, r.Check)
			}
			continue
		}
		if n := c.count(r.Check); n == 0 || n != r.Check.Bad() || r.Check.First == "" {
			t.Errorf("%s: %+v", c.name, r.Check)
		}
	}
}

func TestLocal(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 256<<10+7), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := load.OpenLocal(name, 512, true, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, b := l.Lane(8), l.Lane(8)
	defer a.Close()
	defer b.Close()
	o := options(load.RandMix)
	o.Capacity, o.Verify, o.FlushEach = l.Capacity(), true, 100
	r, err := load.Run(t.Context(), []load.Lane{a, b}, o)
	if err != nil || r.First != nil || r.Check.Bad() != 0 || r.Check.Blocks < 512 || r.Flush.Done == 0 {
		t.Errorf("%v, %+v", err, r)
	}
	if l.Capacity() != 256<<10 {
		t.Errorf("capacity %d", l.Capacity())
	}
	if _, err := load.OpenLocal(filepath.Join(t.TempDir(), "none"), 512, false, false); err == nil {
		t.Error("opened what is not there")
	}
}

// keeper is a disk that keeps the buffers it was given.
type keeper struct {
	*disk
	bufs map[int][]byte
}

func (k *keeper) Submit(slot int, op uint8, lba uint64, blocks int, buf []byte) error {
	k.bufs[slot] = buf
	return k.disk.Submit(slot, op, lba, blocks, buf)
}

// TestBuffers: nobody shares memory unless told to; then it is small enough to stay in
// a cache, and yet no two writes have the same data.
func TestBuffers(t *testing.T) {
	const size, depth = 64 << 10, 8
	for _, c := range []struct {
		pattern load.Pattern
		verify  bool
		shared  bool
	}{
		{load.RandRead, false, true},
		{load.RandWrite, false, true},
		{load.RandRead, false, false},
		{load.RandWrite, false, false},
		{load.SeqMix, false, false},
		{load.RandMix, false, false},
		{load.RandWrite, true, false},
		{load.RandRead, true, false},
	} {
		o := options(c.pattern)
		o.Size, o.Depth, o.Capacity, o.Count, o.Verify, o.Shared = size, depth, 4<<20, 100, c.verify, c.shared
		k := &keeper{newDisk(4<<20, depth), map[int][]byte{}}
		if _, err := load.Run(t.Context(), []load.Lane{k}, o); err != nil {
			t.Fatal(err)
		}
		var starts []uintptr
		contents := map[string]bool{}
		for _, b := range k.bufs {
			starts = append(starts, uintptr(unsafe.Pointer(&b[0])))
			contents[string(b)] = true
		}
		slices.Sort(starts)
		if len(starts) != depth {
			t.Fatalf("%s: %d buffers", c.pattern, len(starts))
		}
		if o.Pattern == load.RandWrite && len(contents) != depth {
			t.Errorf("%s: %d buffers have %d contents", c.pattern, depth, len(contents))
		}
		span := starts[depth-1] - starts[0]
		if c.shared && span > 4096*(depth-1) {
			t.Errorf("%s: buffers begin within %d bytes", c.pattern, span)
		}
		for i := 1; i < depth && !c.shared; i++ {
			if starts[i]-starts[i-1] < size {
				t.Errorf("%s, verified %v: buffers of %d bytes are %d apart", c.pattern, c.verify, size, starts[i]-starts[i-1])
			}
		}
	}
}
