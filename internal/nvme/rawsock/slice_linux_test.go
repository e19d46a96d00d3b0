package rawsock

import (
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestShortSlices: all threads have short slices, those that are started later, too;
// else it says that they have not.
func TestShortSlices(t *testing.T) {
	const most = 200 * time.Microsecond
	if !ShortSlices(most) {
		t.Skip("this kernel has one slice for all: Linux 6.12 and later have others")
	}
	tids := []int{}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	fresh := make(chan int)
	go func() {
		_ = Own(-1) // and the thread ends with it
		fresh <- unix.Gettid()
		<-fresh
	}()
	for _, tid := range append(tids, <-fresh) {
		if a, err := unix.SchedGetAttr(tid, 0); err == nil && a.Runtime != uint64(most) {
			t.Errorf("thread %d has a slice of %v, want %v", tid, time.Duration(a.Runtime), most)
		}
	}
	fresh <- 0
}
