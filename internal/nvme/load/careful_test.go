package load_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"weft/internal/nvme/load"
	"weft/internal/nvme/wire"
)

// The first job of a database writes in sequence and flushes after each write, the others
// read and write pages and flush nothing.
func TestDatabase(t *testing.T) {
	o := options(load.Database)
	o.Count = 300
	log, pages := newDisk(64<<10, 8), newDisk(64<<10, 8)
	var order []uint8
	log.lie = func(op uint8, _ uint64, _ []byte) (bool, error) { order = append(order, op); return false, nil }
	r, err := load.Run(t.Context(), []load.Lane{log, pages}, o)
	if err != nil || r.First != nil {
		t.Fatal(err, r.First)
	}
	if log.ops[wire.OpRead] != 0 || pages.ops[wire.OpFlush] != 0 || pages.ops[wire.OpRead] == 0 || pages.ops[wire.OpWrite] == 0 {
		t.Errorf("log %v, pages %v", log.ops, pages.ops)
	}
	for i, op := range order {
		if want := map[bool]uint8{true: wire.OpWrite, false: wire.OpFlush}[i%2 == 0]; op != want {
			t.Fatalf("command %d of the log is %d, want %d", i, op, want)
		}
	}
	for what, spoilt := range map[string]func(*load.Options) int{
		"one job":         func(*load.Options) int { return 1 },
		"another flush":   func(o *load.Options) int { o.FlushEach = 3; return 2 },
		"careful, unseen": func(o *load.Options) int { o.Careful = true; return 2 },
	} {
		o := o
		if jobs := spoilt(&o); o.Validate(jobs) == nil {
			t.Errorf("%s: taken", what)
		}
	}
}

// A careful load writes nothing where anything stands that no load has written: within what
// it would overwrite, or at the end of the device, and not where a read fails either.
func TestCareful(t *testing.T) {
	run := func(d *disk) (*load.Result, error) {
		o := options(load.RandWrite)
		o.Capacity, o.Span, o.Count, o.Verify, o.Careful = 4<<20, 64<<10, 100, true, true
		return load.Run(t.Context(), []load.Lane{d}, o)
	}
	written := newDisk(4<<20, 8)
	if r, err := run(written); err != nil || r.Write.Done != 100 || r.Check.Bad() != 0 {
		t.Fatalf("blank: %v %+v", err, r)
	}
	if r, err := run(written); err != nil || r.Write.Done != 100 {
		t.Errorf("of an earlier load: %v", err)
	}
	copy(written.data[10*512:], make([]byte, 100)) // a machine has lost power in the middle of a block
	if _, err := run(written); err != nil {
		t.Errorf("half a block of an earlier load: %v", err)
	}
	for _, at := range []int{0, 513, 64<<10 - 1, 3<<20 + 17, 4<<20 - 1} {
		d := newDisk(4<<20, 8)
		d.data[at] = 1
		before := bytes.Clone(d.data)
		_, err := run(d)
		var foreign *load.ForeignError
		if !errors.As(err, &foreign) || !strings.Contains(err.Error(), fmt.Sprintf("block %d is not empty", at/512)) {
			t.Errorf("a byte at %d: %v", at, err)
		}
		if !bytes.Equal(d.data, before) || d.ops[wire.OpWrite] != 0 {
			t.Errorf("a byte at %d: %d writes", at, d.ops[wire.OpWrite])
		}
	}
	d := newDisk(4<<20, 8)
	d.lie = func(op uint8, lba uint64, _ []byte) (bool, error) {
		if op == wire.OpRead && lba == 6 {
			return false, errors.New("media")
		}
		return false, nil
	}
	if _, err := run(d); err == nil || !strings.Contains(err.Error(), "media") || d.ops[wire.OpWrite] != 0 {
		t.Errorf("a read that fails: %v, %d writes", err, d.ops[wire.OpWrite])
	}
}
