package dir

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const (
	foldersSync = false // NTFS keeps a journal of names
	readersLock = true  // nothing is put in the place of a file that somebody reads
)

// lockFile locks a file until it is closed, and reports whether it did.
func lockFile(f *os.File, shared bool) (locked bool, err error) {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
