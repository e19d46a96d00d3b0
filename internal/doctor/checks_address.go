package doctor

import (
	"net/netip"
	"slices"

	"weft/modules/host"
)

// port is what an end was in this reading; nil: it was not read.
func (s *Site) port(e end) *host.NICHealth {
	h := s.host(e.host.Name)
	if h == nil {
		return nil
	}
	for i := range h.NICs {
		if h.NICs[i].PCI == e.nic.PCI && h.NICs[i].Interface == e.nic.Interface {
			return &h.NICs[i]
		}
	}
	return nil
}

// sameAddress looks for one address on two machines.
func sameAddress(s *Site, r *ruling) {
	first := map[netip.Addr]*Host{}
	for _, h := range s.Hosts {
		if r.knows(h.Netdevs != nil, h.place(), "its addresses could not be read") {
			for _, d := range h.Netdevs {
				for _, a := range d.Addresses {
					other := first[a.Addr()]
					if other == nil {
						first[a.Addr()] = h
					}
					r.unless(other != nil && other != h, h.part(d.Name), "%s uses %s as well", nameOf(other), a.Addr())
				}
			}
		}
	}
	s.met(r)
}

// stacked compares the MTU of interfaces with that of those they stand on, and of bonds
// with that of their parts.
func stacked(h *Host, r *ruling) {
	if !r.knows(h.Netdevs != nil, h.place(), "its interfaces could not be read") {
		return
	}
	for _, d := range h.Netdevs {
		for _, low := range h.Netdevs {
			if d.MTU == 0 || low.MTU == 0 || low.Name != d.Below && (low.Bond == "" || low.Bond != d.Name) {
				continue
			}
			r.unless(d.MTU > low.MTU, h.part(d.Name), "its MTU is %d bytes, and the interface below, %s, has %d", d.MTU, low.Name, low.MTU)
		}
	}
	r.fine()
}

// usualRules are those that every machine has.
const usualRules = 3

// shared are the NICs of a machine whose addresses are in one subnet, two by two.
func (s *Site) shared(h *Host) (pairs [][2]string) {
	var seen []struct {
		name   string
		subnet netip.Prefix
	}
	for _, e := range onEthernet(s.of[h]) {
		i := slices.IndexFunc(h.Netdevs, func(d host.Netdev) bool { return d.Name == e.nic.Interface })
		if i < 0 {
			continue
		}
		for _, a := range h.Netdevs[i].Addresses {
			for _, x := range seen {
				if x.subnet == a.Masked() && x.name != e.nic.Interface {
					pairs = append(pairs, [2]string{x.name, e.nic.Interface})
				}
			}
			seen = append(seen, struct {
				name   string
				subnet netip.Prefix
			}{e.nic.Interface, a.Masked()})
		}
	}
	return pairs
}

func oneSubnet(h *Host, r *ruling) {
	if !r.knows(h.Netdevs != nil, h.place(), "its addresses could not be read") {
		return
	}
	pairs := r.site.shared(h)
	for _, p := range pairs {
		switch {
		case h.Rules == nil:
			r.unknown(h.part(p[1]), "%s has an address in the same subnet; source routing rules could not be read", p[0])
		case *h.Rules > usualRules:
			r.fine() // there are rules of the site's own
		default:
			r.bad(h.part(p[1]), "%s has an address in the same subnet without source routing rules: all traffic leaves through one of them", p[0])
		}
	}
	if len(pairs) == 0 {
		r.fine()
	}
}

// strayARP asks whether a NIC answers for the address of another in its subnet.
func strayARP(h *Host, r *ruling) {
	if !r.knows(h.Netdevs != nil, h.place(), "its addresses could not be read") {
		return
	}
	pairs := r.site.shared(h)
	for _, p := range pairs {
		for _, name := range p {
			all, ok := h.Sysctls["net/ipv4/conf/all/arp_ignore"]
			own, has := h.Sysctls["net/ipv4/conf/"+name+"/arp_ignore"]
			if r.knows(ok && has, h.part(name), "its arp_ignore could not be read") {
				r.unless(max(all, own) == 0, h.part(name), "arp_ignore is 0, and two NICs share a subnet: each answers ARP for both")
			}
		}
	}
	if len(pairs) == 0 {
		r.fine()
	}
}
