package host

import (
	"testing"
	"time"

	"weft/plan"
)

// Servers hold this text in run.json, and later wefts read and write the same.
func TestKeptMark(t *testing.T) {
	const kept = `{"format":1,"run":"20261123T055618.686980794Z","owner":"pilot","rollout":"rollout.pod","phase":"plane-a","who":"ann@laptop",` +
		`"commit":"1f0c0c7e","since":"2026-11-23T05:56:18Z","plan":"9b3e","token":"t0k3n"}`
	want := plan.Mark{Format: 1, Run: "20261123T055618.686980794Z", Owner: "pilot", Rollout: "rollout.pod", Phase: "plane-a", Who: "ann@laptop",
		Commit: "1f0c0c7e", Since: time.Date(2026, 11, 23, 5, 56, 18, 0, time.UTC), Plan: "9b3e", Token: "t0k3n"}
	d := &Machine{os: linux()}
	m := d.parseMark(kept)
	if m.Mark != want {
		t.Errorf("%s is read as %+v", kept, m.Mark)
	}
	if text, err := markText(want); err != nil || text != kept {
		t.Errorf("written as %s, %v", text, err)
	}
	if m.needle() != `"token":"t0k3n"` {
		t.Errorf("it is told by %s", m.needle())
	}
}
