package main

import (
	"testing"

	"weft/internal/prove"
	"weft/internal/run"
	"weft/plan/rollout"
)

// Only a pass ends as one: every verdict, and one that this weft does not know, has a code
// and a number for Prometheus.
func TestVerdictCodes(t *testing.T) {
	numbers := map[float64]prove.Verdict{}
	for _, v := range append(prove.Verdicts(), "", "perhaps") {
		if code := proven(v); (code == exitDone) != (v == prove.Pass) {
			t.Errorf("%q ends with %d", v, code)
		}
		if n := gauge(v); (n == 1) != (v == prove.Pass) || (n == 0) != (v == prove.Fail) {
			t.Errorf("%q is %v for Prometheus", v, n)
		}
	}
	for _, v := range prove.Verdicts() {
		if other, taken := numbers[gauge(v)]; taken {
			t.Errorf("%q and %q are the same number", v, other)
		}
		numbers[gauge(v)] = v
	}
	if gauge("perhaps") != -3 || proven(prove.Partial) != exitPartial {
		t.Errorf("%v %d", gauge("perhaps"), proven(prove.Partial))
	}
}

// A gate that could not decide pauses with 9, whatever kept it from deciding.
func TestOpenGateCodes(t *testing.T) {
	for _, v := range rollout.Verdicts() {
		code := caused(&run.Error{Cause: run.Ended, Err: &rollout.Stop{State: rollout.Paused, Verdict: v}})
		if v.Open() != (code == exitInconclusive) {
			t.Errorf("a gate that is %s ends with %d", v, code)
		}
	}
}
