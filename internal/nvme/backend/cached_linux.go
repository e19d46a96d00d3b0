package backend

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

var _ Peeker = (*file)(nil)

// TryRead asks for what is in the page cache: with RWF_NOWAIT the call returns
// instantly where it had to read from the file or to wait for a lock (preadv2(2)).
// What is read past the page cache, and from file systems that do not know the
// flag, is never there.
func (b *file) TryRead(p []byte, lba uint64) (bool, error) {
	if b.align > 0 || b.uncached.Load() || len(p) == 0 {
		return false, nil
	}
	off, err := b.Info().offset(len(p), lba)
	if err != nil {
		return true, err
	}
	if !b.locks.tryShare(off, int64(len(p))) {
		return false, nil
	}
	defer b.locks.unshare(off, int64(len(p)))
	if b.fd < 0 { // closed, which takes all locks
		return true, ErrClosed
	}
	vec := syscall.Iovec{Base: &p[0]}
	vec.SetLen(len(p))
	// Not a call that tells the runtime: it takes no longer than a copy.
	n, _, errno := syscall.RawSyscall6(unix.SYS_PREADV2, uintptr(b.fd), uintptr(unsafe.Pointer(&vec)), 1, uintptr(off), 0, unix.RWF_NOWAIT)
	runtime.KeepAlive(p)
	if errno == syscall.EOPNOTSUPP || errno == syscall.ENOSYS || errno == syscall.EINVAL {
		b.uncached.Store(true)
	}
	return errno == 0 && int(n) == len(p), nil
}
