package prove

import (
	"math"
	"slices"
	"strings"

	"weft/internal/metric"
	"weft/inventory"
)

// judgeLoads holds what loads have done against the metrics of their validation. Whatever
// it limits, commands that fail fail it, and so do blocks that are not what was written.
func judgeLoads(res *Result, v *inventory.Validation, unknown unknownLimits) {
	if !loads(v) {
		return
	}
	of := slices.DeleteFunc(slices.Clone(res.Loads), func(l *Load) bool { return l.Validation != v.Name })
	metrics := slices.Clone(v.Metrics)
	if !slices.ContainsFunc(metrics, func(m *inventory.Metric) bool { return m.Measure == failures && m.HasMax }) {
		metrics = append(metrics, none(failures))
	}
	if v.Load.Overwrites() {
		metrics = append(metrics, none(damage))
	}
	for _, m := range metrics {
		if !loaded(v, m) {
			continue
		}
		for _, limit := range limitsOf(m) {
			first := len(res.Judgements)
			for _, l := range of {
				if m.Size != 0 && m.Size != l.Size {
					continue
				}
				for _, j := range l.judge(m, limit) {
					if !j.Least {
						unknown.spoil(m, &j)
					}
					res.Judgements = append(res.Judgements, j)
				}
			}
			nowhere(res.Judgements[first:])
		}
	}
}

// judge holds a load against a limit: latencies of reads and of writes apart.
func (l *Load) judge(m *inventory.Metric, limit boundary) []Judgement {
	j := Judgement{Validation: l.Validation, Metric: m.Name, Pair: l.Pair(), Size: l.Size, Limit: limit.value, Least: limit.least, Latency: m.Latency(), Unit: m.Measure.JudgedIn()}
	if l.Scratch != "" {
		j.Pair += ", " + strings.TrimPrefix(l.Scratch, l.Target+"/")
	}
	if l.Why != "" && (l.Errors == 0 && l.Bad == 0 || m.Measure != failures && m.Measure != damage) {
		j.Verdict, j.Why = Inconclusive, l.Why
		if l.Untried {
			j.Verdict, j.Absence = NotMeasured, l.Absence
		}
		return []Judgement{j}
	}
	switch m.Measure.Row().Source {
	case metric.Failures:
		j.Value, j.Why = float64(l.Errors), l.Why
	case metric.Damage:
		j.Value, j.Why = float64(l.Bad), l.Why
	case metric.Commands:
		j.Value = l.IOPS
	case metric.Bits:
		j.Value = l.BitsPerSec / 1e9
	default:
		return l.latencies(m.Measure, j)
	}
	j.hold()
	if len(l.Missing) > 0 && j.Verdict == Pass && m.Measure != damage {
		j.Verdict, j.Why = Inconclusive, l.None(l.Missing[0])
	}
	return []Judgement{j}
}

// latencies judges each kind of command that has ended; one that should be there and is not
// leaves them open.
func (l *Load) latencies(id metric.ID, j Judgement) (out []Judgement) {
	for _, kind := range []struct {
		name string
		of   Operations
	}{{"reads", l.Reads}, {"writes", l.Writes}} {
		if kind.of.Done == 0 {
			continue
		}
		one := j
		one.Pair += ", " + kind.name
		if value, known := kind.of.Quantile(id); known {
			one.Value = float64(value)
			one.hold()
		} else {
			one.Verdict, one.Why = Inconclusive, fewSamples(id, kind.of.Done)
		}
		out = append(out, one)
	}
	for _, kind := range l.Missing {
		one := j
		one.Pair += ", " + kind
		one.Verdict, one.Why = Inconclusive, l.None(kind)
		out = append(out, one)
	}
	return out
}

// None says that no command of a kind has ended, and what to do.
func (l *Load) None(kind string) string {
	return "none of the " + kind + " that the load is made of ended within " + l.Runtime.String() + ": how long they take was not measured, a longer runtime would tell"
}

// hold holds a value against its limit.
func (j *Judgement) hold() {
	least, most := math.Inf(-1), j.Limit
	if j.Least {
		least, most = j.Limit, math.Inf(1)
	}
	j.Verdict = Interval{j.Value, j.Value, j.Value}.against(least, most)
}
