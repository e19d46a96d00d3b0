package backend

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes the data durable, and of the metadata what finding it needs.
func datasync(f *os.File) error {
	return os.NewSyscallError("fdatasync", control(f, unix.Fdatasync))
}

// control runs a system call on the descriptor of f, again when a signal has
// interrupted it.
func control(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		for {
			if result = call(int(fd)); !errors.Is(result, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return fs.ErrClosed // the only reason there is
	}
	return result
}
