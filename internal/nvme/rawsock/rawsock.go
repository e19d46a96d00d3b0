// Package rawsock reads and writes connected sockets without the runtime's
// scheduler: its calls never block, never allocate and are not watched.
//
// A goroutine that polls sockets should own its thread (Own); on others the
// calls work but the scheduler may move them about. Linux only.
package rawsock

import (
	"errors"
	"time"
)

// ErrUnsupported is every function's error on systems other than Linux.
var ErrUnsupported = errors.New("polling sockets works on Linux only")

// MaxVector is the most slices that one Write sends.
const MaxVector = 256

// A Path is what the kernel has seen of the way to a peer.
type Path struct {
	RTT  time.Duration // the shortest time to the peer and back, of some minutes; 0: not known
	Rate uint64        // bytes a second that arrived last
}
