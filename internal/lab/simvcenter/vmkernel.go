package simvcenter

import (
	"slices"
	"strconv"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// A hostNetwork has ports of the VMkernel on distributed switches, which vcsim does not.
type hostNetwork struct {
	*simulator.HostNetworkSystem
	spec Spec
}

func (n *hostNetwork) ports(ctx *simulator.Context) (*simulator.HostSystem, []types.HostVirtualNic) {
	h := ctx.Map.Get(n.Host.Self).(*simulator.HostSystem)
	return h, slices.Clone(h.Config.Network.Vnic)
}

func named(name string) func(types.HostVirtualNic) bool {
	return func(v types.HostVirtualNic) bool { return v.Device == name }
}

func (n *hostNetwork) set(ctx *simulator.Context, h *simulator.HostSystem, list []types.HostVirtualNic) {
	ctx.Map.AtomicUpdate(ctx, h, []types.PropertyChange{{Name: "config.network.vnic", Val: list}})
}

// told tells what has become of a port.
func (n *hostNetwork) told(ctx *simulator.Context, h *simulator.HostSystem, v types.HostVirtualNic, there bool) {
	if n.spec.Tell == nil {
		return
	}
	p := Event{Host: h.Name, ID: v.Device}
	if c := v.Spec.DistributedVirtualPort; c != nil && there {
		d, nics := on(ctx, h, c)
		p.Switch, p.Stack, p.MTU = d, v.Spec.NetStackInstanceKey, int(v.Spec.Mtu)
		for _, s := range n.spec.Hosts {
			for _, pci := range s.NICs {
				if s.Name == h.Name && slices.Contains(nics, s.vmnic(pci)) {
					p.PCI = pci
				}
			}
		}
		if v.Spec.Ip != nil {
			p.Address, p.Mask = v.Spec.Ip.IpAddress, v.Spec.Ip.SubnetMask
		}
	}
	n.spec.Tell(p)
}

// on is the name of the switch that has a port group, and the NICs by which a host is a
// member of it; "": it is none.
func on(ctx *simulator.Context, h *simulator.HostSystem, c *types.DistributedVirtualSwitchPortConnection) (name string, nics []string) {
	for _, o := range ctx.Map.All("DistributedVirtualPortgroup") {
		g := o.(*simulator.DistributedVirtualPortgroup)
		if g.Key != c.PortgroupKey || g.Config.DistributedVirtualSwitch == nil {
			continue
		}
		d := ctx.Map.Get(*g.Config.DistributedVirtualSwitch).(*simulator.DistributedVirtualSwitch)
		for _, m := range d.Config.GetDVSConfigInfo().Host {
			if d.Uuid == c.SwitchUuid && *m.Config.Host == h.Self {
				return d.Name, nicsOf(types.DistributedVirtualSwitchHostMemberConfigSpec{Backing: m.Config.Backing})
			}
		}
	}
	return "", nil
}

// AddVirtualNic gives out the first name that is free.
func (n *hostNetwork) AddVirtualNic(ctx *simulator.Context, req *types.AddVirtualNic) soap.HasFault {
	h, list := n.ports(ctx)
	member := ""
	if req.Portgroup == "" && req.Nic.DistributedVirtualPort != nil {
		member, _ = on(ctx, h, req.Nic.DistributedVirtualPort)
	}
	if member == "" {
		return &methods.AddVirtualNicBody{Fault_: simulator.Fault("", &types.PlatformConfigFault{Text: "this SIMULATED host takes ports on distributed switches that it is a member of"})}
	}
	name := ""
	for i := 0; ; i++ {
		if name = "vmk" + strconv.Itoa(i); !slices.ContainsFunc(list, named(name)) {
			break
		}
	}
	made := types.HostVirtualNic{Device: name, Key: "key-vim.host.VirtualNic-" + name, Spec: req.Nic}
	n.set(ctx, h, append(list, made))
	n.told(ctx, h, made, true)
	return &methods.AddVirtualNicBody{Res: &types.AddVirtualNicResponse{Returnval: name}}
}

// UpdateVirtualNic changes what is said.
func (n *hostNetwork) UpdateVirtualNic(ctx *simulator.Context, req *types.UpdateVirtualNic) soap.HasFault {
	h, list := n.ports(ctx)
	i := slices.IndexFunc(list, named(req.Device))
	if i < 0 {
		return &methods.UpdateVirtualNicBody{Fault_: simulator.Fault("", &types.NotFound{})}
	}
	if req.Nic.Ip != nil {
		list[i].Spec.Ip = req.Nic.Ip
	}
	if req.Nic.Mtu != 0 {
		list[i].Spec.Mtu = req.Nic.Mtu
	}
	n.set(ctx, h, list)
	n.told(ctx, h, list[i], true)
	return &methods.UpdateVirtualNicBody{Res: &types.UpdateVirtualNicResponse{}}
}

// RemoveVirtualNic takes one away.
func (n *hostNetwork) RemoveVirtualNic(ctx *simulator.Context, req *types.RemoveVirtualNic) soap.HasFault {
	h, list := n.ports(ctx)
	if !slices.ContainsFunc(list, named(req.Device)) {
		return &methods.RemoveVirtualNicBody{Fault_: simulator.Fault("", &types.NotFound{})}
	}
	n.set(ctx, h, slices.DeleteFunc(list, named(req.Device)))
	n.told(ctx, h, types.HostVirtualNic{Device: req.Device}, false)
	return &methods.RemoveVirtualNicBody{Res: &types.RemoveVirtualNicResponse{}}
}
