package backend

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestMirrorConformance(t *testing.T) {
	for name, check := range map[string]func(*testing.T, Backend){
		"shape": checkShape, "round trip": checkRoundTrip, "range": checkRange, "whole block": checkWholeBlocks, "zeroes": checkZeroes, "closed": checkClosed, "compare": checkCompareAndWrite,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, testSize)
			m := p.open()
			check(t, m)
			p.close(m)
			p.close(m)
			p.same()
		})
	}
}

// A leg that fails costs nothing, and gets what it has missed when it is back.
func TestMirrorLosesALeg(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		which func(*pair) *disk
		hurt  func(*Mirror) error
		alone [2]LegState
	}{
		"first, by a write":  {func(p *pair) *disk { return p.a }, func(m *Mirror) error { return m.WriteBlocks(block(2), 9) }, bAlone},
		"second, by a write": {func(p *pair) *disk { return p.b }, func(m *Mirror) error { return m.WriteBlocks(block(2), 9) }, aAlone},
		"second, by a flush": {func(p *pair) *disk { return p.b }, func(m *Mirror) error { return errors.Join(m.Flush(), m.WriteBlocks(block(2), 9)) }, aAlone},
		"first, by a read":   {func(p *pair) *disk { return p.a }, func(m *Mirror) error { return errors.Join(m.ReadBlocks(block(0), 9), m.WriteBlocks(block(2), 9)) }, bAlone},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 4<<20)
			m := p.open()
			p.become(m, bothGood)
			p.write(m, 1, 7) // not flushed: the leg that fails forgets it
			d := c.which(p)
			d.broken.Store(true)
			if err := c.hurt(m); err != nil {
				t.Fatal(err)
			}
			p.become(m, c.alone)
			p.write(m, 3, 4<<20/512-1)
			for lba, fill := range map[uint64]byte{7: 1, 9: 2, 4<<20/512 - 1: 3, 8: 0} {
				p.want(m, fill, lba)
			}
			if s := m.Status(); s.Behind == 0 || !errors.Is(s.Err, errBroken) {
				t.Errorf("%+v", s)
			}
			d.broken.Store(false)
			p.become(m, bothGood)
			if s := m.Status(); s.Behind != 0 || s.Err != nil {
				t.Errorf("%+v", s)
			}
			if err := m.Flush(); err != nil {
				t.Error(err)
			}
			p.same()
			p.close(m)
		})
	}
}

// Whatever breaks while the mirror is written, nothing that was flushed is
// lost, and the halves become the same again.
func TestMirrorUnderLoad(t *testing.T) {
	t.Parallel()
	p := newPair(t, 8<<20)
	m := p.open()
	const writers, rounds = 4, 300
	blocks := p.a.size / 512 / writers
	last := make([]map[uint64]byte, writers)
	var wg sync.WaitGroup
	for w := range writers {
		last[w] = map[uint64]byte{}
		wg.Go(func() {
			for i := range rounds {
				lba, fill := uint64(int64(w)*blocks+rand.Int64N(blocks)), byte(i)
				if err := m.WriteBlocks(block(fill), lba); err != nil {
					t.Error(err)
					return
				}
				last[w][lba] = fill
				if i%16 == 0 {
					if err := m.Flush(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	stop := make(chan struct{})
	var breaker sync.WaitGroup
	breaker.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			d := []*disk{p.a, p.b}[i%2]
			p.become(m, bothGood) // never both at once
			d.broken.Store(true)
			_ = m.WriteBlocks(block(0), 0)
			last := uint64(p.a.size/512 - 1)
			_ = m.ReadBlocks(make([]byte, 512), last)
			d.broken.Store(false)
		}
	})
	wg.Wait()
	close(stop)
	breaker.Wait()
	p.become(m, bothGood)
	for w := range last {
		for lba, fill := range last[w] {
			if lba != 0 {
				p.want(m, fill, lba)
			}
		}
	}
	if err := m.Flush(); err != nil {
		t.Error(err)
	}
	p.same()
	p.close(m)
}

func TestMirrorWithoutAnyLeg(t *testing.T) {
	p := newPair(t, 1<<20)
	m := p.open()
	p.become(m, bothGood)
	p.write(m, 1, 0)
	if err := m.Flush(); err != nil {
		t.Fatal(err)
	}
	p.a.broken.Store(true)
	p.write(m, 2, 0)
	p.b.broken.Store(true)
	if err := m.WriteBlocks(block(3), 0); !errors.Is(err, errBroken) {
		t.Errorf("write: %v", err)
	}
	if err := m.ReadBlocks(block(0), 0); !errors.Is(err, errBroken) {
		t.Errorf("read: %v", err)
	}
	if err := m.Flush(); !errors.Is(err, errBroken) {
		t.Errorf("flush: %v", err)
	}
	p.b.broken.Store(false)
	p.want(m, 2, 0)
	p.a.broken.Store(false)
	p.become(m, bothGood)
	p.close(m)
	p.same()
}

// crash leaves a mirror without closing it properly.
func (p *pair) crash(m *Mirror) {
	p.Helper()
	text, err := os.ReadFile(p.o.State)
	if err != nil {
		p.Fatal(err)
	}
	for _, d := range []*disk{p.a, p.b} {
		d.broken.Store(true) // what Close would flush is lost
	}
	_ = m.Close()
	for _, d := range []*disk{p.a, p.b} {
		d.broken.Store(false)
	}
	if err := os.WriteFile(p.o.State, text, 0o600); err != nil {
		p.Fatal(err)
	}
}

func TestMirrorOpens(t *testing.T) {
	t.Parallel()
	t.Run("clean", func(t *testing.T) {
		p := newPair(t, 4<<20)
		m := p.open()
		p.become(m, bothGood) // the first time everything is copied
		p.close(m)
		m = p.open()
		if s := m.Status(); s.Legs != bothGood || s.Behind != 0 {
			t.Errorf("closed properly, and yet %+v", s)
		}
		p.close(m)
	})
	t.Run("after a crash", func(t *testing.T) {
		p := newPair(t, 4<<20)
		m := p.open()
		p.become(m, bothGood)
		p.write(m, 1, 0)
		p.crash(m)
		if err := p.b.stable.WriteBlocks(block(1), 0); err != nil { // this half has kept it
			t.Fatal(err)
		}
		m = p.open()
		p.want(m, 0, 0)
		p.become(m, bothGood)
		p.close(m)
		p.same()
	})
	t.Run("with the half that was left behind", func(t *testing.T) {
		p := newPair(t, 4<<20)
		m := p.open()
		p.become(m, bothGood)
		p.a.broken.Store(true)
		p.write(m, 5, 3)
		p.become(m, bAlone)
		p.close(m)
		m = p.open() // the first is still broken
		p.want(m, 5, 3)
		p.close(m)
		p.a.broken.Store(false)
		p.b.broken.Store(true)
		if _, err := OpenMirror(p.o); err == nil || !strings.Contains(err.Error(), "b, the half that is up to date") {
			t.Errorf("opened with the stale half: %v", err)
		}
		p.b.broken.Store(false)
		m = p.open()
		p.become(m, bothGood)
		p.want(m, 5, 3)
		p.close(m)
		p.same()
	})
	t.Run("with either half", func(t *testing.T) {
		p := newPair(t, 1<<20)
		m := p.open()
		p.become(m, bothGood)
		p.close(m)
		p.a.broken.Store(true)
		m = p.open()
		p.write(m, 1, 1)
		p.a.broken.Store(false)
		p.become(m, bothGood)
		p.want(m, 1, 1)
		p.close(m)
		p.same()
	})
}

func TestMirrorRefuses(t *testing.T) {
	p := newPair(t, 1<<20)
	p.o.Legs[1] = newDisk(t, "larger", 2<<20).leg()
	if _, err := OpenMirror(p.o); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("halves of two sizes: %v", err)
	}
	p = newPair(t, 1<<20)
	p.a.broken.Store(true)
	if _, err := OpenMirror(p.o); !errors.Is(err, errBroken) {
		t.Errorf("new, with the second half only: %v", err)
	}
	p = newPair(t, 1<<20)
	if err := os.MkdirAll(filepath.Dir(p.o.State), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.o.State, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenMirror(p.o); err == nil || !strings.Contains(err.Error(), p.o.State) {
		t.Errorf("a state file that is none: %v", err)
	}
}

// What only one half has is not acknowledged before that is on record.
func TestMirrorWithoutRecord(t *testing.T) {
	p := newPair(t, 1<<20)
	m := p.open()
	p.become(m, bothGood)
	dir := filepath.Dir(p.o.State)
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be made there
		t.Fatal(err)
	}
	p.b.broken.Store(true)
	for range 2 {
		if err := m.WriteBlocks(block(1), 0); err == nil || !strings.Contains(err.Error(), "noting") {
			t.Errorf("acknowledged without a record: %v", err)
		}
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".gone", dir)); err != nil {
		t.Fatal(err)
	}
	p.write(m, 2, 0)
	p.b.broken.Store(false)
	p.become(m, bothGood)
	p.want(m, 2, 0)
	p.close(m)
	p.same()
}
