package switches_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

// What is learned on a port of the switch's own counts, in the layout of the examples of
// ntc-templates; what a peer, a bundle or the switch itself has does not.
func TestStations(t *testing.T) {
	for _, c := range []struct {
		name  string
		parse func(string) []switches.Station
		text  string
		want  []switches.Station
	}{
		{"nxos", nxos.OS().Table.Parse, `Legend:
        * - primary entry, G - Gateway MAC, (R) - Routed MAC, O - Overlay MAC
        age - seconds since first seen,+ - primary entry using vPC Peer-Link
   VLAN     MAC Address      Type      age     Secure NTFY   Ports/SWID.SSID.LID
---------+-----------------+--------+---------+------+----+------------------
* 217      0200.0000.0001    dynamic   3590       F    F  Eth1/11
* 217      0200.0000.0002    dynamic   3590       F    F  Po1
+ 217      0200.0000.0003    dynamic   3590       F    F  Eth1/12
G    100      0200.0000.0004    static    -        F      F    sup-eth1(R)
*    145      0200.0000.0005    static    -        F      F    Eth1/13
* 217      ffff.ffff.ffff    dynamic   3590       F    F  Eth1/14
`, []switches.Station{{Port: "Ethernet1/11", MAC: "020000000001"}}},
		{"comware", comware.OS().Table.Parse, `MAC ADDR       VLAN ID  STATE          PORT INDEX               AGING TIME(s)
0200-0000-0001 1        Learned        Bridge-Aggregation1      AGING
0200-0000-0002 10       Learned        GigabitEthernet1/0/20    NOAGED
0200-0000-0003 10       learned        HGE1/0/1                 Y
0200-0000-0004 10       Static         HGE1/0/2                 N
0200-0000-0005 10       Learned        400GE1/0/3               Y
0200-0000-0006 10       Learned        N/A                      Y
`, []switches.Station{{Port: "GigabitEthernet1/0/20", MAC: "020000000002"}, {Port: "HundredGigE1/0/1", MAC: "020000000003"}, {Port: "FourHundredGigE1/0/3", MAC: "020000000005"}}},
	} {
		if got := c.parse(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, wanted %+v", c.name, got, c.want)
		}
	}
}

// A MAC table that is refused, cut or of another layout is not one with nobody in it: what the
// switch says stands in the error. An empty table has its head.
func TestUnclearStations(t *testing.T) {
	t.Parallel()
	const head, one = "   VLAN     MAC Address      Type      age     Secure NTFY   Ports/SWID.SSID.LID\n", "* 217      0200.0000.0001    dynamic   3590       F    F  Eth1/11\n"
	const theirs = "MAC ADDR       VLAN ID  STATE          PORT INDEX               AGING TIME(s)\n"
	for name, c := range map[string]struct {
		os    *switches.OS
		text  string
		says  string // "": it is understood
		count int
	}{
		"no rights":         {nxos.OS(), "% Permission denied for the role\n", "Permission denied for the role", 0},
		"no rights, theirs": {comware.OS(), "Permission denied.\n", "Permission denied.", 0},
		"unknown":           {nxos.OS(), "                    ^\n% Invalid command at '^' marker.\n", "Invalid command at", 0},
		"unknown, theirs":   {comware.OS(), "                ^\n % Unrecognized command found at '^' position.\n", "Unrecognized command found", 0},
		"nothing":           {comware.OS(), "", "it is empty", 0},
		"another layout":    {nxos.OS(), "Table 1\n0200.0000.0001 is on Eth1/1\n", `ends in "0200.0000.0001 is on Eth1/1"`, 0},
		"cut":               {nxos.OS(), head + one + strings.Repeat("+\n", 5) + "% Memory exhausted\n", "Memory exhausted", 1},
		"empty":             {nxos.OS(), head, "", 0},
		"empty, theirs":     {comware.OS(), theirs, "", 0},
		"one":               {nxos.OS(), head + one, "", 1},
	} {
		prompt, login := "leaf-a# ", nxosLogin
		if c.os.Name == "comware" {
			prompt, login = "<leaf-b> ", comwareLogin
		}
		r := newReplay(t, join(login, prompt+c.os.Table.Line, c.text, prompt))
		r.indented = true
		list, err := open(t, c.os, r).Stations(t.Context())
		var unclear *switches.UnclearError
		known := c.says == "" && err == nil
		said := errors.As(err, &unclear) && c.says != "" && strings.Contains(err.Error(), c.says) && strings.Contains(err.Error(), "which MAC addresses it has learned is not known")
		if len(list) != c.count || !known && !said {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
}

// FuzzStations: whatever is printed, a station has a port and an address.
func FuzzStations(f *testing.F) {
	f.Add("* 1 0200.0000.0001 dynamic 0 F F Eth1/1\n")
	f.Add("0200-0000-0001 1 Learned HGE1/0/1 Y\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range slices.Concat(nxos.OS().Table.Parse(text), comware.OS().Table.Parse(text)) {
			if s.Port == "" || switches.PlainMAC(s.MAC) != s.MAC || s.MAC == "" {
				t.Errorf("%+v", s)
			}
		}
	})
}
