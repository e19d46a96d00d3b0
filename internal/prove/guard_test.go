package prove

import (
	"context"
	"strings"
	"testing"

	"weft/inventory"
)

// A guard sees what grows on ports that are rolled out while others are changed,
// and nothing else; it asks no switch that is being changed.
func TestGuard(t *testing.T) {
	all := func(string) bool { return true }
	few := losslessModel()
	few.Max = 5
	observed := losslessModel()
	observed.Delta = false
	for _, test := range []struct {
		name   string
		metric *inventory.Metric // of the phase's gate
		names  []string
		ready  string // the only switch that is rolled out; "": both
		free   func(string) bool
		then   func(*plant)
		want   string
	}{
		{name: "nothing grows", free: all, then: func(*plant) {}, want: "pass built-in.rdma_drops switch.a, pass built-in.rdma_drops switch.b"},
		{name: "it grows", free: all, then: func(p *plant) { p.ports["b"] += 2 }, want: "pass built-in.rdma_drops switch.a, fail built-in.rdma_drops switch.b"},
		{name: "the gate allows a few", metric: few, names: []string{"healthy"}, free: all, then: func(p *plant) { p.ports["b"] += 2 }, want: "pass healthy.drops switch.a, pass healthy.drops switch.b"},
		{name: "but not so many", metric: few, names: []string{"healthy"}, free: all, then: func(p *plant) { p.ports["b"] += 6 }, want: "pass healthy.drops switch.a, fail healthy.drops switch.b"},
		{name: "the gate limits all there ever were", metric: observed, names: []string{"healthy"}, free: all, then: func(p *plant) { p.ports["b"] += 6 }, want: ""},
		{name: "another gate's limit", metric: few, free: all, then: func(p *plant) { p.ports["b"] += 2 }, want: "pass built-in.rdma_drops switch.a, fail built-in.rdma_drops switch.b"},
		{name: "not rolled out", ready: "switch.a", free: all, then: func(p *plant) { p.ports["b"] += 2 }, want: "pass built-in.rdma_drops switch.a"},
		{name: "being changed", free: func(device string) bool { return device == "switch.a" }, then: func(p *plant) { p.ports["b"] += 2 }, want: "pass built-in.rdma_drops switch.a"},
		{name: "gone", free: all, then: func(p *plant) { p.down = "switch.a" }, want: "pass built-in.rdma_drops switch.b, inconclusive built-in.answers switch.a"},
		{name: "cleared", free: all, then: func(p *plant) { p.ports["a"] = 0 }, want: "pass built-in.rdma_drops switch.b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			metric := test.metric
			if metric == nil {
				metric = &inventory.Metric{Name: "p99", Measure: named("p99"), HasMax: true}
			}
			m, p := plantModel(metric), healthy()
			m.Fabrics = []*inventory.Fabric{m.Switches[0].Fabric}
			g, err := NewGuard(t.Context(), Input{Model: m, Names: test.names, Switch: p.counted,
				Ready: func(device, _ string) bool { return test.ready == "" || device == test.ready }})
			if err != nil || g == nil {
				t.Fatal(g, err)
			}
			test.then(p)
			var got []string
			for _, j := range g.Look(t.Context(), test.free) {
				if j.Metric == "watchdog_events" {
					continue
				}
				device, _, _ := strings.Cut(j.Pair, " ")
				got = append(got, string(j.Verdict)+" "+j.Validation+"."+j.Metric+" "+device)
			}
			if list := strings.Join(got, ", "); list != test.want || p.reads > 0 {
				t.Errorf("%s\nwant %s; servers were asked %d times", list, test.want, p.reads)
			}
		})
	}

	m, p := plantModel(losslessModel()), healthy()
	if g, err := NewGuard(t.Context(), Input{Model: m, Switch: p.counted, Ready: func(string, string) bool { return false }}); g != nil || err != nil || len(p.asked) > 0 {
		t.Errorf("nothing is rolled out: %v %v, asked %v", g, err, p.asked)
	}
	g, err := NewGuard(t.Context(), Input{Model: m, Switch: p.counted})
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	p.down = "switch.a"
	if list := g.Look(ended, all); list != nil {
		t.Errorf("what was cut short says %v", list)
	}
}
