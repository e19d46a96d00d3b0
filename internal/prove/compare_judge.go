package prove

import (
	"fmt"
	"math"
	"slices"

	"weft/internal/metric"
	"weft/internal/slice"
	"weft/inventory"
)

// mostOther is how much of its time a machine may spend otherwise where its processor
// time is to say what reads cost.
const mostOther = 0.05

// whole is why a way was not measured in all blocks; "": it was.
func (w *Compared) whole() string {
	switch {
	case w.Why != "":
		return w.Over + ": " + w.Why
	case len(w.Blocks) < CompareBlocks:
		return fmt.Sprintf("%s: %d of %d blocks", w.Over, len(w.Blocks), CompareBlocks)
	}
	return ""
}

// of is a figure of each block.
func (w *Compared) of(figure func(Block) float64) []float64 {
	return slice.Map(w.Blocks, figure)
}

// figure is the interval of a figure of the blocks, or why there is none.
func (w *Compared) figure(of func(Block) float64) (Interval, string) {
	if why := w.whole(); why != "" {
		return Interval{}, why
	}
	i, err := mean(w.of(of))
	if err != nil {
		return Interval{}, w.Over + ": " + err.Error()
	}
	return i, ""
}

// IOPS are reads a second with many under way.
func (w *Compared) IOPS() (Interval, string) {
	return w.figure(func(b Block) float64 { return b.IOPS })
}

// Bits are bits a second with many reads under way.
func (w *Compared) Bits() (Interval, string) {
	return w.figure(func(b Block) float64 { return b.BitsPerSec })
}

// Cost is the processor time of both ends for a gigabit, in microseconds.
func (w *Compared) Cost() (Interval, string) {
	if why := w.whole(); why != "" {
		return Interval{}, why
	}
	if why := w.uncosted(); why != "" {
		return Interval{}, why
	}
	return w.figure(cpu)
}

func cpu(b Block) float64 { return b.CPU }

// uncosted is why it is not known what reads cost; "": it is.
func (w *Compared) uncosted() string {
	switch {
	case w.CPUWhy != "":
		return w.CPUWhy
	case w.Other > mostOther:
		return fmt.Sprintf("%s was busy with other things for %.3g %% of its time, and %.0f %% is the most that leaves something to say", w.OtherAt, w.Other*100, mostOther*100)
	}
	return ""
}

// both are RDMA and TCP of a comparison, where both were measured whole.
func (c *Comparison) both() (rdma, tcp *Compared, why string) {
	rdma, tcp = c.way("rdma"), c.way("tcp")
	for _, w := range []*Compared{rdma, tcp} {
		if w == nil {
			return nil, nil, "it was not asked for"
		}
		if why := w.whole(); why != "" {
			return nil, nil, why
		}
	}
	return rdma, tcp, ""
}

// Ratio is p99 over TCP by that over RDMA, or why it is not known.
func (c *Comparison) Ratio() (Interval, string) {
	rdma, tcp, why := c.both()
	if why != "" {
		return Interval{}, why
	}
	p99 := func(b Block) float64 { return float64(b.P99) }
	return orWhy(quotient(tcp.of(p99), rdma.of(p99)))
}

// Saved is the share of the processor time for a gigabit over TCP that RDMA does
// without, which may be less than nothing; or why it is not known.
func (c *Comparison) Saved() (Interval, string) {
	rdma, tcp, why := c.costs()
	if why != "" {
		return Interval{}, why
	}
	costs, err := quotient(rdma, tcp)
	if err != nil {
		return Interval{}, uncostable(err)
	}
	return Interval{1 - costs.Value, 1 - costs.High, 1 - costs.Low}, ""
}

// Spared is the processor time of both ends for a gigabit that RDMA does without, in
// microseconds, which may be less than nothing; or why it is not known. What changes from
// one block to the next for both is in neither.
func (c *Comparison) Spared() (Interval, string) {
	rdma, tcp, why := c.costs()
	if why != "" {
		return Interval{}, why
	}
	less := make([]float64, len(tcp))
	for i := range less {
		if !(rdma[i] > 0 && tcp[i] > 0) {
			return Interval{}, uncostable(errNotPositive)
		}
		less[i] = tcp[i] - rdma[i]
	}
	return orWhy(mean(less))
}

// costs are the processor times of each block, where they are known of both.
func (c *Comparison) costs() (rdma, tcp []float64, why string) {
	r, t, why := c.both()
	if why != "" {
		return nil, nil, why
	}
	for _, w := range []*Compared{r, t} {
		if why := w.uncosted(); why != "" {
			return nil, nil, why
		}
	}
	return r.of(cpu), t.of(cpu), ""
}

func uncostable(err error) string {
	return "the cost of reads cannot be separated from other load: " + err.Error() + "; use a longer runtime"
}

// orWhy is an interval, or why there is none, as a text.
func orWhy(i Interval, err error) (Interval, string) {
	if err != nil {
		return Interval{}, err.Error()
	}
	return i, ""
}

// metric is what a comparison has for a metric, or why it has nothing. untried is the
// way that the files, or what machines are, rule out.
func (c *Comparison) metric(id metric.ID) (i Interval, why string, untried *Compared) {
	rdma, tcp := c.way("rdma"), c.way("tcp")
	switch {
	case rdma == nil || slices.Contains(id.Row().Ways, "tcp") && tcp == nil:
		return i, "it was not asked for", nil
	case id.Row().Source == metric.Bits:
		i, why = rdma.Bits()
		return Interval{i.Value / 1e9, i.Low / 1e9, i.High / 1e9}, why, firstUntried(rdma)
	case id.Row().Source == metric.Quotient:
		i, why = c.Ratio()
	default:
		i, why = c.Saved()
	}
	return i, why, firstUntried(rdma, tcp)
}

// firstUntried is the first way that was ruled out; nil: none.
func firstUntried(ways ...*Compared) *Compared {
	n := slices.IndexFunc(ways, func(w *Compared) bool { return w.Untried })
	if n < 0 {
		return nil
	}
	return ways[n]
}

// judgeCompared holds what was compared against the metrics of a validation.
func judgeCompared(res *Result, v *inventory.Validation, unknown unknownLimits) {
	for _, m := range v.Metrics {
		if !compared(v, m) {
			continue
		}
		for _, limit := range limitsOf(m) {
			first := len(res.Judgements)
			for _, c := range res.Compared {
				if c.Target == "" || m.Size != 0 && m.Size != c.Size || !slices.Contains(v.Sizes, c.Size) {
					continue
				}
				j := limit.judge(c, m.Measure)
				j.Validation = v.Name
				if !j.Least {
					unknown.spoil(m, &j)
				}
				res.Judgements = append(res.Judgements, j)
			}
			if len(res.Judgements) == first {
				res.Judgements = append(res.Judgements, Judgement{Validation: v.Name, Metric: m.Name, Pair: v.Addr, Limit: limit.value, Least: limit.least,
					Verdict: Inconclusive, Why: "no pair is there that could be compared"})
			}
			nowhere(res.Judgements[first:])
		}
	}
}

// A boundary is the least or the most that a metric may be.
type boundary struct {
	value float64
	least bool
}

func limitsOf(m *inventory.Metric) (out []boundary) {
	if m.HasMin {
		out = append(out, boundary{m.Min, true})
	}
	if m.HasMax {
		out = append(out, boundary{m.Max, false})
	}
	return out
}

// judge holds one comparison against the boundary.
func (b boundary) judge(c *Comparison, id metric.ID) Judgement {
	j := Judgement{Metric: id.String(), Pair: c.Pair(), Size: c.Size, Limit: b.value, Least: b.least, Unit: id.JudgedIn()}
	i, why, untried := c.metric(id)
	if why != "" {
		j.Verdict, j.Why = Inconclusive, why
		if untried != nil {
			j.Verdict, j.Absence = NotMeasured, untried.Absence
		}
		return j
	}
	j.Value, j.Interval = i.Value, &i
	if b.least {
		j.Verdict = i.against(b.value, math.Inf(1))
	} else {
		j.Verdict = i.against(math.Inf(-1), b.value)
	}
	if j.Verdict == Inconclusive {
		j.Why = "the limit lies within what the blocks leave open"
	}
	return j
}

// compared reports whether a metric is one that compares.
func compared(v *inventory.Validation, m *inventory.Metric) bool {
	return compares(v) && m.Measure.Compared()
}

// comparison is what judgements about reads stand under that failed where they were
// compared.
const comparison = "compare"

// failedCompared fails what was compared and could not be read: whatever is limited,
// reads that fail fail.
func failedCompared(list []*Comparison) (out []Judgement) {
	for _, c := range list {
		for _, w := range c.Ways {
			if w.Errors > 0 {
				out = append(out, Judgement{Validation: comparison, Metric: "errors", Pair: c.Pair() + ", " + w.Over, Size: c.Size, Value: float64(w.Errors), Verdict: Fail, Why: w.Why})
			}
		}
	}
	return out
}
