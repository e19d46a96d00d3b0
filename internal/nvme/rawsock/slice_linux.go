package rawsock

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ShortSlices asks the kernel to have the threads of this process, and those that
// they will start, go on for no longer than so where others wait for their
// processor, and reports whether it does: Linux 6.12 and later do. It takes nothing
// from anybody: who yields gives up a slice, which is a short one then.
//
// A thread has the slice of the one that starts it, so that it is asked for until no
// thread has another. syscall.AllThreadsSyscall would be one call, and refuses where a
// library of C is loaded, as libibverbs is in weft-target.
func ShortSlices(most time.Duration) bool {
	for range 100 {
		others, err := shorten(uint64(most))
		if err != nil {
			return false
		}
		if others == 0 {
			return true
		}
	}
	return false // older kernels know slices of other classes only
}

// shorten sets the slice of all threads, and says how many had another.
func shorten(slice uint64) (others int, err error) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0, err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return 0, err
		}
		a, err := unix.SchedGetAttr(tid, 0)
		if err == nil && a.Runtime != slice {
			others++
			a.Runtime = slice
			err = unix.SchedSetAttr(tid, a, 0)
		}
		if err != nil && err != unix.ESRCH { // it has ended
			return 0, err
		}
	}
	return others, nil
}
