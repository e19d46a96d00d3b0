package language

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/inventory"

	"github.com/zclconf/go-cty/cty"
)

// Limit computes the limit of a metric that uses observed values.
func (e *evaluator) Limit(x *inventory.Metric, observed inventory.Observed) (float64, error) {
	v, diags := e.Evaluate(x.Limit, observed)
	if errs := diags.Errs(); len(errs) > 0 {
		return 0, fmt.Errorf("max cannot be evaluated: %w", errs[0])
	}
	switch {
	case v.ContainsMarked():
		return 0, errors.New("max uses a sensitive value, but limits are shown")
	case !v.IsKnown():
		return 0, errors.New("max depends on an unknown value")
	case v.IsNull():
		return 0, errors.New("max is null")
	}
	if x.Latency() {
		if v.Type() != cty.String {
			return 0, fmt.Errorf(`max is %s, but the limit of a latency is a duration such as "30us"`, Shown(v).HCL())
		}
		d, err := computedDuration(v.AsString())
		if err != nil {
			return 0, fmt.Errorf("max is %q: %w", v.AsString(), err)
		}
		return float64(d), nil
	}
	if v.Type() != cty.Number {
		return 0, fmt.Errorf("max is %s, but the limit of a counter is a number", Shown(v).HCL())
	}
	f, _ := v.AsBigFloat().Float64()
	if f < 0 || math.IsInf(f, 0) {
		return 0, fmt.Errorf("max is %s, which is impossible", Shown(v).HCL())
	}
	return f, nil
}

// computedDuration reads a duration that was computed: one of a single unit may
// have more digits than a nanosecond tells, and is rounded.
func computedDuration(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err == nil {
		return d, nil
	}
	end := strings.LastIndexAny(s, "0123456789.") + 1
	i := slices.IndexFunc(durationUnits(), func(u unit) bool { return u.suffix == s[end:] })
	f, no := strconv.ParseFloat(s[:end], 64)
	if i < 0 || no != nil || f < 0 {
		return 0, err
	}
	if f *= float64(durationUnits()[i].factor); f > math.MaxInt64/2 {
		return 0, err
	}
	return time.Duration(math.Round(f)), nil
}
