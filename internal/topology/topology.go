// Package topology is the network model of the files: nodes (switches and servers), edges
// (links), and the ways between two leaf switches of a plane. Everything here is a pure
// function of the model. Readings of devices do not belong here.
package topology

import (
	"slices"

	"weft/inventory"
)

// A Port is a port of a switch.
type Port struct {
	Switch *inventory.Switch
	Name   string
}

// A Hop is a switch on a way, with the ports by which packets enter and leave it.
type Hop struct {
	Switch  *inventory.Switch
	In, Out string
}

// Ways are all ways of equal cost between two switches.
type Ways struct {
	Known bool   // there is one
	Cost  int    // links between switches
	Ports []Port // that join switches, on any of the ways; each once, in order of distance
	Hops  []Hop  // of the switches between the two
}

// A Graph is a model as nodes and edges.
type Graph struct {
	leaf   map[*inventory.RNIC]Port
	direct map[*inventory.RNIC]*inventory.RNIC
	edges  map[*inventory.Switch][]edge
	ways   map[pair]*Ways
	trees  map[root]map[*inventory.Switch]int
}

// An edge is a link between two switches, as seen from one of them.
type edge struct {
	out string
	to  *inventory.Switch
	in  string
}

type pair struct {
	from, to *inventory.Switch
	plane    string
}

type root struct {
	at    *inventory.Switch
	plane string
}

// Of makes the graph of a model.
func Of(m *inventory.Model) *Graph {
	g := &Graph{leaf: map[*inventory.RNIC]Port{}, direct: map[*inventory.RNIC]*inventory.RNIC{}, edges: map[*inventory.Switch][]edge{},
		ways: map[pair]*Ways{}, trees: map[root]map[*inventory.Switch]int{}}
	for _, l := range m.Links {
		for _, e := range [][2]inventory.LinkEnd{{l.From, l.To}, {l.To, l.From}} {
			near, far := e[0], e[1]
			switch {
			case near.RNIC != nil && far.Switch != nil:
				g.leaf[near.RNIC] = Port{far.Switch, far.Port}
			case near.RNIC != nil && far.RNIC != nil:
				g.direct[near.RNIC] = far.RNIC
			case near.Switch != nil && far.Switch != nil:
				g.edges[near.Switch] = append(g.edges[near.Switch], edge{near.Port, far.Switch, far.Port})
			}
		}
	}
	return g
}

// Leaf is the switch port that a NIC is cabled to; false: no such link is declared.
func (g *Graph) Leaf(r *inventory.RNIC) (Port, bool) {
	p, ok := g.leaf[r]
	return p, ok
}

// Direct is the NIC at the other end of a NIC's cable; nil: there is none.
func (g *Graph) Direct(r *inventory.RNIC) *inventory.RNIC { return g.direct[r] }

// serves reports whether packets of a plane may pass a switch: it is of that plane or of none.
func serves(sw *inventory.Switch, plane string) bool { return sw.Plane == "" || sw.Plane == plane }

// Ways are those between two switches that stay in a plane. Of one switch to itself it is
// the switch alone. They are computed once for each pair of switches.
func (g *Graph) Ways(from, to *inventory.Switch, plane string) *Ways {
	key := pair{from, to, plane}
	if w := g.ways[key]; w != nil {
		return w
	}
	w := g.between(from, to, plane)
	g.ways[key] = w
	return w
}

// between collects what lies on shortest ways: an edge does where the distances of its ends
// from the start and from the end add up.
func (g *Graph) between(from, to *inventory.Switch, plane string) *Ways {
	near, far := g.distances(from, plane), g.distances(to, plane)
	cost, known := near[to]
	w := &Ways{Known: known, Cost: cost}
	if !known {
		return w
	}
	layer, seen := []*inventory.Switch{from}, map[*inventory.Switch]bool{from: true}
	entries := map[*inventory.Switch][]string{}
	for n := 0; n < cost; n++ {
		var next []*inventory.Switch
		for _, sw := range layer {
			var exits []string
			for _, e := range g.edges[sw] {
				left, reaches := far[e.to]
				if d, there := near[e.to]; !there || !reaches || d != n+1 || d+left != cost {
					continue
				}
				exits = append(exits, e.out)
				w.Ports = append(w.Ports, Port{sw, e.out}, Port{e.to, e.in})
				entries[e.to] = append(entries[e.to], e.in)
				if !seen[e.to] {
					seen[e.to], next = true, append(next, e.to)
				}
			}
			for _, in := range entries[sw] {
				for _, out := range exits {
					w.Hops = append(w.Hops, Hop{sw, in, out})
				}
			}
		}
		layer = next
	}
	return w
}

// distances counts links from a switch to each that packets of a plane reach.
func (g *Graph) distances(from *inventory.Switch, plane string) map[*inventory.Switch]int {
	key := root{from, plane}
	if t := g.trees[key]; t != nil {
		return t
	}
	tree := map[*inventory.Switch]int{from: 0}
	for queue := []*inventory.Switch{from}; len(queue) > 0; queue = queue[1:] {
		for _, e := range g.edges[queue[0]] {
			if _, seen := tree[e.to]; !seen && serves(e.to, plane) {
				tree[e.to] = tree[queue[0]] + 1
				queue = append(queue, e.to)
			}
		}
	}
	g.trees[key] = tree
	return tree
}

// A Place is something that declared paths pass: a NIC or a port of a switch.
type Place struct {
	RNIC   *inventory.RNIC // nil: it is a port
	Port   Port
	Fabric *inventory.Fabric
	VLAN   int // whose tags the NIC at a port sends; 0: none
	Paths  int // declared paths over it, counting each of several ways of equal cost
}

// Device is the HCL address of the device.
func (p Place) Device() string {
	if p.RNIC != nil {
		return p.RNIC.Server.Addr
	}
	return p.Port.Switch.Addr
}

// Part is the name of the NIC or the port.
func (p Place) Part() string {
	if p.RNIC != nil {
		return p.RNIC.Name
	}
	return p.Port.Name
}

func (p Place) String() string { return p.Device() + " " + p.Part() }

// A Gap is a part of declared paths of which the files do not say where it leads.
type Gap struct {
	At    string // HCL address
	Why   string
	Paths int
	// External says that the files declare nothing there: another vendor's device ends the path.
	External bool
}

// Coverage is what declared paths pass, and where that is not known.
type Coverage struct {
	Places []Place
	Gaps   []Gap
}

// sort orders places by their device and their part.
func (c *Coverage) sort() {
	slices.SortStableFunc(c.Places, func(a, b Place) int {
		if a.RNIC == nil != (b.RNIC == nil) {
			if a.RNIC == nil {
				return -1
			}
			return 1
		}
		return compare(a.String(), b.String())
	})
	slices.SortStableFunc(c.Gaps, func(a, b Gap) int { return compare(a.At, b.At) })
}
