package latency

import (
	"slices"
	"testing"
	"time"
)

func TestCounts(t *testing.T) {
	h := New()
	for _, d := range []time.Duration{1, 15, 150, 150, 1500, time.Hour} { // in µs but the last
		if d != time.Hour {
			d *= time.Microsecond
		}
		h.Record(d)
	}
	got := h.Counts(10*time.Microsecond, 10*time.Millisecond, 3)
	if want := []int64{2, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
	if got := New().Counts(1, 2, 2); !slices.Equal(got, []int64{0, 0}) {
		t.Errorf("an empty histogram counts %v", got)
	}
}
