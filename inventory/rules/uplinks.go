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
			c.refuse(problem.Uplink, &d.Block, "path", "duplicate switch path", "%s also has the path %s.", whereBlock(other), d.Path)
		}
		hosts := map[*inventory.Server]*inventory.RNIC{}
		for _, r := range d.Uplinks {
			switch first := hosts[r.Server]; {
			case first == r:
				c.refuse(problem.Uplink, &d.Block, "uplinks", "duplicate uplink", "%s is listed twice.", r.Addr)
			case first != nil:
				c.refuse(problem.Uplink, &d.Block, "uplinks", "two uplinks of one host", "%s and %s belong to %s: a distributed switch for RDMA has one uplink per host, without teaming. Use a separate switch for the other one.",
					first.Addr, r.Addr, r.Server.Addr)
			}
			hosts[r.Server] = r
			if r.VMK != nil && r.VMK.VSwitch != "" {
				c.refuse(problem.Uplink, &d.Block, "uplinks", "uplink of two switches", "%s is the only uplink of the standard switch %s (%s): remove its vmk block, or remove the NIC from this list.",
					r.Addr, r.VMK.VSwitch, problem.Where(r.VMK.Range))
			}
			if r.DVSwitch != nil && r.DVSwitch != d {
				c.refuse(problem.Uplink, &d.Block, "uplinks", "uplink of two switches", "%s is also an uplink of %s.", r.Addr, whereBlock(&r.DVSwitch.Block))
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
		c.refuse(problem.Uplink, &v.Block, "portgroup", "port on two switches", "vmk of %s also has vswitch: a port is either on a standard switch that weft creates, or on a port group of a distributed switch.", r.Addr)
	case !grouped && v.VSwitch == "":
		c.refuse(problem.Uplink, &v.Block, "id", "port without a switch", "vmk of %s needs vswitch, a standard switch that weft creates, or portgroup of a distributed switch.", r.Addr)
	case grouped && v.PortGroup == nil:
		c.refuse(problem.Uplink, &v.Block, "portgroup", "NIC is not an uplink", "%s is not an uplink of the switch of that port group: add it to the uplinks.", r.Addr)
	}
}
