package nvmetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"weft/internal/nvme/backend"
)

// ErrPower is what a Lossy says while its power is off.
var ErrPower = errors.New("the power is off")

// Lossy is a disk with a volatile cache: when its power is cut, what was written
// since the last flush is lost or not, block by block.
type Lossy struct {
	// Forgets makes a disk that claims to have flushed and has not.
	Forgets bool

	info    backend.Info
	written atomic.Int64 // blocks

	mu     sync.RWMutex
	now    []byte
	stable []byte
	dirty  map[int64]bool // blocks
	off    bool
}

var _ backend.Backend = (*Lossy)(nil)

// NewLossy is a disk of size bytes that reads as zeroes.
func NewLossy(size int64, block int) *Lossy {
	return &Lossy{
		info: backend.Info{Size: size, BlockSize: block, MayBlock: true},
		now:  make([]byte, size), stable: make([]byte, size), dirty: map[int64]bool{},
	}
}

// Written is how many blocks were ever written.
func (l *Lossy) Written() int64 { return l.written.Load() }

// Cut cuts the power. It returns how many blocks were lost.
func (l *Lossy) Cut() (lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = true
	for b := range l.dirty {
		at := b * int64(l.info.BlockSize)
		have, want := l.now[at:][:l.info.BlockSize], l.stable[at:][:l.info.BlockSize]
		if rand.IntN(2) == 0 {
			copy(want, have) // the disk has got round to it
			continue
		}
		copy(have, want)
		lost++
	}
	clear(l.dirty)
	return lost
}

// Restore brings the power back.
func (l *Lossy) Restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = false
}

// span is where n bytes from block lba on are. The caller holds mu.
func (l *Lossy) span(lba uint64, n int) (int64, error) {
	blocks := uint64(l.info.Size / int64(l.info.BlockSize))
	switch {
	case l.off:
		return 0, ErrPower
	case n%l.info.BlockSize != 0 || lba > blocks || uint64(n/l.info.BlockSize) > blocks-lba:
		return 0, fmt.Errorf("%d bytes at block %d: %w", n, lba, backend.ErrRange)
	}
	return int64(lba) * int64(l.info.BlockSize), nil
}

// ReadBlocks is Backend's.
func (l *Lossy) ReadBlocks(p []byte, lba uint64) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	at, err := l.span(lba, len(p))
	if err == nil {
		copy(p, l.now[at:])
	}
	return err
}

// WriteBlocks is Backend's.
func (l *Lossy) WriteBlocks(p []byte, lba uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, err := l.span(lba, len(p))
	if err != nil {
		return err
	}
	l.put(p, at, lba)
	return nil
}

// put stores blocks that exist. The caller holds mu.
func (l *Lossy) put(p []byte, at int64, lba uint64) {
	copy(l.now[at:], p)
	for i := range len(p) / l.info.BlockSize {
		l.dirty[int64(lba)+int64(i)] = true
		l.written.Add(1)
	}
}

// ZeroBlocks is Backend's.
func (l *Lossy) ZeroBlocks(lba, n uint64, _ bool) error {
	zeroes := make([]byte, l.info.BlockSize)
	for i := range n {
		if err := l.WriteBlocks(zeroes, lba+i); err != nil {
			return err
		}
	}
	return nil
}

// CompareAndWrite is Backend's.
func (l *Lossy) CompareAndWrite(want, p []byte, lba uint64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, err := l.span(lba, len(p))
	if err != nil || !bytes.Equal(want, l.now[at:at+int64(len(p))]) {
		return false, err
	}
	l.put(p, at, lba)
	return true, nil
}

// Flush is Backend's.
func (l *Lossy) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.off:
		return ErrPower
	case l.Forgets:
		return nil
	}
	for b := range l.dirty {
		at := b * int64(l.info.BlockSize)
		copy(l.stable[at:][:l.info.BlockSize], l.now[at:])
	}
	clear(l.dirty)
	return nil
}

// Info is Backend's.
func (l *Lossy) Info() backend.Info { return l.info }

// Close leaves everything as it is: the disk may be opened again.
func (l *Lossy) Close() error { return nil }
