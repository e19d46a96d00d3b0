package discover

import (
	"fmt"
	"net/netip"
	"strings"

	"weft/modules/host"
	"weft/modules/linux"
	"weft/switches"
	"weft/switches/systems"
)

// machine is a server with ports whose MAC addresses end in the numbers.
func machine(name string, ports ...int) *Server {
	s := &Server{Host: name + ".mgmt.example.net", System: linux.OS(), MachineID: "id of " + name, Facts: &host.ServerFacts{Name: name, Volumes: &host.VolumeFacts{}}}
	for i, n := range ports {
		s.Facts.NICs = append(s.Facts.NICs, host.NICFacts{
			PCI: fmt.Sprintf("0000:41:00.%d", i), Interface: fmt.Sprintf("ens1f%d", i), MAC: mac(n), MTU: 9000, Speed: 100e9,
			RDMA:      []host.RDMAPort{{Device: fmt.Sprintf("mlx5_%d", i), Port: 1, Protocol: "rocev2"}},
			Addresses: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.40.%d.%d/24", i+1, n%250+1))},
		})
	}
	return s
}

func mac(n int) string {
	return fmt.Sprintf("02:00:00:%02x:%02x:%02x", n>>16&255, n>>8&255, n&255)
}

// nexus is a switch of NX-OS without policies that hears neighbours.
func nexus(name string, heard ...switches.Neighbour) *Switch {
	return nexusWith(name, "", heard...)
}

func nexusWith(name, running string, heard ...switches.Neighbour) *Switch {
	os := systems.Named("nxos")
	out := map[string]string{}
	for _, line := range os.Show {
		out[line] = ""
		if strings.HasPrefix(line, "show running-config") {
			out[line] = "hostname " + name + "\n" + running
		}
	}
	have, err := os.Parse(out)
	if err != nil {
		panic(err)
	}
	have.Facts.Serial, have.Facts.Hostname = "serial of "+name, name
	return &Switch{Host: name + ".mgmt.example.net", OS: os, Reading: have, Neighbours: heard}
}

func hears(port, system, portID string) switches.Neighbour {
	return switches.Neighbour{Port: port, System: system, PortID: portID}
}

// learns gives a switch the MAC addresses that end in the numbers, on a port.
func learns(sw *Switch, port string, numbers ...int) *Switch {
	for _, n := range numbers {
		sw.Stations = append(sw.Stations, switches.Station{Port: port, MAC: switches.PlainMAC(mac(n))})
	}
	return sw
}

// cutShort is a switch that gave up in the middle of its MAC table.
func cutShort(sw *Switch) *Switch {
	sw.Unlearned = &switches.UnclearError{Line: "show mac address-table", Why: "it ends in an error", What: "which MAC addresses it has learned"}
	return sw
}
