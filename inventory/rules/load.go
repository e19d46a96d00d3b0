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
				c.refuse(problem.Load, &v.Block, attr, "without effect", `%s says what a load does: it goes with probe = "nvme-load".`, attr)
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
		c.refuse(problem.Load, &v.Block, "samples", "without effect", "A load goes on for runtime, however many commands that are.")
	case v.Writes("read_share") && !l.Mixes():
		c.refuse(problem.Load, &v.Block, "read_share", "nothing is mixed", `rw = %q does one of the two; "rw" and "randrw" mix them.`, l.Pattern)
	case l.FlushEach > 0 && !l.Overwrites():
		c.refuse(problem.Load, &v.Block, "fsync", "nothing to flush", "rw = %q does not write.", l.Pattern)
	case l.FlushEach > 0 && l.Pattern == "database":
		c.refuse(problem.Load, &v.Block, "fsync", "without effect", "The log of a database is flushed after each write, and its pages are not.")
	case l.Pattern == "database" && l.Queues < 2:
		c.refuse(problem.Load, &v.Block, "rw", "a log and no pages", "Of a database one queue is the log, and the others are pages: queues = 2 is the least.")
	case l.Span < most:
		c.refuse(problem.Load, &v.Block, "span", "no room", "%d queues with %d commands under way each want a place for each command: %d bytes, and span is %d.", l.Queues, v.Depth, most, l.Span)
	case l.Overwrites() && !slices.ContainsFunc(c.Targets, hasScratch):
		c.refuse(problem.Load, &v.Block, "rw", "nothing it may write to", "rw = %q overwrites, and no namespace has scratch = true.", l.Pattern)
	}
}

func hasScratch(t *inventory.Target) bool { return len(t.Scratch()) > 0 }

// loading checks a metric of a load.
func (c *checker) loading(v *inventory.Validation, m *inventory.Metric) {
	latency := m.Latency()
	switch {
	case m.Regression != 0:
		c.refuse(problem.Metric, &m.Block, "regression", "no baseline of it", "No baseline keeps what a load does: write min or max.")
	case m.HasMin && m.Name != inventory.IOPS && m.Name != inventory.Throughput:
		c.refuse(problem.Metric, &m.Block, "min", "no least of this", "Of %s less is better, and max limits it.", m.Name)
	case !m.HasMin && !m.HasMax:
		c.refuse(problem.Metric, &m.Block, "", "no limit", "%s needs max, or min where more is better.", m.Name)
	case m.Mistyped() || m.HasMax && m.Limit == nil && m.Duration != latency:
		c.refuse(problem.Metric, &m.Block, "max", "a limit of another kind", `A latency has a limit such as "30us"; errors, iops and throughput (Gbit/s) have numbers.`)
	case m.HasMin && m.HasMax && m.Limit == nil && m.Min > m.Max:
		c.refuse(problem.Metric, &m.Block, "min", "nothing lies between", "The least is %g and the most %g.", m.Min, m.Max)
	case m.Writes("size") && !slices.Contains(v.Sizes, m.Size):
		c.refuse(problem.Metric, &m.Block, "size", "a size that is not measured", "The sizes of %s do not contain it.", v.Addr)
	}
}
