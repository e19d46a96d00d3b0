package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/inventory"
)

func compare(a, b string) int { return strings.Compare(a, b) }

// Cover lists what the declared paths of a model pass: those of each initiator to each
// portal of its targets in a plane that both have, and those between the hosts of a plane
// that use it for SMB Direct, vSAN or PVRDMA. keep leaves pairs of an initiator and a target
// out; nil keeps all.
//
// Initiators with the same targets are taken together, and so are the NICs at a switch:
// the cost is that of reading the connections, the links and the servers once, and of each
// pair of leaf switches. Nothing is computed for a pair of NICs.
func Cover(m *inventory.Model, g *Graph, keep func(*inventory.Server, *inventory.Target) bool) *Coverage {
	c := &covering{g: g, places: map[any]*Place{}, gaps: map[Gap]int{}}
	for _, group := range groupsOf(m, keep) {
		for plane, far := range portals(group.targets) {
			c.plane(plane, group.from, far)
		}
	}
	for _, nics := range peers(m) {
		c.peers(nics)
	}
	out := &Coverage{}
	for _, p := range c.places {
		out.Places = append(out.Places, *p)
	}
	for gap, n := range c.gaps {
		gap.Paths = n
		out.Gaps = append(out.Gaps, gap)
	}
	out.sort()
	return out
}

// A group is servers that reach the same targets.
type group struct {
	from    []*inventory.Server
	targets []*inventory.Target
}

func groupsOf(m *inventory.Model, keep func(*inventory.Server, *inventory.Target) bool) []*group {
	number := make(map[*inventory.Target]int, len(m.Targets))
	for i, t := range m.Targets {
		number[t] = i
	}
	var out []*group
	by := map[string]*group{}
	for _, i := range m.Initiators {
		if i.Server == nil {
			continue
		}
		var targets []*inventory.Target
		key, seen := make([]byte, 0, 64), map[*inventory.Target]bool{}
		for _, t := range i.Reaches() {
			if seen[t] || keep != nil && !keep(i.Server, t) {
				continue
			}
			n := number[t]
			seen[t], targets, key = true, append(targets, t), append(key, byte(n), byte(n>>8), byte(n>>16))
		}
		g := by[string(key)]
		if g == nil {
			g = &group{targets: targets}
			by[string(key)], out = g, append(out, g)
		}
		g.from = append(g.from, i.Server)
	}
	return out
}

// A portal is where a target is reached in a plane; rnic is nil where an external device
// has it.
type portal struct {
	target *inventory.Target
	rnic   *inventory.RNIC
}

func portals(targets []*inventory.Target) map[*inventory.Plane][]portal {
	out := map[*inventory.Plane][]portal{}
	for _, t := range targets {
		for _, p := range t.Portals {
			if p.Plane != nil {
				out[p.Plane] = append(out[p.Plane], portal{t, p.RNIC})
			}
		}
	}
	return out
}

type covering struct {
	g      *Graph
	places map[any]*Place
	gaps   map[Gap]int
}

func (c *covering) pass(key any, p Place, paths int) {
	if c.places[key] == nil {
		c.places[key] = &p
	}
	c.places[key].Paths += paths
}

func (c *covering) gap(paths int, at, format string, args ...any) {
	c.gaps[Gap{At: at, Why: fmt.Sprintf(format, args...)}] += paths
}

// plane takes in the paths of a group in one plane.
func (c *covering) plane(plane *inventory.Plane, from []*inventory.Server, far []portal) {
	var near []*inventory.RNIC
	for _, s := range from {
		if nic := InPlane(s, plane); nic != nil {
			near = append(near, nic)
		}
	}
	if len(near) == 0 {
		return
	}
	starts := c.ends(near, len(far))
	var fabric *inventory.Fabric
	for _, nic := range near {
		fabric = nic.Fabric
	}
	if fabric == nil {
		return
	}
	var rest []*inventory.RNIC
	for _, p := range far {
		if p.rnic == nil {
			c.gaps[Gap{At: p.target.Addr, Why: "it is external: its ports are not read", External: true}] += len(near)
			continue
		}
		rest = append(rest, p.rnic)
	}
	ends := c.ends(rest, len(near))
	for a, n := range starts {
		for b, k := range ends {
			c.between(a, b, plane, fabric, n*k)
		}
	}
}

// peers are the NICs by which hosts reach each other without a target: those of a plane
// and a use.
func peers(m *inventory.Model) map[use][]*inventory.RNIC {
	out := map[use][]*inventory.RNIC{}
	add := func(r *inventory.RNIC, name string) {
		out[use{r.Plane, name}] = append(out[use{r.Plane, name}], r)
	}
	for _, s := range m.Servers {
		for _, r := range s.RNICs {
			if r.Plane == nil || r.Fabric == nil || !r.Address.IsValid() || r != InPlane(s, r.Plane) {
				continue
			}
			if s.SMB != nil {
				add(r, "smb")
			}
			for _, name := range []string{"vsan", "pvrdma"} {
				if r.VMK != nil && slices.Contains(r.VMK.Services, name) {
					add(r, name)
				}
			}
		}
	}
	return out
}

// A use is what hosts of a plane reach each other for.
type use struct {
	plane *inventory.Plane
	name  string
}

// peers takes in the paths between all NICs of a use, each pair once.
func (c *covering) peers(nics []*inventory.RNIC) {
	if len(nics) < 2 {
		return
	}
	at := c.ends(nics, len(nics)-1)
	leaves := slices.SortedFunc(maps.Keys(at), func(a, b *inventory.Switch) int { return compare(a.Addr, b.Addr) })
	for i, a := range leaves {
		for _, b := range leaves[i+1:] {
			c.between(a, b, nics[0].Plane, nics[0].Fabric, at[a]*at[b])
		}
	}
}

// between takes in the ways between two leaf switches, each of so many paths.
func (c *covering) between(a, b *inventory.Switch, plane *inventory.Plane, f *inventory.Fabric, paths int) {
	w := c.g.Ways(a, b, plane.Name)
	if !w.Known {
		c.gap(paths, a.Addr, "no way to %s in plane %s is declared", b.Addr, plane.Name)
		return
	}
	for _, p := range w.Ports {
		c.pass(p, Place{Port: p, Fabric: f}, paths)
	}
}

// ends takes in NICs and their leaf ports, each with so many paths, and counts the NICs at
// each leaf switch.
func (c *covering) ends(nics []*inventory.RNIC, paths int) map[*inventory.Switch]int {
	out := map[*inventory.Switch]int{}
	for _, nic := range nics {
		if nic.Fabric == nil {
			continue
		}
		c.pass(nic, Place{RNIC: nic, Fabric: nic.Fabric}, paths)
		port, ok := c.g.Leaf(nic)
		switch {
		case ok:
			c.pass(port, Place{Port: port, Fabric: nic.Fabric, VLAN: nic.VLAN}, paths)
			out[port.Switch]++
		case c.g.Direct(nic) == nil:
			c.gap(paths, nic.Server.Addr+" "+nic.Name, "no link of it is declared")
		}
	}
	return out
}

// InPlane is the NIC that a server has in a plane; nil: none.
func InPlane(s *inventory.Server, p *inventory.Plane) *inventory.RNIC {
	for _, r := range s.RNICs {
		if p != nil && r.Plane == p && r.Address.IsValid() {
			return r
		}
	}
	return nil
}

// Unmanaged are the switches on declared paths of lossless fabrics that weft does not read.
func (c *Coverage) Unmanaged() (out []*inventory.Switch) {
	seen := map[*inventory.Switch]bool{}
	for _, p := range c.Places {
		if sw := p.Port.Switch; p.RNIC == nil && sw.Unmanaged && p.Fabric.Lossless() && !seen[sw] {
			seen[sw], out = true, append(out, sw)
		}
	}
	return out
}
