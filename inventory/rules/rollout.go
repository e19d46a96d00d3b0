package rules

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/metric"
	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"
)

func (c *checker) validations() {
	for _, v := range c.Validations {
		if !v.Incomplete {
			c.compares(v)
			c.load(v)
			c.unmeasured(v)
		}
		for _, m := range v.Metrics {
			if !v.Incomplete && !m.Incomplete {
				c.metric(v, m)
			}
		}
	}
}

// unmeasured checks that allow_unmeasured names what the files declare.
func (c *checker) unmeasured(v *inventory.Validation) {
	known := c.UnmeasuredNames()
	for _, name := range v.AllowUnmeasured {
		if slices.Contains(known, name) {
			continue
		}
		systems := slices.DeleteFunc(slices.Clone(known), func(s string) bool { return strings.Contains(s, ".") })
		c.refuse(problem.Unmeasured, &v.Block, "allow_unmeasured", "no such device or system",
			`%q is not the system of a declared device (%s). Write a declared server, switch or virtual machine as a reference, without quotes.%s`, name, problem.OrList(systems), problem.DidYouMean(name, known))
	}
}

// compares checks that what is compared are reads, and that what was there before can
// be read.
func (c *checker) compares(v *inventory.Validation) {
	if len(v.Compare) == 0 {
		for _, attr := range []string{"depth", "runtime"} {
			if v.Writes(attr) && v.Load == nil {
				c.refuse(problem.Metric, &v.Block, attr, "without effect", `%s applies only with compare = ["rdma", "tcp", "local"] or probe = "nvme-load".`, attr)
			}
		}
		if v.Before != nil {
			c.refuse(problem.Metric, &v.Before.Block, "", "nothing to compare with", `before requires a comparison: set compare = ["rdma", "tcp", "local"] in %s.`, v.Addr)
		}
		return
	}
	if v.Probe != "" && v.Probe != "nvme-read" {
		c.refuse(problem.Metric, &v.Block, "compare", "only reads are compared", `compare measures reads: remove probe = %q, or use a separate validation for it.`, v.Probe)
	}
	if b := v.Before; b != nil && !b.Incomplete && b.Server != nil && !c.probes(b.Server) {
		c.refuse(problem.Metric, &b.Block, "server", "no probe on the server", "weft-initiator is installed only on servers of initiators and of managed targets, and %s is neither.", b.Server.Addr)
	}
}

// probes reports whether weft-initiator is installed on a server.
func (c *checker) probes(s *inventory.Server) bool {
	return slices.ContainsFunc(c.Initiators, func(i *inventory.Initiator) bool { return i.Server == s }) ||
		slices.ContainsFunc(c.Targets, func(t *inventory.Target) bool { return t.Server == s })
}

// comparing checks a metric that compares.
func (c *checker) comparing(v *inventory.Validation, m *inventory.Metric) {
	lacks := func(ways ...string) bool {
		return slices.ContainsFunc(ways, func(way string) bool { return !slices.Contains(v.Compare, way) })
	}
	ways := m.Measure.Row().Ways
	switch {
	case len(ways) == 1 && lacks(ways...):
		c.refuse(problem.Metric, &m.Block, "", "metric not measured", `%s is measured over RDMA: set compare = ["rdma"] in %s.`, m.Name, v.Addr)
	case lacks(ways...):
		c.refuse(problem.Metric, &m.Block, "", "nothing to compare", `%s compares RDMA with TCP: in %s, set compare = ["rdma", "tcp"].`, m.Name, v.Addr)
	case m.Regression != 0:
		c.refuse(problem.Metric, &m.Block, "regression", "no baseline for this metric", "Comparisons have no baseline: set min or max.")
	case !m.HasMin && !m.HasMax:
		c.refuse(problem.Metric, &m.Block, "", "no limit", "%s needs min or max.", m.Name)
	case m.Duration || m.Mistyped():
		c.refuse(problem.Metric, &m.Block, "max", "wrong type of limit", "The limit of %s is a number.", m.Name)
	case m.HasMin && m.HasMax && m.Limit == nil && m.Min > m.Max:
		c.refuse(problem.Metric, &m.Block, "min", "min greater than max", "min is %g and max is %g.", m.Min, m.Max)
	case m.Writes("size") && !slices.Contains(v.Sizes, m.Size):
		c.refuse(problem.Metric, &m.Block, "size", "size not measured", "It is not in the sizes of %s.", v.Addr)
	}
}

// metric checks that a metric can be measured and has something to be judged
// by.
func (c *checker) metric(v *inventory.Validation, m *inventory.Metric) {
	switch {
	case v.Load != nil && m.Measure.Probed(v.Probe):
		c.loading(v, m)
		return
	case m.Measure.Compared():
		c.comparing(v, m)
		return
	}
	if m.HasMin {
		c.refuse(problem.Metric, &m.Block, "min", "min not applicable", "min applies only to %s. For all other metrics, lower is better: set max.", problem.OrList(metric.Names(metric.All(func(r metric.Row) bool { return r.More }))))
		return
	}
	if !m.HasMax && m.Regression == 0 {
		c.refuse(problem.Metric, &m.Block, "", "no limit", "A metric needs max, or regression against a baseline.")
	}
	if !m.HasMax && m.Regression != 0 {
		c.warn(problem.NoBaseline, &m.Block, "regression", "no limit without a baseline", "The first run has no baseline, so its gate is inconclusive: also set max.")
	}
	sized := m.Writes("size")
	if m.Mistyped() {
		c.refuse(problem.Metric, &m.Block, "max", "wrong type of limit", `The limit of a latency is a duration such as "30us"; errors and counters take numbers.`)
	}
	if m.Source != "" {
		if sized {
			c.refuse(problem.Metric, &m.Block, "size", "size of a counter", "size applies only to metrics of a probe.")
		}
		if _, err := inventory.ParseSource(m.Source); err != nil {
			c.refuse(problem.Metric, &m.Block, "source", "unknown counter", "%s.", err)
		}
		return
	}
	row := m.Measure.Row()
	switch {
	case v.Probe == "":
		c.refuse(problem.Metric, &m.Block, "", "metric not measured", `%s is measured by a probe: in %s, set probe = %s.`, m.Name, v.Addr, quoted(row.Probes))
	case row.Added && !m.Measure.Probed(v.Probe):
		c.refuse(problem.Metric, &m.Block, "", "nothing to compare with", `%s is the latency that the fabric adds to a local read, which probe = %q does not measure: limit p99, or set probe = "nvme-read" in %s.`, m.Name, v.Probe, v.Addr)
	case !m.Measure.Probed(v.Probe):
		c.refuse(problem.Metric, &m.Block, "", "metric not measured", `probe = %q measures %s. For %s, set probe = %s in %s.`, v.Probe, problem.OrList(metric.OfProbe(v.Probe)), m.Name, quoted(row.Probes), v.Addr)
	case int64(v.Samples) < row.Least:
		c.refuse(problem.Metric, &m.Block, "", "too few samples", `%s needs %d samples of each pair, and %s has samples = %d.`, m.Name, row.Least, v.Addr, v.Samples)
	case m.HasMax && m.Limit == nil && m.Duration != m.Latency():
		c.refuse(problem.Metric, &m.Block, "max", "wrong type of limit", `The limit of a latency is a duration such as "30us"; errors take a number.`)
	case sized && !slices.Contains(v.Sizes, m.Size):
		c.refuse(problem.Metric, &m.Block, "size", "size not measured", "It is not in the sizes of %s.", v.Addr)
	}
}

func quoted(words []string) string { return problem.OrList(slice.Map(words, strconv.Quote)) }

func (c *checker) rollouts() {
	for _, r := range c.Rollouts {
		selected := registry[string]{}
		var remaining *inventory.Phase
		for _, p := range r.Phases {
			if p.Incomplete {
				continue
			}
			c.phase(p)
			switch {
			case p.Remaining && remaining != nil:
				c.refuse(problem.Select, &p.Block, "select", "nothing remains", "%s already selects all remaining devices.", whereBlock(&remaining.Block))
			case p.Remaining:
				remaining = p
			case remaining != nil && len(p.Select) > 0:
				c.refuse(problem.Select, &p.Block, "select", "nothing remains", "%s selects all remaining devices, so it must be the last phase.", whereBlock(&remaining.Block))
			}
			for _, addr := range p.Select {
				if other := selected.first(addr, &p.Block); other != nil {
					c.refuse(problem.Select, &p.Block, "select", "selected twice", "%s is already part of %s.", addr, whereBlock(other))
				}
			}
		}
		c.order(r, remaining)
	}
}

// sites refuses a site without devices, and a device in two of them.
func (c *checker) sites() {
	taken := registry[string]{}
	for _, s := range c.Sites {
		if len(s.Select) == 0 && !s.Incomplete {
			c.refuse(problem.Select, &s.Block, "select", "empty selection", "select matches no device.")
		}
		for _, addr := range s.Select {
			if other := taken.first(addr, &s.Block); other != nil {
				c.refuse(problem.Select, &s.Block, "select", "device in two sites", "%s is already part of %s: a device belongs to one site.", addr, whereBlock(other))
			}
		}
	}
}

// order refuses what depends on a later phase of the same rollout: it would
// be carried out before what it needs.
func (c *checker) order(r *inventory.Rollout, remaining *inventory.Phase) {
	number := map[string]int{}
	for i, p := range r.Phases {
		for _, addr := range p.Select {
			if _, twice := number[addr]; !twice {
				number[addr] = i
			}
		}
	}
	if remaining != nil && !c.anyOther(number) {
		c.warn(problem.Select, &remaining.Block, "select", "nothing remains", "The other phases of %s already select every device.", whereBlock(&r.Block))
	}
	for _, b := range c.dependents() {
		mine, ok := number[b.Addr]
		if !ok {
			continue // of the remaining ones, which are last, or of none
		}
		for _, on := range b.DependsOn {
			later, selected := r.Phases[mine], false
			if n, ok := number[on]; ok {
				later, selected = r.Phases[n], n > mine
			} else if remaining != nil {
				later, selected = remaining, true
			}
			if selected {
				c.refuse(problem.Order, b, "depends_on", "dependency in a later phase", "%s is part of phase %q (%s), but %s is applied only in phase %q (%s).",
					b.Addr, r.Phases[mine].Name, problem.Where(r.Phases[mine].At("select")), on, later.Name, problem.Where(later.At("select")))
			}
		}
	}
}

// anyOther reports whether there is something to roll out that no phase
// selects by its name.
func (c *checker) anyOther(selected map[string]int) bool {
	free := func(b *inventory.Block) bool {
		_, ok := selected[b.Addr]
		return !ok
	}
	return slices.ContainsFunc(c.Switches, func(x *inventory.Switch) bool { return !x.Unmanaged && free(&x.Block) }) ||
		slices.ContainsFunc(c.Servers, func(x *inventory.Server) bool { return free(&x.Block) }) ||
		slices.ContainsFunc(c.VCenters, func(x *inventory.VCenter) bool { return free(&x.Block) }) ||
		slices.ContainsFunc(c.DVSwitches, func(x *inventory.DVSwitch) bool { return free(&x.Block) }) ||
		slices.ContainsFunc(c.VMs, func(x *inventory.VM) bool { return free(&x.Block) }) ||
		slices.ContainsFunc(c.Links, func(x *inventory.Link) bool { return free(&x.Block) }) ||
		slices.ContainsFunc(c.Pools, func(x *inventory.Pool) bool { return free(&x.Block) }) ||
		slices.ContainsFunc(c.Volumes, func(x *inventory.Volume) bool { return free(&x.Block) }) ||
		slices.ContainsFunc(c.Targets, func(x *inventory.Target) bool { return free(&x.Block) }) ||
		slices.ContainsFunc(c.Initiators, func(x *inventory.Initiator) bool { return free(&x.Block) })
}

func (c *checker) phase(p *inventory.Phase) {
	for _, list := range []struct {
		attr string
		of   []*inventory.Validation
	}{{"gate", p.Gate}, {"record", p.Record}} {
		if written := p.Writes(list.attr); written && len(list.of) == 0 {
			c.refuse(problem.NoGate, &p.Block, list.attr, "no validation", "%s contains no enabled validation, so nothing would be checked.", list.attr)
		}
		for _, v := range list.of {
			if v.Load != nil && v.Load.Overwrites() {
				c.refuse(problem.Load, &p.Block, list.attr, "writing load in a rollout", "%s writes to scratch namespaces, which each weft verify --i-will-write must confirm: run it with weft verify, or use a load that only reads.", v.Addr)
			}
		}
	}
	selects := p.Writes("select")
	switch {
	case selects && len(p.Select) == 0 && !p.Remaining:
		c.refuse(problem.Select, &p.Block, "select", "empty selection", "select matches no instance.")
	case !selects && len(p.Record) == 0 && len(p.Gate) == 0:
		c.refuse(problem.Select, &p.Block, "", "empty phase", "A phase needs select, record or gate.")
	case !selects && len(p.Batch) > 0:
		c.refuse(problem.Select, &p.Block, "batch", "batch without select", "batch requires select.")
	case !selects && p.Restart != "":
		c.refuse(problem.Select, &p.Block, "restart", "restart without select", "restart requires select: only changed servers are restarted.")
	case p.Restart == "" && p.Writes("restart_timeout"):
		c.refuse(problem.Select, &p.Block, "restart_timeout", "restart_timeout without restart", `restart_timeout requires restart = "rolling".`)
	}
}
