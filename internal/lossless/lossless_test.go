package lossless

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/topology"
	"weft/inventory"
	"weft/switches"
	"weft/switches/systems"
)

// A line that is not understood leaves a hop unknown where it may concern the class: on the
// switch as a whole, or on a port of a path.
func TestNotUnderstood(t *testing.T) {
	f := &inventory.Fabric{Mode: "lossless", Transport: "rocev2", Classes: []*inventory.TrafficClass{{Name: "rdma", DSCP: []int{26}, Priority: 3, PFC: true, Bandwidth: 50}, {Name: "default", Bandwidth: 50}}}
	sw := &inventory.Switch{Block: inventory.Block{Addr: "switch.a"}, OS: "nxos", Fabric: f}
	place := topology.Place{Port: topology.Port{Switch: sw, Name: "Ethernet1/1"}, Fabric: f, Paths: 1}
	for running, want := range map[string]string{
		"hardware qos pfc mystery 7\n":                  "switch.a",
		"interface Ethernet1/1\n  queue-magic pfc 1\n":  "switch.a Ethernet1/1",
		"interface Ethernet1/40\n  queue-magic pfc 1\n": "",
		"interface Ethernet1/1\n  colour green\n":       "",
		"snmp-server contact somebody\n":                "",
	} {
		read, err := systems.Named("nxos").Parse(map[string]string{"show running-config": running})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range Judge("o", []topology.Place{place}, &Readings{Switches: map[string]*switches.Reading{"switch.a": &read}}) {
			if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Why != "" && strings.Contains(f.String(), "not understood") }) {
				got = append(got, r.String())
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: unknown at %q, want %q", running, got, want)
		}
	}
}
