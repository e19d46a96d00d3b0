package rules

import (
	"slices"

	"weft/inventory"
	"weft/inventory/problem"
)

// mirrored checks that each mirror over two servers is kept by one host, which
// reaches both of its halves.
func (c *checker) mirrored() {
	halves := map[*inventory.Volume][]*inventory.Target{} // that export it
	for _, t := range c.Targets {
		for _, s := range t.Subsystems {
			for _, n := range s.Namespaces {
				if n.Incomplete || n.From == nil || n.From.Incomplete || !n.From.Across() {
					continue
				}
				halves[n.From] = append(halves[n.From], t)
				if n.Scratch {
					c.refuse(problem.Half, &n.Block, "scratch", "half of a mirror as scratch", "Validation would write to only one half of %s.", whereBlock(&n.From.Block))
				}
			}
		}
	}
	for _, v := range c.Volumes {
		if targets := halves[v]; targets != nil {
			c.kept(v, targets)
		}
	}
}

// kept checks who connects to the targets that export halves of a mirror.
func (c *checker) kept(v *inventory.Volume, targets []*inventory.Target) {
	var keeper *inventory.Initiator
	for _, i := range c.Initiators {
		if i.Incomplete || i.Engine != "kernel" {
			continue
		}
		at, reached := connectsTo(i, targets)
		switch {
		case len(reached) == 0:
			continue
		case len(reached) == 1:
			p := otherHalf(v, reached[0].Server)
			c.refuse(problem.Half, &at.Block, "to", "half of a mirror", "%s exports only one half of %s; the other one is in %s, on %s: also connect to a target there with a namespace from %s.",
				whereBlock(&reached[0].Block), whereBlock(&v.Block), p.Addr, nameOf(p.Server), v.Addr)
		}
		if keeper != nil {
			c.refuse(problem.Half, &at.Block, "to", "mirror with two writers", "%s also connects to %s: the two hosts would write to the halves without coordination.", whereBlock(&keeper.Block), whereBlock(&v.Block))
			continue
		}
		keeper = i
	}
}

// connectsTo lists those of some targets that it connects to, and the last block
// that says so.
func connectsTo(i *inventory.Initiator, targets []*inventory.Target) (at *inventory.Connect, reached []*inventory.Target) {
	for _, t := range targets {
		for _, x := range i.Connects {
			if !x.Incomplete && slices.Contains(x.To, t) && !slices.Contains(reached, t) {
				at, reached = x, append(reached, t)
			}
		}
	}
	return at, reached
}

// otherHalf is the pool of its half that is not on a server.
func otherHalf(v *inventory.Volume, s *inventory.Server) *inventory.Pool {
	if v.Pool.Server == s {
		return v.Mirror[0]
	}
	return v.Pool
}
