package backend

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

// TestTryRead: what was just written is read without waiting, unless someone
// writes there now; a closed file says so.
func TestTryRead(t *testing.T) {
	b, err := OpenFile(filepath.Join(t.TempDir(), "volume"), 1<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	f, want := b.(*file), bytes.Repeat([]byte{7}, 4096)
	if err := b.WriteBlocks(want, 8); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	done, err := f.TryRead(got, 8)
	if err != nil {
		t.Fatal(err)
	}
	if f.uncached.Load() {
		t.Skip("the file system of the temporary folder does not know RWF_NOWAIT")
	}
	if !done || !bytes.Equal(got, want) {
		t.Errorf("done %v, first byte %d", done, got[0])
	}
	if done, err := f.TryRead(got, 1<<20/512); !done || !errors.Is(err, ErrRange) {
		t.Errorf("past the end: %v, %v", done, err)
	}
	f.locks[0].Lock()
	if done, err := f.TryRead(got, 8); done || err != nil {
		t.Errorf("while it is written: %v, %v", done, err)
	}
	f.locks[0].Unlock()
	if n := testing.AllocsPerRun(100, func() { _, _ = f.TryRead(got, 8) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if done, err := f.TryRead(got, 8); !done || !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v, %v", done, err)
	}
}
