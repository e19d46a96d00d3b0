package rules

import (
	"fmt"
	"strings"

	"weft/internal/pattern"
	"weft/inventory"
	"weft/inventory/problem"
)

// links checks that each end has one cable, that no cable joins planes, and
// that ports are as fast as their cables.
func (c *checker) links() {
	type port struct {
		s    *inventory.Switch
		name string
	}
	nics, ports := registry[*inventory.RNIC]{}, registry[port]{}
	for _, l := range c.Links {
		if l.Incomplete {
			continue
		}
		for _, e := range endsOf(l) {
			var other *inventory.Block
			switch {
			case e.RNIC != nil:
				other = nics.first(e.RNIC, &l.Block)
			case e.Switch != nil:
				other = ports.first(port{e.Switch, e.Port}, &l.Block)
				c.portSpeed(l, e)
				if bundle.MatchString(e.Port) {
					c.refuse(problem.Value, &l.Block, e.attr, "port-channel as a link end", "%s is a port-channel, which weft does not manage yet: declare a link for each member port.", e.name())
				}
			}
			if other != nil {
				c.refuse(problem.EndTwice, &l.Block, e.attr, "port used by two links", "%s is already an end of %s.", e.name(), whereBlock(other))
			}
		}
		c.crossed(l)
	}
}

// bundle is a port that is made of others.
var bundle = pattern.New(`(?i)^(port-channel|po|bridge-aggregation|bagg|route-aggregation|ragg) *[0-9]`)

// An end is one end of a link with the attribute that names it.
type end struct {
	inventory.LinkEnd
	attr string
}

func endsOf(l *inventory.Link) [2]end { return [2]end{{l.From, "from"}, {l.To, "to"}} }

// name calls the end as its reference does.
func (e end) name() string {
	if e.RNIC != nil {
		return e.RNIC.Addr
	}
	return fmt.Sprintf("%s.port[%q]", e.Switch.Addr, e.Port)
}

// plane says which plane of which fabric the end is in; nil where that is not
// known or everything passes, as on a spine.
func (e end) plane() (*inventory.Fabric, *inventory.Plane) {
	switch {
	case e.RNIC != nil && !e.RNIC.Incomplete:
		return e.RNIC.Fabric, e.RNIC.Plane
	case e.Switch != nil && !e.Switch.Incomplete && e.Switch.Fabric != nil:
		return e.Switch.Fabric, e.Switch.Fabric.Plane(e.Switch.Plane)
	}
	return nil, nil
}

// crossed refuses a cable between two planes, and one that leaves the fabric.
func (c *checker) crossed(l *inventory.Link) {
	ends := endsOf(l)
	_, from := ends[0].plane()
	_, to := ends[1].plane()
	if from != nil && to != nil && from != to {
		c.refuse(problem.Crossed, &l.Block, "", "link between two planes", "%s is in %s, but %s is in %s (%s).",
			ends[0].name(), from.Addr, ends[1].name(), to.Addr, problem.Where(to.Range))
	}
	for i, e := range ends {
		s, other := e.Switch, ends[1-i]
		if s == nil || s.Incomplete || s.Unmanaged || s.Fabric != nil {
			continue
		}
		if f, _ := other.plane(); f != nil && other.RNIC != nil {
			c.refuse(problem.NoFabric, &l.Block, e.attr, "link to a switch without a fabric", "%s belongs to %s, but %s has no fabric, so weft would configure nothing on it.",
				other.name(), f.Addr, whereBlock(&s.Block))
		}
	}
}

// portSpeed compares the speed of a link with that in the name of its port, where
// the system calls ports by the fastest speed they have.
func (c *checker) portSpeed(l *inventory.Link, e end) {
	speeds := switchOS(e.Switch.OS).PortSpeeds
	if l.Speed == 0 {
		return
	}
	for kind, gbit := range speeds.Value {
		if strings.HasPrefix(e.Port, kind) && l.Speed > int64(gbit)*1e9 {
			c.refuse(problem.Speed, &l.Block, "speed", "link faster than its port", "%s supports at most %dG according to its name (%s), but the link has %s.",
				e.name(), gbit, sourceOf(speeds), rateText(l.Speed))
		}
	}
}

// rateText writes bits a second as the files do.
func rateText(bits int64) string {
	if bits%1e9 == 0 {
		return fmt.Sprintf("%dG", bits/1e9)
	}
	return fmt.Sprintf("%dM", bits/1e6)
}

// hosts compares the links of the NICs of each server: they shall lead to
// different switches and be equally fast.
func (c *checker) hosts() {
	type attached struct {
		link *inventory.Link
		to   end
	}
	cabled := map[*inventory.RNIC]attached{}
	for _, l := range c.Links {
		ends := endsOf(l)
		for i, e := range ends {
			if e.RNIC != nil && !l.Incomplete {
				cabled[e.RNIC] = attached{l, ends[1-i]}
			}
		}
	}
	for _, s := range c.Servers {
		type via struct {
			f *inventory.Fabric
			s *inventory.Switch
		}
		switches := map[via]*inventory.RNIC{}
		first := map[*inventory.Fabric]*inventory.RNIC{}
		for _, r := range s.RNICs {
			a, ok := cabled[r]
			if !ok || r.Incomplete || r.Plane == nil {
				continue
			}
			if leaf := a.to.Switch; leaf != nil && leaf.Plane == "" {
				other := switches[via{r.Fabric, leaf}]
				switch {
				case other == nil:
					switches[via{r.Fabric, leaf}] = r
				case other.Plane != r.Plane:
					c.refuse(problem.OneSwitch, &a.link.Block, a.to.attr, "two planes on one switch", "%s (%s) and %s (%s) are both connected to %s: if it fails, %s loses all paths.",
						r.Addr, r.Plane.Name, other.Addr, whereBlock(&cabled[other].link.Block), leaf.Addr, s.Addr)
				}
			}
			other := first[r.Fabric]
			if other == nil {
				first[r.Fabric] = r
				continue
			}
			if b := cabled[other]; b.link.Speed != 0 && a.link.Speed != 0 && b.link.Speed != a.link.Speed {
				c.warn(problem.Uneven, &a.link.Block, "speed", "links of different speeds", "%s has %s, but %s has %s (%s); if the faster path fails, %s loses bandwidth.",
					r.Addr, rateText(a.link.Speed), other.Addr, rateText(b.link.Speed), problem.Where(b.link.At("speed")), s.Addr)
			}
		}
	}
}
