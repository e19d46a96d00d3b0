package backend

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// zeroPages gives pages of private anonymous memory back; the kernel brings
// zeroes when they are next touched.
func zeroPages(b []byte) error {
	return os.NewSyscallError("madvise", unix.Madvise(b, unix.MADV_DONTNEED))
}

// zeroFile makes part of a file or of a block device zero without writing it.
// It reports whether that could be done.
func zeroFile(f *os.File, off, n int64, free bool) (bool, error) {
	mode := uint32(unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE)
	if free {
		mode = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	}
	err := control(f, func(fd int) error { return unix.Fallocate(fd, mode, off, n) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return false, nil
	}
	return true, os.NewSyscallError("fallocate", err)
}
