package prove

import (
	"fmt"
	"math"

	"weft/internal/metric"
)

// A Claim is what is published about RDMA and storage, and what was measured here of the
// same. Published figures are of other machines: they limit nothing, and where they
// contradict one another they stand side by side.
type Claim struct {
	Says string `json:"says"`
	From string `json:"from"` // who says so
	Here string `json:"here"` // "": it was not measured
}

// Commonly is who publishes figures that no document is known for.
const Commonly = "commonly said by vendors; no measurement is known to weft"

// A claimed is a figure of a comparison, and how it is told; ok is false where it is not known.
type claimed struct {
	what string // rdma, tcp, local, before, or ""
	of   func(*Comparison) (v float64, ok bool)
	told string // how it is told, with one verb for a number
}

// Claims holds what is published against what was measured.
func Claims(list []*Comparison) []Claim {
	took := func(over string) claimed {
		return claimed{over + " p50", func(c *Comparison) (float64, bool) {
			return latencyOf(c, over, func(w *Compared) float64 { return float64(w.P50) })
		}, "%s µs"}
	}
	tail := func(over string) claimed {
		return claimed{over + " p99", func(c *Comparison) (float64, bool) {
			return latencyOf(c, over, func(w *Compared) float64 { return float64(w.P99) })
		}, "%s µs"}
	}
	moves := func(over string) claimed {
		return claimed{over, func(c *Comparison) (float64, bool) { return figureOf(c, over, (*Compared).Bits, 8e9) }, "%s GB/s"}
	}
	saved := claimed{"", func(c *Comparison) (float64, bool) {
		i, why, _ := c.metric(metric.Of(metric.Processor))
		return i.Value * 100, why == ""
	}, "%s %%"}
	less := claimed{"p99", func(c *Comparison) (float64, bool) {
		i, why, _ := c.metric(metric.Of(metric.Quotient))
		return (1 - 1/i.Value) * 100, why == ""
	}, "%s %% less"}
	cores := claimed{"tcp", func(c *Comparison) (float64, bool) { return figureOf(c, "tcp", (*Compared).Cost, 1e5) }, "%s cores, both ends together"}
	added := func(unit func(local, rdma float64) float64) func(*Comparison) (float64, bool) {
		return func(c *Comparison) (float64, bool) {
			local, here := took(localTransport).of(c)
			rdma, there := took("rdma").of(c)
			return unit(local, rdma), here && there && local > 0
		}
	}
	adds := claimed{"p50", added(func(local, rdma float64) float64 { return rdma - local }), "%s µs more"}
	longer := claimed{"", added(func(local, rdma float64) float64 { return (rdma/local - 1) * 100 }), "%s %%"}
	var out []Claim
	for _, c := range []struct {
		says, from string
		here       []claimed
	}{
		{"RDMA takes up to 80 % less time than TCP", Commonly, []claimed{less}},
		{"p99 over RDMA 90 µs, over TCP 700 µs", "Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 5.4: one data centre, 40 GbE", []claimed{tail("rdma"), tail("tcp")}},
		{"storage takes 50 to 200 µs over TCP, 2 to 10 µs over RDMA", Commonly, []claimed{took("tcp"), took("rdma")}},
		{"NVMe/RDMA takes 10 to 20 µs, NVMe/TCP 25 to 40 µs", Commonly, []claimed{took("rdma"), took("tcp")}},
		{"RoCE v2 takes about 5 µs, iSCSI about 80 µs", Commonly, []claimed{took("rdma"), took(beforeWay)}},
		{"a local read of 4 KiB takes about 10 µs, over a fabric 11 to 12 µs", Commonly, []claimed{took(localTransport), took("rdma")}},
		{"a fabric adds 1 to 2 µs, 10 to 20 %, to a local read of 4 KiB", Commonly, []claimed{adds, longer}},
		{"InfiniBand takes less than 1 µs (high-performance computing, without storage)", Commonly, nil},
		{"RDMA takes 80 % and more of the processor's overhead away", Commonly, []claimed{saved}},
		{"RDMA saves databases 20 to 40 % of their processors", Commonly, []claimed{saved}},
		{"10 Gbit/s over TCP take a core", Commonly, []claimed{cores}},
		{"a host with 50 virtual machines spends up to 30 % of its processor on storage", Commonly, nil},
		{"a drive on PCIe 5.0 moves about 14 GB/s", Commonly, []claimed{moves(localTransport)}},
		{"a port of NDR InfiniBand moves about 45 of its 50 GB/s", Commonly, []claimed{moves("rdma")}},
	} {
		out = append(out, Claim{c.says, c.from, hereOf(list, c.here)})
	}
	return out
}

// hereOf tells figures over all comparisons; "": none is known.
func hereOf(list []*Comparison, figures []claimed) string {
	text := ""
	for _, f := range figures {
		low, high := math.Inf(1), math.Inf(-1)
		for _, c := range list {
			if v, ok := f.of(c); ok {
				low, high = min(low, v), max(high, v)
			}
		}
		if low > high {
			continue
		}
		span := fmt.Sprintf("%.3g", low)
		if fmt.Sprintf("%.3g", high) != span {
			span += " to " + fmt.Sprintf("%.3g", high)
		}
		one := fmt.Sprintf(f.told, span)
		if f.what != "" {
			one = f.what + " " + one
		}
		if text != "" {
			text += ", "
		}
		text += one
	}
	return text
}

// latencyOf is a latency of a way in microseconds, of reads of 4 KiB, which published
// figures are of.
func latencyOf(c *Comparison, over string, of func(*Compared) float64) (float64, bool) {
	w := c.way(over)
	if w == nil || c.Size != defaultSize || w.whole() != "" {
		return 0, false
	}
	return of(w) / 1e3, true
}

// figureOf is a figure of a way in a unit.
func figureOf(c *Comparison, over string, of func(*Compared) (Interval, string), unit float64) (float64, bool) {
	w := c.way(over)
	if w == nil {
		return 0, false
	}
	i, why := of(w)
	return i.Value / unit, why == ""
}
