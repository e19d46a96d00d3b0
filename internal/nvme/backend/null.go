package backend

import (
	"bytes"
	"fmt"
)

// null has blocks of zeroes and forgets what is written.
type null struct{ info Info }

// NewNull returns a backend that reads as zeroes and keeps nothing: for
// measuring everything but the blocks.
func NewNull(size int64, block int) (Backend, error) {
	n := &null{info: Info{Size: size, BlockSize: block}}
	if err := n.info.validate(); err != nil {
		return nil, fmt.Errorf("null backend: %w", err)
	}
	return n, nil
}

func (n *null) ReadBlocks(p []byte, lba uint64) error {
	if _, err := n.info.offset(len(p), lba); err != nil {
		return err
	}
	clear(p)
	return nil
}

func (n *null) WriteBlocks(p []byte, lba uint64) error {
	_, err := n.info.offset(len(p), lba)
	return err
}

func (n *null) ZeroBlocks(lba, count uint64, _ bool) error {
	_, _, err := n.info.span(lba, count)
	return err
}

// CompareAndWrite compares with zeroes.
func (n *null) CompareAndWrite(want, p []byte, lba uint64) (bool, error) {
	_, err := n.info.block(want, p, lba)
	return err == nil && bytes.Equal(want, make([]byte, len(want))), err
}

func (n *null) Flush() error { return nil }
func (n *null) Info() Info   { return n.info }
func (n *null) Close() error { return nil }
