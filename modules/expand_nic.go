package modules

import (
	"slices"

	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/nic"
	"weft/plan"
)

// nicQoS expands what the classes of a fabric ask of a NIC port, in the order of
// Kinds. It follows the switch port, which wired names.
func (x *expansion) nicQoS(d *host.Machine, r *inventory.RNIC, wired []plan.ID) (ids []plan.ID) {
	for _, k := range x.kindsOf(d.OS()) {
		if want := k.OnPort(d, r); want != nil {
			ids = append(ids, x.thing(plan.ID{Device: d.Address(), Kind: k.KindName(), Name: r.Name}, want, r.Range, slices.Concat(wired, ids)...))
		}
	}
	return ids
}

// generic expands the small blocks in a server, each after the one before it, in
// the order of its kinds: packages bring modules, units and keys along.
func (x *expansion) generic(d *host.Machine, s *inventory.Server) {
	var before []plan.ID
	for _, k := range x.kindsOf(d.OS()) {
		list, _ := k.DeclaredBy(d, s)
		for _, b := range list {
			before = []plan.ID{x.thing(plan.ID{Device: s.Addr, Kind: k.KindName(), Name: b.Name}, b.Resource, b.Range, before...)}
		}
	}
}

// rdma expands what an RDMA fabric asks of a NIC port in addition to its queues, each
// after what the port needs before.
func (x *expansion) rdma(d *host.Machine, r *inventory.RNIC, before []plan.ID) []plan.ID {
	f := r.Fabric
	switch {
	case f == nil:
		return nil
	case r.Software && (f.Transport == "tcp" || f.Transport == "infiniband"):
		x.refuse(r.At("software"), r.Server.Addr, "rnic "+r.Name+": software RDMA for transport \""+f.Transport+"\"")
		return nil
	case f.Transport == "tcp":
		return nil
	}
	var ids []plan.ID
	add := func(kind string, want host.Thing) {
		ids = append(ids, x.thing(plan.ID{Device: d.Address(), Kind: kind, Name: r.Name}, want, r.Range, slices.Concat(before, ids)...))
	}
	link := nic.NewRDMALink(r.Place(), f.Transport, r.Name, r.Software)
	for _, m := range r.Server.KernelModules {
		link.Modules = append(link.Modules, m.Name)
	}
	add("rdma_link", nic.RDMALinkKind().Want(d, link))
	if f.Transport != "rocev2" {
		return ids
	}
	cm := nic.NewRoCE(r.Place(), f.ClassOf(inventory.RDMA).ToS())
	cm.Software = link.Name
	add("roce", nic.RoCEKind().Want(d, cm))
	if ecn := nic.NewECN(r.Place(), f); ecn != nil {
		add("ecn", nic.ECNKind().Want(d, ecn))
	}
	return ids
}
