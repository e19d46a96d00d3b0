package rules

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"
)

// planes refuses subnets that overlap within a fabric. In the order of their
// first addresses a subnet can only overlap the widest before it.
func (c *checker) planes() {
	for _, f := range c.Fabrics {
		sorted := make([]*inventory.Plane, 0, len(f.Planes))
		place := map[*inventory.Plane]int{}
		for i, p := range f.Planes {
			if !p.Subnet.IsValid() {
				continue
			}
			if p.Subnet != p.Subnet.Masked() {
				c.refuse(problem.NotHost, &p.Block, "subnet", "invalid subnet", "%s is an address in the subnet %s; use the network address.", p.Subnet, p.Subnet.Masked())
			}
			sorted, place[p] = append(sorted, p), i
		}
		slices.SortStableFunc(sorted, func(a, b *inventory.Plane) int {
			return cmp.Or(a.Subnet.Masked().Addr().Compare(b.Subnet.Masked().Addr()), a.Subnet.Bits()-b.Subnet.Bits())
		})
		var wide *inventory.Plane
		for _, p := range sorted {
			if wide == nil || !wide.Subnet.Overlaps(p.Subnet) {
				wide = p
				continue
			}
			first, second := wide, p
			if place[second] < place[first] {
				first, second = second, first
			}
			c.refuse(problem.Overlap, &second.Block, "subnet", "planes overlap", "%s overlaps %s of %s.", second.Subnet, first.Subnet, whereBlock(&first.Block))
		}
	}
}

// switches refuses planes that do not exist.
func (c *checker) switches() {
	for _, s := range c.Switches {
		switch {
		case s.Incomplete:
		case s.Fabric == nil && s.Writes("fabric"): // it is switched off: what weft did for it is pruned
		case s.Fabric == nil && s.Plane != "":
			c.refuse(problem.Plane, &s.Block, "plane", "plane without a fabric", "plane %q requires a fabric, and none is set.", s.Plane)
		case s.Fabric == nil && !s.Unmanaged:
			c.warn(problem.NoFabric, &s.Block, "", "switch without a fabric", "weft will configure nothing on it: set fabric and plane, or unmanaged = true.")
		case s.Fabric == nil:
		case s.Plane == "" && !s.Unmanaged:
			c.refuse(problem.Plane, &s.Block, "fabric", "no plane", "A switch belongs to one plane of its fabric: set plane.")
		case s.Plane != "" && s.Fabric.Plane(s.Plane) == nil && s.Fabric.Incomplete && hclsyntax.ValidIdentifier(s.Plane): // it may be one that is misspelt
		case s.Plane != "" && s.Fabric.Plane(s.Plane) == nil:
			names := slice.Map(s.Fabric.Planes, func(p *inventory.Plane) string { return p.Name })
			c.refuse(problem.Plane, &s.Block, "plane", "no such plane", "%s has no plane %q.%s", whereBlock(&s.Fabric.Block), s.Plane, problem.DidYouMean(s.Plane, names))
		}
	}
}

// servers checks the addresses of NICs and that each NIC can be found.
func (c *checker) servers() {
	addresses := registry[netip.Addr]{}
	macs := registry[string]{}
	for _, s := range c.Servers {
		slots := registry[string]{}
		for _, r := range s.RNICs {
			if r.Incomplete {
				continue
			}
			if r.PCI != "" {
				if other := slots.first(r.Place(), &r.Block); other != nil {
					c.refuse(problem.Match, &r.Block, "match", "duplicate PCI address", "%s also has pci %s.", whereBlock(other), r.PCI)
				}
			}
			if i := slices.IndexFunc(s.RNICs, func(o *inventory.RNIC) bool { return o.PCI == r.PCI && o.Port == "" && !o.Incomplete }); i >= 0 && r.PCI != "" && r.Port != "" {
				c.refuse(problem.Match, &r.Block, "match", "duplicate PCI address", "%s has pci %s without a port: set the port of the function.", whereBlock(&s.RNICs[i].Block), r.PCI)
			}
			if r.MAC != "" {
				if other := macs.first(r.MAC, &r.Block); other != nil {
					c.refuse(problem.Match, &r.Block, "match", "duplicate MAC address", "%s also has mac %s.", whereBlock(other), r.MAC)
				}
			}
			c.address(r)
			if r.Address.IsValid() {
				if other := addresses.first(r.Address.Addr(), &r.Block); other != nil {
					c.refuse(problem.AddrTwice, &r.Block, "address", "address used twice", "%s also has %s.", whereBlock(other), r.Address.Addr())
				}
			}
		}
	}
}

// address checks that a NIC is a host in one plane of its fabric.
func (c *checker) address(r *inventory.RNIC) {
	switch {
	case r.Fabric == nil:
		if r.Address.IsValid() && edge(r.Address) {
			c.refuse(problem.NotHost, &r.Block, "address", "not a host address", "%s is the network or broadcast address.", r.Address)
		}
	case !r.Address.IsValid():
		if r.Fabric.Transport != "infiniband" {
			c.refuse(problem.NoPlane, &r.Block, "fabric", "no address", "The NIC belongs to %s but has no address, so it is in no plane.", whereBlock(&r.Fabric.Block))
		}
	case r.Plane == nil && (r.Fabric.Incomplete || slices.ContainsFunc(r.Fabric.Planes, func(p *inventory.Plane) bool { return p.Incomplete })):
	case r.Plane == nil:
		c.refuse(problem.NoPlane, &r.Block, "address", "address in no plane", "%s is in no plane of %s, which has %s.", r.Address.Addr(), whereBlock(&r.Fabric.Block), subnets(r.Fabric))
	default:
		for _, p := range r.Fabric.Planes {
			if p != r.Plane && p.Subnet.IsValid() && p.Subnet.Contains(r.Address.Addr()) {
				c.refuse(problem.NoPlane, &r.Block, "address", "address in two planes", "%s is in %s and in %s.", r.Address.Addr(), whereBlock(&r.Plane.Block), whereBlock(&p.Block))
			}
		}
		if edge(r.Address) || edge(netip.PrefixFrom(r.Address.Addr(), r.Plane.Subnet.Bits())) {
			c.refuse(problem.NotHost, &r.Block, "address", "not a host address", "%s is the network or broadcast address.", r.Address)
		}
	}
}

func subnets(f *inventory.Fabric) string {
	list := slice.Map(f.Planes, func(p *inventory.Plane) string { return p.Name + " " + p.Subnet.String() })
	return problem.OrList(list)
}

// edge reports whether the address is the first or the last of an IPv4
// network, or the first of an IPv6 one. Networks of two addresses or one have
// no such.
func edge(p netip.Prefix) bool {
	host := p.Addr().BitLen() - p.Bits()
	if host < 2 {
		return false
	}
	if p.Addr() == p.Masked().Addr() {
		return true
	}
	if !p.Addr().Is4() {
		return false
	}
	a := p.Addr().As4()
	for i := range host {
		if a[3-i/8]&(1<<(i%8)) == 0 {
			return false
		}
	}
	return true
}
