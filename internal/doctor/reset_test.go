package doctor

import "testing"

// TestResetCounters: a counter that is lower than before was reset, and by how much it grew
// is neither known nor fine.
func TestResetCounters(t *testing.T) {
	const more = 1 << 40
	seen := 0
	all := trials()
	for _, c := range Catalogue() {
		id, trial := c.ID, all[c.ID]
		if !c.Twice {
			continue
		}
		healthy := trial.of()
		fine := Examine(healthy, nil).Fine[id]
		s := trial.of()
		for _, h := range s.Before.Hosts {
			for n := range h.NICs {
				for name := range h.NICs[n].Count {
					h.NICs[n].Count[name] += more
				}
				if h.NICs[n].Lost != nil {
					*h.NICs[n].Lost += more
				}
			}
			for i := range h.NFSRDMA {
				h.NFSRDMA[i] += more
			}
			if h.Ticks != nil {
				h.Ticks.Stolen += more
			}
		}
		for _, sw := range s.Before.Switches {
			if sw.Counters != nil {
				for i := range sw.Counters.Counts {
					sw.Counters.Counts[i].Value += more
				}
			}
			if sw.Conditions != nil {
				for _, p := range sw.Conditions.Ports {
					if p.Broken != nil {
						*p.Broken += more
					}
				}
			}
		}
		seen++
		r := Examine(s, nil)
		if f := by(r.Findings, id); len(f) > 0 {
			t.Errorf("%s: %v", id, f)
		}
		if u := by(r.Unknown, id); len(u) == 0 || r.Fine[id] >= fine {
			t.Errorf("%s: %d are fine of %d, and unknown: %v", id, r.Fine[id], fine, u)
		}
	}
	if seen < 15 {
		t.Errorf("only %d checks compare two readings", seen)
	}
}
