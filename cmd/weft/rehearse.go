package main

import (
	"maps"
	"slices"
	"time"

	"weft/internal/prove"
	"weft/inventory"
	"weft/plan/rollout"
)

// A rehearsal is a rollout on a twin.
type rehearsal struct {
	real   bool            // servers are guests, which have RDMA, in software
	spared map[string]bool // metrics without a verdict, which it went on without
	lacks  map[string]bool // systems and devices that could not be measured, which nobody allowed
}

// Guests that are emulated take long to answer.
const (
	patientConnect = 5 * time.Minute
	patientCommand = 10 * time.Minute
)

// fit makes a model one that the twin can carry out: guests get time to answer, whatever the
// files give servers; storage of SIMULATED servers goes over TCP; nothing connects to targets
// that weft does not run.
func (r *rehearsal) fit(m *inventory.Model) {
	if r == nil {
		return
	}
	short := shortOf(m, r.real)
	for _, t := range short.rdma {
		t.Transport, t.AllowDegraded = []string{"rdma", "tcp"}, true
	}
	for _, i := range m.Initiators {
		for _, c := range i.Connects {
			c.To = slices.DeleteFunc(slices.Clone(c.To), func(t *inventory.Target) bool { return t.Engine == "external" })
		}
		i.Connects = slices.DeleteFunc(slices.Clone(i.Connects), func(c *inventory.Connect) bool { return len(c.To) == 0 })
	}
	if r.real {
		giveTime(m)
	}
}

func giveTime(m *inventory.Model) {
	if usual := m.DefaultConnection(); !slices.Contains(m.Connections, usual) {
		usual.Addr = "connection.default"
		m.Connections = append(m.Connections, usual)
	}
	for _, c := range m.Connections {
		c.ConnectTimeout, c.CommandTimeout = max(c.ConnectTimeout, patientConnect), max(c.CommandTimeout, patientCommand)
	}
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
		return !r.real // a SIMULATED server has no RDMA
	}
	switch weight := j.Weight(); {
	case weight == prove.Pass || weight == prove.Fail && !j.Latency:
		return false
	case weight == prove.Partial && len(j.Lacks) > 0: // the real devices would lack it, too
		r.lacks[j.Without()] = true
		return true
	}
	if j.Metric != "all" { // of a validation that has nothing to measure yet
		r.spared[j.Validation+"."+j.Metric] = true
	}
	return true
}

// missing are the systems and devices that could not be measured.
func (r *rehearsal) missing() []string { return slices.Sorted(maps.Keys(r.lacks)) }

// unjudged are the metrics that were spared.
func (r *rehearsal) unjudged() []string { return slices.Sorted(maps.Keys(r.spared)) }
