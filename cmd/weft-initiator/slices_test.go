//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weft/internal/nvme/fabric"
)

// TestHostsShareProcessors: the threads of weft-target, as it is built and with the
// libraries that it loads, have short slices from when a second host comes, so that none
// of them has to wait for a tick of the kernel. One host alone has what the kernel gives.
func TestHostsShareProcessors(t *testing.T) {
	if !hasSlices() {
		t.Skip("this kernel has one slice for all threads: Linux 6.12 and later have others")
	}
	p := newTargetProcess(t, buildAgent(t, "weft-target"), benchConfig)
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	read := func() {
		t.Helper()
		var out, errs bytes.Buffer
		if status := run([]string{
			"--map", "10.40.1.11:4420=" + p.port, "run", "--traddr", "10.40.1.11:4420", "--hostnqn", "nqn.2026-11.net.example:bench:h1",
			"--nqn", "nqn.2026-11.net.example:bench:st1", "--rw", "randread", "--bs", "4k", "--iodepth", "4", "--runtime", "200ms",
		}, &out, &errs); status != 0 {
			t.Fatalf("status %d: %s", status, errs.String())
		}
	}
	read()
	if short, other := threadsOf(t, p.cmd.Process.Pid); short > 0 {
		t.Errorf("%d threads of %d have short slices for one host alone", short, short+other)
	}
	second := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 3)}}
	conn, err := second.Dial("tcp", p.port)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	read()
	if short, other := threadsOf(t, p.cmd.Process.Pid); short == 0 || other > 0 {
		t.Errorf("%d threads of %d have short slices for two hosts, want all", short, short+other)
	}
}

// threadsOf counts the threads of a process with short slices and those with others.
func threadsOf(t *testing.T, pid int) (short, other int) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		a, err := unix.SchedGetAttr(tid, 0)
		switch {
		case err == unix.ESRCH: // it has ended
		case err != nil:
			t.Fatal(err)
		case time.Duration(a.Runtime) == fabric.TurnTime:
			short++
		default:
			other++
		}
	}
	return short, other
}

// hasSlices reports whether this kernel lets a thread have a slice of its own.
func hasSlices() bool {
	has := make(chan bool)
	go func() {
		runtime.LockOSThread() // and the thread ends with it
		a, err := unix.SchedGetAttr(0, 0)
		if err == nil {
			a.Runtime = uint64(fabric.TurnTime)
			err = unix.SchedSetAttr(0, a, 0)
		}
		if err == nil {
			a, err = unix.SchedGetAttr(0, 0)
		}
		has <- err == nil && a.Runtime == uint64(fabric.TurnTime)
	}()
	return <-has
}
