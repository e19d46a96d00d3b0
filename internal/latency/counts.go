package latency

import (
	"math"
	"time"
)

// Counts says how many samples lie in each of n buckets that divide
// [low, high] evenly on a logarithmic scale, so that histograms can be drawn
// over one another. What lies outside counts in the first or the last bucket.
// low and high must be positive and low below high.
func (h *Histogram) Counts(low, high time.Duration, n int) []int64 {
	out := make([]int64, n)
	if h.Count() == 0 {
		return out
	}
	scale := float64(n) / math.Log(float64(high)/float64(low))
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			at := int(scale * math.Log(float64(max(h.value(b), 1))/float64(low)))
			out[min(max(at, 0), n-1)] += b.Count
		}
	}
	return out
}
