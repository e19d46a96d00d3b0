package run

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks a file, and reports whether it did. Nobody else may read what is
// locked: it is a byte beyond the text.
func lockFile(f *os.File, mode lockMode) (locked bool, err error) {
	how := map[lockMode]uint32{lockTry: windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY,
		lockWait: windows.LOCKFILE_EXCLUSIVE_LOCK, lockShared: windows.LOCKFILE_FAIL_IMMEDIATELY}[mode]
	err = windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{Offset: math.MaxInt32})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
