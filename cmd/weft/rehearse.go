package main

import (
	"maps"
	"slices"
	"time"

	"weft/internal/prove"
	"weft/plan/rollout"
)

// A rehearsal is a rollout on a twin.
type rehearsal struct {
	spared map[string]bool // metrics without a verdict, which it went on without
}

// Ease leaves out of a rollout what only takes time.
func (r *rehearsal) Ease(s *rollout.Spec) {
	for i := range s.Phases {
		p := &s.Phases[i]
		p.Approve, p.Window, p.Soak = false, nil, min(p.Soak, time.Second)
	}
}

// Spares reports whether a rehearsal goes on without a verdict: on how long
// something took, or on what a twin cannot count.
func (r *rehearsal) Spares(j prove.Judgement) bool {
	if j.Verdict == prove.Fail && j.Metric == prove.Transport {
		return true // a twin has no RDMA
	}
	if j.Verdict == prove.Pass || j.Verdict == prove.NotMeasured || j.Verdict == prove.Fail && !j.Latency {
		return false
	}
	if j.Metric != "all" { // of a validation that has nothing to measure yet
		r.spared[j.Validation+"."+j.Metric] = true
	}
	return true
}

// unjudged are the metrics that were spared.
func (r *rehearsal) unjudged() []string { return slices.Sorted(maps.Keys(r.spared)) }
