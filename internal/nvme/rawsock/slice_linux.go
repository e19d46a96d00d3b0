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
func ShortSlices(most time.Duration) bool {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil || !shorten(tid, most) {
			return false
		}
	}
	return true
}

// shorten is ShortSlices for a thread, which may have ended.
func shorten(tid int, most time.Duration) bool {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		return err == unix.ESRCH
	}
	a.Runtime = uint64(most)
	if err := unix.SchedSetAttr(tid, a, 0); err != nil {
		return err == unix.ESRCH
	}
	a, err = unix.SchedGetAttr(tid, 0)
	return err == unix.ESRCH || err == nil && a.Runtime == uint64(most) // older kernels know slices of other classes only
}
