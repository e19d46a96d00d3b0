package esxi

import (
	"errors"
	"fmt"
	"slices"

	"weft/inventory"
	"weft/modules/host"
)

// A carrier is what a service of a vmk is: its tag on hosts, and the transport of NVMe.
type carrier struct{ tag, transport string }

// carrierOf is that of a service by its name in the files.
func carrierOf(service string) carrier {
	switch service {
	case "nvme-rdma":
		return carrier{"NVMeRDMA", "rdma"}
	case "nvme-tcp":
		return carrier{"NVMeTCP", "tcp"}
	}
	return carrier{} // vsan, which has a network of its own
}

// vmkOption names the port over which PVRDMA finds other hosts.
const vmkOption = "/Net/PVRDMAVmknic"

// portOf makes what a NIC of a fabric is to have: a switch of its own with a port group of
// its name, a port of the VMkernel, its services, and an adapter for NVMe.
func portOf(d *host.Machine, r *inventory.RNIC) (list []host.Wanted, err error) {
	add := func(kind, name string, r host.Thing) {
		list = append(list, host.Wanted{Kind: kind, Name: name, Resource: r})
	}
	if list := losslessOf(r.Fabric); list != nil {
		add("dcb", r.Name, DCBKind().Want(d, &DCB{PCI: r.PCI, Lossless: list}))
	}
	v := r.VMK
	switch {
	case v == nil && r.DVSwitch != nil:
		return list, nil // the rest of it is vCenter's
	case v == nil:
		return nil, errors.New("a NIC of ESXi needs a vmk block: its address is that of a port of the VMkernel")
	case r.Fabric == nil || r.Fabric.Transport == "infiniband" || r.Fabric.Transport == "iwarp":
		return nil, errors.New("a NIC of ESXi needs a fabric that is rocev2 or tcp")
	case r.Software:
		return nil, errors.New("ESXi has no RDMA in software")
	case !r.Address.IsValid() || !r.Address.Addr().Is4():
		return nil, errors.New("a vmk needs an address of IPv4")
	}
	if g := v.PortGroup; g != nil && g.VLAN != r.VLAN {
		return nil, fmt.Errorf("its port group %s has vlan = %d, and the rnic vlan = %d: write the same there, so that the port of the leaf carries it", g.Addr, g.VLAN, r.VLAN)
	}
	for _, other := range r.Server.RNICs {
		if other != r && other.VMK != nil && (v.VSwitch != "" && other.VMK.VSwitch == v.VSwitch || other.VMK.ID == v.ID) {
			return nil, fmt.Errorf("rnic %s has the same vswitch or vmk: each NIC has its own, which is its only uplink", other.Name)
		}
		if other != r && other.VMK != nil && slices.Contains(v.Services, "pvrdma") && slices.Contains(other.VMK.Services, "pvrdma") {
			return nil, fmt.Errorf("rnic %s carries PVRDMA, too: one port of a host does", other.Name)
		}
	}
	if mtu := r.Fabric.HostMTU; v.PortGroup == nil { // else vCenter makes the port
		add("vswitch", v.VSwitch, VSwitchKind().Want(d, &VSwitch{Name: v.VSwitch, PCI: r.PCI, MTU: mtu}))
		add("portgroup", v.VSwitch, PortGroupKind().Want(d, &PortGroup{Name: v.VSwitch, VSwitch: v.VSwitch, VLAN: r.VLAN, PCI: r.PCI}))
		add("vmkernel", v.ID, VMKernelKind().Want(d, &VMKernel{ID: v.ID, PortGroup: v.VSwitch, Stack: v.Netstack, MTU: mtu, Address: r.Address}))
	}
	for _, s := range v.Services {
		if s == "pvrdma" {
			for _, b := range slices.Concat(r.Server.Declared("advanced_option"), r.Server.Declared("firewall_ruleset")) {
				if b.Label == vmkOption || b.Label == "pvrdma" {
					return nil, fmt.Errorf("its service pvrdma sets %s, which has a block of its own: take that away", b.Label)
				}
			}
			add("advanced_option", vmkOption, OptionKind().Want(d, &Option{Path: vmkOption, Value: v.ID}))
			add("firewall_ruleset", "pvrdma", RulesetKind().Want(d, &Ruleset{Name: "pvrdma", Enabled: true}))
			continue
		}
		is := carrierOf(s)
		if is.tag == "" {
			add("vsan_network", v.ID, VSANNetworkKind().Want(d, &VSANNetwork{VMKernel: v.ID}))
			continue
		}
		if is.transport == "rdma" && r.Fabric.Transport == "tcp" {
			return nil, fmt.Errorf("%s carries no RDMA, which the service %s wants", r.Fabric.Addr, s)
		}
		add("vmk_service", v.ID+"."+is.tag, ServiceKind().Want(d, &Service{VMKernel: v.ID, Tag: is.tag}))
		add("nvme_adapter", r.Name+"."+is.transport, NVMeAdapterKind().Want(d, &NVMeAdapter{PCI: r.PCI, Transport: is.transport, Enabled: true}))
	}
	return list, nil
}

// connect makes a connection to a subsystem at a portal, from a NIC.
func connect(d *host.Machine, i *inventory.Initiator, c *inventory.Connect, t *inventory.Target, sub *inventory.Subsystem, p inventory.Portal, r *inventory.RNIC) (host.Wanted, error) {
	none := host.Wanted{}
	switch {
	case i.Key != nil:
		return none, errors.New("dhchap_key: what authenticates an ESXi host has no source that agrees with others")
	}
	for _, a := range []string{"iopolicy", "io_queues", "ctrl_loss_tmo", "fast_io_fail_tmo", "reconnect_delay", "keep_alive_tmo", "reconnect"} {
		if c.Writes(a) {
			return none, fmt.Errorf("%s: ESXi decides that by itself", a)
		}
	}
	for _, transport := range t.Transport { // the first that the NIC has a service for
		if slices.ContainsFunc(r.VMK.Services, func(s string) bool { return carrierOf(s).transport == transport }) {
			return host.Wanted{Kind: "nvme_connection", Resource: NVMeConnectionKind().Want(d, &NVMeConnection{
				NQN: sub.NQN, Transport: transport, Address: p.Address, PCI: r.PCI, HostNQN: i.HostNQN})}, nil
		}
	}
	return none, fmt.Errorf("rnic %s has no service for the transport of %s", r.Name, t.Addr)
}
