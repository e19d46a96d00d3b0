package backend

import (
	"bytes"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// disk is a leg that can be broken. Like a real one it may forget what was not
// flushed when it breaks.
type disk struct {
	name   string
	size   int64
	stable Backend // flushed, or what it falls back to
	broken atomic.Bool
	opens  atomic.Int32
}

var errBroken = errors.New("the disk is broken")

func newDisk(t *testing.T, name string, size int64) *disk {
	t.Helper()
	b, err := NewMemory(size, 512)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return &disk{name: name, size: size, stable: b}
}

func (d *disk) leg() Leg {
	return Leg{d.name, func() (Backend, error) {
		d.opens.Add(1)
		if d.broken.Load() {
			return nil, errBroken
		}
		return &session{disk: d, written: map[uint64][]byte{}}, nil
	}}
}

// session is a disk from its opening to its failure: what is written stays in
// its cache until it is flushed.
type session struct {
	*disk
	mu      sync.Mutex
	written map[uint64][]byte // by block
}

func (s *session) ok() error {
	if s.broken.Load() {
		return errBroken
	}
	return nil
}

func (s *session) Info() Info {
	return Info{Size: s.size, BlockSize: 512, MayBlock: true}
}

func (s *session) ReadBlocks(p []byte, lba uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ok(); err != nil {
		return err
	}
	if err := s.stable.ReadBlocks(p, lba); err != nil {
		return err
	}
	for i := range uint64(len(p) / 512) {
		if b := s.written[lba+i]; b != nil {
			copy(p[i*512:], b)
		}
	}
	return nil
}

func (s *session) WriteBlocks(p []byte, lba uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ok(); err != nil {
		return err
	}
	for i := range uint64(len(p) / 512) {
		s.written[lba+i] = bytes.Clone(p[i*512:][:512])
	}
	return nil
}

func (s *session) ZeroBlocks(lba, n uint64, _ bool) error {
	return s.WriteBlocks(make([]byte, n*512), lba)
}

// CompareAndWrite is for a mirror, which compares by itself.
func (s *session) CompareAndWrite([]byte, []byte, uint64) (bool, error) {
	return false, errors.New("a leg of a mirror compares nothing")
}

func (s *session) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ok(); err != nil {
		return err
	}
	for lba, b := range s.written {
		if err := s.stable.WriteBlocks(b, lba); err != nil {
			return err
		}
	}
	clear(s.written)
	return nil
}

func (s *session) Close() error { return nil }

// pair is a mirror of two disks.
type pair struct {
	*testing.T
	a, b *disk
	o    MirrorOptions
}

func newPair(t *testing.T, size int64) *pair {
	p := &pair{T: t, a: newDisk(t, "a", size), b: newDisk(t, "b", size)}
	p.o = MirrorOptions{
		Legs: [2]Leg{p.a.leg(), p.b.leg()}, State: filepath.Join(t.TempDir(), "mirror", "state.json"), Retry: time.Millisecond,
	}
	return p
}

func (p *pair) open() *Mirror {
	p.Helper()
	m, err := OpenMirror(p.o)
	if err != nil {
		p.Fatal(err)
	}
	return m
}

// become waits until the mirror is in a state.
func (p *pair) become(m *Mirror, want [2]LegState) {
	p.Helper()
	for end := time.Now().Add(time.Minute); m.Status().Legs != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("%+v, want %q", m.Status(), want)
		}
	}
}

// same compares what both disks hold for good.
func (p *pair) same() {
	p.Helper()
	a, b := make([]byte, p.a.size), make([]byte, p.b.size)
	if err := errors.Join(p.a.stable.ReadBlocks(a, 0), p.b.stable.ReadBlocks(b, 0)); err != nil || !bytes.Equal(a, b) {
		p.Errorf("the halves differ (%v)", err)
	}
}

func (p *pair) close(m *Mirror) {
	p.Helper()
	if err := m.Close(); err != nil {
		p.Error(err)
	}
}

var (
	bothGood = [2]LegState{LegInSync, LegInSync}
	aAlone   = [2]LegState{LegInSync, LegFailed}
	bAlone   = [2]LegState{LegFailed, LegInSync}
)

func block(fill byte) []byte { return bytes.Repeat([]byte{fill}, 512) }

func (p *pair) write(m *Mirror, fill byte, lba uint64) {
	p.Helper()
	if err := m.WriteBlocks(block(fill), lba); err != nil {
		p.Fatal(err)
	}
}

func (p *pair) want(m *Mirror, fill byte, lba uint64) {
	p.Helper()
	got := make([]byte, 512)
	if err := m.ReadBlocks(got, lba); err != nil || !bytes.Equal(got, block(fill)) {
		p.Errorf("block %d begins with %d, %v, want %d", lba, got[0], err, fill)
	}
}
