package rules

import (
	"slices"
	"strings"

	"weft/inventory"
	"weft/inventory/problem"
)

// The oldest virtual hardware with PVRDMA, of vSphere 6.5, and with a choice of the
// protocol, of vSphere 6.7.
const (
	pvrdmaHardware = 13
	rocev2Hardware = 14
)

// pvrdma refuses adapters that could not carry RDMA, as far as files tell. Of what runs
// where, and of guests, vCenter tells the plan.
func (c *checker) pvrdma() {
	paths := registry[string]{}
	for _, v := range c.VMs {
		if v.Incomplete {
			continue
		}
		c.hardware(v)
		for _, a := range v.Adapters {
			g := a.PortGroup
			if a.Incomplete || g == nil || g.Incomplete || g.Switch.Incomplete || g.Switch.VCenter == nil {
				continue
			}
			d := g.Switch
			if other := paths.first(d.VCenter.Addr+" "+v.Path, &v.Block); other != nil && other != &v.Block {
				c.refuse(problem.PVRDMA, &v.Block, "path", "duplicate virtual machine", "%s also has the path %s.", whereBlock(other), v.Path)
			}
			if first := v.Adapters[0].PortGroup; first != nil && first.Switch.VCenter != d.VCenter {
				c.refuse(problem.PVRDMA, &a.Block, "portgroup", "virtual machine in two vCenters", "%s is in %s, and %s is in %s.", first.Addr, first.Switch.VCenter.Addr, g.Addr, d.VCenter.Addr)
			}
			if in, is := datacenter(v.Path), datacenter(d.Path); in != is {
				c.refuse(problem.PVRDMA, &a.Block, "portgroup", "port group in another datacenter", "%s is in %s, and %s is in %s.", v.Addr, in, d.Addr, is)
			}
			c.network(a, d)
		}
	}
}

func datacenter(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

func (c *checker) hardware(v *inventory.VM) {
	switch is := v.HardwareVersion; {
	case is == 0:
	case is < pvrdmaHardware:
		c.refuse(problem.PVRDMA, &v.Block, "hardware_version", "virtual hardware without PVRDMA", "PVRDMA requires virtual hardware %d or later (vSphere 6.5).", pvrdmaHardware)
	case is < rocev2Hardware:
		for _, a := range v.Adapters {
			if a.Protocol == "rocev2" {
				c.refuse(problem.PVRDMA, &a.Block, "protocol", "virtual hardware without RoCE v2", "RoCE v2 requires virtual hardware %d (vSphere 6.7), but hardware_version is %d (%s).", rocev2Hardware, is, problem.Where(v.At("hardware_version")))
			}
		}
	}
}

// network judges what carries an adapter: the uplinks of its switch, and their hosts.
func (c *checker) network(a *inventory.PVRDMA, d *inventory.DVSwitch) {
	lossy := false
	planes := map[*inventory.Plane]bool{}
	for _, r := range d.Uplinks {
		if r.Incomplete || r.Server.Incomplete {
			continue
		}
		if r.Plane != nil {
			planes[r.Plane] = true
		}
		switch f := r.Fabric; {
		case a.AllowDegraded:
		case f == nil || f.Transport != "rocev2":
			c.refuse(problem.PVRDMA, &a.Block, "portgroup", "no fabric for RoCE", `The uplink %s (%s) is in no fabric with transport = "rocev2", so hosts would use TCP. Set such a fabric, or set allow_degraded = true.`,
				r.Addr, problem.Where(r.Range))
			return
		default:
			lossy = lossy || !f.Lossless()
			c.prepared(a, r.Server)
		}
	}
	if a.Protocol == "rocev1" && len(planes) > 1 {
		c.refuse(problem.PVRDMA, &a.Block, "protocol", "RoCE v1 is not routed", "The uplinks of %s are in several subnets, but RoCE v1 is not routed: set rocev2.", whereBlock(&d.Block))
	}
	if lossy {
		c.warn(problem.PVRDMA, &a.Block, "portgroup", "fabric without PFC", "The fabric of %s has no class with pfc = true, but RoCE requires a lossless class.", whereBlock(&d.Block))
	}
}

// prepared checks that a host lets PVRDMA through and has a port of the VMkernel for it.
func (c *checker) prepared(a *inventory.PVRDMA, s *inventory.Server) {
	carries := slices.ContainsFunc(s.RNICs, func(r *inventory.RNIC) bool { return r.VMK != nil && slices.Contains(r.VMK.Services, "pvrdma") })
	vmk, open := carries, carries
	for _, o := range s.Declared("advanced_option") {
		vmk = vmk || o.Label == "/Net/PVRDMAVmknic" && strings.HasPrefix(o.Values["value"], "vmk")
	}
	for _, r := range s.Declared("firewall_ruleset") {
		open = open || r.Label == "pvrdma" && r.Values["enabled"] == "true"
	}
	if !vmk {
		c.refuse(problem.PVRDMA, &a.Block, "portgroup", "host without a PVRDMA port", `%s has neither a vmk with the service "pvrdma" nor an advanced_option "/Net/PVRDMAVmknic" { value = "vmk…" }: PVRDMA reaches the other host over that port.`, whereBlock(&s.Block))
	}
	if !open {
		c.refuse(problem.PVRDMA, &a.Block, "portgroup", "firewall blocks PVRDMA", `%s has no firewall_ruleset "pvrdma" {}, so its firewall would block the other hosts.`, whereBlock(&s.Block))
	}
}
