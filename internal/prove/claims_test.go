package prove

import (
	"strings"
	"testing"
	"time"

	"weft/internal/metric"
)

// inBlocks is a way that was measured whole.
func inBlocks(over string, p50, p99 time.Duration, gbit, cpu float64) *Compared {
	w := &Compared{Over: over, Quantiles: metric.Quantiles{P50: p50, P99: p99}}
	for range CompareBlocks {
		w.Blocks = append(w.Blocks, Block{P99: p99, BitsPerSec: gbit * 1e9, CPU: cpu})
	}
	return w
}

// What was measured stands beside what is published, over all pairs; what was not has
// nothing beside it.
func TestClaims(t *testing.T) {
	list := []*Comparison{
		{Target: "t", Size: 4096, Ways: []*Compared{inBlocks("rdma", 10*time.Microsecond, 20*time.Microsecond, 80, 25000), inBlocks("tcp", 30*time.Microsecond, 80*time.Microsecond, 40, 100000), inBlocks("local", 8*time.Microsecond, 9*time.Microsecond, 80, 1)}},
		{Target: "t", Size: 4096, Ways: []*Compared{inBlocks("rdma", 12*time.Microsecond, 20*time.Microsecond, 80, 50000), inBlocks("tcp", 30*time.Microsecond, 40*time.Microsecond, 40, 100000)}},
		{Target: "t", Size: 1 << 20, Ways: []*Compared{inBlocks("rdma", time.Second, time.Second, 96, 1)}},
	}
	want := map[string]string{
		"RDMA takes up to 80 % less time than TCP":                           "p99 50 to 75 % less",
		"NVMe/RDMA takes 10 to 20 µs, NVMe/TCP 25 to 40 µs":                  "rdma p50 10 to 12 µs, tcp p50 30 µs",
		"RDMA saves databases 20 to 40 % of their processors":                "50 to 75 %",
		"10 Gbit/s over TCP take a core":                                     "tcp 1 cores, both ends together",
		"a port of NDR InfiniBand moves about 45 of its 50 GB/s":             "rdma 10 to 12 GB/s",
		"RoCE v2 takes about 5 µs, iSCSI about 80 µs":                        "rdma p50 10 to 12 µs",
		"a fabric adds 1 to 2 µs, 10 to 20 %, to a local read of 4 KiB":      "p50 2 µs more, 25 %",
		"a local read of 4 KiB takes about 10 µs, over a fabric 11 to 12 µs": "local p50 8 µs, rdma p50 10 to 12 µs",
	}
	for _, c := range Claims(list) {
		if c.From == "" {
			t.Errorf("%s: nobody says so", c.Says)
		}
		if w, ok := want[c.Says]; ok && c.Here != w {
			t.Errorf("%s: %q, want %q", c.Says, c.Here, w)
		}
		delete(want, c.Says)
	}
	if len(want) > 0 {
		t.Errorf("not claimed: %v", want)
	}
	broken := inBlocks("rdma", 1, 1, 1, 1)
	broken.Why = "no device"
	for _, c := range Claims([]*Comparison{{Target: "t", Size: 4096, Ways: []*Compared{broken}}}) {
		if strings.TrimSpace(c.Here) != "" {
			t.Errorf("%s: %q of nothing", c.Says, c.Here)
		}
	}
}
