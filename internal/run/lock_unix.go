//go:build unix

package run

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks a file, and reports whether it did.
func lockFile(f *os.File, mode lockMode) (locked bool, err error) {
	how := map[lockMode]int{lockTry: unix.LOCK_EX | unix.LOCK_NB, lockWait: unix.LOCK_EX, lockShared: unix.LOCK_SH | unix.LOCK_NB}[mode]
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
