package backend

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestWritesOfEveryLength: long data goes another way into memory than short,
// and neither touches what is beside it.
func TestWritesOfEveryLength(t *testing.T) {
	const block, size = 512, 1 << 20
	want, data := make([]byte, size), make([]byte, size+64)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	r := rand.New(rand.NewPCG(1, 2))
	b, err := NewMemory(size, block)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	got := make([]byte, size)
	for i := range 300 {
		n := block * (1 + r.IntN(size/block/2))
		lba := uint64(r.IntN((size-n)/block + 1))
		p := data[r.IntN(64):][:n]
		if i%2 == 0 {
			err = b.WriteBlocks(p, lba)
		} else if done, e := b.(Lender).TryWrite(p, lba); !done {
			t.Fatal("nobody holds a lock")
		} else {
			err = e
		}
		copy(want[lba*block:], p)
		if err == nil {
			err = b.ReadBlocks(got, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("after %d bytes to block %d the memory is another", n, lba)
		}
	}
}

func BenchmarkMemoryWrite(b *testing.B) {
	const size = 64 << 20
	m, err := NewMemory(size, 512)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	for at := 0; at < size; at += streamAt {
		_ = m.WriteBlocks(make([]byte, streamAt), uint64(at/512))
	}
	for _, n := range []int{4 << 10, 32 << 10, 64 << 10, 128 << 10} {
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			p := make([]byte, n)
			b.SetBytes(int64(n))
			for b.Loop() {
				if err := m.WriteBlocks(p, uint64(rand.IntN(size/n)*n/512)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
