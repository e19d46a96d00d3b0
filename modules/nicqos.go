package modules

import (
	"slices"
	"strings"

	"weft/inventory"
	"weft/plan"
)

// nicQoS expands what the classes of a RoCE v2 fabric ask of a NIC port, in
// the order in which it is safe to change: who decides, then shares, then who
// belongs to them, then who may be paused. It follows the switch port, which wired names.
func (x *expansion) nicQoS(d *server, r *inventory.RNIC, wired []plan.ID) []plan.ID {
	f := r.Fabric
	if f == nil || f.Transport != "rocev2" {
		return nil
	}
	var ids []plan.ID
	add := func(kind string, want plan.Resource) {
		ids = append(ids, x.add(plan.ID{Device: d.name, Kind: kind, Name: r.Name}, want, r.Range, slices.Concat(wired, ids)...))
	}
	if f.Mode != "lossy" {
		add("pause", PauseKind().Want(d, &Pause{PCI: r.PCI}))
	}
	if len(f.Classes) > 0 {
		dcbx := newDCBX(r.PCI)
		dcbx.Later = stopsLLDPAD(r.Server)
		add("dcbx", DCBXKind().Want(d, dcbx))
		add("ets", ETSKind().Want(d, newETS(r.PCI, f.Classes)))
	}
	if dscp := newDSCP(r.PCI, f.Classes); len(dscp.Map) > 0 {
		add("dscp", DSCPKind().Want(d, dscp))
	}
	pfc := &PFC{PCI: r.PCI}
	for _, c := range f.Classes {
		if c.PFC && f.Mode != "lossy" {
			pfc.Priorities = append(pfc.Priorities, c.Priority)
		}
	}
	slices.Sort(pfc.Priorities)
	add("pfc", PFCKind().Want(d, pfc))
	if b := newBuffers(r.PCI, f.Classes); b != nil {
		add("buffers", BuffersKind().Want(d, b))
	}
	return ids
}

// stopsLLDPAD reports whether the server's own blocks stop the daemon that
// would overwrite what is set on NICs.
func stopsLLDPAD(s *inventory.Server) bool {
	return slices.ContainsFunc(s.Services, func(u *inventory.Service) bool {
		return strings.TrimSuffix(u.Name, ".service") == "lldpad" && !u.Running
	})
}
