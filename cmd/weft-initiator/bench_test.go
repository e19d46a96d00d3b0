//go:build linux

package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
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
	benchRounds = 5    // pairs that count: those of all that others have disturbed least
	benchMost   = 15   // pairs that are tried for that
	benchQuiet  = 0.03 // share of all processors that others may use in a pair that is not disturbed
	benchTime   = "700ms"
	benchRamp   = "150ms"
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
// a machine that is not idle is the ratio. Everything is the median of the five
// pairs that others have disturbed least. At the end it prints all as a table.
func BenchmarkAgents(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("needs two processors")
	}
	own, bin := buildAgent(b, "weft-initiator"), buildAgent(b, "weft-target")
	out := benchTable{load: []string{loadNow()}}
	for _, row := range benchRows() {
		b.Run(row.name, func(b *testing.B) {
			var rate, p50, p99, p999, raw99, ratio, faster, host, target, others []float64
			for _, p := range quietest(b, own, bin, row) {
				op := &p.got.Jobs[0].Read
				if op.Total == 0 {
					op = &p.got.Jobs[0].Write
				}
				rate = append(rate, op.IOPS)
				p50 = append(p50, float64(op.Clat.Percentile["50.000000"])/1e3)
				p99 = append(p99, float64(op.Clat.Percentile["99.000000"])/1e3)
				raw99 = append(raw99, float64(p.raw.Lat.Percentile["99.000000"])/1e3)
				p999 = append(p999, float64(op.Clat.Percentile["99.900000"])/1e3)
				ratio = append(ratio, op.IOPS/p.raw.Rate)
				faster = append(faster, float64(p.raw.Lat.Percentile["50.000000"])/float64(op.Clat.Percentile["50.000000"]))
				host = append(host, p.got.Jobs[0].User+p.got.Jobs[0].System)
				target = append(target, p.target)
				others = append(others, 100*p.others)
			}
			out.add(row, median(rate), median(p50), median(p99), median(p999), median(raw99), median(ratio), median(faster), median(host), median(target), median(others))
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(rate), "IOPS")
			b.ReportMetric(median(p50), "p50-µs")
			b.ReportMetric(median(p99), "p99-µs")
			b.ReportMetric(median(p999), "p99.9-µs")
			b.ReportMetric(median(ratio), "of-raw")
			b.ReportMetric(median(faster), "of-raw-p50")
			b.ReportMetric(median(host), "host-cpu%")
			b.ReportMetric(median(target), "target-cpu%")
			b.ReportMetric(median(others), "others-cpu%")
		})
	}
	out.load = append(out.load, loadNow())
	out.print(os.Stdout)
}

// A benchPair is the ping-pong and the agents, one after the other.
type benchPair struct {
	raw    probed
	got    report
	target float64 // its processor time, percent of one
	others float64 // the share of all processors that others have used meanwhile
}

// quietest measures pairs, more where others disturb them, and returns those
// that were disturbed least.
func quietest(b *testing.B, own, bin string, row benchRow) []benchPair {
	b.Helper()
	var all []benchPair
	for quiet := 0; quiet < benchRounds && len(all) < benchMost; {
		var p benchPair
		begin, busy, mine := time.Now(), busyTime(b), ownTime(b)
		p.raw = rawRun(b, own, row)
		p.got, p.target = agentRun(b, own, bin, row)
		theirs := busyTime(b) - busy - (ownTime(b) - mine)
		p.others = max(0, float64(theirs)/float64(time.Since(begin))/float64(runtime.NumCPU()))
		if p.others < benchQuiet {
			quiet++
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y benchPair) int { return cmp.Compare(x.others, y.others) })
	return all[:benchRounds]
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
