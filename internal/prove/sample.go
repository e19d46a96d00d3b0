package prove

import (
	"fmt"
	"slices"

	"weft/internal/slice"
	"weft/inventory"
)

// coverage is the metric that nobody declares: which ways a sample leaves out.
const coverage = "coverage"

// A wayTo is what a sample chooses: from a host to a portal of a target.
type wayTo struct {
	from *inventory.Server
	portal
}

type portal struct {
	target  *inventory.Target
	address string
}

func (f flow) way() wayTo {
	return wayTo{f.from, portal{f.target, f.portal.Address.String()}}
}

// ways are those of flows, each once and in their order; local reads have none.
func ways(all []flow) (out []wayTo, plane map[wayTo]*inventory.Plane) {
	plane = map[wayTo]*inventory.Plane{}
	for _, f := range all {
		if f.local {
			continue
		}
		if _, seen := plane[f.way()]; !seen {
			out = append(out, f.way())
			plane[f.way()] = f.portal.Plane
		}
	}
	return out, plane
}

// thin leaves out what validations want sampled, where every validation with that probe
// does, and says of each how much that is.
func thin(all []flow, validations []*inventory.Validation) (kept []flow, left []Judgement) {
	kept = all
	for _, probe := range []string{readProbe, verbsProbe, socketProbe} {
		asking := slices.DeleteFunc(slices.Clone(validations), func(v *inventory.Validation) bool { return v.Probe != probe })
		if !sampled(asking) {
			continue
		}
		wire := probe
		if probe == readProbe {
			wire = ""
		}
		var of, others []flow
		for _, f := range kept {
			if f.wire == wire {
				of = append(of, f)
			} else {
				others = append(others, f)
			}
		}
		some := sample(of)
		kept = append(others, some...)
		for _, v := range asking {
			left = append(left, leftOut(v, of, some)...)
		}
	}
	return kept, left
}

// sampled reports whether validations, at least one, all leave ways out.
func sampled(validations []*inventory.Validation) bool {
	return len(validations) > 0 && !slices.ContainsFunc(validations, func(v *inventory.Validation) bool { return v.Pairs != "sampled" })
}

// leftOut says which ways were left out for a validation.
func leftOut(v *inventory.Validation, all, kept []flow) []Judgement {
	of, _ := ways(all)
	some, _ := ways(kept)
	if len(of) == len(some) {
		return nil
	}
	return []Judgement{{Validation: v.Name, Metric: coverage, Pair: v.Addr, Verdict: NotMeasured, Absence: Absence{Undeclared: true},
		Why: fmt.Sprintf("%d of %d ways between hosts and portals, which the sample leaves out; it has every host and every portal in each plane", len(of)-len(some), len(of))}}
}

// sample leaves ways out of flows, so that in each plane there are no more than there are
// hosts and portals: every host and every portal has one, and what is busy has few. The
// same flows give the same sample. Reads of the storage itself stay.
func sample(all []flow) []flow {
	list, plane := ways(all)
	keep := map[wayTo]bool{}
	for _, of := range slice.Group(list, func(w wayTo) *inventory.Plane { return plane[w] }) {
		choose(of, keep)
	}
	return slices.DeleteFunc(slices.Clone(all), func(f flow) bool { return !f.local && !keep[f.way()] })
}

// choose chooses ways of one plane: first for every host the portal that has the fewest,
// then for every portal that has none the host that has the fewest.
func choose(of []wayTo, keep map[wayTo]bool) {
	host, end := map[*inventory.Server]int{}, map[portal]int{}
	take := func(w wayTo) {
		keep[w] = true
		host[w.from]++
		end[w.portal]++
	}
	for _, ways := range slice.Group(of, func(w wayTo) *inventory.Server { return w.from }) {
		take(slices.MinFunc(ways, func(a, b wayTo) int { return end[a.portal] - end[b.portal] }))
	}
	for p, ways := range slice.Group(of, func(w wayTo) portal { return w.portal }) {
		if end[p] == 0 {
			take(slices.MinFunc(ways, func(a, b wayTo) int { return host[a.from] - host[b.from] }))
		}
	}
}

// only are the ways of flows, to be looked up.
func only(of []flow) map[wayTo]bool {
	out := map[wayTo]bool{}
	list, _ := ways(of)
	for _, w := range list {
		out[w] = true
	}
	return out
}

func (l leg) way() wayTo {
	return wayTo{l.from.Server, portal{l.target, l.portal.Address.String()}}
}
