package doctor

import (
	"strings"
	"testing"

	"weft/switches"
)

// Where a switch hears a device of which it is not told the port, it is not said that no switch
// hears a NIC: the NIC is found by what describes it, or it is not known.
func TestHeardWithoutPortID(t *testing.T) {
	for what, c := range map[string]struct {
		heard         []switches.Neighbour // instead of the first NIC of st1
		findings, not string               // the finding, or what is not known
	}{
		"by its machine and description": {[]switches.Neighbour{{Port: "Ethernet1/1", System: "st1", Describes: "ens0"}}, "", ""},
		"by a chassis of its machine":    {[]switches.Neighbour{{Port: "Ethernet1/1", Chassis: "0200.0000.0001", Describes: "ens0"}}, "", ""},
		"by nothing":                     {[]switches.Neighbour{{Port: "Ethernet1/1", System: "st1", Management: "10.0.0.1"}}, "", "leaf-0 has a neighbour on Ethernet1/1 that does not report its port"},
		"by its chassis alone":           {[]switches.Neighbour{{Port: "Ethernet1/1", Chassis: "0200.0000.0000"}}, "", "leaf-0 has a neighbour on Ethernet1/1 that does not report its port"},
		"by another":                     {[]switches.Neighbour{{Port: "Ethernet1/1", System: "st1", Describes: "ens7"}}, "no switch reports ens0 as LLDP neighbour", ""},
		"not at all":                     {nil, "no switch reports ens0 as LLDP neighbour", ""},
	} {
		s := rack()
		sw := s.Switches[0]
		sw.Neighbours = append(c.heard, sw.Neighbours[1:]...)
		r := Examine(s, nil)
		says := func(list []Finding) (out []string) {
			for _, f := range by(list, "WD-LNK-13") {
				out = append(out, f.Text)
			}
			return out
		}
		if got := strings.Join(says(r.Findings), "; "); !strings.Contains(got, c.findings) || c.findings == "" && got != "" {
			t.Errorf("%s: finds %q", what, got)
		}
		if got := strings.Join(says(r.Unknown), "; "); got != c.not {
			t.Errorf("%s: does not know %q", what, got)
		}
	}
}

// A switch that hears devices on its management port alone does not tell who is at the others.
func TestHeardOnManagementOnly(t *testing.T) {
	list := []switches.Neighbour{{Port: "mgmt0", System: "oob", PortID: "Ethernet1/1"}}
	if !onlyManagement(list, []string{"Ethernet1/1"}) || onlyManagement(append(list, switches.Neighbour{Port: "Ethernet1/1"}), []string{"Ethernet1/1"}) || onlyManagement(nil, []string{"Ethernet1/1"}) {
		t.Error("management ports are told from others in the wrong way")
	}
}
