package switches_test

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

func TestNXOSNeighbours(t *testing.T) {
	const text = "Capability codes:\n  (R) Router\nDevice ID            Local Intf      Hold-time  Capability  Port ID  \n\n" +
		"Chassis id: 0200.0000.0001\r\nPort id: b8ce.f60a.0b0c\r\nLocal Port id: Eth1/11\r\nPort Description: ens1f0np0\n" +
		"System Name: st1.example.net\nSystem Description: Linux\nChassis id of something else\n   Port id: no\nEnabled Capabilities: B, W\nManagement Address: 192.0.2.11\nVlan ID: 1\n\n" +
		"Chassis id: x\nPort id: 7\nSystem Name: heard nowhere\n\n" +
		"Chassis id: 0200.0000.0002\nPort id: Ethernet1/2\nLocal Port id: mgmt0\nSystem Name: not advertised\nTotal entries displayed: 3\n"
	want := []switches.Neighbour{
		{Port: "Ethernet1/11", System: "st1.example.net", PortID: "b8ce.f60a.0b0c", Chassis: "0200.0000.0001", Describes: "ens1f0np0", Management: "192.0.2.11", Bridge: true},
		{Port: "mgmt0", PortID: "Ethernet1/2", Chassis: "0200.0000.0002"},
	}
	if got := nxos.OS().Neighbours.Heard(text); !slices.Equal(got, want) {
		t.Errorf("%+v, wanted %+v", got, want)
	}
	if got := nxos.OS().Neighbours.Heard("Port id: 1\nLocal Port id: Eth1/1\n"); got != nil {
		t.Errorf("without a chassis: %+v", got)
	}
}

func TestComwareNeighbours(t *testing.T) {
	const text = "LLDP neighbor-information of port 1[HundredGigE1/0/11]:\nLLDP agent nearest-bridge:\n LLDP Neighbor index : 1\n" +
		" Chassis ID          : 0200-0000-0001\n Port ID             : b8ce-f60a-0b0c\n System name         : st1.example.net\r\n" +
		" Port description    : ens1f0np0\n System capabilities enabled   : Station only\n Management address : 192.0.2.11\n Management address : 192.0.2.12\n System description  : Linux\n                       Port ID : no\n DCBX Control info:\n  Port ID : no\n" +
		" DCBX PFC info:\n  P0-0     P1-1     P2-1     P3-1     P4-0     P5-0     P6-0     P7-0     \n  Number of traffic classes supported: 8\n DCBX APP info:\n  P0-0 P1-0 P2-0 P3-0 P4-0 P5-0 P6-0 P7-1\n" +
		" LLDP neighbor index : 2\n Chassis ID : 0200-0000-0002\n\n" +
		"CDP neighbor-information of port 1[HundredGigE1/0/11]:\n CDP neighbor index : 3\n Chassis ID : phone\n Port ID : Port 1\n" +
		"LLDP neighbor-information of port 2[Ten-GigabitEthernet1/0/0/2]:\nLLDP agent nearest-bridge:\n LLDP neighbor index : 1\n Port ID : p2\n"
	want := []switches.Neighbour{
		{Port: "HundredGigE1/0/11", System: "st1.example.net", PortID: "b8ce-f60a-0b0c", Chassis: "0200-0000-0001", Describes: "ens1f0np0", Management: "192.0.2.11", PFC: "1,2,3"},
		{Port: "HundredGigE1/0/11", Chassis: "0200-0000-0002"},
		{Port: "Ten-GigabitEthernet1/0/0/2", PortID: "p2"},
	}
	if got := comware.OS().Neighbours.Heard(text); !slices.Equal(got, want) {
		t.Errorf("%+v, wanted %+v", got, want)
	}
}

// What real switches print.
func TestTranscriptsNeighbours(t *testing.T) {
	for _, test := range []struct {
		file  string
		parse func(string) []switches.Neighbour
		count int
		want  switches.Neighbour // one of them
	}{
		{"cisco_nxos/show_lldp_neighbors_detail/ntc-templates__cisco_nxos_show_lldp_neighbors_detail.txt", nxos.OS().Neighbours.Heard, 4,
			switches.Neighbour{Port: "Ethernet2/2", System: "N3K.cisconxapi.com", PortID: "Ethernet1/49", Chassis: "547f.eeaf.7818", Describes: "Ethernet1/49", Management: "10.30.140.30", Bridge: true}},
		{"cisco_nxos/show_lldp_neighbors_detail/napalm__show_lldp_neighbors_detail.txt", nxos.OS().Neighbours.Heard, 7,
			switches.Neighbour{Port: "Ethernet2/3", System: "nxos2.madeupdomain.com", PortID: "Eth2/3", Chassis: "2cc2.6072.617b", Describes: "Ethernet2/3", Management: "10.0.0.72", Bridge: true}},
		{"hp_comware/display_lldp_neighbor-information_verbose/ntc-templates__hp_comware_display_lldp_neighbor-information_verbose.txt", comware.OS().Neighbours.Heard, 4,
			switches.Neighbour{Port: "Ten-GigabitEthernet1/0/0/1", System: "SW1", PortID: "GigabitEthernet0/0/1", Chassis: "70f9-6d6b-1234", Describes: "TO_CORE_1", Bridge: true}},
		{"hp_comware/display_lldp_neighbor-information_verbose/h3c_cw7_cmdref_doc_sample_dcbx.txt", comware.OS().Neighbours.Heard, 1,
			switches.Neighbour{Port: "GigabitEthernet1/0/1", System: "Sysname", PortID: "GigabitEthernet1/0/1", Chassis: "000f-0055-0002", Describes: "GigabitEthernet1/0/1 Interface", Management: "192.168.1.55", Bridge: true, PFC: "1,2,3"}},
	} {
		enough(t, test.file, test.count, test.want)
		got := test.parse(strings.ReplaceAll(require.Transcript(t, test.file), "\u00a0", " ")) // of a page of documentation
		if !slices.Contains(got, test.want) || len(got) != test.count {
			t.Errorf("%s: %d neighbours, wanted %+v among them:\n%+v", test.file, len(got), test.want, got)
		}
	}
}

// FuzzNeighbours: whatever is printed, every neighbour is heard on a port.
func FuzzNeighbours(f *testing.F) {
	f.Add("Chassis id: a\nLocal Port id: Eth1/1\n")
	f.Add("LLDP neighbor-information of port 1[HundredGigE1/0/1]:\n LLDP neighbor index : 1\n Port ID : x\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range slices.Concat(nxos.OS().Neighbours.Heard(text), comware.OS().Neighbours.Heard(text)) {
			if n.Port == "" {
				t.Errorf("%+v", n)
			}
		}
	})
}
