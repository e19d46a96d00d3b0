// Package backend keeps the blocks of namespaces, in memory or in files.
package backend

import (
	"errors"
	"fmt"
)

// A Backend is a row of blocks of one size, numbered from 0. Its methods may be
// called concurrently. A read sees every block either before or after a
// concurrent write, never torn; several blocks of one call may.
type Backend interface {
	// ReadBlocks fills p from block lba on; len(p) is a multiple of BlockSize.
	ReadBlocks(p []byte, lba uint64) error
	// WriteBlocks stores p from block lba on; len(p) is a multiple of BlockSize.
	WriteBlocks(p []byte, lba uint64) error
	// ZeroBlocks makes n blocks from block lba on read as zeroes. With free it
	// gives their space back where it can.
	ZeroBlocks(lba, n uint64, free bool) error
	// CompareAndWrite writes p to block lba if that holds what want does, and
	// reports whether it did; both are of one block. Other calls on the block come
	// before or after it, never between its reading and its writing. An error with
	// true is of the writing.
	CompareAndWrite(want, p []byte, lba uint64) (same bool, err error)

	// Flush returns when all writes that returned before are as durable as the
	// backend can make them. Once it has failed it fails for good: what was
	// lost is not known.
	Flush() error
	// Info never changes, but for the size of a Grower.
	Info() Info
	// Close waits for calls under way; later ones wrap ErrClosed.
	Close() error
}

// A Peeker is a backend that may have blocks at hand though its calls may wait for a
// device.
type Peeker interface {
	Backend

	// TryRead is ReadBlocks unless it had to wait; then it reports false, and what
	// is in p is undefined.
	TryRead(p []byte, lba uint64) (bool, error)
}

// A Grower is a backend that may be all of something which can grow.
type Grower interface {
	Backend

	// Grow looks how much there is beneath. What has come to a backend that is all
	// of it belongs to it from now on. It is an error that changes nothing if there
	// is less than the backend has; where nothing is left it is no error: then
	// commands say so.
	Grow() error
}

// Info is what a backend is.
type Info struct {
	Size      int64 // in bytes, a multiple of BlockSize
	BlockSize int   // in bytes
	MayBlock  bool  // a call may wait for a device
	Cached    bool  // writes go to memory of the system, which keeps processors busy more than it waits
}

// What calls wrap when their caller is at fault.
var (
	ErrRange  = errors.New("outside the blocks there are")
	ErrClosed = errors.New("backend is closed")
)

// validate reports a shape that no backend has.
func (s Info) validate() error {
	if s.BlockSize < 512 || s.BlockSize&(s.BlockSize-1) != 0 {
		return fmt.Errorf("block size %d is not a power of two from 512 on", s.BlockSize)
	}
	if s.Size <= 0 || s.Size%int64(s.BlockSize) != 0 {
		return fmt.Errorf("size %d is not a positive multiple of the block size %d", s.Size, s.BlockSize)
	}
	return nil
}

// offset is where block lba begins, in bytes, if n bytes from there on are
// whole blocks that exist.
func (s Info) offset(n int, lba uint64) (int64, error) {
	blocks := uint64(s.Size / int64(s.BlockSize))
	if n%s.BlockSize != 0 || lba > blocks || uint64(n/s.BlockSize) > blocks-lba {
		return 0, fmt.Errorf("%d bytes at block %d of %d: %w", n, lba, blocks, ErrRange)
	}
	return int64(lba) * int64(s.BlockSize), nil
}

// span is where n blocks from block lba on begin and how long they are, in
// bytes, if they exist.
func (s Info) span(lba, n uint64) (off, length int64, err error) {
	blocks := uint64(s.Size / int64(s.BlockSize))
	if lba > blocks || n > blocks-lba {
		return 0, 0, fmt.Errorf("%d blocks at block %d of %d: %w", n, lba, blocks, ErrRange)
	}
	return int64(lba) * int64(s.BlockSize), int64(n) * int64(s.BlockSize), nil
}

// block is where block lba begins, in bytes, if it exists and a and b are as long.
func (s Info) block(a, b []byte, lba uint64) (int64, error) {
	if len(a) != s.BlockSize || len(b) != s.BlockSize {
		return 0, fmt.Errorf("%d bytes to compare and %d to write, want one block of %d: %w", len(a), len(b), s.BlockSize, ErrRange)
	}
	return s.offset(s.BlockSize, lba)
}
