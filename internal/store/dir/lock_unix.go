//go:build unix

package dir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const (
	foldersSync = true
	readersLock = false // a rename is there at once, whoever reads
)

// lockFile locks a file until it is closed, and reports whether it did.
func lockFile(f *os.File, shared bool) (locked bool, err error) {
	how := unix.LOCK_EX | unix.LOCK_NB
	if shared {
		how = unix.LOCK_SH | unix.LOCK_NB
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
