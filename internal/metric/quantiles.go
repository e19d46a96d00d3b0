package metric

import (
	"math"
	"time"

	"weft/internal/latency"
)

// Quantiles are those of a histogram that the table names.
type Quantiles struct {
	P50  time.Duration `json:"p50_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p999_ns"`
	// Further are those that have no column, by name, where there are samples enough.
	Further map[string]time.Duration `json:"quantiles_ns,omitempty"`
}

// QuantilesOf computes the quantiles of a histogram.
func QuantilesOf(h *latency.Histogram) Quantiles {
	var q Quantiles
	for n := range rows {
		if id := (ID{uint8(n + 1)}); rows[n].Source == Latency && !rows[n].Added && h.Count() >= rows[n].Least {
			q.set(id, h.Quantile(rows[n].Quantile))
		}
	}
	return q
}

// field is where a quantile with a column is kept; nil: it has none.
func (q *Quantiles) field(id ID) *time.Duration {
	switch id.Row().Quantile {
	case 0.5:
		return &q.P50
	case 0.99:
		return &q.P99
	case 0.999:
		return &q.P999
	}
	return nil
}

func (q *Quantiles) set(id ID, d time.Duration) {
	if f := q.field(id); f != nil {
		*f = d
		return
	}
	if q.Further == nil {
		q.Further = map[string]time.Duration{}
	}
	q.Further[id.String()] = d
}

// Quantile is the one that a metric is about; known is false where there is none of it.
func (q Quantiles) Quantile(id ID) (d time.Duration, known bool) {
	if id.Row().Source != Latency {
		return 0, false
	}
	if f := q.field(id); f != nil {
		return *f, true
	}
	d, known = q.Further[id.String()]
	return d, known
}

// Max has the greater of each.
func (q Quantiles) Max(o Quantiles) Quantiles {
	out := Quantiles{P50: max(q.P50, o.P50), P99: max(q.P99, o.P99), P999: max(q.P999, o.P999)}
	for name, d := range q.Further {
		out.set(named(name), max(d, o.Further[name]))
	}
	for name, d := range o.Further {
		out.set(named(name), max(d, out.Further[name]))
	}
	return out
}

func named(name string) ID {
	id, _ := Parse(name)
	return id
}

// An Estimate is a quantile of what was measured, and between what it lies with
// 95 % of confidence, by the order of the samples alone.
type Estimate struct{ Value, Low, High float64 }

// Estimate is a latency of a histogram and, where the metric wants that, of the local read
// to compare it with, which may be nil.
func (id ID) Estimate(h, local *latency.Histogram) (Estimate, bool) {
	r := id.Row()
	if r.Source != Latency || r.Added && local == nil || h.Count() < r.Least {
		return Estimate{}, false
	}
	e := estimate(h, r.Quantile)
	if r.Added {
		o := estimate(local, r.Quantile)
		e = Estimate{e.Value - o.Value, e.Low - o.High, e.High - o.Low}
	}
	return e, true
}

func estimate(h *latency.Histogram, q float64) Estimate {
	const z = 1.96
	d := z * math.Sqrt(q*(1-q)/float64(max(h.Count(), 1)))
	return Estimate{float64(h.Quantile(q)), float64(h.Quantile(q - d)), float64(h.Quantile(min(q+d, 1)))}
}
