package graph

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// index finds the parts of a graph that are shown together.
type index struct {
	*Graph
	planes   map[string]*Plane    // by address
	switches map[string][]*Switch // by plane; "": in none
	ends     map[string][]side    // by switch
	direct   map[string][]*Link   // by plane: cables without a switch
	loose    map[string][]*NIC    // by plane: NICs that no link ends at
	servers  map[string]*Server   // by NIC
	fabrics  int
}

// A side is a link as seen from one of its ends.
type side struct {
	link  *Link
	port  string
	other End
}

func newIndex(g *Graph) *index {
	x := &index{Graph: g, planes: map[string]*Plane{}, switches: map[string][]*Switch{}, ends: map[string][]side{},
		direct: map[string][]*Link{}, loose: map[string][]*NIC{}, servers: map[string]*Server{}}
	fabrics := map[string]bool{}
	for _, p := range g.Planes {
		x.planes[p.Addr] = p
		fabrics[p.Fabric] = true
	}
	x.fabrics = len(fabrics)
	for _, s := range g.Switches {
		x.switches[s.Plane] = append(x.switches[s.Plane], s)
	}
	linked := map[string]bool{}
	for _, l := range g.Links {
		linked[l.From.NIC], linked[l.To.NIC] = true, true
		if l.From.Switch != "" {
			x.ends[l.From.Switch] = append(x.ends[l.From.Switch], side{link: l, port: l.From.Port, other: l.To})
		}
		if l.To.Switch != "" {
			x.ends[l.To.Switch] = append(x.ends[l.To.Switch], side{link: l, port: l.To.Port, other: l.From})
		}
		if l.From.Switch == "" && l.To.Switch == "" {
			x.direct[l.Plane] = append(x.direct[l.Plane], l)
		}
	}
	for _, s := range g.Servers {
		for _, n := range s.NICs {
			x.servers[n.Addr] = s
			if n.Plane != "" && !linked[n.Addr] {
				x.loose[n.Plane] = append(x.loose[n.Plane], n)
			}
		}
	}
	return x
}

// planeName is a plane in few words.
func (x *index) planeName(addr string) string {
	p := x.planes[addr]
	switch {
	case p == nil:
		return "no plane"
	case x.fabrics > 1:
		return clean(p.Name + " of " + p.Fabric)
	}
	return clean(p.Name)
}

// title is the heading of a plane.
func (p *Plane) title() string { return clean(fmt.Sprintf("plane %s of %s", p.Name, p.Fabric)) }

// about says what a plane is like.
func (p *Plane) about() string { return clean(p.Subnet + ", " + p.Transport + ", " + p.Mode) }

// about says what kind of switch it is.
func (s *Switch) about() string {
	if s.Unmanaged {
		return strings.TrimPrefix(s.OS+", unmanaged", ", ")
	}
	return s.OS
}

// about is a NIC in few words.
func (n *NIC) about() string { return clean(strings.TrimSpace(n.Name + " " + n.Address)) }

// name says what is at an end.
func (e End) name() string {
	if e.NIC != "" {
		return clean(e.NIC)
	}
	return clean(e.Switch + " " + e.Port)
}

// A pair is an initiator that connects to a target.
type pair struct {
	initiator, target string
	client, server    string // server "": no server of the inventory
	paths             []*Path
}

// pairs are the paths, those of one initiator and target together.
func (x *index) pairs() []*pair {
	type key struct{ initiator, target string }
	var list []*pair
	known := map[key]*pair{}
	for _, p := range x.Paths {
		k := key{p.Initiator, p.Target}
		if known[k] == nil {
			known[k] = &pair{initiator: p.Initiator, target: p.Target, client: p.Client, server: p.Server}
			list = append(list, known[k])
		}
		known[k].paths = append(known[k].paths, p)
	}
	return list
}

// planesOf names the planes of a pair, each once.
func (x *index) planesOf(p *pair) string {
	var names []string
	for _, path := range p.paths {
		if name := x.planeName(path.Plane); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// clean keeps names from forging lines or terminal sequences.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}
