package switches_test

import (
	"slices"
	"strings"
	"testing"

	"weft/switches"
	"weft/switches/comware"
)

// Vendors and releases write a frame length, and the name of a release, in
// upper and lower case.
func TestComwareInWhateverCase(t *testing.T) {
	for _, line := range []string{
		"Maximum frame length: 10000", "The Maximum Frame Length is 10000", "The maximum frame length is 10000", "maximum frame length : 10000", "MAXIMUM FRAME LENGTH: 10000",
	} {
		for _, head := range []string{"FortyGigE1/0/1\nCurrent state: UP", "FortyGigE1/0/1 current state: UP", "FortyGigE1/0/1 Current State : UP"} {
			c, err := comware.OS().Parse(map[string]string{"display interface": head + "\n" + line + "\n", "display current-configuration": "interface FortyGigE1/0/1\n"})
			if err != nil || c.Ports[0].Frame != 10000 {
				t.Errorf("%q, %q: the port takes %d bytes: %v", head, line, c.Ports[0].Frame, err)
				continue
			}
			want := wishFor("FortyGigE1/0/1")
			want.Ports[0].MTU = 9216
			send, err := switches.Render(comware.OS(), c.For(want), want)
			if err != nil || slices.ContainsFunc(send, func(l string) bool { return strings.Contains(l, "jumboframe") }) {
				t.Errorf("%q: a longer frame is lowered: %q: %v", line, send, err)
			}
		}
	}
	for text, want := range map[string]string{
		"H3C Comware Software, Version 7.1.070, Release 2609":                           "7.1.070, Release 2609",
		"H3C Comware Software, Version 7.1.070, Ess 6505":                               "7.1.070, Ess 6505",
		"HPE Comware Software, Version 7.1.045, Feature 2702":                           "7.1.045, Feature 2702",
		"H3C Comware Software, Version 9.1.055, Demo 5202P14":                           "9.1.055, Demo 5202P14",
		"h3c comware platform software, software version 7.1.070, release 2612P02":      "7.1.070, release 2612P02",
		"H3C Comware Software, Version 7.1.070, Alpha 7571\nCopyright (c) 2004 H3C":     "7.1.070, Alpha 7571",
		"H3C Comware Software, Version 7.1.070, R2609P01\nH3C S6800-54QF uptime is 1 d": "7.1.070, R2609P01",
	} {
		if got := versionOf(t, text); got != want {
			t.Errorf("%q: version %q, want %q", text, got, want)
		}
	}
}

// What the system view, the ties of a stack and ports that route make
// beside what weft sets on ports is told.
func TestComwareBeside(t *testing.T) {
	const text = `#
 priority-flow-control no-drop dot1p 5
#
irf-port 1/1
 port group interface FortyGigE1/0/53
 port group interface FortyGigE1/0/54 mode enhanced
#
interface HundredGigE1/0/1
 port link-mode route
#
interface HundredGigE1/0/2
 port link-mode route
 mtu 9000
#
interface HundredGigE1/0/3
 port link-mode bridge
#
`
	have, err := comware.OS().Parse(map[string]string{"display current-configuration": text})
	if err != nil {
		t.Fatal(err)
	}
	want := switches.Intent{Name: "WEFT-me-roce", Classes: []switches.Class{{Name: "rdma", Priority: 3, DSCP: []int{26}, PFC: true}}}
	for _, p := range []string{"1", "2", "3"} {
		want.Ports = append(want.Ports, switches.Port{Name: "HundredGigE1/0/" + p, MTU: 9216, PFC: true})
	}
	says := []string{
		"the system view (priority-flow-control no-drop dot1p 5) sets PFC, which weft leaves as it is and which may decide for every port",
		"these ports route, and how long an IP packet may be is a line of its own there (mtu N), 1500 bytes without one; set it by hand: HundredGigE1/0/1",
		"H3C wants the same PFC on the ports that tie the members of the stack together, which weft leaves as they are: FortyGigE1/0/53, FortyGigE1/0/54",
	}
	if got := have.For(want).Warnings; !slices.Equal(got, says) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	want.Classes[0].PFC = false
	for i := range want.Ports {
		want.Ports[i].MTU = 1500
	}
	if got := have.For(want).Warnings; len(got) > 0 {
		t.Errorf("without lossless classes and long frames:\n%s", strings.Join(got, "\n"))
	}
}

func versionOf(t *testing.T, text string) string {
	t.Helper()
	c, err := comware.OS().Parse(map[string]string{"display version": text})
	if err != nil {
		t.Error(err)
	}
	return c.Facts.Version
}
