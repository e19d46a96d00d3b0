package prove

import (
	"strings"
	"testing"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/metric"
	"weft/inventory"
)

// p99.99 is judged by samples enough and inconclusive by fewer, of reads and of loads.
func TestTail(t *testing.T) {
	measured := func(n int) (text string, q metric.Quantiles) {
		h := latency.New()
		for i := range n {
			took := 10 * time.Microsecond
			if i%5000 == 0 {
				took = time.Millisecond // p99.9 does not show it
			}
			h.Record(took)
		}
		raw, err := h.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		return string(raw), metric.QuantilesOf(h)
	}
	limit := &inventory.Metric{Name: "p9999", Measure: named("p9999"), HasMax: true, Duration: true, Max: 1e5}
	for n, want := range map[int]Verdict{20000: Fail, 5000: Inconclusive} {
		text, q := measured(n)
		row := &Row{Wanted: n, ProbeResult: agent.ProbeResult{Samples: n, Histogram: text}, Quantiles: q}
		j := one(&Result{}, &inventory.Validation{Name: "v"}, limit, row)
		if j.Verdict != want || want == Inconclusive && !strings.Contains(j.Why, "5000 samples, and p9999 needs 10000") {
			t.Errorf("%d reads: %+v", n, j)
		}
		if q.P999 >= time.Millisecond {
			t.Errorf("p999 is %v", q.P999)
		}
		l := &Load{Reads: Operations{Done: int64(n), Quantiles: q}}
		if list := l.judge(limit, boundary{value: limit.Max}); len(list) != 1 || list[0].Verdict != want {
			t.Errorf("a load of %d reads: %+v", n, list)
		}
	}
}
