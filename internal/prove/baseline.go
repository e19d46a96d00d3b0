package prove

import (
	"fmt"
	"math"
	"slices"
	"time"

	"weft/internal/latency"
	"weft/inventory"
)

// BaselineFormat is the number of a baseline's format.
const BaselineFormat = 1

// A Baseline is what was measured once, to compare with later.
type Baseline struct {
	Format    int     `json:"format"`
	Simulated bool    `json:"simulated"` // by the lab: says nothing about a real fabric
	Entries   []Entry `json:"entries"`
}

// An Entry is one flow of a baseline.
type Entry struct {
	Initiator string    `json:"initiator"`
	Target    string    `json:"target"`
	Plane     string    `json:"plane,omitempty"`
	At        string    `json:"at,omitempty"`    // portal, where the target has more than one in the plane
	Probe     string    `json:"probe,omitempty"` // as of a Row
	Transport string    `json:"transport"`
	Size      int       `json:"size"`
	Time      time.Time `json:"time"`
	Histogram string    `json:"histogram"`
}

// Check refuses a baseline that cannot be compared with.
func (b *Baseline) Check(simulated bool) error {
	switch {
	case b.Format != BaselineFormat:
		return fmt.Errorf("a baseline of format %d; this weft knows %d", b.Format, BaselineFormat)
	case b.Simulated != simulated:
		return fmt.Errorf("a baseline of simulated=%t does not go with simulated=%t", b.Simulated, simulated)
	}
	for _, e := range b.Entries {
		if err := latency.New().UnmarshalText([]byte(e.Histogram)); err != nil {
			return fmt.Errorf("the baseline of %s to %s: %w", e.Initiator, e.Target, err)
		}
	}
	return nil
}

// Record takes the rows of a result that were measured whole into the baseline,
// in place of what it had of the same flows. It says how many those were.
func (b *Baseline) Record(res *Result, now time.Time) int {
	n := 0
	for _, row := range slices.Concat(res.Local, res.Rows) {
		if row.Why != "" || row.Errors > 0 || row.Samples == 0 || row.Samples < row.Wanted {
			continue
		}
		e := entry(row)
		e.Time, e.Histogram = now, row.Histogram
		if i := slices.IndexFunc(b.Entries, e.same); i >= 0 {
			b.Entries[i] = e
		} else {
			b.Entries = append(b.Entries, e)
		}
		n++
	}
	return n
}

// entry is the flow of a row.
func entry(row *Row) Entry {
	return Entry{Initiator: row.Initiator, Target: row.Target, Plane: row.Plane, At: row.At, Probe: row.Probe, Transport: row.Transport, Size: row.Size}
}

func (e Entry) same(o Entry) bool {
	e.Time, e.Histogram, o.Time, o.Histogram = time.Time{}, "", time.Time{}, ""
	return e == o
}

// of is what the baseline has of a row's flow.
func (b *Baseline) of(row *Row) *Entry {
	if b == nil || row == nil {
		return nil
	}
	i := slices.IndexFunc(b.Entries, entry(row).same)
	if i < 0 {
		return nil
	}
	return &b.Entries[i]
}

// regress holds a row against the baseline. It fails only what is worse beyond
// what the number of samples leaves open.
func regress(res *Result, base *Baseline, v *inventory.Validation, m *inventory.Metric, row *Row) Judgement {
	j := Judgement{Validation: v.Name, Metric: m.Name, Pair: row.Pair(), Size: row.Size, Latency: true, Verdict: Inconclusive}
	then := base.of(row)
	local := res.local(row)
	var localHist, localThen *latency.Histogram
	if local != nil && local.whole() {
		localHist = local.Latencies()
	}
	if e := base.of(local); e != nil {
		localThen = decoded(e.Histogram)
	}
	switch {
	case then == nil:
		j.Why = "there is no baseline of it"
		return j
	case !row.whole():
		j.Why = row.lacks()
		return j
	}
	j.Against = then.Time
	before := decoded(then.Histogram)
	now, okNow := m.Measure.Estimate(row.Latencies(), localHist)
	was, okThen := m.Measure.Estimate(before, localThen)
	if !okNow || !okThen {
		j.Why = "the local read to compare with is not known, now or in the baseline"
		return j
	}
	worse := func(x float64) float64 { return x + m.Regression*math.Abs(x) }
	j.Value, j.Limit = now.Value, worse(was.Value)
	switch {
	case now.Value <= j.Limit:
		j.Verdict = Pass
	case now.Low > worse(was.High):
		j.Verdict = Fail
		j.Why = fmt.Sprintf("it was %v, and may grow by %.4g %%", time.Duration(was.Value), m.Regression*100)
	default:
		j.Why = fmt.Sprintf("it was %v; %d samples, and %d then, do not tell whether it is worse", time.Duration(was.Value), row.Samples, before.Count())
	}
	return j
}
