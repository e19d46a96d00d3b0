package rawsock

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ShortSlices asks the kernel to have the threads of this process, and those that
// they will start, go on for no longer than so where others wait for their
// processor, and reports whether it does: Linux 6.12 and later do. It takes nothing
// from anybody: who yields gives up a slice, which is a short one then.
//
// It reports false where a library of C is loaded, for which Go refuses what it does: so
// in weft-target, which loads libibverbs (see PERFORMANCE.md).
//
// The runtime has every thread ask for itself while none is started: one that is
// would have the slice that its parent had when it began to.
func ShortSlices(most time.Duration) bool {
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return false
	}
	a.Runtime = uint64(most)
	if _, _, err := syscall.AllThreadsSyscall(unix.SYS_SCHED_SETATTR, 0, uintptr(unsafe.Pointer(a)), 0); err != 0 {
		return false // where others may start threads, too
	}
	a, err = unix.SchedGetAttr(0, 0)
	return err == nil && a.Runtime == uint64(most) // older kernels know slices of other classes only
}
