package esxi

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/modules/host"
	"weft/plan"
)

// A retelling is a ledger on its way to what files declare.
type retelling struct {
	host.Declared
	entries []plan.Entry
	wrong   []error
}

// declared is what a ledger says of NICs with their switches and ports, of connections, and of
// settings that no port asks for. Of a port on a distributed switch, which vCenter made, only
// its services are told.
func declared(_ string, entries []plan.Entry) (*host.Declared, error) {
	r := &retelling{entries: entries}
	r.cards()
	implied := r.ports(r.services())
	for i := range r.Declared.Ports { // without a port of its own a NIC has that of a distributed switch
		r.Declared.Ports[i].Fabric = r.Declared.Ports[i].VMK != nil
	}
	each(r, "nvme_connection", func(name string, c NVMeConnection) {
		r.Paths = append(r.Paths, host.DeclaredPath{Name: name, NQN: c.NQN, Transport: c.Transport, Address: c.Address, HostNQN: c.HostNQN})
	})
	r.settings(implied)
	return &r.Declared, errors.Join(r.wrong...)
}

// each calls do with what was applied of a kind.
func each[T any](r *retelling, kind string, do func(name string, applied T)) {
	list, names, err := host.Applied[T](r.entries, kind)
	if err != nil {
		r.wrong = append(r.wrong, err)
	}
	for i, applied := range list {
		do(names[i], applied)
	}
}

// cards are the NICs that a fabric has set: what they are called, and whether for RDMA.
func (r *retelling) cards() {
	each(r, "dcb", func(name string, d DCB) {
		p := r.Port(d.PCI)
		p.Name, p.Fabric, p.RoCE = name, true, true
	})
	each(r, "nvme_adapter", func(name string, a NVMeAdapter) {
		p := r.Port(a.PCI)
		p.Name, p.Fabric, p.RoCE = strings.TrimSuffix(name, "."+a.Transport), true, p.RoCE || a.Transport == "rdma"
	})
}

// pvrdma is the service that an advanced option and a ruleset make.
const pvrdma = "pvrdma"

// services are those of ports of the VMkernel, by the name of the port.
func (r *retelling) services() map[string][]string {
	of := map[string][]string{}
	each(r, "vmk_service", func(_ string, s Service) {
		for _, service := range []string{"nvme-rdma", "nvme-tcp"} {
			if carrierOf(service).tag == s.Tag {
				of[s.VMKernel] = append(of[s.VMKernel], service)
			}
		}
	})
	each(r, "vsan_network", func(_ string, v VSANNetwork) { of[v.VMKernel] = append(of[v.VMKernel], "vsan") })
	open := false
	each(r, "firewall_ruleset", func(_ string, s Ruleset) { open = open || s.Name == pvrdma && s.Enabled })
	each(r, "advanced_option", func(_ string, o Option) {
		if open && o.Path == vmkOption && o.Value != "" {
			of[o.Value] = append(of[o.Value], pvrdma)
		}
	})
	return of
}

// ports adds the ports of the VMkernel to their NICs. implied: one of them makes the settings
// of PVRDMA.
func (r *retelling) ports(services map[string][]string) (implied bool) {
	loose := maps.Clone(services)                         // those of ports that vCenter made
	uplink, vlan := map[string]string{}, map[string]int{} // by name of the switch, which its port group has, too
	each(r, "vswitch", func(_ string, v VSwitch) { uplink[v.Name] = v.PCI })
	each(r, "portgroup", func(_ string, g PortGroup) { vlan[g.Name] = g.VLAN })
	each(r, "vmkernel", func(_ string, v VMKernel) {
		pci := uplink[v.PortGroup]
		if pci == "" {
			return
		}
		p := r.Port(pci)
		p.Fabric, p.Address, p.VLAN = true, v.Address, vlan[v.PortGroup]
		p.VMK = &host.DeclaredBlock{Kind: "vmk", Set: []host.Setting{host.Set("id", v.ID), host.Set("vswitch", v.PortGroup)}}
		if v.Stack != "" {
			p.VMK.Set = append(p.VMK.Set, host.Set("netstack", v.Stack))
		}
		if list := services[v.ID]; list != nil {
			p.VMK.Set = append(p.VMK.Set, host.Set("services", list))
			implied = implied || slices.Contains(list, pvrdma)
		}
		delete(loose, v.ID)
	})
	for _, id := range slices.Sorted(maps.Keys(loose)) {
		b := host.LooseBlock{DeclaredBlock: host.DeclaredBlock{Kind: "vmk", Set: []host.Setting{host.Set("id", id), host.Set("services", loose[id])}}}
		if slices.Contains(loose[id], pvrdma) {
			b.Makes = []host.DeclaredBlock{{Kind: "advanced_option", Label: vmkOption}, {Kind: "firewall_ruleset", Label: pvrdma}}
		}
		r.Loose = append(r.Loose, b)
	}
	return implied
}

// settings are the blocks of a server that nothing else makes.
func (r *retelling) settings(implied bool) {
	add := func(kind, label string, set ...host.Setting) {
		r.Blocks = append(r.Blocks, host.DeclaredBlock{Kind: kind, Label: label, Set: set})
	}
	each(r, "advanced_option", func(_ string, o Option) {
		if !implied || o.Path != vmkOption {
			add("advanced_option", o.Path, host.Set("value", o.Value))
		}
	})
	each(r, "firewall_ruleset", func(_ string, s Ruleset) {
		switch {
		case implied && s.Name == pvrdma:
		case s.Enabled:
			add("firewall_ruleset", s.Name)
		default:
			add("firewall_ruleset", s.Name, host.Set("enabled", "false"))
		}
	})
	var order []string
	set := map[string][]string{}
	each(r, "module_parameters", func(_ string, p Parameter) {
		if set[p.Module] == nil {
			order = append(order, p.Module)
		}
		set[p.Module] = append(set[p.Module], p.Name+"="+p.Value)
	})
	for _, module := range order {
		add("module_parameters", module, host.Set("set", strings.Join(set[module], " ")))
	}
	each(r, "pause_parameters", func(_ string, p Pause) {
		add("pause_parameters", p.PCI, host.Set("rx", strconv.FormatBool(p.RX)), host.Set("tx", strconv.FormatBool(p.TX)))
	})
}
