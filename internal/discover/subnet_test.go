package discover

import (
	"strings"
	"testing"

	"weft/modules/host"
)

// Switches of InfiniBand are those that NICs of a fabric say they are plugged into: one for
// each GUID, whatever they are called.
func TestSubnet(t *testing.T) {
	s := rack(1, 2)
	s.Switches = nil
	for _, m := range s.Servers {
		for i := range m.Facts.NICs {
			m.Facts.NICs[i].RDMA[0].Protocol = "infiniband"
			m.Facts.NICs[i].Heard = []host.Heard{{System: "MF0;ib:MQM8700/U1", Chassis: []string{"0xa", "0xb"}[i], Port: m.Facts.Name[1:]}}
		}
	}
	s.Servers[1].Facts.NICs[1].Heard[0].Chassis = "0xa" // of the other plane
	r, err := s.Discover(t.Context(), judged(t, nil))
	if err != nil || r.Failed != nil {
		t.Fatalf("%v %v", r.Failed, err)
	}
	if text := string(r.Files[fabricFile]); strings.Count(text, "unmanaged = true") != 2 || !strings.Contains(text, `switch "mf0-ib-mqm8700-u1"`) || !strings.Contains(text, "GUID 0xb") {
		t.Errorf("switches:\n%s", text)
	}
	if r.Coverage.Cables != 3 || !strings.Contains(r.Findings[0].Text, "port 1: its cable leads to ens1f1 of n1.mgmt.example.net with the address") {
		t.Errorf("%+v %+v\n%s", r.Coverage, r.Findings, r.Files[hostsFile])
	}
}
