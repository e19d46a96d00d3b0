package leaf

import (
	"fmt"
	"strings"
	"testing"

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
	second, third := rdma, rdma
	second.Name, second.Priority, third.Name, third.Priority = "second", 4, "third", 5
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
		{"Nexus9000 C93180YC-FX3 Chassis", []switches.Class{shallow}, "", "class rdma: the least headroom that Nexus9000 C93180YC-FX3 takes is not known to the catalogue: a size of 20000 bytes is not checked"},
		{"Nexus9000 C93180YC-FX3 Chassis", []switches.Class{rdma, second}, "", ""},
		{"Nexus9000 C93180YC-FX3 Chassis", []switches.Class{rdma, second, third}, "", "how many lossless classes Nexus9000 C93180YC-FX3 takes at once is not known"},
		{"Nexus9000 C9508 (8 Slot) Chassis\n  NXOS: version 7.0(3)F3(3)", []switches.Class{rdma}, "has no priority flow control in release 7.0(3)F3(3), and class rdma is lossless (Cisco Nexus 9000 Series NX-OS Quality of Service Configuration Guide, Release 7.x", "the TCAM of Nexus9000 C9508"},
		{"Nexus9000 C9508 (8 Slot) Chassis\n  NXOS: version 9.3(9)", []switches.Class{rdma}, "", "room, as it comes, for QoS policies of ports that route only (Cisco Nexus 9000"},
		{"Nexus9000 C9504 (4 Slot) Chassis", []switches.Class{rdma}, "", "the TCAM of Nexus9000 C9504"},
		{"Nexus9000 C9504 (4 Slot) Chassis", nil, "", ""},
		{"Nexus9000 C9232C Chassis", []switches.Class{rdma}, "", "no row of Nexus9000 C9232C"},
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
