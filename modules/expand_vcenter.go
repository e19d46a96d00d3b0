package modules

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"weft/inventory"
	"weft/inventory/problem"
	"weft/modules/vcenter"
	"weft/plan"
)

// vcenters expands distributed switches, with their port groups and the hosts that are
// their members. The port that an uplink is cabled to comes first.
func (x *expansion) vcenters() {
	devices := map[*inventory.VCenter]*vcenter.Device{}
	for _, v := range x.model.VCenters {
		devices[v] = x.newVCenter(v)
		x.fleet.Devices[v.Addr] = newVCenter(devices[v])
		for _, c := range v.Clusters {
			x.vsan(devices[v], v, c)
		}
	}
	for _, s := range x.model.DVSwitches {
		if d := devices[s.VCenter]; d != nil {
			x.dvswitch(d, s)
		}
	}
	for _, v := range x.model.VMs {
		for _, a := range v.Adapters {
			if a.PortGroup == nil {
				continue // told elsewhere
			}
			if d := devices[a.PortGroup.Switch.VCenter]; d != nil {
				x.pvrdma(d, v, a)
			}
		}
	}
}

// vsan expands what a cluster uses for vSAN. The networks of hosts for it come first, and the
// ports that their NICs are cabled to.
func (x *expansion) vsan(d *vcenter.Device, v *inventory.VCenter, c *inventory.Cluster) {
	var needs []plan.ID
	for s, r := range x.model.RNICs() {
		if r.VMK == nil || !slices.Contains(r.VMK.Services, "vsan") {
			continue
		}
		needs = append(needs, plan.ID{Device: s.Addr, Kind: "vsan_network", Name: r.VMK.ID})
		if port, ok := x.ports[r]; ok {
			needs = append(needs, port)
		}
	}
	id, r := d.Resource(&vcenter.VSAN{Cluster: c.Path, RDMA: c.VSANRDMA})
	x.stand(&v.Block, x.add(id, r, c.Range, needs...))
}

func groupName(g *inventory.DVPortGroup) string { return path.Base(g.Switch.Path) + "-" + g.Name }

// pvrdma expands an adapter of a virtual machine. Its port group comes first, the hosts
// that are its members, and what lets PVRDMA into them.
func (x *expansion) pvrdma(d *vcenter.Device, v *inventory.VM, a *inventory.PVRDMA) {
	s := a.PortGroup.Switch
	want := &vcenter.Adapter{VM: v.Path, Name: a.Name, Switch: s.Path, Group: groupName(a.PortGroup), Protocol: a.Protocol, Degraded: a.AllowDegraded, Hardware: v.HardwareVersion, Uplinks: map[string]string{}}
	needs := slices.Clone(x.stands[&s.Block])
	for _, r := range s.Uplinks {
		want.Uplinks[strings.ToLower(r.Server.Host)] = r.PCI
		for _, b := range slices.Concat(r.Server.Declared("advanced_option"), r.Server.Declared("firewall_ruleset")) {
			if b.Label == "/Net/PVRDMAVmknic" || b.Label == "pvrdma" {
				needs = append(needs, plan.ID{Device: r.Server.Addr, Kind: b.Type, Name: b.Label})
			}
		}
		if slices.ContainsFunc(r.Server.RNICs, func(r *inventory.RNIC) bool { return r.VMK != nil && slices.Contains(r.VMK.Services, "pvrdma") }) {
			needs = append(needs, plan.ID{Device: r.Server.Addr, Kind: "advanced_option", Name: "/Net/PVRDMAVmknic"}, plan.ID{Device: r.Server.Addr, Kind: "firewall_ruleset", Name: "pvrdma"})
		}
	}
	for _, other := range x.model.VMs {
		if other != v && slices.ContainsFunc(other.Adapters, func(o *inventory.PVRDMA) bool { return o.PortGroup != nil && o.PortGroup.Switch == s }) {
			want.Peers = append(want.Peers, other.Path)
		}
	}
	if v.HardwareVersion > 0 {
		id, r := d.Resource(&vcenter.Hardware{VM: v.Path, Version: v.HardwareVersion})
		if !slices.Contains(x.stands[&v.Block], id) {
			x.stand(&v.Block, x.add(id, r, v.At("hardware_version")))
		}
		needs = append(needs, id)
	}
	id, r := d.Resource(want)
	x.stand(&v.Block, x.add(id, r, a.Range, needs...))
}

func (x *expansion) newVCenter(v *inventory.VCenter) *vcenter.Device {
	login := vcenter.Login{Host: v.Host, Refused: errors.New("nothing says how it is reached")}
	if x.env.VCenter != nil {
		login = x.env.VCenter(v)
	}
	return vcenter.New(v.Addr, x.model.Name, x.env.Holder, login)
}

func (x *expansion) dvswitch(d *vcenter.Device, s *inventory.DVSwitch) {
	id, r := d.Resource(&vcenter.Switch{Path: s.Path, MTU: s.MTU()})
	made := x.add(id, r, s.Range)
	x.stand(&s.Block, made)
	for _, g := range s.PortGroups {
		id, r := d.Resource(&vcenter.Group{Switch: s.Path, Name: groupName(g), VLAN: g.VLAN})
		x.stand(&s.Block, x.add(id, r, g.Range, made))
	}
	for _, r := range s.Uplinks {
		if os := x.host(r.Server.OS); os == nil || !os.Uplinks {
			x.report(reason{problem.Uplink, "invalid uplink of a distributed switch", s.At("uplinks"), fmt.Sprintf("%s belongs to a server with os = %q", r.Addr, r.Server.OS)}, s.Addr)
			continue
		}
		if r.PCI == "" {
			x.refuse(r.Range, s.Addr, "uplink "+r.Addr+": only match = { pci = … } is supported")
			continue
		}
		if r.Address.IsValid() && r.VMK == nil {
			x.note(r.At("address"), inventory.BlockOf(r.Server.Addr), "without a vmk block the address of "+r.Name+" is for a port of the VMkernel that is made by hand")
		}
		needs := []plan.ID{made}
		if port, ok := x.ports[r]; ok {
			needs = append(needs, port)
		}
		id, member := d.Resource(&vcenter.Member{Switch: s.Path, Host: r.Server.Host, PCI: r.PCI})
		joined := x.add(id, member, s.At("uplinks"), needs...)
		x.stand(&s.Block, joined)
		if v := r.VMK; v != nil && v.PortGroup != nil && r.Address.IsValid() && r.Fabric != nil {
			want := &vcenter.VMKernel{Host: r.Server.Host, ID: v.ID, Switch: s.Path, Group: groupName(v.PortGroup), Stack: v.Netstack, Address: r.Address, MTU: r.Fabric.HostMTU}
			_, port := d.Resource(want)
			group, _ := d.Resource(&vcenter.Group{Switch: s.Path, Name: groupName(v.PortGroup)})
			x.stand(&s.Block, x.add(onGroup(r), port, v.Range, append(below(r), joined, group)...))
		}
	}
}

// onGroup is the port of the VMkernel of a NIC on a distributed switch.
func onGroup(r *inventory.RNIC) plan.ID {
	return plan.ID{Device: r.VMK.PortGroup.Switch.VCenter.Addr, Kind: vcenter.VMKernelKind, Name: vcenter.PortName(r.Server.Host, r.VMK.ID)}
}

// below are the ports of the VMkernel of its host that have lower numbers: a host gives a new
// one the first that is free.
func below(r *inventory.RNIC) (list []plan.ID) {
	for _, other := range r.Server.RNICs {
		switch v := other.VMK; {
		case v == nil || v.Number() >= r.VMK.Number():
		case v.PortGroup != nil:
			list = append(list, onGroup(other))
		default:
			list = append(list, plan.ID{Device: r.Server.Addr, Kind: "vmkernel", Name: v.ID})
		}
	}
	return list
}
