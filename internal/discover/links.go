package discover

import (
	"fmt"
	"slices"
)

// links writes the cables of each switch as one block, or one for each NIC label.
func (d *draft) links(cables []Cable, leaves map[*Switch]*leaf) []instance {
	groups := map[string][]instance{}
	var order []string
	for _, c := range cables {
		l := leaves[c.Switch]
		n, k := d.end(c)
		if k == nil || n.hand || l.hand {
			continue
		}
		here, there := place{n.Host, k.label}, place{l.Host, c.Port}
		if l.OS == nil {
			there = here // of such a switch files have no host
		}
		if d.standsCabled(fmt.Sprintf("port %s of %s is cabled to %s of %s", c.Port, l.Host, c.NIC.Interface, n.Host), here, there) {
			continue
		}
		if !d.joins(c, l, k) {
			continue
		}
		name := "from-" + l.label
		if l.plane != "" {
			name = "plane-" + l.plane
		}
		key := n.key
		if !n.keyed {
			key = n.label
		}
		one := newInstance(address{kind: "link", label: name, key: key, keyed: true})
		one.set("from", to(n.address, ".rnic."+k.label))
		one.set("to", append(append(to(l.address, ".port["), str(c.Port)...), raw("]")...))
		if speed := rate(k.nic.Speed); speed != "" && l.OS != nil { // what IPoIB says of its speed is not that of the port
			one.set("speed", str(speed))
		}
		shape := name + "\n" + l.String() + "\n" + one.shape()
		if groups[shape] == nil {
			order = append(order, shape)
		}
		groups[shape] = append(groups[shape], one)
	}
	var list []instance
	labels := d.linkLabels()
	for _, shape := range order {
		name := labels.dashed(groups[shape][0].label)
		keys := taken{}
		slices.SortStableFunc(groups[shape], func(a, b instance) int { return natural(a.key, b.key) })
		for _, one := range groups[shape] {
			one.key = keys.dashed(one.key)
			one.label, one.labels, one.keyed = name, []string{name}, len(groups[shape]) > 1
			list = append(list, one)
		}
	}
	return list
}

// joins reports whether both ends of a cable are of one plane, as the language demands of
// a link.
func (d *draft) joins(c Cable, l *leaf, k *card) bool {
	switch {
	case k.fabric == nil:
		return true
	case l.fabric == nil:
		d.site.found(Warn, l.Host, "write the link when the switch has its fabric", "port %s: its cable leads to %s of %s, which is in fabric %s, and the switch is in none: the link is not written", c.Port, c.NIC.Interface, c.Server.Host, k.fabric.name)
		return false
	case l.fabric != k.fabric:
		d.site.found(Error, l.Host, "see weft verify cabling", "port %s: its cable leads to %s of %s, which is in fabric %s, and the switch is in fabric %s: the link is not written", c.Port, c.NIC.Interface, c.Server.Host, k.fabric.name, l.fabric.name)
		return false
	}
	if p := k.fabric.plane(k.cidr.Addr()); p < 0 || k.fabric.planeName(p) != l.plane {
		d.site.found(Error, l.Host, "see weft verify cabling: one of the two is in the wrong place", "port %s: its cable leads to %s of %s with the address %s, which is not of plane %s: the link is not written", c.Port, c.NIC.Interface, c.Server.Host, k.cidr, l.plane)
		return false
	}
	return true
}

// end is the NIC of a cable as the files have it; nil: they do not.
func (d *draft) end(c Cable) (*node, *card) {
	n := d.nodes[c.Server]
	if n == nil {
		return nil, nil
	}
	for _, k := range n.cards {
		if k.nic == c.NIC {
			return n, k
		}
	}
	return nil, nil
}
