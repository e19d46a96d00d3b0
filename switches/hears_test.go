package switches

import "testing"

// An answer in which nobody is found is understood where it tells of LLDP and of no chassis.
func TestSaysNobody(t *testing.T) {
	for text, want := range map[string]bool{
		"":   true,
		"\n": true,
		"Capability codes:\n  (R) Router, (B) Bridge\nDevice ID            Local Intf      Hold-time  Capability  Port ID  \n\nTotal entries displayed: 0\n": true,
		"ERROR: No neighbour information\n":          true,
		"LLDP is not enabled globally.\n":            true,
		"\x1b[2J\x1b]0;title\x07nothing to see":      false,
		"Chassis id: 0200.0000.0001\nPort: Eth1/1\n": false,
	} {
		if got := saysNobody(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
