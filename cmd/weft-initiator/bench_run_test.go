//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rawRun measures the ping-pong.
func rawRun(b *testing.B, own string, row benchRow) (r probed) {
	b.Helper()
	server := exec.Command(own, "probe", "--listen", "127.0.0.1:0", "--poll-cpu", "0")
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	said := make([]byte, 200)
	n, err := out.Read(said)
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(said[:n]))
	args := []string{
		"probe", "--json", "--traddr", fields[len(fields)-1], "--runtime", benchTime, "--ramp-time", benchRamp, "--iodepth", fmt.Sprint(row.depth),
		"--request", fmt.Sprint(row.there), "--reply", fmt.Sprint(row.back), "--poll-cpu", "1",
	}
	if !row.event {
		args = append(args, "--poll")
	}
	measure(b, own, args, &r)
	return r
}

// agentRun measures the agents; used is the target's share of a processor in
// percent.
func agentRun(b *testing.B, own, bin string, row benchRow) (r report, used float64) {
	b.Helper()
	var mode []string
	if !row.event {
		mode = []string{"--poll", "1", "--poll-cpus", "0"}
	}
	p := newTargetProcess(b, bin, benchConfig, mode...)
	if err := p.start(); err != nil {
		b.Fatal(err)
	}
	defer p.kill()
	args := append([]string{
		"--map", "10.40.1.11:4420=" + p.port, "run", "--json", "--traddr", "10.40.1.11:4420", "--hostnqn", "nqn.2026-11.net.example:bench:h1",
		"--nqn", "nqn.2026-11.net.example:bench:st1", "--runtime", benchTime, "--ramp-time", benchRamp, "--iodepth", fmt.Sprint(row.depth),
		"--i-will-overwrite", "nqn.2026-11.net.example:bench:st1/1", "--shared-memory", // as the ping-pong's
	}, row.args...)
	if !row.event {
		args = append(args, "--poll", "--poll-cpus", "1")
	}
	begin, before := time.Now(), processorTime(b, p.cmd.Process.Pid)
	measure(b, own, args, &r)
	used = 100 * float64(processorTime(b, p.cmd.Process.Pid)-before) / float64(time.Since(begin))
	return r, used
}

// measure runs the initiator and reads its JSON.
func measure(b *testing.B, own string, args []string, into any) {
	b.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(own, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %v\n%s", args, err, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		b.Fatal(err)
	}
}

// processorTime is what a process has used so far.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold spaces
	fields := strings.Fields(rest)
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// ownTime is the processor time of this process and of its children that have
// ended.
func ownTime(b *testing.B) (all time.Duration) {
	b.Helper()
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err != nil {
			b.Fatal(err)
		}
		all += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return all
}

// busyTime is the processor time of all processes, without interrupts.
func busyTime(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		b.Fatal(err)
	}
	var ticks int64
	for _, f := range strings.Fields(string(text))[1:4] { // user, nice, system
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}
