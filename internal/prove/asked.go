package prove

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Asked leaves in a result that was measured elsewhere what was asked for there: rows and
// counters of the devices that here knows, judged again as a whole. The error says what keeps
// it from being a result of those validations; none are all of them.
func (res *Result) Asked(validations []string, here func(device string) bool) error {
	if len(res.Judgements) == 0 {
		return errors.New("it judges nothing")
	}
	for _, j := range res.Judgements {
		if j.Verdict == Partial || !slices.Contains(Verdicts(), j.Verdict) {
			return fmt.Errorf("%q is no verdict of %s.%s", j.Verdict, j.Validation, j.Metric)
		}
		asked := len(validations) == 0 || j.Validation == "" || slices.Contains(BuiltIn(), j.Validation) ||
			slices.ContainsFunc(validations, func(name string) bool { return strings.TrimPrefix(name, "validation.") == j.Validation })
		if !asked {
			return fmt.Errorf("it judges %s, which was not asked for", j.Validation)
		}
	}
	elsewhere := func(r *Row) bool { return r == nil || !here(r.Initiator) }
	res.Rows, res.Local = slices.DeleteFunc(res.Rows, elsewhere), slices.DeleteFunc(res.Local, elsewhere)
	res.Compared = slices.DeleteFunc(res.Compared, func(c *Comparison) bool {
		return c == nil || !here(c.Initiator) || slices.Contains(c.Ways, nil)
	})
	res.Loads = slices.DeleteFunc(res.Loads, func(l *Load) bool { return l == nil || !here(l.Initiator) })
	res.Before, res.After = res.Before.of(here), res.After.of(here)
	res.Throughput, res.Checks, res.Outputs = nil, nil, nil // of whoever concludes
	res.Verdict = overall(res)
	return nil
}

// of is what a reading says of some devices.
func (r *Snapshot) of(here func(device string) bool) *Snapshot {
	if r == nil {
		return nil
	}
	out := &Snapshot{Agents: maps.Clone(r.Agents)}
	out.Samples = slices.DeleteFunc(slices.Clone(r.Samples), func(s Sample) bool { return !here(s.Device) })
	out.Missing = slices.DeleteFunc(slices.Clone(r.Missing), func(m Missing) bool { return !here(m.Device) })
	maps.DeleteFunc(out.Agents, func(device string, _ time.Time) bool { return !here(device) })
	return out
}
