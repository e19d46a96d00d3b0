package linux

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
)

// A netdev is a network interface below a PCI function: its files, by their path below its
// own folder.
type netdev struct {
	name  string
	files map[string]string
}

// netdevs are the interfaces below a PCI function, in the order of the folder, and the
// function that it is virtual of.
func (f *seenFacts) netdevs(function string) (list []netdev, physfn string) {
	for _, file := range f.devices[function] {
		if slot, ok := strings.CutPrefix(file.value, "PCI_SLOT_NAME="); ok && file.path == "physfn/uevent" {
			physfn = slot
		}
		p := strings.SplitN(file.path, "/", 4)
		if strings.HasPrefix(p[0], "virtio") && len(p) > 1 { // a device of its own between the two
			p = strings.SplitN(strings.Join(p[1:], "/"), "/", 3)
		} else if len(p) == 4 {
			p = []string{p[0], p[1], p[2] + "/" + p[3]}
		}
		if len(p) != 3 || p[0] != "net" {
			continue
		}
		i := slices.IndexFunc(list, func(n netdev) bool { return n.name == p[1] })
		if i < 0 {
			i = len(list)
			list = append(list, netdev{p[1], map[string]string{}})
		}
		key, value := p[2], file.value
		if variable, of, ok := strings.Cut(value, "="); ok && key == "master/uevent" {
			key, value = key+"/"+variable, of
		}
		list[i].files[key] = value
	}
	return list, physfn
}

// bond is the bond that the interface is part of; "": it is in none.
func (n netdev) bond() string {
	if n.files["master/uevent/DEVTYPE"] == "bond" {
		return n.files["master/uevent/INTERFACE"]
	}
	return ""
}

// interfaces judges the interfaces of a PCI function.
func (f *seenFacts) interfaces(function string) []remote.Interface {
	list, physfn := f.netdevs(function)
	return slice.Map(list, func(n netdev) remote.Interface { return remote.InterfaceOf(n.name, n.files, physfn) })
}

// function is the PCI function of a place; "": none that was read has the MAC address.
func (f *seenFacts) function(place string) string {
	function, by, _ := strings.Cut(place, "@")
	if function != "" {
		return function
	}
	for pci := range f.devices {
		if slices.ContainsFunc(f.interfaces(pci), func(i remote.Interface) bool { return i.MAC == by && i.Kind == remote.PortInterface }) {
			return pci
		}
	}
	return ""
}

// places are those of the ports of a PCI function.
func (f *seenFacts) places(function string) []string {
	ports := slice.Filter(f.interfaces(function), func(i remote.Interface) bool { return i.Kind == remote.PortInterface })
	if len(ports) < 2 {
		return []string{function}
	}
	return slice.Map(ports, func(p remote.Interface) string {
		if slices.ContainsFunc(ports, func(o remote.Interface) bool { return o.Name != p.Name && o.Port == p.Port }) {
			return function + "@" + p.MAC
		}
		return function + "@" + cmp.Or(p.Port, p.MAC)
	})
}

// attach gives a NIC the interface of its port. That of a virtual function is reported; of
// several ports that a place does not tell apart none is taken.
func (f *seenFacts) attach(n *seenNIC, place string) {
	all, physfn := f.netdevs(n.PCI)
	list := f.interfaces(n.PCI)
	n.VirtualOf = physfn
	for _, i := range list {
		if i.Kind == remote.RepresentorInterface {
			n.Representors = append(n.Representors, i.Name)
		}
	}
	chosen, err := remote.Choose(place, list)
	if virtual := slice.Filter(list, func(i remote.Interface) bool { return i.Kind == remote.VirtualInterface }); len(virtual) > 0 {
		chosen = virtual[0]
	}
	if err != nil && len(list) > 0 {
		n.Unclear = err
	}
	ports := slice.Filter(list, func(i remote.Interface) bool { return i.Kind == remote.PortInterface })
	if n.several = len(ports) > 1; n.several {
		n.ByMAC = slices.ContainsFunc(ports, func(o remote.Interface) bool { return o.Name != chosen.Name && o.Port == chosen.Port })
		if !n.ByMAC {
			n.Port = chosen.Port
		}
	}
	if i := slices.IndexFunc(all, func(d netdev) bool { return d.name == chosen.Name }); i >= 0 {
		n.Interface, n.Bond, n.Permanent = chosen.Name, all[i].bond(), all[i].files["bonding_slave/perm_hwaddr"]
		for attr, value := range all[i].files {
			n.netdev(attr, value)
		}
	}
}

// ownRDMA leaves a NIC the RDMA ports that are its own. A function with several ports has a
// device with several, or several devices: they name their interface, or, on InfiniBand, have
// the number of the port, from 1. A NIC in a bond that has none may have that of the bond.
func (f *seenFacts) ownRDMA(n *seenNIC) {
	for i := range n.RDMA {
		if n.Driver == "hfi1" {
			n.RDMA[i].Protocol = "omnipath"
		}
	}
	if n.several {
		n.RDMA = slices.DeleteFunc(n.RDMA, func(p host.RDMAPort) bool {
			owner := f.owner(p)
			return owner != n.Interface && (owner != "" || strconv.Itoa(p.Port-1) != n.Port)
		})
	}
	n.RDMA = slices.DeleteFunc(n.RDMA, func(p host.RDMAPort) bool { return slices.Contains(n.Representors, f.owner(p)) })
	if len(n.RDMA) > 0 || n.Bond == "" || n.Driver != "mlx5_core" {
		return
	}
	card, _, _ := strings.Cut(n.PCI, ".")
	first := &seenNIC{NICFacts: host.NICFacts{PCI: card + ".0"}}
	for _, file := range f.devices[first.PCI] {
		first.below(file)
	}
	for _, p := range first.RDMA {
		if owner := f.owner(p); owner == n.Bond || f.bondOf(owner) == n.Bond {
			n.RDMA = append(n.RDMA, p)
		}
	}
}

// owner is the interface that an RDMA port names; "": none.
func (f *seenFacts) owner(p host.RDMAPort) string {
	return f.owners[p.Device+"/"+strconv.Itoa(p.Port)]
}

// bondOf is the bond that an interface is part of.
func (f *seenFacts) bondOf(name string) string {
	for function := range f.devices {
		list, _ := f.netdevs(function)
		if i := slices.IndexFunc(list, func(n netdev) bool { return n.name == name }); i >= 0 {
			return list[i].bond()
		}
	}
	return ""
}

// unmanaged says why a NIC that is declared is not one that weft manages; nil: it is.
func unmanaged(n host.NICFacts) error {
	var port *remote.PortError
	if errors.As(n.Unclear, &port) && len(port.Interfaces) > 0 {
		return n.Unclear
	}
	return nil
}
