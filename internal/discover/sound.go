package discover

import (
	"fmt"
	"net/netip"
	"slices"
)

// sound takes out what the language refuses: a NIC of a fabric has an address, a switch
// of one serves a plane, and a fabric has planes.
func (d *draft) sound() {
	for _, n := range d.ordered() {
		for _, c := range n.cards {
			if !n.declared && c.cidr.IsValid() && !hostAddress(c.cidr) {
				d.site.found(Warn, n.Host, "give it an address of a host", "rnic %s has the address %s, which is no address of a host: it is not written", c.label, c.cidr)
				c.cidr = noAddress
			}
			if c.fabric != nil && !c.cidr.IsValid() {
				d.site.found(Warn, n.Host, "give it an address in the files by hand", "rnic %s has no address that is written, and so it is in no fabric", c.label)
				c.fabric = nil
			}
			if c.fabric != nil && c.fabric.declared && !n.declared && c.fabric.plane(c.cidr.Addr()) < 0 {
				d.site.found(Warn, n.Host, "give the fabric a plane with that subnet", "rnic %s has the address %s, which is in no plane of fabric %s: it is in no fabric", c.label, c.cidr, c.fabric.name)
				c.fabric = nil
			}
		}
		n.bare(d)
	}
	type used struct {
		fabric *fabric
		plane  netip.Prefix
	}
	in := map[used]bool{}
	for _, n := range d.nodes {
		for _, c := range n.cards {
			in[used{c.fabric, c.cidr.Masked()}] = true
		}
	}
	d.fabrics = slices.DeleteFunc(d.fabrics, func(f *fabric) bool {
		if f.declared {
			return false
		}
		f.planes = slices.DeleteFunc(f.planes, func(p netip.Prefix) bool { return !in[used{f, p}] })
		return len(f.planes) == 0
	})
	for _, l := range d.leaves {
		if l.fabric == nil || l.declared {
			continue
		}
		at := slices.Index(l.fabric.planes, l.subnet)
		if at < 0 || !slices.Contains(d.fabrics, l.fabric) {
			d.site.found(Warn, l.Host, "cable a NIC that has an address to it, or write its fabric and plane by hand", "no NIC of a plane is known to be cabled to it: it is written without fabric %s", l.fabric.name)
			l.fabric, l.plane = nil, ""
			continue
		}
		l.plane = l.fabric.planeName(at)
	}
}

// bare leaves out NICs that are in no fabric, on systems that make nothing of such: they are
// told, and stand in a comment.
func (n *node) bare(d *draft) {
	if n.System.Port == nil || n.declared {
		return
	}
	n.cards = slices.DeleteFunc(n.cards, func(c *card) bool {
		if c.fabric != nil {
			return false
		}
		what := fmt.Sprintf("%s at %s", c.nic.Interface, c.nic.PCI)
		if c.has.IsValid() {
			what += ", " + c.has.String()
		}
		d.site.found(Warn, n.Host, "write it in a fabric, and weft plan shows what that asks of it", "NIC %s is in no fabric, and on os = %q an rnic is in one: it is not written", what, n.System.Name)
		n.seen = append(n.seen, "NIC "+what)
		return true
	})
}

// hostAddress reports whether one host can have an address: neither a network's own one nor its
// broadcast address, nor one of many hosts or of none.
func hostAddress(p netip.Prefix) bool {
	a := p.Addr()
	if a.IsMulticast() || a.IsLoopback() || a.IsUnspecified() || a.Is4In6() || a.Zone() != "" {
		return false
	}
	if !a.Is4() || p.Bits() >= 31 {
		return true
	}
	last := a.As4()
	for bit := p.Bits(); bit < 32; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	return a != p.Masked().Addr() && a != netip.AddrFrom4(last)
}
