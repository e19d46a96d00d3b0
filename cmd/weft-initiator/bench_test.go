package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const benchConfig = `owner = 'bench'
[[portal]]
transport = 'tcp'
address = '10.40.1.11:4420'
[[subsystem]]
nqn = 'nqn.2026-11.net.example:bench:st1'
serial = 'WEFT01'
allow_hosts = ['nqn.2026-11.net.example:bench:h1']
[[subsystem.namespace]]
id = 1
uuid = '6ba7b811-9dad-11d1-80b4-00c04fd430c8'
backend = 'memory'
size = 67108864
block_size = 512
`

const (
	benchRounds = 5
	benchTime   = "1s"
	benchRamp   = "200ms"
)

// benchRow is a load, and the bytes that it moves there and back for a command.
type benchRow struct {
	name        string
	args        []string
	there, back int
	depth       int
	event       bool
	bar         float64 // of the ping-pong's rate, or of its p50 with event: what is wanted
}

func benchRows() []benchRow {
	const command, header, response = 72, 24, 24
	var rows []benchRow
	for _, digests := range []bool{false, true} {
		extra, suffix := []string(nil), ""
		bars := map[string]float64{"1": 0.72, "32": 0.48, "128": 0.36, "read": 0.77, "write": 0.82}
		if digests {
			extra, suffix = []string{"--hdr-digest", "--data-digest"}, "/digests"
			// What SPDK 26.05 has reached of the ping-pong on such a machine.
			bars = map[string]float64{"1": 0.63, "128": 0.26, "read": 0.62}
		}
		for _, depth := range []int{1, 32, 128} {
			rows = append(rows, benchRow{
				name: fmt.Sprintf("poll/read/4KiB/QD%d%s", depth, suffix), args: append([]string{"--rw", "randread", "--bs", "4k"}, extra...),
				there: command, back: header + 4096, depth: depth, bar: bars[strconv.Itoa(depth)],
			})
		}
		rows = append(rows, benchRow{
			name: "poll/write/4KiB/QD32" + suffix, args: append([]string{"--rw", "randwrite", "--bs", "4k"}, extra...),
			there: command + 4096, back: response, depth: 32,
		}, benchRow{
			name: "poll/read/128KiB/QD32" + suffix, args: append([]string{"--rw", "randread", "--bs", "128k"}, extra...),
			there: command, back: header + 128<<10, depth: 32, bar: bars["read"],
		}, benchRow{
			name: "poll/write/128KiB/QD32" + suffix, args: append([]string{"--rw", "randwrite", "--bs", "128k"}, extra...),
			there: command + header + 128<<10, back: header + response, depth: 32, bar: bars["write"],
		})
	}
	return append(rows, benchRow{name: "event/read/4KiB/QD1", args: []string{"--rw", "randread", "--bs", "4k"}, there: command, back: header + 4096, depth: 1, event: true, bar: 1 / 1.2})
}

// BenchmarkAgents measures both agents over the loopback, a processor each, and
// in turn with them a ping-pong of the same sizes without NVMe. What counts on
// a machine that is not idle is the ratio. Everything is the median of five. At
// the end it prints all of it as a table.
func BenchmarkAgents(b *testing.B) {
	if runtime.GOOS != "linux" || runtime.NumCPU() < 2 {
		b.Skip("needs Linux and two processors")
	}
	own, bin := buildAgent(b, "weft-initiator"), buildAgent(b, "weft-target")
	out := benchTable{load: []string{loadNow()}}
	for _, row := range benchRows() {
		b.Run(row.name, func(b *testing.B) {
			var rate, p50, p99, p999, raw99, ratio, faster, host, target []float64
			for range benchRounds {
				raw := rawRun(b, own, row)
				got, used := agentRun(b, own, bin, row)
				op := &got.Jobs[0].Read
				if op.Total == 0 {
					op = &got.Jobs[0].Write
				}
				rate = append(rate, op.IOPS)
				p50 = append(p50, float64(op.Clat.Percentile["50.000000"])/1e3)
				p99 = append(p99, float64(op.Clat.Percentile["99.000000"])/1e3)
				raw99 = append(raw99, float64(raw.Lat.Percentile["99.000000"])/1e3)
				p999 = append(p999, float64(op.Clat.Percentile["99.900000"])/1e3)
				ratio = append(ratio, op.IOPS/raw.Rate)
				faster = append(faster, float64(raw.Lat.Percentile["50.000000"])/float64(op.Clat.Percentile["50.000000"]))
				host = append(host, got.Jobs[0].User+got.Jobs[0].System)
				target = append(target, used)
			}
			out.add(row, median(rate), median(p50), median(p99), median(p999), median(raw99), median(ratio), median(faster), median(host), median(target))
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(rate), "IOPS")
			b.ReportMetric(median(p50), "p50-µs")
			b.ReportMetric(median(p99), "p99-µs")
			b.ReportMetric(median(p999), "p99.9-µs")
			b.ReportMetric(median(ratio), "of-raw")
			b.ReportMetric(median(faster), "of-raw-p50")
			b.ReportMetric(median(host), "host-cpu%")
			b.ReportMetric(median(target), "target-cpu%")
		})
	}
	out.load = append(out.load, loadNow())
	out.print(os.Stdout)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

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
		"--i-will-overwrite", "nqn.2026-11.net.example:bench:st1/1",
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
