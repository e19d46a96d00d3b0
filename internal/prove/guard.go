package prove

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"weft/inventory"
)

// A Guard looks at what is rolled out while something else is being changed,
// which the gate that follows does not see: at what switches count, at the paths
// that kernels have, and at whether servers answer. It measures nothing.
type Guard struct {
	run     *run
	ports   map[*inventory.Switch][]string
	judges  []*inventory.Validation
	before  *Snapshot
	servers *attendance // nil: none is asked
}

// NewGuard makes the first reading. It judges what speaks against a rollout
// whether anybody asked for it or not; where a validation of in.Names limits that
// itself it is judged by that limit. Nil: there is nothing to look at yet.
func NewGuard(ctx context.Context, in Input) (*Guard, error) {
	asked, err := chosen(in.Model, in.Names)
	if err != nil {
		return nil, err
	}
	g := &Guard{run: &run{in: in}, ports: cabled(in.Model).switches, servers: newAttendance(in)}
	if len(in.Names) == 0 {
		asked = nil
	}
	g.judges = guarded(in.Model, asked)
	for sw, ports := range g.ports {
		ports = slices.DeleteFunc(ports, func(port string) bool { return in.Ready != nil && !in.Ready(sw.Addr, port) })
		if g.ports[sw] = ports; len(ports) == 0 || len(g.judges) == 0 {
			delete(g.ports, sw)
		}
	}
	if len(g.ports) == 0 && g.servers == nil {
		return nil, nil
	}
	g.before, _ = g.read(ctx, func(string) bool { return true })
	return g, nil
}

// guarded are the metrics that a guard judges, those that the files limit themselves
// under his name. A limit that does not speak of growth, or is made of what is
// observed, is left to the gate.
func guarded(m *inventory.Model, asked []*inventory.Validation) []*inventory.Validation {
	all := alarming(m)
	all.Metrics = slices.DeleteFunc(all.Metrics, func(m *inventory.Metric) bool { return !strings.HasPrefix(m.Source, "switch.") })
	var out []*inventory.Validation
	limited := map[string]bool{}
	for _, v := range asked {
		own := *v
		own.Metrics = nil
		for _, m := range v.Metrics {
			if !slices.ContainsFunc(all.Metrics, func(a *inventory.Metric) bool { return a.Source == m.Source }) {
				continue
			}
			limited[m.Source] = true
			if m.Delta && m.HasMax && m.Unit != "ratio" && !made(m) {
				own.Metrics = append(own.Metrics, m)
			}
		}
		if own.Metrics != nil {
			out = append(out, &own)
		}
	}
	all.Metrics = slices.DeleteFunc(all.Metrics, func(m *inventory.Metric) bool { return limited[m.Source] })
	if len(all.Metrics) > 0 {
		out = append(out, all)
	}
	return out
}

// Look judges what has happened since the guard stands, at the devices that free
// lets it ask; what is not known is left out, and so it is when ctx ends. A device
// that answered before and does not now is inconclusive. A path counts where free
// lets it ask everything that the path goes over, and only once its kernel has had
// the time to bring it back: until then it is in doubt.
func (g *Guard) Look(ctx context.Context, free func(device string) bool) []Judgement {
	after, out := g.read(ctx, free)
	if ctx.Err() != nil {
		return nil
	}
	res := &Result{Before: g.before, After: after}
	for _, v := range g.judges {
		g.run.judgeCounters(res, v, nil)
	}
	counted := slices.DeleteFunc(res.Judgements, func(j Judgement) bool { return j.Verdict == Inconclusive || j.Verdict == NotMeasured })
	for _, m := range after.Missing {
		answered := slices.ContainsFunc(g.before.Samples, func(s Sample) bool { return s.Device == m.Device })
		if m.Port == "" && answered {
			counted = append(counted, silent(m.Device, m.Why))
		}
	}
	return append(counted, out...)
}

// Last is Look for the last time: it waits until no path is in doubt any more.
func (g *Guard) Last(ctx context.Context, free func(device string) bool) []Judgement {
	out := g.Look(ctx, free)
	if g.servers != nil {
		out = append(out, g.servers.settled(ctx, free)...)
	}
	if ctx.Err() != nil {
		return nil
	}
	return out
}

// read asks switches and servers at the same time.
func (g *Guard) read(ctx context.Context, free func(device string) bool) (*Snapshot, []Judgement) {
	where := places{switches: map[*inventory.Switch][]string{}}
	for sw, ports := range g.ports {
		if free(sw.Addr) {
			where.switches[sw] = ports
		}
	}
	var of []Judgement
	var asking sync.WaitGroup
	if g.servers != nil {
		asking.Go(func() { of = g.servers.look(ctx, free) })
	}
	counted := g.run.readAt(ctx, where)
	asking.Wait()
	return counted, of
}

// silent is what a device that has gone silent tells: nothing, of anything.
func silent(device, why string) Judgement {
	return Judgement{Validation: builtIn, Metric: "answers", Pair: device, Counted: true, Verdict: Inconclusive,
		Why: fmt.Sprintf("it answered before and does not now: %s", why)}
}
