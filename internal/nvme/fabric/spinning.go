package fabric

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Spinning is shared by the goroutines of a process that look for what comes next on
// their connections without sleeping. The zero Spinning is ready.
type Spinning struct {
	now  atomic.Int32
	dear atomic.Pointer[dear]

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

// A yield that takes longer than yieldMost is dear: not one that is waited for had the
// processor, but one that works, and kernels leave it to that for milliseconds. Then
// nobody yields for a while, which is twice as long if it is so again right after that.
const (
	yieldMost = time.Millisecond
	dearLeast = 10 * time.Millisecond
	dearMost  = time.Second
)

type dear struct {
	until time.Time
	lasts time.Duration
}

// MayYield reports whether who spins may let other threads go on.
func (s *Spinning) MayYield(now time.Time) bool {
	d := s.dear.Load()
	return d == nil || now.After(d.until)
}

// Yielded says how long that took, and reports whether one may again.
func (s *Spinning) Yielded(now time.Time, took time.Duration) bool {
	if took < yieldMost {
		return true
	}
	lasts := dearLeast
	if d := s.dear.Load(); d != nil && now.Sub(d.until) < d.lasts {
		lasts = min(2*d.lasts, dearMost)
	}
	s.dear.Store(&dear{now.Add(lasts), lasts})
	return false
}

// Rest lets goroutines go on that wait for their connections. The runtime asks for
// those when it has nothing else to run, and else every ten milliseconds: where as many
// as there are processors find something in each read, and so never wait, the others
// wait for that long. To wait for a pipe is to wait like them, and not for long.
func (s *Spinning) Rest() {
	if s.once.Do(s.open); s.raw != nil {
		_ = s.raw.Read(s.wait)
	}
}
