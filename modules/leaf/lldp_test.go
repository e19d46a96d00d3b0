package leaf_test

import (
	"slices"
	"strings"
	"testing"

	"weft/plan"
)

// Where a switch does not speak LLDP it is enabled, because cables are proven
// with it, as a part of the plan like any other; it goes again with the fabric,
// unless it was there before.
func TestSwitchLLDP(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		line := map[string]string{"nxos": "feature lldp", "comware": "lldp global enable"}[os]
		no := map[string]string{"nxos": "no ", "comware": "undo "}[os] + line
		for name, off := range map[string]bool{"it was on": false, "it was off": true} {
			l := newRig(t, os)
			if off {
				l.edit(no)
			}
			before := l.sw.RunningConfig()
			if strings.Contains(before, line) == off {
				t.Fatalf("%s: %s", name, before)
			}
			p, res, err := l.run()
			if err != nil || !strings.Contains(l.sw.RunningConfig(), line) {
				t.Fatalf("%s: %s: %v", name, res.Devices[0].Outcome, err)
			}
			i := slices.IndexFunc(p.Steps, func(s plan.PlannedStep) bool { return s.ID.Kind == "qos" })
			step := p.Steps[i]
			shown := slices.Contains(step.Changes, plan.Change{Path: "lldp", Before: "off", After: "on", Impact: plan.ImpactNone})
			if shown != off || slices.Contains(step.Send, line) != off || slices.Contains(step.Undo, no) != off {
				t.Errorf("%s: the plan has %+v; sends %q, undo %q", name, step.Changes, step.Send, step.Undo)
			}
			if p, _, err := l.run(); err != nil || len(p.Steps) > 0 {
				t.Errorf("%s: then %d steps: %v", name, len(p.Steps), err)
			}
			if off { // someone turns it off again
				l.edit(no)
				if p, _, err := l.run(); err != nil || len(p.Steps) != 1 || !slices.Equal(p.Steps[0].Send, []string{line}) {
					t.Errorf("%s: it drifted: %+v: %v", name, p.Steps, err)
				}
			}
			l.disable()
			if _, res, err := l.run(); err != nil || l.sw.RunningConfig() != before {
				t.Errorf("%s: without the fabric: %s: %v\n%s", name, res.Devices[0].Outcome, err, l.sw.RunningConfig())
			}
		}
	})
}
