package rules

import (
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/problem"
)

// locks refuses namespaces in which hosts cannot take the locks that they share blocks by.
func (c *checker) locks(load func() (*catalogue.Catalogue, error)) {
	var known *catalogue.Catalogue
	for _, i := range c.Initiators {
		if i.Incomplete || i.Server == nil || i.Server.OS == "" {
			continue
		}
		if known == nil {
			var err error
			if known, err = load(); err != nil {
				return // told where switches are judged, and without it nothing is read at all
			}
		}
		system := known.HostOS(i.Server.OS)
		if system == nil || system.Locks.Value != "fused" {
			continue
		}
		for connect, t := range i.Reaches() {
			if !connect.Incomplete && !t.Incomplete {
				c.locked(connect, t, system.Title.Value)
			}
		}
	}
}

// locked judges one target that hosts of a system connect to.
func (c *checker) locked(connect *inventory.Connect, t *inventory.Target, system string) {
	const summary = "hosts cannot take their locks"
	if t.Engine == "nvmet" {
		c.refuse(problem.Locks, &connect.Block, "to", summary, `%s has engine = "nvmet" (%s), which does not support fused compare and write: a datastore shared by several %s hosts would be corrupted. Set engine = "weft", or connect to an array that supports it.`,
			whereBlock(&t.Block), problem.Where(t.At("engine")), system)
		return
	}
	for _, s := range t.Subsystems {
		for _, n := range s.Namespaces {
			switch {
			case n.Incomplete || n.From == nil || n.From.Incomplete || len(n.From.Mirror) == 0:
			case n.From.Across():
				c.refuse(problem.Locks, &connect.Block, "to", summary, "%s exports half of %s, which has a mirror on another server: %s hosts would write to and lock only one half. Remove the mirror, or connect Linux hosts, which keep both halves in sync with md.",
					whereBlock(&n.Block), whereBlock(&n.From.Block), system)
			default:
				c.refuse(problem.Locks, &connect.Block, "to", summary, "%s exports %s, which has a mirror: it is unproven whether a lock of %s hosts survives a power loss between the two writes. Remove the mirror.",
					whereBlock(&n.Block), whereBlock(&n.From.Block), system)
			}
		}
	}
}
