//go:build unix

package load

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// processTime is the processor time of this process so far.
func processTime() (user, system time.Duration, err error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, 0, fmt.Errorf("read processor time: %w", err)
	}
	return time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano()), nil
}
