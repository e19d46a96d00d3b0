package nic

import (
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/internal/slice"
)

// The field PCI of the kinds here is the place of a NIC port, as remote.FindPort takes it.

// functionOf is the PCI function of a place. Where the place is a MAC address, the uevent of
// the interface's device names it.
func functionOf(s remote.Seen, place string) string {
	if function, _, _ := strings.Cut(place, "@"); function != "" {
		return function
	}
	return variable(s, driverLook(place), "PCI_SLOT_NAME")
}

// variable is a line NAME=VALUE of a file that a look reads; "": it has none.
func variable(s remote.Seen, l remote.Look, name string) string {
	for line := range strings.Lines(s.Of(l).Text()) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return ""
}

// firstFunction is the function of the same card that has its RDMA device where both ports of
// the card are in a bond (RoCE LAG of mlx5_core).
func firstFunction(place string) string {
	card, _, _ := strings.Cut(strings.SplitN(place, "@", 2)[0], ".")
	if card == "" {
		return ""
	}
	return card + ".0"
}

// masterLook sees which interface a NIC port is part of.
func masterLook(place string) remote.Look {
	return remote.Look{PCI: place, File: "/sys/class/net/{if}/master/uevent"}
}

// membersLook sees all ports of the bond that a NIC port is part of.
func membersLook(place string) remote.Look {
	return remote.Look{PCI: place, File: "/sys/class/net/{if}/master/bonding/slaves"}
}

// numberLook sees the number of a port of a PCI function, from 0.
func numberLook(place string) remote.Look {
	return remote.Look{PCI: place, File: "/sys/class/net/{if}/dev_port"}
}

// A bond is what a NIC port is part of.
type bond struct {
	name    string
	members []string
}

// bondOf is the bond of a NIC port; the zero value: it is in none.
func bondOf(s remote.Seen, place string) bond {
	members := strings.Fields(s.Of(membersLook(place)).Text())
	if len(members) == 0 {
		return bond{}
	}
	return bond{variable(s, masterLook(place), "INTERFACE"), members}
}

// carries reports whether an RDMA port is that of the bond: a port by the name of the bond,
// or, as long as the kernel names one of the bond's ports, a device of the card's first
// function (first) that has such a name.
func (b bond) carries(p rdmaPort, first []string) bool {
	return b.name != "" && (p.Netdev == b.name || slices.Contains(b.members, p.Netdev) && slices.Contains(first, p.Device))
}

// portOf is the RDMA port of a NIC port among those of a server; nil: it has none. bearers
// are the RDMA devices of its PCI function, whose InfiniBand ports name no interface.
func portOf(s remote.Seen, place, netdev string, ports []rdmaPort, bearers []string) *rdmaPort {
	if i := slices.IndexFunc(ports, func(p rdmaPort) bool { return p.Netdev == netdev }); i >= 0 {
		return &ports[i]
	}
	own := slice.Filter(ports, func(p rdmaPort) bool { return p.Netdev == "" && slices.Contains(bearers, p.Device) })
	if len(own) > 1 { // one device with several ports: numbers begin with 1 there
		number := s.Of(numberLook(place)).Text()
		if i := slices.IndexFunc(own, func(p rdmaPort) bool { return p.follows(number) }); i >= 0 {
			return &own[i]
		}
	}
	if len(own) > 0 {
		return &own[0]
	}
	b, first := bondOf(s, place), strings.Fields(s.Of(bearersLook(firstFunction(place))).Text())
	if i := slices.IndexFunc(ports, func(p rdmaPort) bool { return b.carries(p, first) }); i >= 0 {
		return &ports[i]
	}
	return nil
}
