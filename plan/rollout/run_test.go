package rollout

import (
	"testing"
	"time"
)

// TestStretches puts together what says the same: not a verdict of another reason, nor one
// that was only recorded.
func TestStretches(t *testing.T) {
	begun := time.Date(2026, 11, 26, 22, 0, 0, 0, time.UTC)
	var p PhaseRun
	for n, s := range []Sample{{Verdict: Pass, Recorded: true}, {Verdict: Pass}, {Verdict: Pass}, {Verdict: Pass}, {Verdict: Fail, Why: "a"}, {Verdict: Fail, Why: "b"}, {Verdict: Pass}} {
		s.Time = begun.Add(time.Duration(n) * time.Second)
		p.Verdicts = append(p.Verdicts, s)
	}
	got := p.Stretches()
	var times []int
	for _, s := range got {
		times = append(times, s.Times)
	}
	if len(got) != 5 || times[1] != 3 || times[0]+times[2]+times[3]+times[4] != 4 {
		t.Fatalf("%+v", got)
	}
	if s := got[1]; !s.Since.Equal(begun.Add(time.Second)) || !s.Time.Equal(begun.Add(3*time.Second)) || s.Verdict != Pass || s.Recorded {
		t.Errorf("%+v", s)
	}
}
