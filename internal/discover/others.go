package discover

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"weft/internal/nvme/names"
	"weft/modules/host"
	"weft/modules/linux/storage"
	"weft/plan"
)

// others are the exports that the kernels of servers have and no ledger of any owner
// says. They have no block that would make them: they are written as targets of others,
// which plan leaves alone. Connections that no ledger says are told.
func (d *draft) others(known []*export) (list []*export) {
	have := map[string]bool{}
	for _, x := range known {
		have[x.nqn] = true
	}
	for _, n := range d.ordered() {
		if n.Facts.NVMe == nil {
			continue
		}
		ours := map[string]bool{} // of any owner, by kind and what the name says
		for _, l := range n.Ledgers {
			for _, e := range l.Entries {
				ours[told(e)] = true
			}
		}
		for _, e := range n.Facts.NVMe.Exports {
			if _, stands := d.stands.subsystems[e.NQN]; stands || ours["nvmet_subsystem "+e.NQN] || have[e.NQN] {
				continue
			}
			if why := names.Unfit(e.NQN); why != "" {
				d.site.found(Warn, n.Host, "rename it on the server, or leave it: weft does not touch it", "its kernel exports %q, whose name is no NQN (%s): it is not written", e.NQN, why)
				d.unmanaged = append(d.unmanaged, fmt.Sprintf("%s: subsystem %q, whose name is no NQN", n.Host, e.NQN))
				continue
			}
			x := &export{engine: "external", nqn: e.NQN}
			for _, p := range e.Ports {
				if a, err := netip.ParseAddrPort(p.Address); err == nil && (p.Transport == "rdma" || p.Transport == "tcp") {
					x.at(p.Transport, a)
				}
			}
			if len(x.portals) == 0 {
				d.site.found(Warn, n.Host, "it has no RDMA or TCP port: no host can reach it over a fabric", "its kernel has the subsystem %s, which weft did not make: it is not written", e.NQN)
				d.unmanaged = append(d.unmanaged, fmt.Sprintf("%s: subsystem %s, without a port", n.Host, e.NQN))
				continue
			}
			have[e.NQN] = true
			list = append(list, x)
			d.site.found(Warn, n.Host, "it is written with engine = external, which plan leaves alone; to have weft keep it, write a target with engine = nvmet by hand", "its kernel exports %s, which weft did not make", e.NQN)
		}
		for _, c := range n.Facts.NVMe.Connections {
			if !ours["nvme_connection "+c.Address] {
				d.site.found(Warn, n.Host, "write an initiator by hand to have weft keep it", "its kernel is connected to %s at %s (%s), which weft did not do: it is not written", c.NQN, c.Address, c.Transport)
				d.unmanaged = append(d.unmanaged, fmt.Sprintf("%s: connection to %s at %s (%s)", n.Host, c.NQN, c.Address, c.Transport))
			}
		}
	}
	return list
}

// cutByOthers tells the volumes that no ledger holds. Pools of weft are made of drives that
// are free, so that these have no block.
func (d *draft) cutByOthers() {
	for _, n := range d.ordered() {
		if n.System.Lacks(host.Intents) != nil {
			continue // no volume of it is weft's
		}
		if n.Facts.Volumes == nil {
			d.site.found(Info, n.Host, "does vgs work there?", "which volumes others have made on it is not known")
			continue
		}
		ours := map[string]bool{} // of any owner
		for _, l := range n.Ledgers {
			for _, e := range l.Entries {
				var g storage.VolumeGroup
				if e.Kind == "volume_group" && json.Unmarshal(e.Applied, &g) == nil {
					ours[g.Name] = true
				}
			}
		}
		for _, g := range n.Facts.Volumes.Groups {
			if ours[g.Name] {
				continue
			}
			what := fmt.Sprintf("volume group %s with %d volumes", g.Name, len(g.Volumes))
			if len(g.Volumes) > 0 {
				what += ": " + strings.Join(g.Volumes, ", ")
			}
			d.site.found(Info, n.Host, "weft cuts volumes from drives that are free", "it has the %s; no ledger of weft holds it: it is not written", what)
			d.unmanaged = append(d.unmanaged, n.Host+": "+what)
		}
	}
}

// told is what an entry says of NVMe: a subsystem by its NQN, a connection by its address.
func told(e plan.Entry) string {
	name := e.Name
	if _, at, ok := strings.Cut(name, "@"); ok && e.Kind == "nvme_connection" {
		name = at
	}
	return fmt.Sprintf("%s %s", e.Kind, name)
}
