package leaf_test

import (
	"strings"
	"testing"

	"weft/internal/lab/simswitch"
)

// Plan says so at the classes, and nothing is typed that changes the switch.
func TestSwitchLimitsInPlan(t *testing.T) {
	l := newRigOf(t, simswitch.Spec{OS: "nxos", Hostname: "leaf", Serial: "FDO1", Model: "C9332PQ"})
	before := l.sw.RunningConfig()
	_, _, err := l.run()
	if err == nil || !strings.Contains(err.Error(), "C9332PQ, has 4 queues, and weft writes 8") {
		t.Errorf("%v", err)
	}
	if after := l.sw.RunningConfig(); after != before {
		t.Errorf("the switch was changed: %s", after)
	}
}
