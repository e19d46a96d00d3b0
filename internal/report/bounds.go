package report

import (
	"slices"
	"strings"

	"weft/internal/metric"
	"weft/internal/slice"
)

// A bound is a limit that a picture shows.
type bound struct {
	at    float64 // in the unit of what is drawn
	name  string
	least bool // else it is the most
}

// ofCurves are the limits of what was measured last that curves of a probe and size can show.
func (r *Report) ofCurves(probe string, size int) (out []bound) {
	latest := r.last()
	for _, t := range r.Thresholds {
		kind := t.Measure().Row()
		if kind.Source != metric.Latency || kind.Added || t.Probe != probe || !t.HasMax || t.Made != "" || t.Size != 0 && t.Size != size {
			continue
		}
		if len(latest.Validations) > 0 && !slices.Contains(latest.Validations, t.Validation) {
			continue
		}
		t.Regression = 0 // is of the baseline, and no time
		if b := (bound{t.Max, kind.Title + " " + Limit(t), false}); !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	return out
}

// ofTimeline are the limits of VALIDATION.METRIC.
func (r *Report) ofTimeline(metric string) (out []bound) {
	for _, t := range r.Thresholds {
		if t.Validation+"."+t.Metric != metric || t.Made != "" {
			continue
		}
		t.Regression = 0
		whole := t
		t.HasMin = false
		if b := (bound{t.Max, Limit(t), false}); t.HasMax && !slices.Contains(out, b) {
			out = append(out, b)
		}
		t, t.HasMin, t.HasMax = whole, whole.HasMin, false
		if b := (bound{t.Min, Limit(t), true}); t.HasMin && !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	return out
}

// words are what bounds say.
func words(list []bound) string {
	out := slice.Map(list, func(b bound) string { return b.name })
	return strings.Join(out, ", ")
}
