package comware

import (
	"testing"

	"weft/internal/require"
)

func TestTranscriptsMaps(t *testing.T) {
	m := parseMap(require.Transcript(t, "hp_comware/display_qos_map-table/h3c_cw7_cmdref_doc_sample.txt"), "dot1p-lp")
	if len(m) != 8 || m[0] != 2 || m[1] != 0 || m[2] != 1 || m[7] != 7 {
		t.Errorf("dot1p-lp: %v", m)
	}
	m = parseMap(require.Transcript(t, "hp_comware/display_qos_map-table/SYNTHETIC_fault_injector_dscp-dot1p.txt"), "dscp-dot1p")
	if _, other := m[25]; len(m) != 1 || m[26] != 3 || other {
		t.Errorf("dscp-dot1p: %v", m)
	}
}

func TestTranscriptsFrames(t *testing.T) {
	for name, want := range map[string]struct {
		ports  int // that say how long a frame may be
		frames map[string]int
	}{
		"genieparser__golden_output.txt":                                   {1, map[string]int{"GigabitEthernet3/8/0/38": 9216}},
		"genieparser__golden_output1.txt":                                  {1, map[string]int{"GigabitEthernet3/8/0/48": 9216}},
		"ntc-templates__hp_comware_display_interface.txt":                  {2, map[string]int{"GigabitEthernet1/1/0/31": 9216, "Ten-GigabitEthernet1/0/1": 9216}},
		"ntc-templates__hp_comware_display_interface2.txt":                 {1, map[string]int{"FortyGigE1/0/49": 10000}},
		"ntc-templates__hp_comware_display_interface6.txt":                 {1, map[string]int{"Ten-GigabitEthernet1/1/1": 12288}},
		"ntc-templates__hp_comware_display_interface7.txt":                 {1, map[string]int{"GigabitEthernet1/1/0/48": 1536}},
		"ntc-templates__hp_comware_display_interface_known_unicast.txt":    {1, map[string]int{"GigabitEthernet11/0/57": 9416}},
		"ntc-templates__hp_comware_display_interface_release_09119P17.txt": {12, map[string]int{"GigabitEthernet0/0/0": 9664, "GigabitEthernet0/0/3": 9664}},
		"ntc-templates__hp_comware_display_interface_stp-down_jumbo.txt":   {2, map[string]int{"GigabitEthernet11/0/17": 1536, "GigabitEthernet12/0/17": 1518}},
		"ntc-templates__hp_comware_display_interface_tagged-vlan-none.txt": {1, map[string]int{"FortyGigE7/0/49": 10000}},
		// Logical interfaces, the management port, and ports of firewalls, which do not say it.
		"genieparser__golden_output2.txt":                                 {},
		"ntc-templates__hp_comware_display_interface1.txt":                {},
		"ntc-templates__hp_comware_display_interface3.txt":                {},
		"ntc-templates__hp_comware_display_interface4.txt":                {},
		"ntc-templates__hp_comware_display_interface5.txt":                {},
		"ntc-templates__hp_comware_display_interface8.txt":                {},
		"ntc-templates__hp_comware_display_interface_dhcp.txt":            {},
		"ntc-templates__hp_comware_display_interface_mgmt.txt":            {},
		"ntc-templates__hp_comware_display_interface_release_0615P16.txt": {},
	} {
		got := frameLengths(require.Transcript(t, "hp_comware/display_interface/"+name))
		if len(got) != want.ports {
			t.Errorf("%s: %d ports, want %d: %v", name, len(got), want.ports, got)
		}
		for port, frame := range want.frames {
			if got[port] != frame {
				t.Errorf("%s: %s takes %d, want %d", name, port, got[port], frame)
			}
		}
	}
}
