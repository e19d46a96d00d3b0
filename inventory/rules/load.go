package rules

import (
	"slices"

	"weft/inventory"
	"weft/inventory/problem"
)

// load checks what a validation does to namespaces.
func (c *checker) load(v *inventory.Validation) {
	l := v.Load
	if l == nil {
		for _, attr := range []string{"rw", "read_share", "queues", "rate", "fsync", "span"} {
			if v.Writes(attr) {
				c.refuse(problem.Load, &v.Block, attr, "without effect", `%s applies only with probe = "nvme-load".`, attr)
			}
		}
		return
	}
	most := int64(0)
	for _, size := range v.Sizes {
		most = max(most, int64(size)*int64(v.Depth)*int64(l.Queues))
	}
	switch {
	case v.Writes("samples"):
		c.refuse(problem.Load, &v.Block, "samples", "without effect", "A load runs for runtime, regardless of the number of commands.")
	case v.Writes("read_share") && !l.Mixes():
		c.refuse(problem.Load, &v.Block, "read_share", "not a mixed load", `rw = %q only reads or only writes; "rw" and "randrw" are mixed.`, l.Pattern)
	case l.FlushEach > 0 && !l.Overwrites():
		c.refuse(problem.Load, &v.Block, "fsync", "nothing to flush", "rw = %q does not write.", l.Pattern)
	case l.FlushEach > 0 && l.Pattern == "database":
		c.refuse(problem.Load, &v.Block, "fsync", "without effect", "A database load flushes its log after each write, and never its pages.")
	case l.Pattern == "database" && l.Queues < 2:
		c.refuse(problem.Load, &v.Block, "rw", "too few queues for a database load", "One queue of a database load writes the log, the others write pages: set queues to at least 2.")
	case l.Span < most:
		c.refuse(problem.Load, &v.Block, "span", "span too small", "%d queues with %d commands in flight each need %d bytes, but span is %d.", l.Queues, v.Depth, most, l.Span)
	case l.Overwrites() && !slices.ContainsFunc(c.Targets, hasScratch):
		c.refuse(problem.Load, &v.Block, "rw", "no scratch namespace", "rw = %q overwrites data, but no namespace has scratch = true.", l.Pattern)
	}
}

func hasScratch(t *inventory.Target) bool { return len(t.Scratch()) > 0 }

// loading checks a metric of a load.
func (c *checker) loading(v *inventory.Validation, m *inventory.Metric) {
	latency := m.Latency()
	switch {
	case m.Regression != 0:
		c.refuse(problem.Metric, &m.Block, "regression", "no baseline for this metric", "Loads have no baseline: set min or max.")
	case m.HasMin && !m.Measure.Row().More:
		c.refuse(problem.Metric, &m.Block, "min", "min not applicable", "For %s, lower is better: set max.", m.Name)
	case !m.HasMin && !m.HasMax:
		c.refuse(problem.Metric, &m.Block, "", "no limit", "%s needs max, or min if higher is better.", m.Name)
	case m.Mistyped() || m.HasMax && m.Limit == nil && m.Duration != latency:
		c.refuse(problem.Metric, &m.Block, "max", "wrong type of limit", `The limit of a latency is a duration such as "30us"; errors, iops and throughput (Gbit/s) take numbers.`)
	case m.HasMin && m.HasMax && m.Limit == nil && m.Min > m.Max:
		c.refuse(problem.Metric, &m.Block, "min", "min greater than max", "min is %g and max is %g.", m.Min, m.Max)
	case m.Writes("size") && !slices.Contains(v.Sizes, m.Size):
		c.refuse(problem.Metric, &m.Block, "size", "size not measured", "It is not in the sizes of %s.", v.Addr)
	}
}
