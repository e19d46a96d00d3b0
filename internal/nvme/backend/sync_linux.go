package backend

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes the data durable, and of the metadata what finding it needs.
func datasync(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		for {
			if result = unix.Fdatasync(int(fd)); !errors.Is(result, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return os.NewSyscallError("fdatasync", result)
}
