//go:build unix

package flock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks a file until it is closed, alone or with others who share it, and reports
// whether it did. The lock of a process that ends, however it ends, is gone.
func Try(f *os.File, shared bool) (locked bool, err error) {
	how := unix.LOCK_EX | unix.LOCK_NB
	if shared {
		how = unix.LOCK_SH | unix.LOCK_NB
	}
	err = flock(f, how)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Wait locks a file alone, once nobody else has it.
func Wait(f *os.File) error { return flock(f, unix.LOCK_EX) }

// Release unlocks a file and closes it. To close it would not do: a process that was
// forked at that moment has it open until it has become another program.
func Release(f *os.File) error { return errors.Join(flock(f, unix.LOCK_UN), f.Close()) }

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
