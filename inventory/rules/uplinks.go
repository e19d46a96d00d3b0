package rules

import (
	"weft/inventory"
	"weft/inventory/problem"
)

// uplinks refuses distributed switches that take a NIC from another switch, or two NICs
// of a host: RDMA wants one, without teaming.
func (c *checker) uplinks() {
	paths := registry[string]{}
	for _, d := range c.DVSwitches {
		if d.Incomplete || d.VCenter == nil {
			continue
		}
		if other := paths.first(d.VCenter.Addr+" "+d.Path, &d.Block); other != nil {
			c.refuse(problem.Uplink, &d.Block, "path", "one path for two switches", "%s has the path %s as well.", whereBlock(other), d.Path)
		}
		hosts := map[*inventory.Server]*inventory.RNIC{}
		for _, r := range d.Uplinks {
			switch first := hosts[r.Server]; {
			case first == r:
				c.refuse(problem.Uplink, &d.Block, "uplinks", "an uplink twice", "%s stands there twice.", r.Addr)
			case first != nil:
				c.refuse(problem.Uplink, &d.Block, "uplinks", "two uplinks of one host", "%s and %s are of %s: a distributed switch for RDMA has one uplink on each host, without teaming. Give the other one a switch of its own.",
					first.Addr, r.Addr, r.Server.Addr)
			}
			hosts[r.Server] = r
			if r.VMK != nil && r.VMK.VSwitch != "" {
				c.refuse(problem.Uplink, &d.Block, "uplinks", "an uplink of two switches", "%s is the only uplink of the standard switch %s (%s): take its vmk block away, or the NIC out of this list.",
					r.Addr, r.VMK.VSwitch, problem.Where(r.VMK.Range))
			}
			if r.DVSwitch != nil && r.DVSwitch != d {
				c.refuse(problem.Uplink, &d.Block, "uplinks", "an uplink of two switches", "%s is an uplink of %s, too.", r.Addr, whereBlock(&r.DVSwitch.Block))
			}
		}
	}
	for _, r := range c.RNICs() {
		if r.VMK != nil && !r.Incomplete && !r.VMK.Incomplete {
			c.place(r)
		}
	}
}

// place refuses a port of the VMkernel that is on no switch, on two, or on one whose uplink
// its NIC is not.
func (c *checker) place(r *inventory.RNIC) {
	v := r.VMK
	switch grouped := v.Writes("portgroup"); {
	case grouped && v.VSwitch != "":
		c.refuse(problem.Uplink, &v.Block, "portgroup", "a port on two switches", "vmk of %s has vswitch as well: a port is on a standard switch, which weft makes for it, or on a port group of a distributed one.", r.Addr)
	case !grouped && v.VSwitch == "":
		c.refuse(problem.Uplink, &v.Block, "id", "a port on no switch", "vmk of %s needs vswitch, the standard switch that weft makes for it, or portgroup, of a distributed one.", r.Addr)
	case grouped && v.PortGroup == nil:
		c.refuse(problem.Uplink, &v.Block, "portgroup", "a port whose NIC is no uplink", "%s is no uplink of the switch of that port group: add it to its uplinks.", r.Addr)
	}
}
