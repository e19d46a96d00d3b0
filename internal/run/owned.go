package run

import (
	"fmt"
	"os"
	"runtime"

	"weft/internal/hint"
)

// owned refuses the record of a run that others may have written: what its
// plan reads of this machine was asked about when the run began.
func owned(paths ...string) error {
	if runtime.GOOS == "windows" {
		return nil // modes say nothing there
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 || !mine(info) {
			return hint.Wrap(fmt.Errorf("%s may have been written by others: its mode is %s, and weft's own records are their owner's only", path, info.Mode()),
				"a run is gone on with where it began, by who began it; never copy .weft/store from elsewhere")
		}
	}
	return nil
}
