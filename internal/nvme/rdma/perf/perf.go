// Package perf measures what RDMA does without NVMe: sends, writes and reads of
// one size between two machines, with the meanings that perftest gives its
// figures. It is what those of the data path are compared with.
//
// Both ends poll, but for one that is told of nothing. The end that is asked to
// answer needs no parameters: who measures tells it what to do.
package perf

import (
	"encoding/binary"
	"errors"
	"fmt"

	"weft/internal/nvme/rdma/verbs"
)

// Op is what is measured.
type Op string

// The operations.
const (
	Send  Op = "send"
	Write Op = "write"
	Read  Op = "read"
)

// Ops lists the operations.
func Ops() []Op { return []Op{Send, Write, Read} }

// Shape is one measurement.
type Shape struct {
	Op        Op
	Bandwidth bool // else latency
	Size      int  // bytes of a message
	Depth     int  // of Bandwidth: messages under way; of latency it is 1

	// Samples ends a measurement when so many messages were measured; 0: when the
	// time is over. The other end is not told.
	Samples int64
}

// Most of what a Shape may say.
const (
	MaxSize  = 8 << 20
	MaxDepth = 1024
)

// Validate reports a shape that nobody can have.
func (s Shape) Validate() error {
	switch {
	case s.Op != Send && s.Op != Write && s.Op != Read:
		return fmt.Errorf("operation %q is not one of %q", s.Op, Ops())
	case s.Size < 1 || s.Size > MaxSize:
		return fmt.Errorf("messages of %d bytes, want 1 to %d", s.Size, MaxSize)
	case s.Depth < 1 || s.Depth > MaxDepth || !s.Bandwidth && s.Depth != 1:
		return fmt.Errorf("%d messages under way, want 1 to %d, and 1 where latency is measured", s.Depth, MaxDepth)
	}
	return nil
}

// Name is what the program of perftest is called that measures the same.
func (s Shape) Name() string {
	if s.Bandwidth {
		return "ib_" + string(s.Op) + "_bw"
	}
	return "ib_" + string(s.Op) + "_lat"
}

// memory is where a peer may write to and read from, as it is told.
type memory struct {
	addr uint64
	key  uint32
}

// What both ends say while they connect.
const (
	magic     = "weftVP1\n"
	helloSize = len(magic) + 4 + 4 + 4 + 12
)

var le = binary.LittleEndian

// hello is what who measures says.
func (s Shape) hello(m memory) []byte {
	b := append([]byte(magic), s.Op[0], 0, 0, 0)
	if s.Bandwidth {
		b[len(magic)+1] = 1
	}
	b = le.AppendUint32(b, uint32(s.Size))
	b = le.AppendUint32(b, uint32(s.Depth))
	return append(b, m.bytes()...)
}

func (m memory) bytes() []byte { return le.AppendUint32(le.AppendUint64(nil, m.addr), m.key) }

func readMemory(b []byte) (memory, error) {
	if len(b) < 12 {
		return memory{}, errors.New("the peer does not say where its memory is")
	}
	return memory{le.Uint64(b), le.Uint32(b[8:])}, nil
}

// readHello reads what who measures wants.
func readHello(b []byte) (s Shape, m memory, err error) {
	if len(b) < helloSize || string(b[:len(magic)]) != magic {
		return s, m, errors.New("the peer does not want to measure")
	}
	b = b[len(magic):]
	for _, op := range Ops() {
		if op[0] == b[0] {
			s.Op = op
		}
	}
	s.Bandwidth, s.Size, s.Depth = b[1] == 1, int(le.Uint32(b[4:])), int(le.Uint32(b[8:]))
	if m, err = readMemory(b[12:]); err == nil {
		err = s.Validate()
	}
	return s, m, err
}

// room is how many messages the queues of either end hold.
func (s Shape) room() verbs.Queue {
	return verbs.Queue{Sends: s.Depth + 1, Receives: 2*s.Depth + 1, Inline: verbs.MaxInline}
}
