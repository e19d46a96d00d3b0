package prove

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"weft/internal/latency"
	"weft/internal/metric"
	"weft/inventory"
)

// unknownLimits are metrics whose max uses an observed value that is not known,
// with the reason.
type unknownLimits map[*inventory.Metric]string

// spoil takes the pass from a judgement whose limit nobody knows. What failed
// without a limit, as reads that were refused, has failed.
func (u unknownLimits) spoil(m *inventory.Metric, j *Judgement) {
	why, ok := u[m]
	if !ok {
		return
	}
	j.Limit = 0
	if j.Verdict == Fail || j.Verdict == NotMeasured {
		return
	}
	if j.Verdict == Pass || j.Why == "" {
		j.Why = why
	}
	j.Verdict = Inconclusive
}

// limited are validations whose metrics all have a number for a limit: those of
// observed values are computed with what is observed now.
func (r *run) limited(ctx context.Context, validations []*inventory.Validation) ([]*inventory.Validation, unknownLimits) {
	var unknown unknownLimits
	out := slices.Clone(validations)
	observe := r.observer(ctx).observe
	for i, v := range out {
		if !slices.ContainsFunc(v.Metrics, made) {
			continue
		}
		own := *v
		own.Metrics = slices.Clone(v.Metrics)
		for k, m := range own.Metrics {
			if !made(m) {
				continue
			}
			number := *m
			var err error
			if number.Max, err = r.in.Model.LimitOf(m, observe); err != nil {
				if unknown == nil {
					unknown = unknownLimits{}
				}
				number.Max = math.Inf(1) // nothing fails by it
				unknown[&number] = err.Error()
			}
			own.Metrics[k] = &number
		}
		out[i] = &own
	}
	return out, unknown
}

// made reports whether the limit of a metric is made of observed values.
func made(m *inventory.Metric) bool { return m.Limit != nil }

// baselineOf is what validation.NAME.baseline is: by size, in microseconds, the
// quantiles that the baseline has of the slowest of the pairs that were measured
// now. A pair that it does not know leaves all of it unknown: nothing would be
// held against that pair.
func (r *run) baselineOf(v *inventory.Validation) (cty.Value, error) {
	if r.measured == nil {
		return cty.NilVal, errors.New("it is known where something is measured, as by weft verify and gates")
	}
	if r.in.Baseline == nil {
		return cty.NilVal, errors.New("there is no baseline: a record phase or weft verify --save-baseline keeps one")
	}
	sizes := map[string]cty.Value{}
	latencies := metric.All(func(r metric.Row) bool { return r.Source == metric.Latency })
	for _, size := range v.Sizes {
		slowest, pairs, known := map[string]float64{}, 0, map[string]int{}
		for _, row := range r.measured.Rows {
			if row.Size != size || row.Probe != v.Probe && (row.Probe != "" || v.Probe != readProbe) {
				continue
			}
			then := r.in.Baseline.of(row)
			if then == nil {
				return cty.NilVal, fmt.Errorf("the baseline does not know %s", row.Pair())
			}
			var local *latency.Histogram
			if e := r.in.Baseline.of(r.measured.local(row)); e != nil {
				local = decoded(e.Histogram)
			}
			was := decoded(then.Histogram)
			for _, id := range latencies {
				if e, ok := id.Estimate(was, local); ok {
					name := id.String()
					known[name]++
					slowest[name] = max(slowest[name], e.Value/1e3)
				}
			}
			pairs++
		}
		attrs := map[string]cty.Value{}
		for metric, value := range slowest {
			if known[metric] == pairs {
				attrs[metric] = cty.NumberFloatVal(value)
			}
		}
		if len(attrs) > 0 {
			sizes[sizeText(size)] = cty.ObjectVal(attrs)
		}
	}
	if len(sizes) == 0 {
		return cty.NilVal, errors.New("nothing was measured that it could be of")
	}
	return cty.ObjectVal(sizes), nil
}

// sizeText is a size as files write it: 512B, 4KiB.
func sizeText(n int) string {
	for _, u := range []struct {
		name string
		size int
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
