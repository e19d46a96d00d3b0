package rules

import (
	"net/netip"

	"weft/inventory"
	"weft/inventory/problem"
)

// segments checks that an initiator and the portals it connects to are in one subnet on each
// plane: weft sets no routes, so a connection between subnets fails. A host route or a
// point-to-point link (/31, /32) is routed by other means, and the pair is left to that.
func (c *checker) segments() {
	said := map[*inventory.Plane]bool{}
	for _, i := range c.Initiators {
		if i.Incomplete || i.Server == nil || i.Server.Incomplete {
			continue
		}
		for _, t := range i.Reaches() {
			if t.Incomplete {
				continue
			}
			for _, r := range i.Server.RNICs {
				for _, p := range t.Portals {
					if r.Plane != nil && p.Plane == r.Plane && !said[r.Plane] && apart(r, p.RNIC) {
						said[r.Plane] = true
						c.segment(i, t, r, p.RNIC)
					}
				}
			}
		}
	}
}

// apart reports whether two NICs of a plane cannot reach each other without a route.
func apart(a, b *inventory.RNIC) bool {
	if b == nil || a.Incomplete || b.Incomplete || !a.Address.IsValid() || !b.Address.IsValid() || pointToPoint(a.Address) || pointToPoint(b.Address) {
		return false
	}
	return !a.Address.Masked().Contains(b.Address.Addr()) || !b.Address.Masked().Contains(a.Address.Addr())
}

func pointToPoint(p netip.Prefix) bool { return p.Bits() >= p.Addr().BitLen()-1 }

func (c *checker) segment(i *inventory.Initiator, t *inventory.Target, from, to *inventory.RNIC) {
	c.refuse(problem.Segments, &from.Block, "address", "several subnets in one plane",
		"%s is in %s, and %s (%s) is in %s, both in plane %q. %s connects to %s there, and weft sets no routes between subnets. Give both the prefix length of the plane, /%d, or declare a plane for each subnet.",
		from.Addr, from.Address.Masked(), to.Addr, problem.Where(to.At("address")), to.Address.Masked(), from.Plane.Name, i.Addr, t.Addr, from.Plane.Subnet.Bits())
}
