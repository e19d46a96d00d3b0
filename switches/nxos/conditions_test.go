package nxos

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/switches"
)

// What real switches print of their optics and modules.
func TestTranscriptsConditions(t *testing.T) {
	list, ok := optics(require.Transcript(t, "cisco_nxos/show_interface_transceiver_details/ntc-templates__cisco_nxos_show_interface_transceiver_details.txt"))
	if !ok || len(list) == 0 || list[0].Part != "Ethernet3/1" || list[0].What != switches.OfOptics || list[0].Text != "Tx Power is -14.05, and its own low alarm is at -11.3" {
		t.Errorf("%v %+v", ok, list)
	}
	for _, x := range list {
		if x.What == switches.OfHeat {
			t.Errorf("none of them is hot: %+v", x)
		}
	}
	for name, want := range map[string][]string{
		"ntc-templates__cisco_nxos_show_module.txt":  nil,
		"ntc-templates__cisco_nxos_show_module1.txt": {"module 3 it is powered-up", "module 4 it is powered-dn"},
		"ntc-templates__cisco_nxos_show_module2.txt": nil,
	} {
		list, ok := modules(require.Transcript(t, "cisco_nxos/show_module/"+name))
		var said []string
		for _, x := range list {
			said = append(said, x.Part+" "+x.Text)
		}
		if !ok || !slices.Equal(said, want) {
			t.Errorf("%s: %v %q", name, ok, said)
		}
	}
}

// SYNTHETIC, in the layouts of recordings.
func TestConditions(t *testing.T) {
	lanes := "Ethernet1/1\n    transceiver is present\n  Lane Number:2 Network Lane\n" +
		"  Temperature   79.66 C    +   85.00 C     -5.00 C     75.00 C        0.00 C\n  Current           N/A        11.80 mA     4.00 mA    10.80 mA       5.00 mA\n" +
		"  Rx Power     -30.45 dBm --    2.00 dBm  -13.90 dBm   -1.00 dBm     -9.90 dBm\n"
	list, ok := optics(lanes)
	if !ok || len(list) != 2 || list[0].What != switches.OfHeat || !strings.Contains(list[0].Text, "high warning is at 75") || list[1].Text != "Rx Power of lane 2 is -30.45, and its own low alarm is at -13.9" {
		t.Errorf("%v %+v", ok, list)
	}
	if _, ok := optics("something else\n"); ok {
		t.Error("it understands anything")
	}
	mods := "Mod  Ports  Module-Type  Model  Status\n---  -----  ----  ----  ----\n1    0      Supervisor Module  N9K-SUP  active *\n2    48     Ethernet Module  N9K-X  powered-dn\n\nMod  Sw\n3    x y z\n"
	if list, ok := modules(mods); !ok || len(list) != 1 || list[0].Part != "module 2" || list[0].Text != "it is powered-dn" {
		t.Errorf("%v %+v", ok, list)
	}
	if _, ok := modules(""); ok {
		t.Error("nothing is a table")
	}
	vpc := "vPC domain id                     : 1\nPeer status                       : peer link is down\nvPC keep-alive status             : peer is alive\nConfiguration consistency status  : success\n"
	if list, ok := pair(vpc); !ok || len(list) != 1 || list[0].Text != "Peer status is peer link is down" {
		t.Errorf("%v %+v", ok, list)
	}
}

func FuzzConditions(f *testing.F) {
	f.Add("Ethernet1/1\n  Rx Power     -30.45 dBm --    2.00 dBm  -13.90 dBm   -1.00 dBm     -9.90 dBm\n")
	f.Fuzz(func(_ *testing.T, text string) {
		for _, c := range conditions() {
			switch {
			case c.Ports != nil:
				c.Ports(text)
			case c.Compare != nil:
				c.Compare(text, text)
			default:
				c.Parse(text)
			}
		}
	})
}
