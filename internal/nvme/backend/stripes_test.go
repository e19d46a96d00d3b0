package backend

import (
	"bytes"
	"slices"
	"testing"
)

// Nobody reads or writes a block between its comparing and its writing.
func TestSwapOwnsItsBlock(t *testing.T) {
	var s stripes
	var did []string
	part := func(what string) func([]byte, int64) error {
		return func(p []byte, off int64) error {
			if s[1].TryRLock() || off != stripeBytes+512 {
				t.Errorf("%s at %d: others may read", what, off)
			}
			did = append(did, what)
			return nil
		}
	}
	for _, want := range [][]byte{make([]byte, 512), bytes.Repeat([]byte{1}, 512)} {
		if _, err := s.swap(want, make([]byte, 512), stripeBytes+512, part("read"), part("write")); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(did, []string{"read", "write", "read"}) {
		t.Error(did)
	}
}

// TestLongSpansLetOthersIn: while a part of a span is worked on, that part is
// owned, nothing else is, and a part is no more than a piece.
func TestLongSpansLetOthersIn(t *testing.T) {
	const off, n = 3*stripeBytes + 512, 1<<30 + 700
	for _, most := range []int64{stripeBytes, pieceBytes} {
		var s stripes
		next := int64(off)
		err := s.span(off, n, most, func(at, part int64) error {
			if at != next || part <= 0 || part > most {
				t.Fatalf("a part of %d bytes at %d, want at most %d at %d", part, at, most, next)
			}
			next += part
			first, last := at/stripeBytes, (at+part-1)/stripeBytes
			for i := range int64(stripeCount) {
				own := (i-first%stripeCount+stripeCount)%stripeCount <= last-first
				free := s[i].TryRLock()
				if free {
					s[i].RUnlock()
				}
				if free == own {
					t.Fatalf("part of stripes %d to %d: stripe %d can be read: %v", first, last, i, free)
				}
			}
			return nil
		})
		if err != nil || next != off+n {
			t.Errorf("ends at %d, want %d: %v", next, int64(off+n), err)
		}
	}
}

// TestZeroingIsInPieces: what a backend deallocates at once, a read of another
// piece need not wait for.
func TestZeroingIsInPieces(t *testing.T) {
	t.Parallel()
	m, err := NewMemory(1<<30, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l := m.(Lender)
	held, ok := l.Lend((1<<30-4096)/4096, 4096) // in its last piece, where zeroing now waits
	if !ok {
		t.Fatal("nothing is lent")
	}
	done := make(chan error)
	go func() { done <- m.ZeroBlocks(0, 1<<30/4096, true) }()
	const locks = stripeCount * stripeBytes // what is so far apart shares them
	for piece := int64(0); piece < 1<<30; piece += pieceBytes {
		if piece%locks == locks-pieceBytes {
			continue
		}
		p := make([]byte, 4096)
		if err := m.WriteBlocks(p, uint64(piece/4096)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-done:
		t.Error("it has not waited for what is lent")
	default:
	}
	l.Release(held)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
