//go:build linux

package main

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkStrangers measures what a host notices of strangers who ask a target for
// all that they can and read none of it (see TestStrangersWhoDoNotRead): reads of
// 4 KiB, one at a time, first without and then beside them.
func BenchmarkStrangers(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("needs two processors")
	}
	const rounds = 3
	own, bin := buildAgent(b, "weft-initiator"), buildAgent(b, "weft-target")
	for name, mode := range map[string][]string{"event": nil, "poll": {"--poll", "1", "--poll-cpus", "0"}} {
		b.Run(fmt.Sprintf("%s/read/4KiB/QD1/strangers=%d", name, strangersMost), func(b *testing.B) {
			var alone, beside []float64
			memory := 0
			for range rounds {
				p := newTargetProcess(b, bin, benchConfig, mode...)
				if err := p.start(); err != nil {
					b.Fatal(err)
				}
				alone = append(alone, readTail(b, own, p.port, mode != nil))
				comeAll(b, p.port, strangersMost)
				beside = append(beside, readTail(b, own, p.port, mode != nil))
				memory = max(memory, peakMemory(b, p.cmd.Process.Pid))
				p.kill()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(alone), "alone-p99-µs")
			b.ReportMetric(median(beside), "beside-p99-µs")
			b.ReportMetric(float64(memory>>20), "peak-MiB")
		})
	}
}

// readTail is the 99th percentile of what reads take, in microseconds.
func readTail(b *testing.B, own, addr string, poll bool) float64 {
	b.Helper()
	args := []string{
		"--map", "10.40.1.11:4420=" + addr, "run", "--json", "--traddr", "10.40.1.11:4420", "--hostnqn", "nqn.2026-11.net.example:bench:h1",
		"--nqn", "nqn.2026-11.net.example:bench:st1", "--rw", "randread", "--bs", "4k", "--iodepth", "1", "--runtime", benchTime, "--ramp-time", benchRamp,
	}
	if poll {
		args = append(args, "--poll", "--poll-cpus", "1")
	}
	var r report
	measure(b, own, args, &r)
	if r.Weft.Lost != 0 || r.Jobs[0].Error != 0 {
		b.Errorf("the host was disturbed: %+v", r.Weft)
	}
	return float64(r.Jobs[0].Read.Clat.Percentile["99.000000"]) / 1e3
}
