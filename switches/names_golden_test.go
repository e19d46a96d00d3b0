package switches

import (
	"testing"
	"time"
)

// Switches hold these names. None of them changes: a weft that reads another one takes
// no switch for its own.
func TestNamesOnSwitches(t *testing.T) {
	began, who := time.Date(2026, 11, 23, 5, 56, 18, 686980794, time.UTC), Guard{Owner: "pilot", Who: "42_7_aa_ann_at_laptop"}
	const run = "weft-run.dn2cxbniidh6.pilot.ann_at_laptop"
	if r := NewRunMark(began, "pilot", "ann@laptop"); r.Directory() != run {
		t.Errorf("the mark of a run is %s", r.Directory())
	}
	const long = "weft-run.dn2cxbniidh6.an-owner-with-a-name-of-.ann_at_a-lapt"
	if r := NewRunMark(began, "an owner with a name of more than 24 characters", "ann@a-laptop.example.net"); r.Directory() != long {
		t.Errorf("the mark of a run is %s", r.Directory())
	}
	if w := (Wrote{"pilot", "Ethernet1/7", 9216}); w.name() != "weft-wrote.pilot.Ethernet1_7.9216" {
		t.Errorf("the mark of a frame length is %s", w.name())
	}
	if base, left := baseFile("pilot"), leftFile("pilot"); base != "weft-pilot-base.cfg" || left != "weft-pilot-left.cfg" {
		t.Errorf("the configurations are %s and %s", base, left)
	}

	m := parseMarks(`
4096 Nov 23 2026 weft-lease/
4096 Nov 23 2026 weft-held.1795248000.pilot.` + who.who() + `/
4096 Nov 23 2026 weft-armed.1795246500.0123456789ab.pilot.` + who.who() + `/
4096 Nov 23 2026 ` + run + `/
4096 Nov 23 2026 weft-wrote.pilot.Ethernet1_7.9216/
7123 Nov 23 2026 weft-pilot-base.cfg
7123 Nov 23 2026 weft-pilot-left.cfg
`)
	if h := m.Hold; h == nil || *h != (Hold{"pilot", "42_7_aa_ann_at_laptop", time.Unix(1795248000, 0).UTC()}) {
		t.Errorf("the lease is %+v", h)
	}
	if len(m.Armed) != 1 || m.Armed[0].Owner != "pilot" || m.Armed[0].Before != "0123456789ab" || m.Armed[0].Who != who.Who || m.Armed[0].Due.Unix() != 1795246500 {
		t.Errorf("the timed revert is %+v", m.Armed)
	}
	if len(m.Runs) != 1 || !m.Runs[0].Began.Equal(began) || m.Runs[0].Owner != "pilot" || m.Runs[0].Who != "ann@laptop" {
		t.Errorf("the run is %+v", m.Runs)
	}
	if w, ok := parseWrote("weft-wrote.pilot.Ethernet1_7.9216"); !ok || w != (Wrote{"pilot", "Ethernet1_7", 9216}) {
		t.Errorf("the frame length is %+v", w)
	}
	if !m.Base("pilot") {
		t.Error("the configuration before weft is not found")
	}
}
