package prove

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/metric"
	"weft/inventory"
	"weft/plan"
)

// judge holds every row against the metrics of a validation.
func judge(res *Result, v *inventory.Validation, base *Baseline, unknown unknownLimits) {
	if !measured(v) {
		return
	}
	other := func(row *Row) bool { return row.Probe != v.Probe && (row.Probe != "" || v.Probe != readProbe) }
	for _, m := range v.Metrics {
		if !measures(v, m) {
			continue
		}
		for _, row := range res.Rows {
			if other(row) || m.Size != 0 && m.Size != row.Size || len(v.Sizes) > 0 && !slices.Contains(v.Sizes, row.Size) {
				continue
			}
			if row.Unprobed {
				res.Judgements = append(res.Judgements, judgeUnprobed(res, v, m, row))
				continue
			}
			known := base.of(row) != nil
			if m.HasMax {
				j := one(res, v, m, row)
				unknown.spoil(m, &j)
				if m.Regression != 0 && !known {
					j.Note = "no baseline to compare with: judged by max alone"
				}
				res.Judgements = append(res.Judgements, j)
			}
			if m.Regression != 0 && (known || !m.HasMax) {
				res.Judgements = append(res.Judgements, regress(res, base, v, m, row))
			}
		}
	}
	// Whatever a validation limits, reads that fail fail it.
	if !slices.ContainsFunc(v.Metrics, func(m *inventory.Metric) bool { return m.Measure == failures && m.HasMax }) {
		none := none(failures)
		for _, row := range res.Rows {
			switch {
			case other(row):
			case row.Unprobed:
				res.Judgements = append(res.Judgements, judgeUnprobed(res, v, none, row))
			default:
				res.Judgements = append(res.Judgements, one(res, v, none, row))
			}
		}
	}
}

// The probes of validations.
const (
	readProbe   = "nvme-read"
	loadProbe   = "nvme-load"
	verbsProbe  = "verbs"  // messages over RDMA, as ib_send_lat
	socketProbe = "socket" // messages over TCP
)

func reads(v *inventory.Validation) bool { return v.Probe == readProbe }

// measured reports whether a probe measures something of a validation.
func measured(v *inventory.Validation) bool {
	return slices.Contains([]string{readProbe, verbsProbe, socketProbe}, v.Probe)
}

// unjudged makes validations of which nothing was measured inconclusive. later says that no
// pair is there yet.
func unjudged(res *Result, validations []*inventory.Validation, later bool) {
	for _, v := range validations {
		if slices.ContainsFunc(res.Judgements, func(j Judgement) bool { return j.Validation == v.Name }) {
			continue
		}
		why := "there is nothing in it to judge"
		switch {
		case (measured(v) || compares(v) || loads(v)) && later:
			why = ErrNoPair.Error()
		case measured(v) || compares(v) || loads(v):
			why = "nothing of it could be measured: no initiator connects to a target that its probe reaches"
		}
		res.Judgements = append(res.Judgements, Judgement{Validation: v.Name, Metric: "all", Pair: v.Addr, Verdict: Inconclusive, Why: why})
	}
}

// measures says whether a metric can be measured today.
func measures(v *inventory.Validation, m *inventory.Metric) bool {
	return measured(v) && m.Measure.Probed(v.Probe)
}

// What is judged of each probe and each load, declared or not.
var failures, damage = metric.Of(metric.Failures), metric.Of(metric.Damage)

// none is a metric that allows nothing.
func none(id metric.ID) *inventory.Metric {
	return &inventory.Metric{Name: id.String(), Measure: id, HasMax: true}
}

// Notes say what may go without a measurement, and with which line of the files.
func Notes(m *inventory.Model) []plan.Note {
	var out []plan.Note
	for _, v := range m.Validations {
		if len(v.AllowUnmeasured) > 0 {
			out = append(out, plan.Note{Range: v.At("allow_unmeasured"), Block: v.Addr, Text: "these may go without a measurement: " + strings.Join(v.AllowUnmeasured, ", ")})
		}
	}
	return out
}

func one(res *Result, v *inventory.Validation, m *inventory.Metric, row *Row) Judgement {
	j := Judgement{Validation: v.Name, Metric: m.Name, Pair: row.Pair(), Size: row.Size, Limit: m.Max, Latency: m.Latency()}
	kind := m.Measure.Row()
	switch {
	case row.Why != "":
		j.Verdict, j.Why = Inconclusive, row.Why
		return j
	case kind.Source == metric.Failures && row.Errors == 0 && row.Samples < row.Wanted:
		j.Verdict, j.Why = Inconclusive, fmt.Sprintf("%d of %d samples", row.Samples, row.Wanted)
		return j
	case kind.Source == metric.Failures:
		j.Value = float64(row.Errors)
		if j.Value > m.Max {
			j.Why = row.FirstErr
		}
	case row.Samples < row.Wanted:
		// What was tried and refused is a failure of the fabric, not of the
		// measurement; too few samples alone prove nothing.
		j.Verdict, j.Why = Inconclusive, fmt.Sprintf("%d of %d samples", row.Samples, row.Wanted)
		if row.Errors > 0 {
			j.Verdict, j.Why = Fail, row.FirstErr
		}
		return j
	case kind.Added:
		local := res.local(row)
		if row.flow.target != nil && row.flow.target.Server == nil {
			j.Verdict, j.Why = Inconclusive, "weft does not know the latency of an external target's storage: limit p99 instead"
			return j
		}
		if local == nil || local.Why != "" || local.Samples < local.Wanted {
			j.Verdict, j.Why = Inconclusive, "the local read to compare with could not be measured"
			if local != nil && local.Why+local.FirstErr != "" {
				j.Why += ": " + local.Why + local.FirstErr
			}
			return j
		}
		j.Value = float64(row.P99 - local.P99)
	default:
		value, known := row.Quantile(m.Measure)
		if !known {
			j.Verdict, j.Why = Inconclusive, fewSamples(m.Measure, int64(row.Samples))
			return j
		}
		j.Value = float64(value)
	}
	j.Verdict = Pass
	if j.Value > m.Max {
		j.Verdict = Fail
	}
	return j
}

// fewSamples says that a quantile has too few samples.
func fewSamples(id metric.ID, n int64) string {
	return fmt.Sprintf("%d samples, and %s needs %d", n, id, id.Row().Least)
}

// measurable refuses metrics that nothing measures: they would never be judged.
func measurable(validations []*inventory.Validation) error {
	var out []error
	for _, v := range validations {
		for _, m := range v.Metrics {
			var err error
			if counted(m) {
				_, err = inventory.ParseSource(m.Source)
			} else if !measures(v, m) && !compared(v, m) && !loaded(v, m) {
				err = errors.New("nothing in this validation measures it")
			}
			if err != nil {
				out = append(out, fmt.Errorf("%s, metric %q: %w", v.Addr, m.Name, err))
			}
		}
	}
	return errors.Join(out...)
}

// local is the read of the same storage on its own server.
func (res *Result) local(row *Row) *Row {
	i := slices.IndexFunc(res.Local, func(l *Row) bool { return row.Probe == "" && l.Target == row.Target && l.Size == row.Size })
	if i < 0 {
		return nil
	}
	return res.Local[i]
}

// Added is what the fabric adds to the p99 of a local read, if both are known.
func (res *Result) Added(row *Row) (time.Duration, bool) {
	local := res.local(row)
	if local == nil || local.Samples == 0 || row.Samples == 0 {
		return 0, false
	}
	return row.P99 - local.P99, true
}

// fallenBack fails what was measured over TCP where the files prefer RDMA: fast
// enough or not, it is not what they ask for. It says nothing where they allow it.
func fallenBack(rows []*Row) []Judgement {
	var out []Judgement
	seen := map[[3]string]bool{} // each was measured in several sizes
	for _, row := range rows {
		t := row.flow.target
		pair := [3]string{row.Initiator, row.Target, row.Plane}
		if !row.Degraded || row.Probe == socketProbe || t.AllowDegraded || row.flow.transports()[0] == "tcp" || seen[pair] {
			continue
		}
		seen[pair] = true
		out = append(out, Judgement{Validation: pathName, Metric: Transport, Counted: true, Value: 1, Verdict: Fail,
			Pair: row.Initiator + " → " + row.Target + " over plane " + row.Plane,
			Why:  "it is TCP instead of RDMA: " + row.ProbeResult.Degraded + "; allow_degraded = true in " + t.Addr + " accepts that"})
	}
	return out
}

// Transport is the metric that fails where TCP carries what was declared for RDMA.
const Transport = "transport"
