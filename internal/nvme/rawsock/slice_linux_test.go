package rawsock

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestShortSlices: all threads have short slices, those that are started meanwhile
// and later, too; else it says that they have not.
func TestShortSlices(t *testing.T) {
	const most = 200 * time.Microsecond
	end := make(chan struct{})
	defer close(end)
	meanwhile := make(chan struct{})
	go func() {
		defer close(meanwhile)
		for range 64 {
			go func() {
				runtime.LockOSThread() // and the thread ends with it
				<-end
			}()
			runtime.Gosched()
		}
	}()
	short := ShortSlices(most)
	<-meanwhile
	if !hasSlices(most) {
		t.Skip("this kernel has one slice for all: Linux 6.12 and later have others")
	}
	if !short {
		t.Fatal("this kernel gives threads slices of their own, and ShortSlices says that it does not")
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

// hasSlices reports whether this kernel lets a thread have a slice of its own.
func hasSlices(most time.Duration) bool {
	has := make(chan bool)
	go func() {
		runtime.LockOSThread() // and the thread ends with it
		a, err := unix.SchedGetAttr(0, 0)
		if err == nil {
			a.Runtime = uint64(most)
			err = unix.SchedSetAttr(0, a, 0)
		}
		if err == nil {
			a, err = unix.SchedGetAttr(0, 0)
		}
		has <- err == nil && a.Runtime == uint64(most)
	}()
	return <-has
}
