package graph

import (
	"slices"

	"weft/inventory"
)

// wires are the declared links, by what they end at.
type wires struct {
	nics     map[*inventory.RNIC]inventory.LinkEnd            // the other end
	switches map[*inventory.Switch][]*inventory.Switch        // neighbours
	trees    map[root]map[*inventory.Switch]*inventory.Switch // shortest ways, computed when needed
}

// A root is where ways start: a switch, in one plane.
type root struct {
	start *inventory.Switch
	plane *inventory.Plane
}

func newWires(m *inventory.Model) *wires {
	w := &wires{
		nics:     map[*inventory.RNIC]inventory.LinkEnd{},
		switches: map[*inventory.Switch][]*inventory.Switch{},
		trees:    map[root]map[*inventory.Switch]*inventory.Switch{},
	}
	for _, l := range m.Links {
		if l.From.RNIC != nil {
			w.nics[l.From.RNIC] = l.To
		}
		if l.To.RNIC != nil {
			w.nics[l.To.RNIC] = l.From
		}
		if a, b := l.From.Switch, l.To.Switch; a != nil && b != nil {
			w.switches[a] = append(w.switches[a], b)
			w.switches[b] = append(w.switches[b], a)
		}
	}
	return w
}

// planeOfSwitch is the one plane that a switch serves, or nil.
func planeOfSwitch(s *inventory.Switch) *inventory.Plane {
	if s == nil || s.Fabric == nil {
		return nil
	}
	return s.Fabric.Plane(s.Plane)
}

// planeOfNIC is the plane that holds the NIC's address or, where a NIC needs
// none, the one of the switch that it is cabled to.
func (w *wires) planeOfNIC(r *inventory.RNIC) *inventory.Plane {
	if r.Plane != nil {
		return r.Plane
	}
	if r.Fabric != nil {
		if p := planeOfSwitch(w.nics[r].Switch); p != nil && r.Fabric.Plane(p.Name) == p {
			return p
		}
	}
	return nil
}

// planeOfLink is the plane of the first end that is in one.
func (w *wires) planeOfLink(l *inventory.Link) *inventory.Plane {
	for _, e := range []inventory.LinkEnd{l.From, l.To} {
		p := planeOfSwitch(e.Switch)
		if e.RNIC != nil {
			p = w.planeOfNIC(e.RNIC)
		}
		if p != nil {
			return p
		}
	}
	return nil
}

// planeOf is the plane of a portal, or else of its NIC.
func (w *wires) planeOf(portal inventory.Portal) *inventory.Plane {
	if portal.Plane == nil && portal.RNIC != nil {
		return w.planeOfNIC(portal.RNIC)
	}
	return portal.Plane
}

// path says how an initiator reaches a portal.
func (w *wires) path(i *inventory.Initiator, t *inventory.Target, portal inventory.Portal) *Path {
	plane := w.planeOf(portal)
	p := &Path{Initiator: i.Addr, Target: t.Addr, Plane: addrOf(plane), Client: i.Server.Addr, Switches: []string{}}
	if t.Server != nil {
		p.Server = t.Server.Addr
	}
	switch {
	case portal.Address.Addr().IsValid():
		p.To = portal.Address.String()
	case portal.RNIC != nil:
		p.To = portal.RNIC.Addr
	}
	var from *inventory.RNIC
	for _, r := range i.Server.RNICs {
		if plane != nil && w.planeOfNIC(r) == plane {
			from = r
			break
		}
	}
	if from == nil {
		return p
	}
	if p.From = ip(from.Address); p.From == "" {
		p.From = from.Addr
	}
	way, ok := w.between(from, portal.RNIC, plane)
	for _, s := range way {
		p.Switches = append(p.Switches, s.Addr)
	}
	p.Cabled = ok
	return p
}

// between lists the switches on a shortest way between two NICs in a plane.
// Where there is no declared way, it is what is known of its beginning.
func (w *wires) between(a, b *inventory.RNIC, plane *inventory.Plane) ([]*inventory.Switch, bool) {
	first := w.nics[a]
	if b != nil && first.RNIC == b {
		return nil, true // one cable
	}
	if first.Switch == nil {
		return nil, false
	}
	if b == nil || w.nics[b].Switch == nil {
		return []*inventory.Switch{first.Switch}, false
	}
	start, tree := first.Switch, w.tree(root{first.Switch, plane})
	at := w.nics[b].Switch
	if _, ok := tree[at]; !ok {
		return []*inventory.Switch{start}, false
	}
	var way []*inventory.Switch
	for ; at != start; at = tree[at] {
		way = append(way, at)
	}
	way = append(way, start)
	slices.Reverse(way)
	return way, true
}

// tree maps every switch that can be reached within the plane to the one
// before it.
func (w *wires) tree(r root) map[*inventory.Switch]*inventory.Switch {
	if t, ok := w.trees[r]; ok {
		return t
	}
	before := map[*inventory.Switch]*inventory.Switch{r.start: nil}
	for next := []*inventory.Switch{r.start}; len(next) > 0; next = next[1:] {
		for _, s := range w.switches[next[0]] {
			p := planeOfSwitch(s)
			if _, seen := before[s]; !seen && (p == nil || p == r.plane) {
				before[s] = next[0]
				next = append(next, s)
			}
		}
	}
	w.trees[r] = before
	return before
}
