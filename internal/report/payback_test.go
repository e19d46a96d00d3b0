package report

import (
	"strings"
	"testing"
	"time"

	"weft/internal/metric"
	"weft/internal/prove"
)

// costing is a way whose reads take so much processor time for a gigabit, µs, a little more
// and less in turn.
func costing(over string, cpu, by float64) *prove.Compared {
	w := &prove.Compared{Over: over, Quantiles: metric.Quantiles{P50: time.Microsecond, P99: time.Microsecond}}
	for n := range prove.CompareBlocks {
		w.Blocks = append(w.Blocks, prove.Block{P99: time.Microsecond, IOPS: 1, BitsPerSec: 1e9, CPU: cpu + by*float64(n%2*2-1)})
	}
	return w
}

func comparing(size int, ways ...*prove.Compared) *Report {
	return &Report{Figures: &Figures{Plain: 100000, RDMA: 130000, Core: 25, Traffic: 100},
		Measured: []Measured{{Result: &prove.Result{Compared: []*prove.Comparison{{Initiator: "server.a", Target: "target.b", Plane: "a", Size: size, Ways: ways}}}}}}
}

func TestPayback(t *testing.T) {
	// 1 s less for a gigabit, 100 Gbit/s: 100 cores, 2500 a month, 30000 in 12 months.
	r := comparing(4096, costing("rdma", 1e6, 0), costing("tcp", 2e6, 0))
	if got := r.Paybacks(); len(got) != 1 || got[0] != (Payback{"4 KiB", "100", "2500", "12 months", ""}) {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct {
		r    *Report
		want string
	}{
		"a span":        {comparing(4096, costing("rdma", 1e6, 0), costing("tcp", 2e6, 2e5)), " to "},
		"not certain":   {comparing(4096, costing("rdma", 1e6, 0), costing("tcp", 1.01e6, 5e5)), "months at the soonest; that it saves anything is not certain"},
		"it costs more": {comparing(4096, costing("rdma", 2e6, 0), costing("tcp", 1e6, 0)), "never, by processor time"},
	} {
		if got := c.r.Paybacks(); len(got) != 1 || !strings.Contains(got[0].After, c.want) || got[0].Why != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// Nothing is calculated of what was not measured, of one pair of several neither, nor
	// where there is nothing to pay back.
	busy := costing("tcp", 2e6, 0)
	busy.Other, busy.OtherAt = 0.5, "server.a"
	r = comparing(4096, costing("rdma", 1e6, 0), busy)
	if got := r.Paybacks(); len(got) != 1 || !strings.Contains(got[0].Why, "server.a was busy with other things") || got[0].After != "" {
		t.Errorf("%+v", got)
	}
	res := r.Measured[0].Result
	res.Compared = append(comparing(4096, costing("rdma", 1e6, 0), costing("tcp", 2e6, 0)).Measured[0].Result.Compared, res.Compared...)
	if got := r.Paybacks(); len(got) != 1 || got[0].Why == "" {
		t.Errorf("%+v", got)
	}
	r = comparing(4096, costing("rdma", 1e6, 0), costing("tcp", 2e6, 0))
	if r.Figures.RDMA = 90000; len(r.Paybacks()) != 0 || !strings.Contains(r.Figures.Premium(), "nothing to pay back") {
		t.Errorf("%+v", r.Paybacks())
	}
}

func TestPaybackFaces(t *testing.T) {
	r := finished(t, comparing(4096, costing("rdma", 1e6, 0), costing("tcp", 2e6, 0)))
	page, md := write(t, r.HTML), write(t, r.Markdown)
	strict(t, page)
	for _, want := range []string{"The network costs 130000 with RDMA and 100000 without it: 30000 more, 30 %.", notCounted} {
		if !strings.Contains(page, want) || !strings.Contains(md, want) {
			t.Errorf("no %q", want)
		}
	}
	if want := "30 % more by the site&#39;s figures; reads of 4 KiB: 12 months</td>"; !strings.Contains(page, want) {
		t.Errorf("no %q beside what is published", want)
	}
	if want := "| 4 KiB | 100 | 2500 | 12 months |"; !strings.Contains(md, want) {
		t.Errorf("no %q in\n%s", want, md)
	}
	// Without figures it says where they are given; without a comparison, that there is none.
	r.Figures = nil
	if page := write(t, r.HTML); !strings.Contains(page, "weft report --payback takes") || strings.Contains(page, "What RDMA costs and saves") {
		t.Error("no figures")
	}
	r = finished(t, &Report{Figures: &Figures{1, 2, 3, 4}})
	if page := write(t, r.HTML); !strings.Contains(page, "RDMA and TCP were not compared") || strings.Contains(page, "cores saved") {
		t.Error("no comparison")
	}
}

func TestParseFigures(t *testing.T) {
	whole := func(edit func(map[string]string)) map[string]string {
		m := map[string]string{"plain": "1e5", "rdma": "130000", "core": "25.5", "traffic": "80"}
		edit(m)
		return m
	}
	if f, err := ParseFigures(whole(func(map[string]string) {})); err != nil || *f != (Figures{1e5, 130000, 25.5, 80}) {
		t.Errorf("%+v %v", f, err)
	}
	for want, edit := range map[string]func(map[string]string){
		"core is missing":       func(m map[string]string) { delete(m, "core") },
		`there is no "cores"`:   func(m map[string]string) { m["cores"] = "1" },
		"traffic=80Gbit/s: it ": func(m map[string]string) { m["traffic"] = "80Gbit/s" },
		"plain=0: it ":          func(m map[string]string) { m["plain"] = "0" },
		"rdma=-1: it ":          func(m map[string]string) { m["rdma"] = "-1" },
		"rdma=NaN: it ":         func(m map[string]string) { m["rdma"] = "NaN" },
		"core=Inf: it ":         func(m map[string]string) { m["core"] = "Inf" },
	} {
		if f, err := ParseFigures(whole(edit)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v %v", want, f, err)
		}
	}
}
