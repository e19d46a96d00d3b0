package prove

import (
	"slices"

	"weft/inventory"
)

// builtIn is the validation that every gate has besides those of its phase.
const builtIn = "built-in"

// aborts judges what speaks against a rollout whether anybody asked for it or
// not. Where nothing grew, or nothing counts, it says nothing; and whoever limits
// one of these himself is judged by that limit alone.
func (r *run) aborts(res *Result, asked []*inventory.Validation) []Judgement {
	limited := map[string]bool{}
	for _, v := range asked {
		for _, m := range v.Metrics {
			limited[m.Source] = true
		}
	}
	v := alarming(r.in.Model)
	v.Metrics = slices.DeleteFunc(v.Metrics, func(m *inventory.Metric) bool { return limited[m.Source] })
	grown := &Result{Before: res.Before, After: res.After}
	r.judgeCounters(grown, v, nil)
	return slices.DeleteFunc(grown.Judgements, func(j Judgement) bool { return j.Verdict != Fail })
}

// alarming is what may not grow while a rollout is on its way: packets of a
// lossless class that switches or NICs dropped, and watchdogs that had to end a
// pause.
func alarming(m *inventory.Model) *inventory.Validation {
	v := &inventory.Validation{Name: builtIn}
	seen := map[string]bool{}
	add := func(name, source string) {
		if !seen[source] {
			seen[source] = true
			v.Metrics = append(v.Metrics, &inventory.Metric{Name: name, Source: source, HasMax: true, Delta: true})
		}
	}
	for _, f := range m.Fabrics {
		for _, c := range f.Classes {
			if c.PFC {
				add(c.Name+"_drops", "switch.port.class."+c.Name+".drops")
				add(c.Name+"_nic_drops", "server.rnic.class."+c.Name+".drops")
			}
		}
	}
	add("watchdog_events", "switch.port.pfc_watchdog.events")
	return v
}
