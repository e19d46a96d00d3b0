package discover

import (
	"fmt"
	"strings"
)

// paired makes one cable of what two switches hear of each other. Where they do not agree
// on its ports, or one hears nothing, there is none.
func (s *Site) paired(list []Cable) (out []Cable) {
	type way struct{ from, to *Switch }
	heard := map[way][]Cable{}
	for _, c := range list {
		if c.Peer != nil {
			heard[way{c.Switch, c.Peer}] = append(heard[way{c.Switch, c.Peer}], c)
		}
	}
	type place struct {
		sw   *Switch
		port string
	}
	done := map[place]bool{}
	for _, c := range list {
		switch {
		case c.Peer == nil:
			out = append(out, c)
			continue
		case done[place{c.Switch, c.Port}]:
			continue
		}
		there, back := heard[way{c.Switch, c.Peer}], heard[way{c.Peer, c.Switch}]
		var other *Cable
		for i, b := range back {
			if strings.EqualFold(b.Port, c.PeerPort) && strings.EqualFold(b.PeerPort, c.Port) || len(there) == 1 && len(back) == 1 {
				other = &back[i]
			}
		}
		if other == nil && back == nil && len(there) > mostStrange {
			s.found(Warn, c.Switch.Host, "see why LLDP is silent there, and discover again", "%d ports hear %s, which hears none of them: these cables are not known", len(there), c.Peer.Host)
			continue
		}
		if other == nil {
			s.found(Warn, c.Switch.Host, "write the link by hand, or see weft verify cabling", "port %s hears %s on its port %q, which does not hear it back there: the cable is not known", c.Port, c.Peer.Host, c.PeerPort)
			continue
		}
		done[place{c.Switch, c.Port}], done[place{c.Peer, other.Port}] = true, true
		c.PeerPort = other.Port
		out = append(out, c)
	}
	return out
}

// between writes the cables between switches.
func (d *draft) between() (list []instance) {
	labels := d.linkLabels()
	for _, c := range d.cables {
		if c.Peer == nil {
			continue
		}
		a, b := d.leaves[c.Switch], d.leaves[c.Peer]
		switch {
		case a.hand || b.hand || d.standsCabled(fmt.Sprintf("port %s is cabled to %s of %s", c.Port, c.PeerPort, b.Host), place{a.Host, c.Port}, place{b.Host, c.PeerPort}):
			continue
		case a.fabric != nil && b.fabric != nil && (a.fabric != b.fabric || a.plane != b.plane):
			d.site.found(Warn, a.Host, "planes that are joined are one: see which of the two it belongs to", "port %s: its cable leads to %s of %s, which is of another plane: the link is not written", c.Port, c.PeerPort, b.Host)
			continue
		}
		one := newInstance(address{kind: "link", label: labels.dashed(a.label + "-to-" + b.label)})
		one.set("from", append(append(to(a.address, ".port["), str(c.Port)...), raw("]")...))
		one.set("to", append(append(to(b.address, ".port["), str(c.PeerPort)...), raw("]")...))
		list = append(list, one)
	}
	return list
}

// linkLabels are those that links have, in files that stand and in those that are rendered.
func (d *draft) linkLabels() taken {
	if d.linked != nil {
		return d.linked
	}
	labels := taken{}
	d.linked = labels
	if d.base != nil {
		for _, l := range d.base.Links {
			name, _, _ := strings.Cut(strings.TrimPrefix(l.Addr, "link."), "[")
			labels[name] = true
		}
	}
	return labels
}
