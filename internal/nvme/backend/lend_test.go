package backend

import (
	"bytes"
	"testing"
)

// TestLending: what is lent is the memory itself, writers of it wait until it
// comes back, and others do not.
func TestLending(t *testing.T) {
	b, err := NewMemory(64<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	l := b.(Lender)
	one := bytes.Repeat([]byte{1}, 512)
	if err := b.WriteBlocks(one, 255); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lba uint64
		n   int
	}{{255, 512}, {255, 1024}, {0, 512 * 600}} {
		got, ok := l.Lend(c.lba, c.n)
		if !ok || len(got) != c.n || cap(got) != c.n || got[(255-c.lba)*512] != 1 {
			t.Fatalf("%d bytes of block %d: %d, %v", c.n, c.lba, len(got), ok)
		}
		again, ok := l.Lend(c.lba, c.n)
		if !ok || &again[0] != &got[0] {
			t.Error("it is not the memory itself, or readers exclude each other")
		}
		l.Release(again)
		if done, err := l.TryWrite(one, 255); done || err != nil {
			t.Errorf("lent memory was written to: %v, %v", done, err)
		}
		if done, err := l.TryWrite(one, 4000); !done || err != nil {
			t.Errorf("memory far from what is lent: %v, %v", done, err)
		}
		written := make(chan error)
		go func() { written <- b.WriteBlocks(bytes.Repeat([]byte{1}, 512), 255) }()
		l.Release(got)
		if err := <-written; err != nil {
			t.Error(err)
		}
		if done, err := l.TryWrite(one, 255); !done || err != nil {
			t.Errorf("after it came back: %v, %v", done, err)
		}
	}
	if _, ok := l.Lend(64<<20/512, 512); ok {
		t.Error("lent what is not there")
	}
	lent, _ := l.Lend(0, 512)
	closed := make(chan error)
	go func() { closed <- b.Close() }()
	l.Release(lent)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, ok := l.Lend(0, 512); ok {
		t.Error("a closed backend lends")
	}
}
