package discover

import (
	"strings"
	"testing"

	"weft/switches"
)

// discover reports the unmanaged lines that a plan reports.
func TestLines(t *testing.T) {
	s := &Site{Switches: []*Switch{nexusWith("leaf", `priority-flow-control override-interface mode off
hardware qos pfc mystery 7
interface Ethernet1/1
  priority-flow-control mode on
  flowcontrol receive on
  inherit port-profile STORAGE
interface Ethernet1/9
  flowcontrol receive on
  colour green
`, hears("Ethernet1/1", "st1", mac(1)))}}
	s.Cables()
	var got []string
	for _, f := range s.Findings {
		if strings.Contains(f.Hint, "weft leaves it as it is") {
			got = append(got, string(f.Severity)+" "+f.Text)
		}
	}
	want := []string{"error priority-flow-control override-interface mode off: PFC of all ports is off", "warn inherit port-profile STORAGE (Ethernet1/1): a profile", "error flowcontrol receive on (Ethernet1/1): pause of the whole link", "warn not understood: hardware qos pfc mystery 7"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for _, text := range want {
		found := false
		for _, g := range got {
			found = found || strings.HasPrefix(g, text)
		}
		if !found {
			t.Errorf("nothing says %q: %q", text, got)
		}
	}
}

// discover reports PFC that is configured and does not run, on ports with a neighbour.
func TestIdle(t *testing.T) {
	sw := nexusWith("leaf", "interface Ethernet1/1\n  priority-flow-control mode on\ninterface Ethernet1/2\n  priority-flow-control mode on\ninterface Ethernet1/9\n  priority-flow-control mode on\n", hears("Ethernet1/1", "st1", mac(1)), hears("Ethernet1/2", "st2", mac(2)))
	sw.Reading.Running = map[string]switches.Running{"Ethernet1/1": {}, "Ethernet1/2": {On: true}, "Ethernet1/9": {}}
	s := &Site{Switches: []*Switch{sw}}
	s.Cables()
	var got []string
	for _, f := range s.Findings {
		if strings.Contains(f.Text, "PFC") {
			got = append(got, string(f.Severity)+" "+f.Text)
		}
	}
	if strings.Join(got, "; ") != "error port Ethernet1/1: PFC is on and does not run" {
		t.Errorf("%q", got)
	}
}
