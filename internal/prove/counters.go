package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/internal/tally"
	"weft/internal/wait"
	"weft/inventory"
)

// counted reports whether a metric is taken from counters.
func counted(m *inventory.Metric) bool { return m.Source != "" }

// counts reports whether a validation looks at counters.
func counts(v *inventory.Validation) bool { return slices.ContainsFunc(v.Metrics, counted) }

// A countPlace is one place where a source counts.
type countPlace struct {
	Counter
	class *inventory.TrafficClass // nil: the whole port
}

// String names the place for people.
func (p countPlace) String() string {
	text := p.Device + " " + p.Port
	if p.class != nil {
		text += fmt.Sprintf(" priority %d (%s)", p.Priority, p.class.Name)
	}
	return text
}

// countedAt lists where a source counts: at every cabled port of a managed switch or
// every NIC whose fabric has the class.
func countedAt(m *inventory.Model, s inventory.Source) []countPlace {
	var out []countPlace
	add := func(f *inventory.Fabric, device, port string) {
		p := countPlace{Counter{device, port, tally.AllPriorities, s.Name}, nil}
		if s.Class != "" {
			i := slices.IndexFunc(f.Classes, func(c *inventory.TrafficClass) bool { return c.Name == s.Class })
			if i < 0 {
				return
			}
			p.class, p.Priority = f.Classes[i], f.Classes[i].Priority
		}
		out = append(out, p)
	}
	where := cabled(m)
	if s.Device == "switch" {
		for _, sw := range m.Switches {
			for _, port := range where.switches[sw] {
				add(sw.Fabric, sw.Addr, port)
			}
		}
		return out
	}
	for _, server := range m.Servers {
		for _, r := range where.servers[server] {
			add(r.Fabric, server.Addr, r.Name)
		}
	}
	return out
}

// judgeCounters holds what was counted between two readings against the metrics
// of a validation that have a source.
func (r *run) judgeCounters(res *Result, v *inventory.Validation, unknown unknownLimits) {
	for _, m := range v.Metrics {
		if !counted(m) {
			continue
		}
		inconclusive := func(why string) {
			j := Judgement{Validation: v.Name, Metric: m.Name, Pair: v.Addr, Limit: m.Max, Verdict: Inconclusive, Why: why}
			unknown.spoil(m, &j)
			res.Judgements = append(res.Judgements, j)
		}
		s, err := inventory.ParseSource(m.Source)
		if err == nil && !m.HasMax {
			err = errors.New("a counter against a baseline is described, not yet measured")
		}
		if err != nil {
			inconclusive(err.Error())
			continue
		}
		list := countedAt(r.in.Model, s)
		if len(list) == 0 {
			inconclusive("nothing that is managed counts " + m.Source)
			continue
		}
		if r.in.Ready != nil {
			list = slices.DeleteFunc(list, func(p countPlace) bool { return !r.in.Ready(p.Device, p.Port) })
			if len(list) == 0 {
				inconclusive("no place where " + m.Source + " is counted is rolled out yet")
				continue
			}
		}
		first := len(res.Judgements)
		for _, p := range list {
			j := Judgement{Validation: v.Name, Metric: m.Name, Pair: p.String(), Limit: m.Max, Counted: true, Unit: m.Unit}
			if j.judge(res, m, p); j.Verdict == NotMeasured && !j.Undeclared {
				j.Absence = r.absentAt(p.Device)
			}
			unknown.spoil(m, &j)
			res.Judgements = append(res.Judgements, j)
		}
		nowhere(res.Judgements[first:])
	}
}

// nowhere makes a metric inconclusive that no place measures: the files asked for
// it by name, and nothing stands behind it.
func nowhere(list []Judgement) {
	if slices.ContainsFunc(list, func(j Judgement) bool { return j.Verdict != NotMeasured }) {
		return
	}
	for i := range list {
		list[i].Verdict = Inconclusive
	}
}

// judge fills in what a counter says.
func (j *Judgement) judge(res *Result, m *inventory.Metric, p countPlace) {
	j.Verdict = Inconclusive
	after, ok, why := res.After.find(p.Counter)
	if !ok {
		j.Why = why
		return
	}
	if !m.Delta && m.Unit != "ratio" {
		if j.Value = float64(after.Value); after.Off != "" {
			j.Verdict, j.Why, j.Undeclared = NotMeasured, after.Off, !after.Untold
			return
		}
		j.settle()
		return
	}
	before, ok, why := res.Before.find(p.Counter)
	switch {
	case !ok:
		j.Why = "before: " + why
		return
	case after.Value < before.Value:
		j.Why = fmt.Sprintf("it went back from %d to %d: it was cleared, or the device restarted", before.Value, after.Value)
		return
	case before.Off != after.Off:
		j.Why = "the set of counters there has changed meanwhile"
		return
	case after.Off != "":
		j.Verdict, j.Why, j.Undeclared = NotMeasured, after.Off, !after.Untold
		return
	}
	grown, took := after.Value-before.Value, after.Time.Sub(before.Time)
	j.Over = took
	if m.Unit == "ratio" {
		if took < time.Millisecond {
			j.Why = "the two readings are too close to one another"
			return
		}
		j.Value = float64(grown) / float64(took.Microseconds())
		j.settle()
		return
	}
	j.Value = float64(grown)
	if p.class != nil && p.class.PFC && p.Name == tally.Drops && grown == 0 {
		// A packet that was dropped before its class was known may have been of
		// this one.
		in := Counter{p.Device, p.Port, tally.AllPriorities, tally.IngressDrops}
		a, okA, _ := res.After.find(in)
		b, okB, _ := res.Before.find(in)
		if okA && okB && a.Value > b.Value {
			j.Why = fmt.Sprintf("%d packets were dropped on the way in, and the switch does not say of which class", a.Value-b.Value)
			return
		}
	}
	j.settle()
}

// settle holds the value against the limit.
func (j *Judgement) settle() {
	if j.Verdict = Pass; j.Value > j.Limit {
		j.Verdict = Fail
	}
}

// shortest is the least time between two readings.
const shortest = time.Second

// dwell waits until so much has passed since a reading that a second one says
// something.
func (r *run) dwell(ctx context.Context, since *Snapshot) error {
	least := cmp.Or(r.in.Window, shortest)
	var last time.Time
	for _, s := range since.Samples {
		if s.Time.After(last) {
			last = s.Time
		}
	}
	left := least - time.Since(last)
	if len(since.Samples) == 0 || left <= 0 {
		return nil
	}
	if !wait.For(ctx, left) {
		return ctx.Err()
	}
	return nil
}
