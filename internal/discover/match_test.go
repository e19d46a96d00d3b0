package discover

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/switches"
)

// What switches hear is a cable only where one end, and no other, can be meant.
func TestCables(t *testing.T) {
	st1, cn1 := machine("st1", 1, 2), machine("cn1", 3, 4)
	for name, c := range map[string]struct {
		switches []*Switch
		servers  []*Server
		cables   []string // "switch port server interface by"
		findings []string // words that a finding has
	}{
		"by MAC address, however it is written": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", "0200.0000.0001"), hears("Ethernet1/2", "", "02-00-00-00-00-03"))},
			servers:  []*Server{st1, cn1},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0 MAC address", "leaf-a Ethernet1/2 cn1 ens1f0 MAC address"},
		},
		"the MAC address counts more than a name that lies": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "cn1", mac(1)))},
			servers:  []*Server{st1, cn1},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0 MAC address"},
		},
		"by names": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "ST1.mgmt.example.net", "ens1f1"))},
			servers:  []*Server{st1},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f1 names"},
		},
		"between switches": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/49", "leaf-b", "Ethernet1/49")), nexus("leaf-b", hears("Ethernet1/49", "leaf-a", "Ethernet1/49"))},
			cables:   []string{"leaf-a Ethernet1/49 leaf-b Ethernet1/49"},
		},
		"two between switches": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/49", "leaf-b", "Ethernet1/2"), hears("Ethernet1/50", "leaf-b", "Ethernet1/1")), nexus("leaf-b", hears("Ethernet1/1", "leaf-a", "Ethernet1/50"), hears("Ethernet1/2", "leaf-a", "Ethernet1/49"))},
			cables:   []string{"leaf-a Ethernet1/49 leaf-b Ethernet1/2", "leaf-a Ethernet1/50 leaf-b Ethernet1/1"},
		},
		"between switches, ports by MAC address": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/49", "leaf-b", "0200.0000.00aa")), nexus("leaf-b", hears("Ethernet1/7", "leaf-a", "0200.0000.00bb"))},
			cables:   []string{"leaf-a Ethernet1/49 leaf-b Ethernet1/7"},
		},
		"between switches, heard at one end": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/49", "leaf-b", "Ethernet1/2")), nexus("leaf-b", hears("Ethernet1/9", "printer", "1"))},
			findings: []string{"does not hear it back there"},
		},
		"between switches that disagree": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/49", "leaf-b", "Ethernet1/2"), hears("Ethernet1/50", "leaf-b", "Ethernet1/3")), nexus("leaf-b", hears("Ethernet1/2", "leaf-a", "Ethernet1/7"), hears("Ethernet1/3", "leaf-a", "Ethernet1/50"))},
			cables:   []string{"leaf-a Ethernet1/50 leaf-b Ethernet1/3"},
			findings: []string{"does not hear it back there"},
		},
		"a switch that hears nobody": {
			switches: []*Switch{nexus("leaf-a")},
			findings: []string{"has no LLDP neighbours"},
		},
		"a neighbour without a name": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "", "7"))},
			findings: []string{"without a name"},
		},
		"a stranger": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "printer", "1"))},
			findings: []string{`"printer", port "1", which was not asked: unknown end`},
		},
		"a loop": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "leaf-a", "Ethernet1/2"))},
			findings: []string{"hears the switch itself"},
		},
		"two machines with one name": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", "ens1f0"))},
			servers:  []*Server{machine("st1", 1), machine("st1", 2)},
			findings: []string{"2 NICs answer to its names"},
		},
		"two switches with one name": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "leaf-b", "Ethernet1/1")), nexus("leaf-b", hears("Ethernet1/9", "printer", "1")), nexus("leaf-b", hears("Ethernet1/9", "printer", "1"))},
			findings: []string{"2 switches are called so"},
		},
		"two NICs with one MAC address": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", mac(1)))},
			servers:  []*Server{machine("st1", 1), machine("cn1", 1)},
			findings: []string{"2 NICs answer to its MAC address"},
		},
		"a port that hears two machines": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", mac(1)), hears("Ethernet1/1", "cn1", mac(3)))},
			servers:  []*Server{st1, cn1},
			findings: []string{"hears 2 devices"},
		},
		"a port that hears one machine twice": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", mac(1)), hears("Ethernet1/1", "st1", "ens1f0"))},
			servers:  []*Server{st1},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0 MAC address"},
		},
		"a NIC that two ports hear, of which one hears another, too": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", mac(1)), hears("Ethernet1/2", "cn1", mac(3)), hears("Ethernet1/2", "st1", mac(1)))},
			servers:  []*Server{st1, cn1},
			findings: []string{"heard on 2 ports", "hears 2 devices"},
		},
		"a NIC that two ports hear": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", mac(1)), hears("Ethernet1/2", "st1", mac(1)))},
			servers:  []*Server{st1},
			findings: []string{"heard on 2 ports"},
		},
		"by the address of another port of the machine, which is that of its chassis": {
			switches: []*Switch{nexus("leaf-a", switches.Neighbour{Port: "Ethernet1/1", System: "st1", PortID: "ens1f1", Chassis: mac(1)})},
			servers:  []*Server{st1, machine("st1", 3, 4)},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f1 MAC address of its machine"},
		},
		"a chassis that is known, and a port that is not": {
			switches: []*Switch{nexus("leaf-a", switches.Neighbour{Port: "Ethernet1/1", System: "st1", PortID: "vxlan7", Chassis: mac(1)})},
			servers:  []*Server{st1},
			findings: []string{`"st1", port "vxlan7"`},
		},
		"by the description of the port, as NICs below a bond have one address": {
			switches: []*Switch{nexus("leaf-a", switches.Neighbour{Port: "Ethernet1/1", System: "st1", PortID: mac(1), Describes: "ens1f1"})},
			servers:  []*Server{machine("st1", 1, 1)},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f1 MAC address"},
		},
		"by the own addresses of the parts of a bond": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", mac(1)), hears("Ethernet1/2", "st1", mac(2)))},
			servers:  []*Server{bonded("st1")},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0 MAC address", "leaf-a Ethernet1/2 st1 ens1f1 MAC address"},
		},
		"the address of a bond, which any part of it may send": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", mac(1)))},
			servers:  []*Server{bonded("st1")},
			findings: []string{"2 NICs answer to its MAC address"},
		},
		"the address of a bond in the MAC table": {
			switches: []*Switch{learns(nexus("leaf-a"), "Ethernet1/1", 1)},
			servers:  []*Server{bonded("st1")},
			findings: []string{"has no LLDP neighbours", "has learned 1 MAC addresses, of which 2 are those of NICs here"},
		},
		"by the MAC table, where nobody is heard": {
			switches: []*Switch{learns(nexus("leaf-a"), "Ethernet1/1", 1, 1)},
			servers:  []*Server{st1},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0 MAC table"},
			findings: []string{"has no LLDP neighbours", "by the MAC table of the switch only"},
		},
		"by a MAC table that is cut: who else is on the port is not known": {
			switches: []*Switch{cutShort(learns(nexus("leaf-a"), "Ethernet1/1", 1))},
			servers:  []*Server{st1},
			findings: []string{"has no LLDP neighbours", "which MAC addresses it has learned is not known"},
		},
		"several addresses behind one port": {
			switches: []*Switch{learns(nexus("leaf-a"), "Ethernet1/1", 1, 9)},
			servers:  []*Server{st1},
			findings: []string{"has learned 2 MAC addresses, of which 1 are those of NICs here"},
		},
		"a port that hears somebody else has learned the address, too": {
			switches: []*Switch{learns(nexus("leaf-a", hears("Ethernet1/1", "printer", "1")), "Ethernet1/1", 1)},
			servers:  []*Server{st1},
			findings: []string{"unknown end"},
		},
		"heard by one switch, and learned by another over a cable between them": {
			switches: []*Switch{nexus("leaf-a", hears("Ethernet1/1", "st1", mac(1))), learns(nexus("leaf-b"), "Ethernet1/9", 1)},
			servers:  []*Server{st1},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0 MAC address"},
		},
		"learned by two switches": {
			switches: []*Switch{learns(nexus("leaf-a"), "Ethernet1/1", 1), learns(nexus("leaf-b"), "Ethernet1/9", 1)},
			servers:  []*Server{st1},
			findings: []string{"heard on 2 ports"},
		},
		"addresses that are none": {
			switches: []*Switch{nexus("leaf-a", switches.Neighbour{Port: "Ethernet1/1", System: "x", PortID: "00:00:00:00:00:00", Chassis: "ff:ff:ff:ff:ff:ff"})},
			servers:  []*Server{st1},
			findings: []string{"unknown end"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Site{Switches: c.switches, Servers: c.servers}
			var got []string
			for _, c := range s.Cables() {
				line := short(c.Switch.Host) + " " + c.Port
				if c.Peer != nil {
					line += " " + short(c.Peer.Host) + " " + c.PeerPort
				} else {
					line += fmt.Sprintf(" %s %s %s", short(c.Server.Host), c.NIC.Interface, c.By)
				}
				got = append(got, line)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.cables) {
				t.Errorf("cables %q, want %q", got, c.cables)
			}
			for _, words := range c.findings {
				if !slices.ContainsFunc(s.Findings, func(f Finding) bool { return strings.Contains(f.Text, words) && f.Hint != "" }) {
					t.Errorf("no finding says %q: %v", words, s.Findings)
				}
			}
			if len(c.findings) == 0 && slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Severity == Error }) {
				t.Errorf("findings: %v", s.Findings)
			}
		})
	}
}

// Whoever answers under two names is written once; who was cloned is named.
func TestAlike(t *testing.T) {
	same, clone := machine("st2", 1, 2), machine("st3", 7, 8)
	same.MachineID, clone.MachineID = "id of st1", "id of st1"
	again := nexus("leaf-b")
	again.Reading.Facts.Serial = "serial of leaf-a"
	s := &Site{Servers: []*Server{machine("st1", 1, 2), same, clone}, Switches: []*Switch{nexus("leaf-a"), again}}
	s.alike()
	if len(s.Servers) != 2 || s.Servers[1] != clone || len(s.Switches) != 1 {
		t.Errorf("left are %d servers and %d switches", len(s.Servers), len(s.Switches))
	}
	for _, words := range []string{"its machine id and its NICs are the same", "one was cloned from the other", "the switch that answers as leaf-a.mgmt.example.net"} {
		if !slices.ContainsFunc(s.Findings, func(f Finding) bool { return strings.Contains(f.Text, words) && f.Severity == Error }) {
			t.Errorf("no error says %q: %v", words, s.Findings)
		}
	}
}

// bonded is a machine with a bond over both of its ports, which have the address of the first.
func bonded(name string) *Server {
	m := machine(name, 1, 2)
	for i := range m.Facts.NICs {
		n := &m.Facts.NICs[i]
		n.Permanent, n.MAC = n.MAC, mac(1)
	}
	return m
}
