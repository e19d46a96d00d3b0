package switches_test

import (
	"strings"
	"testing"

	"weft/internal/require"
	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

// An answer about LLDP is understood as a whole, or it is not known whom a switch hears.
func TestUnclearNeighbours(t *testing.T) {
	const head = "Capability codes:\n  (R) Router, (B) Bridge\nDevice ID            Local Intf      Hold-time  Capability  Port ID  \n\n"
	const one = "Chassis id: 0200.0000.0001\nPort id: b8ce.f60a.0b0c\nLocal Port id: Eth1/1\n"
	whole := func(describes string) string {
		return one + "Port Description: ens1f0np0\nSystem Name: st1\nSystem Description: " + describes + "\nTime remaining: 91 seconds\nSystem Capabilities: S\nEnabled Capabilities: S\nManagement Address: not advertised\nVlan ID: 1\n\n"
	}
	elsewhere := func(text string) string { return strings.ReplaceAll(text, "Eth1/1", "Eth1/9") }
	const theirs = "LLDP neighbor-information of port 1[HundredGigE1/0/11]:\nLLDP agent nearest-bridge:\n LLDP Neighbor index : 1\n Chassis ID : 0200-0000-0001\n Port ID : x\n"
	for name, c := range map[string]struct {
		os    *switches.OS
		text  string
		clear bool
	}{
		"nothing":                               {comware.OS(), "\n", false},
		"nothing, of NX-OS":                     {nxos.OS(), "", false},
		"a whole record in a description":       {nxos.OS(), head + whole("Linux\n"+elsewhere(whole("x"))+"more") + "Total entries displayed: 1\n", false},
		"a record in a description":             {nxos.OS(), head + whole("Linux\n"+elsewhere(one)) + "Total entries displayed: 1\n", true},
		"a record in the description of a port": {nxos.OS(), head + strings.Replace(whole("Linux"), "ens1f0np0", "ens1f0np0\n"+elsewhere(one), 1) + "Total entries displayed: 1\n", true},
		"an end in a description":               {nxos.OS(), head + whole("Linux\nTotal entries displayed: 0\n"), true},
		"a description that ends itself":        {nxos.OS(), head + whole("Linux\nTime remaining: 1 seconds\n"+elsewhere(one)) + "Total entries displayed: 1\n", false},
		"a field twice":                         {comware.OS(), theirs + " Chassis ID : 0200-0000-0002\n", false},
		"an index twice":                        {comware.OS(), theirs + " LLDP Neighbor index : 1\n Chassis ID : 0200-0000-0002\n", false},
		"a port in a description":               {comware.OS(), theirs + " System description : see\n                       LLDP neighbor-information of port 9[HundredGigE1/0/9]:\n LLDP Neighbor index : 2\n Chassis ID : 0200-0000-0002\n", true},
		"nobody":                                {nxos.OS(), head + "\nTotal entries displayed: 0\r\n", true},
		"no information":                        {nxos.OS(), "ERROR: No neighbour information\n", true},
		"off":                                   {comware.OS(), "LLDP is not enabled globally.\n", true},
		"one":                                   {nxos.OS(), head + one + "\nTotal entries displayed: 1\n", true},
		"one of Comware":                        {comware.OS(), theirs, true},
		"noise":                                 {nxos.OS(), "\x1b[2J\x1b]0;title\x07nothing to see", false},
		"another layout":                        {nxos.OS(), "ChassisID: 0200.0000.0001\nPort: Eth1/1\n", false},
		"an error about LLDP":                   {nxos.OS(), "Timed out while asking the process lldp\n", false},
		"an error about LLDP, theirs":           {comware.OS(), "Failed to get LLDP neighbors.\n", false},
		"cut after the head":                    {nxos.OS(), head, false},
		"cut between two":                       {nxos.OS(), head + one, false},
		"cut within one":                        {nxos.OS(), head + one + "\nChassis id: 0200.0000.0002\nPort id:", false},
		"fewer than it says":                    {nxos.OS(), head + one + "\nTotal entries displayed: 2\n", false},
		"given up":                              {comware.OS(), theirs + "% Memory exhausted\n", false},
		"cut before the first":                  {comware.OS(), "LLDP neighbor-information of port 1[HundredGigE1/0/11]:\nLLDP agent", false},
	} {
		if why := switches.Unclear(c.os.Neighbours, c.text); (why == "") != c.clear {
			t.Errorf("%s: %q", name, why)
		}
		for _, n := range c.os.Neighbours.Heard(c.text) { // none is made up
			if n.Port != "Ethernet1/1" && n.Port != "HundredGigE1/0/11" {
				t.Errorf("%s: %+v", name, n)
			}
		}
	}
}

// What real switches print is understood as a whole.
func TestTranscriptsUnclear(t *testing.T) {
	for file, os := range map[string]*switches.OS{
		"cisco_nxos/show_lldp_neighbors_detail/ntc-templates__cisco_nxos_show_lldp_neighbors_detail.txt":                               nxos.OS(),
		"cisco_nxos/show_lldp_neighbors_detail/napalm__show_lldp_neighbors_detail.txt":                                                 nxos.OS(),
		"hp_comware/display_lldp_neighbor-information_verbose/ntc-templates__hp_comware_display_lldp_neighbor-information_verbose.txt": comware.OS(),
	} {
		if why := switches.Unclear(os.Neighbours, require.Transcript(t, file)); why != "" {
			t.Errorf("%s: %s", file, why)
		}
	}
}
