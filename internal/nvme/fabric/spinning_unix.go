//go:build unix

package fabric

import (
	"os"
	"syscall"
)

// open makes the pipe. Without one nobody rests.
func (s *Spinning) open() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	if raw, err := r.SyscallConn(); err == nil {
		s.r, s.w, s.raw, s.wait = r, w, raw, s.tell
	}
}

// tell writes when it is called first, which lets the caller be woken, and reads when
// it is called again.
func (s *Spinning) tell(fd uintptr) bool {
	if !s.told {
		n, _ := s.w.Write(s.b[:])
		s.told = n == 1
		return !s.told
	}
	for {
		_, err := syscall.Read(int(fd), s.b[:])
		if err == syscall.EINTR {
			continue
		}
		s.told = err == syscall.EAGAIN // woken by something else
		return !s.told
	}
}
