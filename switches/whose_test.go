package switches

import (
	"slices"
	"strings"
	"testing"
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
	me := Owner{Name: "me", Others: []string{"you"}}
	for name, tt := range map[string]struct {
		driver   Driver
		text     string
		want     Config
		is       string
		priority int // of the class rdma; 0: none is in force
	}{
		"NX-OS":             {NXOS(), nexus, Config{Name: "WEFT-me-roce", Owner: me}, "", 0},
		"NX-OS, his own":    {NXOS(), nexus + "  service-policy type qos input WEFT-me-old-in\n", Config{Name: "WEFT-me-roce", Owner: me}, "WEFT-me-old", 3},
		"NX-OS, it is his":  {NXOS(), nexus, Config{Name: "WEFT-you-roce", Owner: Owner{Name: "you"}}, "WEFT-you-roce", 5},
		"NX-OS, adopted":    {NXOS(), nexus, Config{Name: "WEFT-me-roce", Owner: me, Adopt: true}, "WEFT-you-roce", 5},
		"Comware":           {Comware(), h3c, Config{Name: "WEFT-me-roce", Owner: me}, "", 0},
		"Comware, his own":  {Comware(), h3c + " qos wred apply WEFT-me-old\n", Config{Name: "WEFT-me-roce", Owner: me}, "WEFT-me-old", 0},
		"Comware, it's his": {Comware(), h3c, Config{Name: "WEFT-you-roce", Owner: Owner{Name: "you"}}, "WEFT-you-roce", 0},
	} {
		out := map[string]string{nxosRunning: tt.text, comwareRunning: tt.text}
		have, err := tt.driver.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		got := have.For(tt.want)
		priority := 0
		if i := slices.IndexFunc(got.Classes, func(c Class) bool { return c.Name == "rdma" }); i >= 0 {
			priority = got.Classes[i].Priority
		}
		if got.Name != tt.is || priority != tt.priority {
			t.Errorf("%s: %q, rdma has priority %d; want %q and %d", name, got.Name, priority, tt.is, tt.priority)
		}
	}
}

// A member of a port-channel is known for one.
func TestBundle(t *testing.T) {
	have, err := NXOS().Parse(map[string]string{nxosRunning: "interface Ethernet1/1\n  mtu 9216\n  channel-group 12 force mode active\ninterface Ethernet1/2\n"})
	if err != nil {
		t.Fatal(err)
	}
	got := have.For(Config{Name: "WEFT-me-roce", Ports: []Port{{Name: "Ethernet1/1"}, {Name: "Ethernet1/2"}}})
	if got.Ports[0].Bundle != "port-channel12" || got.Ports[1].Bundle != "" {
		t.Errorf("%+v", got.Ports)
	}
}

// Whoever changes the priority maps of Comware changes them for all ports that
// go by DSCP, which is said.
func TestBesideMaps(t *testing.T) {
	text := "#\n"
	for _, port := range []string{"1", "2", "3", "4", "5", "6"} {
		text += "interface HundredGigE1/0/" + port + "\n qos trust dscp\n#\n"
	}
	have, err := Comware().Parse(map[string]string{comwareRunning: text + "interface HundredGigE1/0/7\n#\n"})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{Name: "WEFT-me-roce", Classes: []Class{{Name: "rdma", Priority: 3, DSCP: []int{26}}}, Ports: []Port{{Name: "HundredGigE1/0/2"}}}
	warned := strings.Join(have.For(want).Warnings, "\n")
	if !strings.HasSuffix(warned, ": HundredGigE1/0/1, HundredGigE1/0/3, HundredGigE1/0/4, HundredGigE1/0/5, and 1 more") {
		t.Errorf("it warns %q", warned)
	}
	want.Classes = nil
	if got := have.For(want).Warnings; len(got) > 0 {
		t.Errorf("without classes the maps stay: %q", got)
	}
}
