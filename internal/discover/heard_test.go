package discover

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/modules/host"
)

// hearing gives the ports of a machine what its agent hears, one for each; nil: nobody.
func hearing(s *Server, heard ...[]host.Heard) *Server {
	for i, list := range heard {
		s.Facts.NICs[i].Heard = list
	}
	return s
}

func deaf(s *Server) *Server {
	s.Facts.Deaf = "the answer to lldpcli is not understood: whom it hears is not known"
	return s
}

func one(system, port string) []host.Heard { return []host.Heard{{System: system, Port: port}} }

// What servers hear is a cable only where the other end does not say otherwise.
func TestHeardByServers(t *testing.T) {
	for name, c := range map[string]struct {
		switches []*Switch
		servers  []*Server
		cables   []string // "switch port server interface", "server interface server interface"
		findings []string
	}{
		"each other": {
			servers: []*Server{hearing(machine("st1", 1, 2), one("cn1", mac(3)), one("cn1", mac(4))), hearing(machine("cn1", 3, 4), one("st1", mac(1)), one("st1", mac(2)))},
			cables:  []string{"st1 ens1f0 cn1 ens1f0", "st1 ens1f1 cn1 ens1f1"},
		},
		"one has no agent": {
			servers: []*Server{machine("st1", 1), hearing(machine("cn1", 3), one("", mac(1)))},
			cables:  []string{"cn1 ens1f0 st1 ens1f0"},
		},
		"one whose answer is not understood": {
			servers:  []*Server{deaf(machine("st1", 1)), machine("cn1", 3)},
			findings: []string{"st1 error the answer to lldpcli is not understood"},
		},
		"by names": {
			servers: []*Server{machine("st1", 1), hearing(machine("cn1", 3), []host.Heard{{System: "ST1.mgmt.example.net", Port: "7", Describes: "ens1f0"}})},
			cables:  []string{"cn1 ens1f0 st1 ens1f0"},
		},
		"two hear the same, which has no agent": {
			servers:  []*Server{machine("st1", 1), hearing(machine("cn1", 3), one("st1", mac(1))), hearing(machine("cn2", 5), one("st1", mac(1)))},
			findings: []string{"cn1 error ens1f0 hears ens1f0 of st1.mgmt.example.net, which is heard or hears elsewhere", "cn2 error ens1f0 hears ens1f0"},
		},
		"the other end hears somebody else": {
			servers:  []*Server{hearing(machine("st1", 1, 2), one("cn2", mac(5))), hearing(machine("cn1", 3), one("st1", mac(1))), hearing(machine("cn2", 5), one("st1", mac(1)))},
			cables:   []string{"st1 ens1f0 cn2 ens1f0"},
			findings: []string{"cn1 error ens1f0 hears ens1f0 of st1"},
		},
		"two devices on one NIC": {
			servers:  []*Server{hearing(machine("st1", 1), slices.Concat(one("cn1", mac(3)), one("cn2", mac(5)))), machine("cn1", 3), machine("cn2", 5)},
			findings: []string{"st1 error ens1f0 hears 2 devices"},
		},
		"one device with two ports": {
			servers:  []*Server{hearing(machine("st1", 1), []host.Heard{{System: "sw", Chassis: "28:a2:4b:00:00:01", Port: "622"}, {System: "sw", Chassis: "28:a2:4b:00:00:01", Port: "623"}})},
			findings: []string{`st1 error ens1f0 hears 2 ports of one device, "sw", with LLDP`},
		},
		"itself": {
			servers:  []*Server{hearing(machine("st1", 1, 2), one("st1", mac(2)))},
			findings: []string{"st1 warn ens1f0 hears ens1f1 of the same machine"},
		},
		"a stranger": {
			servers:  []*Server{hearing(machine("st1", 1), one("spine", "Ethernet1/1"))},
			findings: []string{`st1 info ens1f0 hears "spine", port "Ethernet1/1", which was not asked: unknown end`},
		},
		"a switch that hears nobody there": {
			switches: []*Switch{nexusWith("leaf-a", "interface Ethernet1/1\ninterface Ethernet1/2\n", hears("Ethernet1/2", "printer", "1"))},
			servers:  []*Server{hearing(machine("st1", 1), one("leaf-a", "ethernet1/1"))},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0"},
			findings: []string{"leaf-a info port Ethernet1/2"},
		},
		"a switch that hears somebody else there": {
			switches: []*Switch{nexusWith("leaf-a", "interface Ethernet1/1\n", hears("Ethernet1/1", "printer", "1"))},
			servers:  []*Server{hearing(machine("st1", 1), one("leaf-a", "Ethernet1/1"))},
			findings: []string{"leaf-a info port Ethernet1/1", "st1 warn ens1f0 hears port Ethernet1/1 of leaf-a.mgmt.example.net, which hears another device there"},
		},
		"a switch that hears the same": {
			switches: []*Switch{nexusWith("leaf-a", "interface Ethernet1/1\n", hears("Ethernet1/1", "st1", mac(1)))},
			servers:  []*Server{hearing(machine("st1", 1), one("leaf-a", "Ethernet1/1"))},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0"},
		},
		"a switch that hears it elsewhere": {
			switches: []*Switch{nexusWith("leaf-a", "interface Ethernet1/1\ninterface Ethernet1/2\n", hears("Ethernet1/1", "st1", mac(1)))},
			servers:  []*Server{hearing(machine("st1", 1), one("leaf-a", "Ethernet1/2"))},
			findings: []string{"st1 error ens1f0 hears port Ethernet1/2 of leaf-a.mgmt.example.net, and leaf-a.mgmt.example.net hears it on its port Ethernet1/1"},
		},
		"a port that is known already, by a MAC address": {
			switches: []*Switch{nexusWith("leaf-a", "interface Ethernet1/1\n", hears("Ethernet1/1", "st1", mac(1)))},
			servers:  []*Server{hearing(machine("st1", 1), one("leaf-a", "02:00:00:00:00:aa"))},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0"},
		},
		"a port that is known already, and something stale": {
			switches: []*Switch{nexusWith("leaf-a", "interface Ethernet1/1\n", hears("Ethernet1/1", "st1", mac(1)))},
			servers:  []*Server{hearing(machine("st1", 1), slices.Concat(one("leaf-a", "Ethernet1/1"), one("leaf-b", "Ethernet1/1")))},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0"},
		},
		"a port that is described": {
			switches: []*Switch{nexusWith("leaf-a", "interface Ethernet1/1\n", hears("Ethernet1/2", "printer", "1"))},
			servers:  []*Server{hearing(machine("st1", 1), []host.Heard{{System: "leaf-a", Port: "02:00:00:00:00:aa", Describes: "Ethernet1/1 Interface"}})},
			cables:   []string{"leaf-a Ethernet1/1 st1 ens1f0"},
			findings: []string{"leaf-a info port Ethernet1/2"},
		},
		"two on one port of a switch": {
			switches: []*Switch{nexusWith("leaf-a", "interface Ethernet1/1\ninterface Ethernet1/2\n", hears("Ethernet1/2", "printer", "1"))},
			servers:  []*Server{hearing(machine("st1", 1), one("leaf-a", "Ethernet1/1")), hearing(machine("st2", 2), one("leaf-a", "Ethernet1/1"))},
			findings: []string{"leaf-a info port Ethernet1/2", "leaf-a error 2 NICs hear its port Ethernet1/1"},
		},
		"a port that is none": {
			switches: []*Switch{nexusWith("leaf-a", "interface Ethernet1/1\n", hears("Ethernet1/1", "printer", "1"))},
			servers:  []*Server{hearing(machine("st1", 1), one("leaf-a", "mgmt0"))},
			findings: []string{"leaf-a info port Ethernet1/1", `st1 warn ens1f0 hears port "mgmt0" of leaf-a.mgmt.example.net, which has no port of that name`},
		},
		"rather than the MAC table": {
			switches: []*Switch{learns(nexusWith("leaf-a", "interface Ethernet1/1\ninterface Ethernet1/2\n", hears("Ethernet1/9", "printer", "1")), "Ethernet1/1", 1)},
			servers:  []*Server{hearing(machine("st1", 1), one("leaf-a", "Ethernet1/2"))},
			cables:   []string{"leaf-a Ethernet1/2 st1 ens1f0"},
			findings: []string{"leaf-a info port Ethernet1/9"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Site{Switches: c.switches, Servers: c.servers}
			cables, wires := s.hearing(s.Cables())
			var got, said []string
			for _, c := range cables {
				got = append(got, fmt.Sprintf("%s %s %s %s", short(c.Switch.Host), c.Port, short(c.Server.Host), c.NIC.Interface))
			}
			for _, w := range wires {
				got = append(got, fmt.Sprintf("%s %s %s %s", short(w.a.server.Host), w.a.nic.Interface, short(w.b.server.Host), w.b.nic.Interface))
			}
			if !slices.Equal(got, c.cables) {
				t.Errorf("cables %q, want %q", got, c.cables)
			}
			for _, f := range s.Findings {
				said = append(said, fmt.Sprintf("%s %s %s", short(f.Device), f.Severity, f.Text))
			}
			if !slices.EqualFunc(said, c.findings, strings.HasPrefix) {
				t.Errorf("findings %q, want %q", said, c.findings)
			}
		})
	}
}
