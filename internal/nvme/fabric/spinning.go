package fabric

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// Spinning is shared by the goroutines of a process that look for what comes next on
// their connections without sleeping. The zero Spinning is ready.
type Spinning struct {
	now atomic.Int32

	once sync.Once
	r, w *os.File // closed when nobody refers to them any more
	raw  syscall.RawConn
	told bool // there is a byte in the pipe; guarded by the lock of reads of r
	b    [1]byte
	wait func(fd uintptr) bool
}

// Begin reports whether one more may spin, of so many. End follows in any case.
func (s *Spinning) Begin(most int32) bool { return s.now.Add(1) <= most }

// End says that one does not spin any more.
func (s *Spinning) End() { s.now.Add(-1) }

// Rest lets goroutines go on that wait for their connections. The runtime asks for
// those when it has nothing else to run, and else every ten milliseconds: where as many
// as there are processors find something in each read, and so never wait, the others
// wait for that long. To wait for a pipe is to wait like them, and not for long.
func (s *Spinning) Rest() {
	if s.once.Do(s.open); s.raw != nil {
		_ = s.raw.Read(s.wait)
	}
}
