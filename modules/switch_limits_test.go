package modules

import (
	"fmt"
	"strings"
	"testing"

	"weft/internal/lab/simswitch"
	"weft/inventory/catalogue"
	"weft/switches"
	"weft/switches/systems"
)

// What a model is known not to take is refused before anything is written, and
// what is not known of it is said.
func TestSwitchLimits(t *testing.T) {
	known, err := catalogue.Load()
	if err != nil {
		t.Fatal(err)
	}
	rdma := switches.Class{Name: "rdma", Priority: 3, PFC: true}
	shallow := rdma
	shallow.Headroom = &switches.Headroom{Size: 20000, Xoff: 12480, Xon: 12480}
	for _, test := range []struct {
		chassis string // as show version names it
		classes []switches.Class
		refused string
		said    string
	}{
		{"Nexus9000 C93180YC-FX Chassis ", []switches.Class{rdma}, "", ""},
		{"Nexus9000 C93180YC-FX3 Chassis", []switches.Class{rdma}, "", ""},
		{"Nexus 5596 Chassis (\"O2 48X10GE/Modular Supervisor\")", []switches.Class{rdma}, "a Nexus 5596, and the lines that weft writes are of another family (Cisco Nexus 9000", "no row of Nexus 5596"},
		{"Nexus 3132 Chassis", []switches.Class{rdma}, "a Nexus 3132, and the lines", "no row of Nexus 3132"},
		{"Nexus 5596 Chassis", nil, "", ""}, // only the MTU of ports
		{"Nexus9000 C9332PQ chassis", []switches.Class{rdma}, "C9332PQ, has 4 queues, and weft writes 8 (operator's notes", ""},
		{"Nexus9000 C93180YC-EX Chassis", []switches.Class{shallow}, "class rdma: headroom size of 20000 bytes is less than the 27456", ""},
		{"Nexus9000 C9504 (4 Slot) Chassis", []switches.Class{rdma}, "", "no row of Nexus9000 C9504"},
	} {
		have, err := systems.Named("nxos").Parse(map[string]string{"show version": fmt.Sprintf("Hardware\n  cisco %s\n  Processor Board ID FDO1\n", test.chassis)})
		if err != nil {
			t.Fatal(err)
		}
		err = fits(known, "nxos", have.Facts, test.classes)
		if (err == nil) != (test.refused == "") || err != nil && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: %v", test.chassis, err)
		}
		said := strings.Join(unknownLimits(known, "nxos", have.Facts, test.classes), "")
		if (said == "") != (test.said == "") || !strings.Contains(said, test.said) {
			t.Errorf("%s: %q", test.chassis, said)
		}
	}
	if said := unknownLimits(known, "nxos", switches.Facts{}, []switches.Class{rdma}); len(said) != 1 {
		t.Errorf("no model: %q", said)
	}
}

// Plan says so at the classes, and nothing is typed that changes the switch.
func TestSwitchLimitsInPlan(t *testing.T) {
	l := newLeafOf(t, simswitch.Spec{OS: "nxos", Hostname: "leaf", Serial: "FDO1", Model: "C9332PQ"})
	before := l.sw.RunningConfig()
	_, _, err := l.run()
	if err == nil || !strings.Contains(err.Error(), "C9332PQ, has 4 queues, and weft writes 8") {
		t.Errorf("%v", err)
	}
	if after := l.sw.RunningConfig(); after != before {
		t.Errorf("the switch was changed: %s", after)
	}
}
