package switches_test

import (
	"slices"
	"strings"
	"testing"

	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

// What another owner has on other ports is not what a plan replaces, and what
// the owner himself has is found behind it.
func TestWhose(t *testing.T) {
	const nexus = `class-map type qos match-any WEFT-you-roce-rdma
  match dscp 30
policy-map type qos WEFT-you-roce-in
  class WEFT-you-roce-rdma
    set qos-group 5
class-map type qos match-any WEFT-me-old-rdma
  match dscp 26
policy-map type qos WEFT-me-old-in
  class WEFT-me-old-rdma
    set qos-group 3
interface Ethernet1/1
  service-policy type qos input WEFT-you-roce-in
interface Ethernet1/3
`
	const h3c = `#
qos wred queue table WEFT-you-roce
#
qos wred queue table WEFT-me-old
#
interface HundredGigE1/0/1
 qos trust dscp
 qos wred apply WEFT-you-roce
#
interface HundredGigE1/0/3
`
	me := switches.Owner{Name: "me", Others: []string{"you"}}
	for name, tt := range map[string]struct {
		driver   *switches.OS
		text     string
		want     switches.Intent
		is       string
		priority int // of the class rdma; 0: none is in force
	}{
		"NX-OS":             {nxos.OS(), nexus, switches.Intent{Name: "WEFT-me-roce", Owner: me}, "", 0},
		"NX-OS, his own":    {nxos.OS(), nexus + "  service-policy type qos input WEFT-me-old-in\n", switches.Intent{Name: "WEFT-me-roce", Owner: me}, "WEFT-me-old", 3},
		"NX-OS, it is his":  {nxos.OS(), nexus, switches.Intent{Name: "WEFT-you-roce", Owner: switches.Owner{Name: "you"}}, "WEFT-you-roce", 5},
		"NX-OS, adopted":    {nxos.OS(), nexus, switches.Intent{Name: "WEFT-me-roce", Owner: me, Adopt: true}, "WEFT-you-roce", 5},
		"Comware":           {comware.OS(), h3c, switches.Intent{Name: "WEFT-me-roce", Owner: me}, "", 0},
		"Comware, his own":  {comware.OS(), h3c + " qos wred apply WEFT-me-old\n", switches.Intent{Name: "WEFT-me-roce", Owner: me}, "WEFT-me-old", 0},
		"Comware, it's his": {comware.OS(), h3c, switches.Intent{Name: "WEFT-you-roce", Owner: switches.Owner{Name: "you"}}, "WEFT-you-roce", 0},
	} {
		out := map[string]string{"show running-config": tt.text, "display current-configuration": tt.text}
		have, err := tt.driver.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		got := have.For(tt.want)
		priority := 0
		if i := slices.IndexFunc(got.Classes, func(c switches.Class) bool { return c.Name == "rdma" }); i >= 0 {
			priority = got.Classes[i].Priority
		}
		if got.Name != tt.is || priority != tt.priority {
			t.Errorf("%s: %q, rdma has priority %d; want %q and %d", name, got.Name, priority, tt.is, tt.priority)
		}
	}
}

// A member of a port-channel is known for one.
func TestBundle(t *testing.T) {
	have, err := nxos.OS().Parse(map[string]string{"show running-config": "interface Ethernet1/1\n  mtu 9216\n  channel-group 12 force mode active\ninterface Ethernet1/2\n"})
	if err != nil {
		t.Fatal(err)
	}
	got := have.For(switches.Intent{Name: "WEFT-me-roce", Ports: []switches.Port{{Name: "Ethernet1/1"}, {Name: "Ethernet1/2"}}})
	if got.Ports[0].Bundle != "port-channel12" || got.Ports[1].Bundle != "" {
		t.Errorf("%+v", got.Ports)
	}
}

// An aggregation group of Comware is one as well.
func TestAggregationGroup(t *testing.T) {
	have, err := comware.OS().Parse(map[string]string{"display current-configuration": "#\ninterface HundredGigE1/0/1\n port link-mode bridge\n port link-aggregation group 12 force\n#\ninterface HundredGigE1/0/2\n#\n"})
	if err != nil {
		t.Fatal(err)
	}
	got := have.For(switches.Intent{Name: "WEFT-me-roce", Ports: []switches.Port{{Name: "HundredGigE1/0/1"}, {Name: "HundredGigE1/0/2"}}})
	if got.Ports[0].Bundle != "aggregation group 12" || got.Ports[1].Bundle != "" {
		t.Errorf("%+v", got.Ports)
	}
}

const divided = "a network-qos policy is attached, changed or taken off: the switch then divides the buffers of all its ports anew, and what that does to their traffic is not known"

// What concerns all ports of a Nexus is told before it is done, and no longer.
func TestDivided(t *testing.T) {
	const attached = `class-map type qos match-any WEFT-me-roce-rdma
  match dscp 26
policy-map type qos WEFT-me-roce-in
  class WEFT-me-roce-rdma
    set qos-group 3
policy-map type network-qos WEFT-me-roce-nq
  class type network-qos c-8q-nq3
    pause pfc-cos 3
system qos
  service-policy type network-qos WEFT-me-roce-nq
`
	rdma := func(pfc bool) []switches.Class {
		return []switches.Class{{Name: "rdma", Priority: 3, DSCP: []int{26}, Bandwidth: 100, PFC: pfc}}
	}
	me := switches.Owner{Name: "me"}
	for name, tt := range map[string]struct {
		text string
		want switches.Intent
		told bool
	}{
		"attached":            {"", switches.Intent{Name: "WEFT-me-roce", Owner: me, Classes: rdma(true)}, true},
		"as it is":            {attached, switches.Intent{Name: "WEFT-me-roce", Owner: me, Classes: rdma(true)}, false},
		"changed":             {attached, switches.Intent{Name: "WEFT-me-roce", Owner: me, Classes: rdma(false)}, true},
		"under another name":  {attached, switches.Intent{Name: "WEFT-me-gold", Owner: me, Classes: rdma(true)}, true},
		"taken off":           {attached, switches.Intent{Owner: me}, true},
		"of somebody else":    {attached, switches.Intent{Owner: switches.Owner{Name: "you"}}, false},
		"nothing of ours yet": {"", switches.Intent{Owner: me}, false},
	} {
		have, err := nxos.OS().Parse(map[string]string{"show running-config": tt.text})
		if err != nil {
			t.Fatal(err)
		}
		if got := have.For(tt.want).Warnings; slices.Contains(got, divided) != tt.told {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Lines that weft leaves and that work against lossless classes, or besides
// them, are named once with their ports; those of other ports are not.
func TestRemarks(t *testing.T) {
	for os, tt := range map[string]struct {
		driver *switches.OS
		text   string
		port   string
		says   []string
	}{
		"nxos": {nxos.OS(), "interface %s1\n  inherit port-profile STORAGE\n  priority-flow-control mode on send-tlv\n  flowcontrol receive on\n" +
			"interface %s2\n  flowcontrol receive off\n  priority-flow-control mode auto\ninterface %s3\n  flowcontrol receive on\n", "Ethernet1/",
			[]string{
				"DCBX (priority-flow-control mode on send-tlv) tells the NIC what the switch does; firmware that is willing takes that, and not what weft sets on the host: Ethernet1/1",
				"a profile (inherit port-profile STORAGE) may say more of a port than its own lines, which are all that is read: Ethernet1/1",
				"pause of the whole link (flowcontrol receive on) is on together with PFC; remove it by hand: Ethernet1/1",
				divided,
			}},
		"comware": {comware.OS(), "#\ninterface %s1\n flow-control\n lldp tlv-enable dot1-tlv dcbx\n#\ninterface %s2\n flow-interval 5\n#\ninterface %s3\n flow-control\n#\n", "HundredGigE1/0/",
			[]string{
				"DCBX (lldp tlv-enable dot1-tlv dcbx) tells the NIC what the switch does; firmware that is willing takes that, and not what weft sets on the host: HundredGigE1/0/1",
				"pause of the whole link (flow-control) is on together with PFC, which some models refuse and others let PFC override; remove it by hand: HundredGigE1/0/1",
				"class rdma: H3C advises against PFC for priorities 0, 6 and 7, which models and stacks refuse in part",
			}},
	} {
		have, err := tt.driver.Parse(map[string]string{tt.driver.Dialect.Running: strings.ReplaceAll(tt.text, "%s", tt.port)})
		if err != nil {
			t.Fatal(err)
		}
		want := switches.Intent{Name: "WEFT-me-roce", Classes: []switches.Class{{Name: "rdma", Priority: 6, DSCP: []int{26}, PFC: true}},
			Ports: []switches.Port{{Name: tt.port + "1", PFC: true}, {Name: tt.port + "2", PFC: true}, {Name: tt.port + "3"}}}
		if got := have.For(want).Warnings; !slices.Equal(got, tt.says) {
			t.Errorf("%s:\n%s", os, strings.Join(got, "\n"))
		}
	}
}

// Whoever changes the priority maps of Comware changes them for all ports that
// go by DSCP, which is said.
func TestBesideMaps(t *testing.T) {
	text := "#\n"
	for _, port := range []string{"1", "2", "3", "4", "5", "6"} {
		text += "interface HundredGigE1/0/" + port + "\n qos trust dscp\n#\n"
	}
	have, err := comware.OS().Parse(map[string]string{"display current-configuration": text + "interface HundredGigE1/0/7\n#\n"})
	if err != nil {
		t.Fatal(err)
	}
	want := switches.Intent{Name: "WEFT-me-roce", Classes: []switches.Class{{Name: "rdma", Priority: 3, DSCP: []int{26}}}, Ports: []switches.Port{{Name: "HundredGigE1/0/2"}}}
	warned := strings.Join(have.For(want).Warnings, "\n")
	if !strings.HasSuffix(warned, ": HundredGigE1/0/1, HundredGigE1/0/3, HundredGigE1/0/4, HundredGigE1/0/5 and 1 more") {
		t.Errorf("it warns %q", warned)
	}
	want.Classes = nil
	if got := have.For(want).Warnings; len(got) > 0 {
		t.Errorf("without classes the maps stay: %q", got)
	}
}
