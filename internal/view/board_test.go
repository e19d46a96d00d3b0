package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/metric"
	"weft/internal/prove"
	"weft/internal/tally"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// looked is a look n seconds after noon: a read over plane a, and what a switch and a NIC
// of it had counted.
func looked(n int, p99 time.Duration, bytes, pauses uint64) *prove.Result {
	row := &prove.Row{Initiator: "server.i", Target: "target.t", Plane: "a", Quantiles: metric.Quantiles{P99: p99}}
	row.Samples = 10
	count := func(device, name string, v uint64) prove.Sample {
		return prove.Sample{Counter: prove.Counter{Device: device, Port: "p", Priority: 3, Name: name}, Time: noon.Add(time.Duration(n) * time.Second), Value: v}
	}
	return &prove.Result{Verdict: prove.Pass, Rows: []*prove.Row{row}, After: &prove.Snapshot{Samples: []prove.Sample{
		count("switch.leaf", tally.TxBytes, bytes), count("server.i", tally.TxBytes, bytes/2), count("switch.leaf", tally.PFCRx, pauses), count("switch.other", tally.Drops, pauses)}}}
}

func boardOf(b *Board, r *prove.Result) string {
	var out strings.Builder
	b.Show(&out, r, noon, Style{})
	return out.String()
}

// A board shows what each look has of a plane, by what counters have grown since the look
// before; what is not known is a dot, and what nobody counts is no line of zeroes.
func TestBoard(t *testing.T) {
	b := NewBoard([]string{"a", "b"}, func(c prove.Counter) string {
		return map[string]string{"switch.leaf": "a", "server.i": "a"}[c.Device]
	})
	r := looked(0, 10*time.Microsecond, 0, 0)
	b.Add(r, noon)
	if text := boardOf(b, r); strings.Contains(text, "moved") || strings.Contains(text, "pauses") || !strings.Contains(text, "p99     █") {
		t.Errorf("the first look has no growth:\n%s", text)
	}
	b.Add(looked(1, 40*time.Microsecond, 125_000_000, 0), noon)
	r = looked(3, 20*time.Microsecond, 625_000_000, 8)
	r.Judgements = []prove.Judgement{{Validation: "v", Metric: "soft", Pair: "x", Verdict: prove.Inconclusive, Why: "nobody knows"}, {Validation: "v", Metric: "hard", Pair: "y", Verdict: prove.Fail, Value: 2, Limit: 1, Counted: true},
		{Validation: "v", Metric: "fine", Pair: "z", Verdict: prove.Pass}, {Validation: "v", Metric: "none", Pair: "z", Verdict: prove.NotMeasured, Absence: prove.Absence{Undeclared: true}},
		prove.Unmeasured("path", "lossless", "server.i → switch.spine", "it is not managed", "switch.spine")}
	b.Add(r, noon)
	text := boardOf(b, r)
	for _, want := range []string{"3 looks since 12:00:00", "  p99     ▃█▅", " 20.0 µs\n", "  moved   ·▅█", " 2.00 Gbit/s\n", "  pauses  ·▁█", " 4.00 a second\n", "plane b\n  not measured\n",
		"Slowest pairs, p99\n  ▃█▅", "server.i → target.t over plane a\n", "Does not pass\n  ✗ v.hard of y", "  ? v.soft of x: nobody knows", "  ◐ path.lossless of server.i → switch.spine: it is not managed"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"drops", "v.fine", "v.none"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, text)
		}
	}
	// A read that fails, and a counter that went back, are not known.
	r = looked(4, 0, 0, 0)
	r.Rows[0].Why = "it is away"
	b.Add(r, noon)
	if text := boardOf(b, r); strings.Contains(text, "Slowest") || !strings.Contains(text, "▃█▅·") || strings.Count(text, " not measured\n") < 3 {
		t.Errorf("%s", text)
	}
}

// However many looks, planes, pairs and places there are, a board is a screen.
func TestBoardIsAScreen(t *testing.T) {
	var planes []string
	r := &prove.Result{Verdict: prove.Fail}
	for n := range 100 {
		row := &prove.Row{Initiator: fmt.Sprintf("server.i%d", n), Target: "target.t", Plane: fmt.Sprintf("p%d", n), Quantiles: metric.Quantiles{P99: time.Duration(n)}}
		row.Samples = 1
		r.Rows = append(r.Rows, row)
		planes = append(planes, row.Plane)
		r.Judgements = append(r.Judgements, prove.Judgement{Validation: "v", Metric: "m", Pair: row.Initiator, Verdict: prove.Fail})
	}
	b := NewBoard(planes, func(prove.Counter) string { return "" })
	for range 3 * boardLooks {
		b.Add(r, noon)
	}
	text := boardOf(b, r)
	if lines := strings.Count(text, "\n"); lines > 40 || !strings.Contains(text, "92 planes more") || !strings.Contains(text, "92 more") || !strings.Contains(text, "120 looks") {
		t.Errorf("%d lines:\n%s", lines, text)
	}
	if first := strings.Index(text, "server.i99 →"); first < 0 || first > strings.Index(text, "server.i98 →") {
		t.Errorf("the slowest is not first:\n%s", text)
	}
	if pair := strings.Count(trend(make([]float64, boardLooks)), "▁"); pair != boardLooks {
		t.Errorf("%d", pair)
	}
}
