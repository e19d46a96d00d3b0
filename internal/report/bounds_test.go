package report

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/prove"
)

// Pictures have the limits that what they show was held against, and no others; one that is
// far from everything measured is drawn above it, and does not flatten the rest.
func TestLimitsInPictures(t *testing.T) {
	r := finished(t, sample())
	limit := func(validation, metric string, size int, most float64) prove.Threshold {
		return prove.Threshold{Validation: validation, Metric: metric, Size: size, HasMax: true, Max: most, Duration: metric != "drops"}
	}
	r.Thresholds = []prove.Threshold{limit("latency", "p99", 0, 8e4), limit("latency", "p99", 65536, 9e4), limit("latency", "added_p99", 0, 7e4), limit("other", "p50", 0, 6e4), limit("healthy", "drops", 0, 3)}
	r.last().Validations = []string{"latency"}
	size := r.last().Result.Rows[0].Size
	if got := r.ofCurves("", size); !slices.Equal(got, []bound{{8e4, "p99 at most 80.0 µs", false}}) {
		t.Errorf("%+v", got)
	}
	if text := write(t, r.HTML); strings.Count(text, ">p99 at most 80.0 µs</text>") != 1 || strings.Contains(text, "60.0 µs</text>") {
		t.Error("not the limits of what was measured")
	}
	picture := func(most float64) string {
		r.Thresholds[4].Max = most
		return string(timeline(r.Soak, "healthy.drops", r.value("healthy.drops"), r.ofTimeline("healthy.drops")))
	}
	if near := picture(3); strings.Count(near, `<path class="limit"`) != 1 || !strings.Contains(near, ">at most 3</text>") {
		t.Error(near)
	}
	if far, curve := picture(3000), `d="M10.0 66.0L235.0 56.0L460.0 46.0L685.0 36.0L910.0 26.0"`; strings.Count(far, `<path class="limit"`) != 1 || !strings.Contains(far, ">at most 3000, which is above what is drawn</text>") || !strings.Contains(far, curve) {
		t.Error(far)
	}
	// Of what must not fall below a limit, the worst is the least.
	r.Thresholds[4].HasMax, r.Thresholds[4].HasMin, r.Thresholds[4].Min = false, true, 2
	if text := picture(0); !strings.Contains(text, "5 looks, worst 0<") || !strings.Contains(text, ">at least 2</text>") {
		t.Error(text)
	}
}
