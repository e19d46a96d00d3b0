//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package backend

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// claim makes sure that no other backend, here or in another process, and by
// whatever name, has this file.
func claim(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errors.New("another namespace or process uses this file")
	}
	return os.NewSyscallError("flock", err)
}
