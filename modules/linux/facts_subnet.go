package linux

import (
	"slices"
	"strconv"
	"strings"

	"weft/modules/host"
)

// parsePKey reads 0x8001; 0 is none.
func parsePKey(s string) host.PKey {
	n, err := strconv.ParseUint(s, 0, 16)
	if err != nil {
		return 0
	}
	return host.PKey(n)
}

// parseLID reads 0x11. What is no address of a port is 0, as of those that have
// none yet: 0xffff.
func parseLID(s string) int {
	n, err := strconv.ParseUint(s, 0, 16)
	if err != nil || n >= 0xc000 { // those are for multicast
		return 0
	}
	return int(n)
}

// subnet takes an attribute that only means something on InfiniBand; ports of
// Ethernet show the same files.
func (n *seenNIC) subnet(i int, attr, value string) {
	s := n.RDMA[i].Subnet
	if s == nil {
		s = &host.SubnetPort{}
		n.RDMA[i].Subnet = s
	}
	index, isKey := strings.CutPrefix(attr, "pkeys/")
	switch {
	case attr == "phys_state": // 5: LinkUp
		_, state, _ := strings.Cut(value, ":")
		s.Physical = strings.TrimSpace(state)
	case attr == "lid":
		s.LID = parseLID(value)
	case attr == "sm_lid":
		s.Manager = parseLID(value)
	case attr == "gids/0":
		s.GID = value
	case isKey:
		at, err := strconv.Atoi(index)
		if key := (seenKey{i, at, parsePKey(value)}); err == nil && key.key != 0 && !slices.Contains(n.keys, key) { // two functions may ask for a file
			n.keys = append(n.keys, key)
		}
	}
}

// ipoib takes an attribute of an IP interface of InfiniBand.
func (n *seenNIC) ipoib(attr, value string) {
	if n.IPoIB == nil {
		n.IPoIB = new(host.IPoIB)
	}
	switch attr {
	case "mode":
		n.IPoIB.Mode = value
	case "pkey":
		n.IPoIB.PKey = parsePKey(value)
	}
}

// onlyInfiniBand takes off what ports of another protocol show of a subnet,
// and puts the partition keys of the others in their order.
func (n *seenNIC) onlyInfiniBand() {
	for i := range n.RDMA {
		p := &n.RDMA[i]
		if p.Protocol != "infiniband" {
			p.Subnet = nil
		}
		if p.Subnet == nil {
			continue
		}
		p.Subnet.PKeys = nil
		for _, k := range slices.SortedStableFunc(slices.Values(n.keys), func(a, b seenKey) int { return a.index - b.index }) {
			if k.port == i {
				p.Subnet.PKeys = append(p.Subnet.PKeys, k.key)
			}
		}
	}
}
