package main

import (
	"testing"
	"time"

	"weft/internal/prove"
	"weft/inventory"
)

// TestRehearsalInGuests: guests have RDMA, so TCP in its place stops a rehearsal there, and
// they get time to answer, whatever the files give servers.
func TestRehearsalInGuests(t *testing.T) {
	degraded := prove.Judgement{Verdict: prove.Fail, Metric: prove.Transport}
	slow := prove.Judgement{Verdict: prove.Fail, Validation: "v", Metric: "p99", Latency: true}
	for _, real := range []bool{false, true} {
		r := &rehearsal{real: real, spared: map[string]bool{}}
		if r.Spares(degraded) == real || !r.Spares(slow) {
			t.Errorf("real %t: TCP in place of RDMA is spared %t, what took long %t", real, r.Spares(degraded), r.Spares(slow))
		}
		declared := &inventory.Connection{ConnectTimeout: time.Second, CommandTimeout: time.Hour}
		m := &inventory.Model{Connections: []*inventory.Connection{declared}}
		r.fit(m)
		usual := m.DefaultConnection()
		if got := usual.ConnectTimeout == patientConnect && declared.ConnectTimeout == patientConnect; got != real || declared.CommandTimeout != time.Hour {
			t.Errorf("real %t: %v, %+v", real, usual, declared)
		}
	}
	(*rehearsal)(nil).fit(new(inventory.Model)) // no rehearsal
}
