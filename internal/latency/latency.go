// Package latency measures how long operations take: histograms and quantiles.
package latency

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range in which a Histogram keeps three significant digits.
const (
	Lowest  = 100 * time.Nanosecond
	Highest = 100 * time.Second
)

// digits is the number of significant digits; the unit is one nanosecond, so
// that they hold from 1000 ns on and below that every nanosecond has a bucket.
const digits = 3

// A Histogram counts durations in buckets that are at most 0.1 % wide. Min and
// Max are exact. A duration below zero counts as zero, one above Highest as
// Highest. A Histogram takes about 200 KiB however much it has recorded and
// must not be used by two goroutines at once.
type Histogram struct {
	h        *hdrhistogram.Histogram
	min, max int64 // exact; meaningless while empty
}

// New returns an empty histogram.
func New() *Histogram {
	return &Histogram{h: hdrhistogram.New(1, int64(Highest), digits)}
}

// Record counts one duration. It does not allocate.
func (h *Histogram) Record(d time.Duration) { h.record(clamp(d), 1) }

func clamp(d time.Duration) int64 { return int64(min(max(d, 0), Highest)) }

// record counts n durations of v nanoseconds and reports whether that fits.
func (h *Histogram) record(v, n int64) bool {
	empty := h.h.TotalCount() == 0
	if n <= 0 || h.h.RecordValues(v, n) != nil {
		return false
	}
	if empty || v < h.min {
		h.min = v
	}
	if empty || v > h.max {
		h.max = v
	}
	return true
}

// Count is how many durations were recorded.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// Min is the shortest duration, 0 for an empty histogram.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.min)
}

// Max is the longest duration, 0 for an empty histogram.
func (h *Histogram) Max() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.max)
}

// Mean is the average to three digits, 0 for an empty histogram.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	var sum float64
	for _, b := range h.h.Distribution() {
		sum += float64(b.Count) * (float64(b.From) + float64(b.To)) / 2
	}
	mean := int64(math.Round(sum / float64(h.Count())))
	return time.Duration(min(max(mean, h.min), h.max))
}

// Quantile is the smallest value v such that at least the fraction q of the
// samples are ≤ v; Quantile(0.5) is the median, Quantile(0.99) the p99. It is
// rounded up by at most 0.1 %. q ≤ 0 gives Min, q ≥ 1 gives Max, and an empty
// histogram gives 0.
func (h *Histogram) Quantile(q float64) time.Duration {
	switch {
	case h.Count() == 0:
		return 0
	case !(q > 0): // not a number included
		return h.Min()
	case q >= 1:
		return h.Max()
	}
	need, seen := rank(q, h.Count()), int64(0)
	for _, b := range h.h.Distribution() {
		if seen += b.Count; seen >= need {
			return time.Duration(h.value(b))
		}
	}
	return h.Max()
}

// rank is the least number of samples that is at least the fraction q of n:
// the product rounded up, except where it is a whole number but for the error
// of the multiplication (0.07 × 100).
func rank(q float64, n int64) int64 {
	x := q * float64(n)
	if r := math.Round(x); math.Abs(x-r) <= 1e-12*x {
		x = r
	}
	return max(int64(math.Ceil(x)), 1)
}

// value is the duration that a bucket stands for.
func (h *Histogram) value(b hdrhistogram.Bar) int64 {
	return min(max(b.To, h.min), h.max)
}

// Merge adds what another histogram has recorded.
func (h *Histogram) Merge(from *Histogram) {
	if from.Count() == 0 {
		return
	}
	low, high := from.min, from.max
	if h.Count() > 0 {
		low, high = min(low, h.min), max(high, h.max)
	}
	h.h.Merge(from.h)
	h.min, h.max = low, high
}

// StdDev is the standard deviation, 0 for an empty histogram. Buckets count
// with their middle.
func (h *Histogram) StdDev() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	mean, sum := float64(h.Mean()), 0.0
	for _, b := range h.h.Distribution() {
		d := (float64(b.From)+float64(b.To))/2 - mean
		sum += float64(b.Count) * d * d
	}
	return time.Duration(math.Round(math.Sqrt(sum / float64(h.Count()))))
}

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
