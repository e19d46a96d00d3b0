package latency

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestEmpty(t *testing.T) {
	h := New()
	if h.Count() != 0 || h.Min() != 0 || h.Max() != 0 || h.Mean() != 0 || h.Quantile(0.99) != 0 {
		t.Error("an empty histogram has values")
	}
}

// What the documentation calls a quantile, on sorted samples.
func exact(sorted []time.Duration, q float64) time.Duration {
	for i, v := range sorted {
		if float64(i+1)/float64(len(sorted)) >= q-1e-12 {
			return v
		}
	}
	return sorted[len(sorted)-1]
}

func TestQuantileAgainstSortedSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 100, 101, 1000, 4999} {
		h, all := New(), make([]time.Duration, n)
		for i := range all {
			all[i] = time.Duration(float64(Lowest) * math.Pow(float64(Highest/Lowest), rng.Float64()))
			h.Record(all[i])
		}
		slices.Sort(all)
		if h.Count() != int64(n) || h.Min() != all[0] || h.Max() != all[n-1] {
			t.Fatalf("%d samples: count %d min %v max %v, want min %v max %v", n, h.Count(), h.Min(), h.Max(), all[0], all[n-1])
		}
		for _, q := range []float64{0, 0.01, 0.07, 0.1, 0.5, 0.9, 0.99, 0.999, 1} {
			want := exact(all, q)
			got := h.Quantile(q)
			if got < want || float64(got) > float64(want)*1.001+1 {
				t.Errorf("%d samples: quantile %v is %v, want %v", n, q, got, want)
			}
		}
	}
}

func TestQuantileCountsWholeSamples(t *testing.T) {
	h := New()
	for i := 1; i <= 100; i++ {
		h.Record(time.Duration(i) * time.Microsecond)
	}
	for q, want := range map[float64]time.Duration{0.07: 7, 0.5: 50, 0.501: 51, 0.99: 99, 0.991: 100, 1: 100, 2: 100, -1: 1, math.NaN(): 1} {
		got := h.Quantile(q)
		if us := want * time.Microsecond; got < us || got > us+us/1000 {
			t.Errorf("quantile %v is %v, want %v", q, got, us)
		}
	}
	if m := h.Mean(); m < 50400*time.Nanosecond || m > 50600*time.Nanosecond {
		t.Errorf("mean is %v, want 50.5µs", m)
	}
}

func TestRecordClamps(t *testing.T) {
	h := New()
	h.Record(-time.Second)
	h.Record(time.Hour)
	if h.Min() != 0 || h.Max() != Highest || h.Count() != 2 {
		t.Errorf("min %v max %v count %d", h.Min(), h.Max(), h.Count())
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := New()
	d := time.Microsecond
	if n := testing.AllocsPerRun(100, func() { h.Record(d); d += 977 }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}

func TestMerge(t *testing.T) {
	a, b, all := New(), New(), New()
	for i := range 1000 {
		d := time.Duration(i*i+1) * 100
		all.Record(d)
		if i%3 == 0 {
			a.Record(d)
		} else {
			b.Record(d)
		}
	}
	a.Merge(b)
	a.Merge(New())
	into := New()
	into.Merge(a)
	if got, want := text(t, into), text(t, all); got != want {
		t.Errorf("merged histograms differ from one that saw everything:\n%s\n%s", got, want)
	}
}

func text(t *testing.T, h *Histogram) string {
	t.Helper()
	b, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTextRoundTrip(t *testing.T) {
	full := New()
	for d := time.Duration(1); d < Highest; d += d/500 + 1 {
		full.Record(d)
	}
	few := New()
	few.Record(12345)
	few.Record(0)
	for _, h := range []*Histogram{New(), few, full} {
		want := text(t, h)
		if len(want) > MaxText {
			t.Errorf("%d bytes of text", len(want))
		}
		got := New()
		got.Record(time.Second) // must not survive
		if err := got.UnmarshalText([]byte(want)); err != nil {
			t.Fatal(err)
		}
		if text(t, got) != want || got.Min() != h.Min() || got.Max() != h.Max() || got.Quantile(0.9) != h.Quantile(0.9) {
			t.Errorf("text %.60s… does not survive", want)
		}
	}
}

// badTexts must be refused.
func badTexts() []string {
	return []string{
		"",
		"2:",
		"hello",
		"1:!!",
		"1:AA",       // minimum without the rest
		"1:AAA",      // no buckets
		"1:AAAAAA",   // count 0
		"1:AAAAAQAB", // the same bucket twice
		"1:AQAAAQ",   // minimum above maximum
		"1:CAgAAQ",   // minimum outside the buckets
		"1:AAD///////////8BAQ",
		"1:AAAA////////////AQ", // a count that is no int64
	}
}

func TestTextRefused(t *testing.T) {
	bad := append(badTexts(), "1:"+string(bytes.Repeat([]byte("A"), MaxText)))
	for _, s := range bad {
		h := New()
		h.Record(7)
		if err := h.UnmarshalText([]byte(s)); err == nil {
			t.Errorf("%.40q was accepted", s)
		}
		if h.Count() != 1 || h.Max() != 7 {
			t.Errorf("%.40q changed the histogram", s)
		}
	}
}

func FuzzUnmarshalText(f *testing.F) {
	for _, s := range badTexts() {
		f.Add([]byte(s))
	}
	h := New()
	for i := range 50 {
		h.Record(time.Duration(i*i) * time.Microsecond)
	}
	good, _ := h.MarshalText()
	f.Add(good)
	f.Add([]byte(version))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := New()
		if h.UnmarshalText(b) != nil {
			return
		}
		again := New()
		if err := again.UnmarshalText([]byte(text(t, h))); err != nil {
			t.Fatalf("%q decodes, but not its own text: %v", b, err)
		}
		if text(t, again) != text(t, h) {
			t.Fatalf("%q is not stable", b)
		}
		if q := h.Quantile(0.99); q < h.Min() || q > h.Max() {
			t.Fatalf("quantile %v outside %v..%v", q, h.Min(), h.Max())
		}
		h.Mean()
	})
}

func TestStdDev(t *testing.T) {
	h := New()
	if h.StdDev() != 0 {
		t.Error("an empty histogram deviates")
	}
	for _, d := range []time.Duration{2, 4, 4, 4, 5, 5, 7, 9} { // mean 5, deviation 2
		h.Record(d * time.Microsecond)
	}
	if got := h.StdDev(); got < 1990 || got > 2010 {
		t.Errorf("%v, want 2µs", got)
	}
}
