package view

import (
	"strings"
	"testing"
	"time"

	"weft/internal/metric"
	"weft/internal/prove"
)

// way is one that was measured in all blocks, of which every second one cost a little more.
func way(over string, p99 time.Duration, gbit, cpu float64) *prove.Compared {
	w := &prove.Compared{Over: over, Server: "server.cn1", Samples: 1000, Quantiles: metric.Quantiles{P50: p99 / 2, P99: p99, P999: 2 * p99}}
	for n := range prove.CompareBlocks {
		w.Blocks = append(w.Blocks, prove.Block{P99: p99, IOPS: 30000, BitsPerSec: gbit * 1e9, CPU: cpu * (1 + float64(n%2)/10)})
	}
	return w
}

func TestCompared(t *testing.T) {
	pair := func(ways ...*prove.Compared) *prove.Comparison {
		return &prove.Comparison{Initiator: "server.cn1", Target: `target.nvme["st1"]`, Plane: "a", Size: 4096, Depth: 16, Runtime: time.Second, Ways: ways}
	}
	silent := way("tcp", 80*time.Microsecond, 40, 0)
	silent.CPUWhy = "server.st1 does not say how busy it is"
	for name, c := range map[string]struct {
		of   *prove.Comparison
		want []string
	}{
		"both": {pair(way("rdma", 20*time.Microsecond, 90, 100), way("tcp", 80*time.Microsecond, 40, 400)), []string{
			"4 KiB reads compared, in turn: latency one at a time, the rest with 16 under way for 1s in each block",
			"cn1                  st1                    a     rdma       10.0 µs  20.0 µs  40.0 µs    30000         90 ± 0       105 ± 3.77",
			"p99 over TCP is 4 × of that over RDMA (95 %: 4 × to 4 ×)", "RDMA saves 75 % of the processor time of both ends (95 %: 75 % to 75 %)"}},
		"RDMA costs more": {pair(way("rdma", 20*time.Microsecond, 90, 800), way("tcp", 80*time.Microsecond, 40, 400)), []string{"RDMA saves −100 % of the processor time"}},
		"one was not tried": {pair(&prove.Compared{Over: "rdma", Why: "fabric.x is made for TCP", Untried: true}, way("tcp", 80*time.Microsecond, 40, 400)), []string{
			"rdma      not measured: fabric.x is made for TCP", "how p99 over TCP and over RDMA compare is not measured: rdma: fabric.x is made for TCP"}},
		"nobody knows the cost": {pair(silent), []string{"40 ± 0                –", "processor time is not measured: server.st1 does not say"}},
		"before": {&prove.Comparison{Initiator: "server.cn1", Size: 4096, Ways: []*prove.Compared{{Over: "before", Device: "/dev/disk/by-id/x", Why: "no such device"}}}, []string{
			"/dev/disk/by-id/x", "before    not measured: no such device"}},
	} {
		var b strings.Builder
		compared(&b, Style{}, &prove.Result{Compared: []*prove.Comparison{c.of}})
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, b.String())
			}
		}
	}
}

// A limit is told as what it is, and an interval beside what it is of.
func TestJudgedCompared(t *testing.T) {
	j := prove.Judgement{Validation: "worth", Metric: "cpu_saved", Pair: "a → b", Size: 4096, Unit: string(metric.Share), Least: true, Limit: 0.5, Value: 0.4, Interval: &prove.Interval{Value: 0.4, Low: 0.3, High: 0.45}, Verdict: prove.Fail}
	if got, want := Judged(j), "worth.cpu_saved of a → b: 4 KiB 40 % (95 %: 30 % to 45 %), at least 50 %"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	j.Verdict, j.Interval.High, j.Why = prove.Inconclusive, 0.6, "the limit lies within"
	if got, want := Judged(j), "worth.cpu_saved of a → b: 4 KiB 40 % (95 %: 30 % to 60 %): the limit lies within, at least 50 %"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
