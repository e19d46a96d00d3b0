package flock

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks a file until it is closed, alone or with others who share it, and reports
// whether it did. The lock of a process that ends, however it ends, is gone.
func Try(f *os.File, shared bool) (locked bool, err error) {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = lock(f, how)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// Wait locks a file alone, once nobody else has it.
func Wait(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// lock locks a byte beyond the text: nobody else may read what is locked.
func lock(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{Offset: math.MaxInt32})
}

// Release unlocks a file and closes it.
func Release(f *os.File) error { return f.Close() }
