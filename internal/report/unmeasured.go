package report

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/prove"
	"weft/internal/text"
)

// A Gap is something that was not measured, and why.
type Gap struct {
	What   string
	Why    string
	Places []string
}

// mostPlaces is how many places a gap names.
const mostPlaces = 3

// Where names its places, as far as they can be read.
func (g Gap) Where() string {
	return strings.Join(g.Places[:min(len(g.Places), mostPlaces)], ", ") + text.More(len(g.Places)-mostPlaces)
}

// gaps collects what was not measured; the same thing for the same reason is one.
type gaps []Gap

func (all *gaps) add(what, why, place string) {
	i := slices.IndexFunc(*all, func(g Gap) bool { return g.What == what && g.Why == why })
	if i < 0 {
		*all = append(*all, Gap{What: what, Why: why})
		i = len(*all) - 1
	}
	if g := &(*all)[i]; place != "" && !slices.Contains(g.Places, place) {
		g.Places = append(g.Places, place)
	}
}

// NotMeasured is what the latest of each kind of measurement has left open, and what nobody
// has asked for.
func (r *Report) NotMeasured() []Gap {
	var all gaps
	for _, m := range r.latestOfEach() {
		all.of(m)
	}
	switch m := r.last(); {
	case m == nil:
		all.add("latency", "nothing was read over the fabric", "")
	case len(m.Result.Local) == 0:
		all.add("the storage itself", "the last measurement has no local reads of its storage: the latency added by the fabric is unknown", "")
	}
	if len(r.compared()) == 0 {
		all.add("RDMA beside TCP", "nothing was compared: weft verify --compare", "")
	}
	if r.counts().readings < 2 {
		all.add("counters before and after", "devices were not asked twice what they count", "")
	}
	if r.Hardware == nil {
		all.add("hardware", "the hardware was not read: weft facts", "")
	} else {
		for _, d := range r.Hardware.Unasked {
			all.add("hardware", "it was not asked, or did not answer: weft facts", d)
		}
	}
	if r.Simulated {
		all.add("speed", "it is weft's lab, on one machine, over loopback", "")
	}
	return all
}

// latestOfEach are the last measurements of each title, without what was only recorded to
// compare with.
func (r *Report) latestOfEach() (out []*Measured) {
	for i := range r.Measured {
		m := &r.Measured[i]
		if m.Recorded {
			continue
		}
		out = slices.DeleteFunc(out, func(o *Measured) bool { return o.Title() == m.Title() })
		out = append(out, m)
	}
	return out
}

// of adds what a measurement has left open.
func (all *gaps) of(m *Measured) {
	res := m.Result
	for _, row := range slices.Concat(res.Local, res.Rows) {
		if row.Why != "" {
			all.add("reads", row.Why, row.Pair())
		}
	}
	for _, j := range res.Judgements {
		switch {
		case j.Verdict == prove.NotMeasured:
			all.add(j.Validation+"."+j.Metric, j.Why, j.Pair)
		case j.Verdict == prove.Inconclusive && j.Interval == nil:
			all.add(j.Validation+"."+j.Metric, "inconclusive: "+j.Why, j.Pair)
		}
	}
	for _, l := range res.Loads {
		if l.Why != "" {
			all.add("load "+l.Validation, l.Why, l.Pair())
		}
		for _, kind := range l.Missing {
			all.add(fmt.Sprintf("load %s, %s", l.Validation, kind), l.None(kind), l.Pair())
		}
	}
	for _, c := range res.Compared {
		for _, w := range c.Ways {
			if w.Why != "" {
				all.add("comparison over "+w.Over, w.Why, c.Pair())
			}
			if w.CPUWhy != "" {
				all.add("processor time over "+w.Over, w.CPUWhy, c.Pair())
			}
		}
	}
	for _, t := range res.Throughput {
		if t.Why != "" {
			all.add("throughput", t.Why, t.Initiator+" → "+t.Target+" over plane "+t.Plane)
		}
	}
}
