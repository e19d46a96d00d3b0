package host

import (
	"testing"

	"weft/inventory"
)

// TestNICThatLacks: only a NIC that is not there refuses, and RDMA is missed where the fabric
// wants it.
func TestNICThatLacks(t *testing.T) {
	up, down := true, false
	rdma, tcp := &inventory.Fabric{Transport: "rocev2"}, &inventory.Fabric{Transport: "tcp"}
	for _, test := range []struct {
		name    string
		fabric  *inventory.Fabric
		have    NICFacts
		text    string // "": nothing is missing
		hint    string
		refuses bool
	}{
		{"absent", rdma, NICFacts{Absent: true, PCI: "0000:41:00.0"}, "the host has no NIC at PCI address 0000:41:00.0", "list NICs", true},
		{"no link", rdma, NICFacts{Interface: "n0", Carrier: &down}, "n0 has no link", "", false},
		{"no RDMA", rdma, NICFacts{Interface: "n0", Driver: "ixgben", Carrier: &up}, "n0 (ixgben) has no RDMA device", "list RDMA", false},
		{"RDMA", rdma, NICFacts{Interface: "n0", Carrier: &up, RDMA: []RDMAPort{{}}}, "", "", false},
		{"TCP wants none", tcp, NICFacts{Interface: "n0", Carrier: &up}, "", "", false},
		{"nobody tells of a link", nil, NICFacts{Interface: "n0"}, "", "", false},
	} {
		e := Expectation{RNIC: &inventory.RNIC{Name: "p0", PCI: "0000:41:00.0", Fabric: test.fabric}}
		var got Finding
		if list := e.Missing(test.have, "list NICs", "list RDMA"); len(list) > 0 {
			got = list[0]
		}
		if got.Text != test.text || got.Hint != test.hint || got.Refuses != test.refuses {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}
