package switches_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

// That PFC is configured does not say that it runs, and for which priorities:
// the switch is asked, where something is lossless.
func TestOperates(t *testing.T) {
	t.Parallel()
	have := switches.Reading{Classes: []switches.Class{{Name: switches.AllOther}, {Name: "rdma", Priority: 3, PFC: true}}, Ports: []switches.Port{
		{Name: "Ethernet1/1", PFC: true}, {Name: "Ethernet1/2", PFC: true}, {Name: "Ethernet1/3", PFC: true}, {Name: "Ethernet1/6", PFC: true}, {Name: "Ethernet1/4"}, {Name: "Ethernet1/5", PFC: true},
	}}
	want := switches.Intent{}
	for _, p := range have.Ports[:5] {
		want.Ports = append(want.Ports, switches.Port{Name: p.Name, PFC: true})
	}
	r := newReplay(t, join(nxosLogin, `
leaf-a# show interface priority-flow-control
============================================================
Port               Mode Oper(VL bmap)  RxPPP      TxPPP
============================================================

Ethernet1/1        On   On   (8)       0          0
Ethernet1/2        On   On   (20)      0          0
Ethernet1/3        On   Off            0          0
Ethernet1/4        Auto Off            0          0
Ethernet1/5        On   Off            0          0
leaf-a# show interface priority-flow-control
% Permission denied for the role
leaf-a#
`))
	s := open(t, nxos.OS(), r)
	got, err := s.Operates(t.Context(), have, want)
	says := []string{
		"PFC is on and does not run (show interface priority-flow-control); on a port without a link that may be all there is to it: Ethernet1/3",
		"PFC is on and show interface priority-flow-control does not list the port, so whether it runs is not known: Ethernet1/6",
		"PFC runs for priorities 5 and not for 3 (show interface priority-flow-control): Ethernet1/2",
	}
	if err != nil || !slices.Equal(got, says) {
		t.Errorf("%q: %v", got, err)
	}
	if got, err := s.Operates(t.Context(), have, want); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "whether PFC runs was not checked: ") {
		t.Errorf("not for this user: %q: %v", got, err)
	}
	for name, nothing := range map[string]switches.Reading{"nothing is lossless": {Ports: have.Ports}, "nothing is on": {Classes: have.Classes}} {
		if got, err := s.Operates(t.Context(), nothing, want); err != nil || len(got) > 0 {
			t.Errorf("%s: %q: %v", name, got, err)
		}
	}
}

// Whether a switch has a timed revert is seen without a change, and told apart
// from that it may not be used.
func TestProbe(t *testing.T) {
	t.Parallel()
	const line = "leaf-a# configure dual-stage\n"
	for name, c := range map[string]struct {
		script  string
		confirm time.Duration
		none    bool // there is none
		refused bool
	}{
		"it has one":         {line + "Enter configuration commands, one per line. End with CNTL/Z.\nleaf-a(config-dual-stage)# abort\nleaf-a#", time.Minute, false, false},
		"it has not":         {line + "                    ^\n% Invalid command at '^' marker.\nleaf-a#", time.Minute, true, true},
		"not for this user":  {line + "% Permission denied for the role\nleaf-a#", time.Minute, false, true},
		"none is asked for":  {"leaf-a#", 0, false, false},
		"too short":          {"leaf-a#", time.Second, true, false},
		"longer than it can": {"leaf-a#", 24 * time.Hour, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, nxos.OS(), newReplay(t, join(nxosLogin, c.script)))
			err := s.Probe(t.Context(), switches.Guard{Confirm: c.confirm})
			if errors.As(err, new(*switches.GuardError)) != c.none || errors.As(err, new(*switches.RefusedError)) != c.refused || (err != nil) != (c.none || c.refused) {
				t.Error(err)
			}
		})
	}
	const minutes = "  INTEGER<1-65535>  Delay time in minutes\n                            ^\n % Incomplete command found at '^' position."
	for name, c := range map[string]struct {
		reply string
		lines int
		none  bool
	}{
		"minutes":        {minutes, 1, false},
		"too many lines": {minutes, 1 << 40, true},
		"no unit":        {"  INTEGER<1-65535>  Delay time", 1, true},
		"no delay":       {" % Unrecognized command found at '^' position.", 1, true},
		"too long":       {"  INTEGER<1-30>  Delay time in seconds", 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, comware.OS(), newReplay(t, join(comwareLogin, "<leaf-b> system-view\nSystem View: return to User View with Ctrl+Z.\n[leaf-b] configuration commit delay ?\n"+c.reply+"\n[leaf-b] return\n<leaf-b>")))
			if err := s.Probe(t.Context(), switches.Guard{Confirm: time.Minute, Lines: c.lines}); errors.As(err, new(*switches.GuardError)) != c.none || (err != nil) != c.none {
				t.Error(err)
			}
		})
	}
}
