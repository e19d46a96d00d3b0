package guest

import "testing"

func TestCycleRate(t *testing.T) {
	t.Parallel()
	one, two := cycleRate(), cycleRate()
	if one < 100_000 || max(one, two)-min(one, two) > one/100 {
		t.Errorf("%d and %d thousand a second", one, two)
	}
}
