// Package pingpong measures what a TCP connection does without NVMe: requests
// of one size, replies of another, and nothing in between. It is what the
// figures of the data path are compared with.
package pingpong

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Shape is what goes to and fro.
type Shape struct {
	Request int  // bytes of a request
	Reply   int  // bytes of its reply
	Depth   int  // requests outstanding; more than 1 needs Poll
	Poll    bool // both ends poll on threads of their own, else they block

	// What the other end is not told.
	Samples int64 // end with so many round trips measured; 0: when the time is over
	Half    bool  // a latency is half of a round trip, as perftest has it
}

// Most of what a Shape may say.
const (
	MaxSize  = 4 << 20
	MaxDepth = 1024
)

// Validate reports a shape that nobody can have.
func (s Shape) Validate() error {
	switch {
	case s.Request < 1 || s.Request > MaxSize || s.Reply < 1 || s.Reply > MaxSize:
		return fmt.Errorf("requests of %d bytes and replies of %d, want 1 to %d", s.Request, s.Reply, MaxSize)
	case s.Depth < 1 || s.Depth > MaxDepth:
		return fmt.Errorf("depth %d, want 1 to %d", s.Depth, MaxDepth)
	case s.Depth > 1 && !s.Poll:
		return errors.New("a depth above 1 needs polling")
	}
	return nil
}

// Hello is what a client says first: the magic, then request, reply and depth
// as 32 bits, then 1 for polling.
const (
	magic     = "weftPP1\n"
	helloSize = len(magic) + 4*4
	helloTime = 10 * time.Second // how long a client may take to say it
)

func (s Shape) hello() []byte {
	b := []byte(magic)
	for _, v := range []int{s.Request, s.Reply, s.Depth} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	poll := uint32(0)
	if s.Poll {
		poll = 1
	}
	return binary.LittleEndian.AppendUint32(b, poll)
}

// errOther is a client that does not say what it wants.
var errOther = errors.New("not served")

// readHello reads the shape that a client wants.
func readHello(c net.Conn) (s Shape, err error) {
	b := make([]byte, helloSize)
	_ = c.SetReadDeadline(time.Now().Add(helloTime))
	if _, err := io.ReadFull(c, b); err != nil {
		return s, fmt.Errorf("read what the client wants: %w", err)
	}
	_ = c.SetReadDeadline(time.Time{})
	if string(b[:len(magic)]) != magic {
		return s, errors.New("the client does not speak ping-pong")
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[len(magic)+4*i:]) }
	for i := range 3 {
		if word(i) > MaxSize {
			return s, fmt.Errorf("the client wants %d of something", word(i))
		}
	}
	s = Shape{Request: int(word(0)), Reply: int(word(1)), Depth: int(word(2)), Poll: word(3) == 1}
	return s, s.Validate()
}
