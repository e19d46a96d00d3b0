//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// descriptors are how many files and sockets this process may have open; 0 where
// the system does not say.
func descriptors() int {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return 0
	}
	return int(min(r.Cur, 1<<30))
}

// processorTime is what this process has used so far; nothing where the system
// does not say.
func processorTime() (user, system time.Duration) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0, 0
	}
	return time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
}
