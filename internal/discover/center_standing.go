package discover

import (
	"fmt"
	"slices"

	"weft/inventory"
	"weft/modules/vcenter"
)

// What vCenters have more than files that stand: new distributed switches and virtual machines
// are blocks of their own, what is within blocks that stand is told with its lines.

// standingCenter is the vCenter of files at an address; nil: they have none.
func (d *draft) standingCenter(at string) *inventory.VCenter {
	if d.base == nil {
		return nil
	}
	i := slices.IndexFunc(d.base.VCenters, func(v *inventory.VCenter) bool { return Center{Host: v.Host, Port: v.Port}.String() == at })
	if i < 0 {
		return nil
	}
	return d.base.VCenters[i]
}

func (d *draft) standingSwitch(c *center, path string) *inventory.DVSwitch {
	if d.base == nil || c.declared == nil {
		return nil
	}
	i := slices.IndexFunc(d.base.DVSwitches, func(s *inventory.DVSwitch) bool { return s.VCenter == c.declared && s.Path == path })
	if i < 0 {
		return nil
	}
	return d.base.DVSwitches[i]
}

// standingVM is the virtual machine of files at a path of a vCenter: its adapters tell which one
// that is, for two vCenters may use the same path.
func (d *draft) standingVM(c *center, path string) *inventory.VM {
	if d.base == nil || c.declared == nil {
		return nil
	}
	i := slices.IndexFunc(d.base.VMs, func(v *inventory.VM) bool {
		return v.Path == path && slices.ContainsFunc(v.Adapters, func(a *inventory.PVRDMA) bool {
			return a.PortGroup != nil && a.PortGroup.Switch != nil && a.PortGroup.Switch.VCenter == c.declared
		})
	})
	if i < 0 {
		return nil
	}
	return d.base.VMs[i]
}

// has reports whether the block of a vCenter in the files has a cluster.
func (c *center) has(cluster string) bool {
	return c.declared != nil && slices.ContainsFunc(c.declared.Clusters, func(k *inventory.Cluster) bool { return k.Path == cluster })
}

// lacks reports whether the block of a switch in the files is without a port group.
func (s *dvswitch) lacks(group string) bool {
	return s.declared != nil && !slices.ContainsFunc(s.declared.PortGroups, func(g *inventory.DVPortGroup) bool { return g.Name == group })
}

// outOfReach tells a switch that must not be written, because its block would refer to one in a
// module, and reports whether it is one.
func (d *draft) outOfReach(c *center, s *dvswitch) bool {
	what := ""
	if c.hand {
		what = c.declared.Addr
	}
	for _, u := range s.uplinks {
		if n := u.node; what == "" && n.hand && n.declared {
			what = d.stands.machines[n.Host].Addr
		}
	}
	if what != "" {
		d.site.found(Error, c.Host, "write its dvswitch block in that module, and discover again", "the distributed switch %s exists, but %s is in a module and cannot be referenced: the switch is not written", s.path, what)
	}
	return what != ""
}

func (d *draft) centerLacks(c *center) {
	for _, k := range c.clusters {
		d.into(insert{host: c.Host, grave: Error, what: fmt.Sprintf("RDMA of vSAN is set in the cluster %s", k.Path), within: &c.declared.Block, lines: cluster(k)})
	}
}

// switchLacks tells port groups and uplinks that stand there, and not in the files.
func (d *draft) switchLacks(c *center, s *dvswitch) {
	for _, g := range s.groups {
		if s.lacks(g.label) {
			d.into(insert{host: c.Host, grave: Error, what: fmt.Sprintf("the port group %s of %s exists", g.name, s.path), within: &s.declared.Block, lines: g.block()})
		}
	}
	for _, u := range s.uplinks {
		if s.member(u.node.Host) {
			continue
		}
		name := ""
		for _, k := range u.node.cards {
			if k.nic.PCI == u.pci {
				name = k.label
			}
		}
		d.site.found(Error, u.node.Host, fmt.Sprintf("add %s.rnic.%s to uplinks of %s, at %s", u.node, name, s.declared.Addr, placed(s.declared.At("uplinks"))),
			"it is a member of the distributed switch %s with %s, and uplinks in the files do not have it", s.path, u.pci)
	}
}

func (d *draft) machineLacks(c *center, v vcenter.StandingVM, was *inventory.VM) {
	for _, a := range v.Adapters {
		if slices.ContainsFunc(was.Adapters, func(x *inventory.PVRDMA) bool { return x.Name == a.Name }) {
			continue
		}
		if in := d.adapter(c, v, a); in != nil {
			d.into(insert{host: c.Host, grave: Error, what: fmt.Sprintf("the adapter %s of %s exists", a.Name, v.Path), within: &was.Block, lines: in})
		}
	}
}
