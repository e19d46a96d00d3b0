package rules

import (
	"slices"

	"weft/inventory"
	"weft/inventory/problem"
)

// transports checks that a target can be reached over the fabric its portals
// are in, and that it has something to export.
func (c *checker) transports() {
	pools := map[*inventory.Server]bool{}
	unclear := false // whose a pool is
	for _, p := range c.Pools {
		pools[p.Server] = true
		unclear = unclear || p.Incomplete && p.Server == nil
	}
	for _, t := range c.Targets {
		if t.Incomplete {
			continue
		}
		if f := c.fabricOf(t); f != nil && !f.Incomplete {
			c.transport(t, f)
		}
		if t.Engine == "external" || t.Server == nil || t.Server.Incomplete {
			continue
		}
		if !pools[t.Server] && !unclear {
			c.warn(problem.Nothing, &t.Block, "server", "nothing to export", "%s has no pool, so %s has no drives to export.", whereBlock(&t.Server.Block), t.Addr)
		}
	}
}

func (c *checker) transport(t *inventory.Target, f *inventory.Fabric) {
	rdma, tcp := slices.Contains(t.Transport, "rdma"), slices.Contains(t.Transport, "tcp")
	switch {
	case f.Transport == "tcp" && !tcp:
		c.refuse(problem.Transport, &t.Block, "transport", "no RDMA on this fabric", `%s has transport = "tcp" (%s), so no initiator can connect with only "rdma".`, f.Addr, problem.Where(f.At("transport")))
	case f.Transport == "infiniband" && !rdma && !t.AllowDegraded:
		c.refuse(problem.Transport, &t.Block, "transport", "TCP on InfiniBand", `%s is InfiniBand (%s), where TCP runs over IPoIB: add "rdma", or set allow_degraded = true.`, f.Addr, problem.Where(f.At("transport")))
	}
}
