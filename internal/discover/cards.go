package discover

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/text"
	"weft/modules/host"
)

// role is storage where something is exported.
func (d *draft) role(m *Server) string {
	if m.Facts.NVMe != nil && len(m.Facts.NVMe.Exports) > 0 {
		return "storage"
	}
	for _, l := range m.Ledgers {
		for _, e := range l.Entries {
			if e.Kind == "nvmet_subsystem" || e.Kind == "agent" && e.Name == "weft-target" {
				return "storage"
			}
		}
	}
	return "compute"
}

// retell has the ledgers of the owner say what they hold, as files declare it.
func (d *draft) retell() {
	for m, n := range d.nodes {
		l := m.ledger(d.owner)
		if l == nil || m.System.Declares == nil {
			continue
		}
		told, err := m.System.Declares(d.owner, l.Entries)
		if err != nil {
			d.site.found(Error, n.Host, hint.Of(err), "%v", err)
		}
		n.told = told
	}
}

// port is what the ledger says of a port.
func (n *node) port(f *host.NICFacts) (host.DeclaredPort, bool) {
	for _, p := range n.told.Ports {
		if f.At(p.PCI) {
			return p, true
		}
	}
	return host.DeclaredPort{}, false
}

// cards chooses the ports that files are to name: those that the ledger names, that
// are RDMA, or that a switch of the site hears.
func (d *draft) cards() {
	cabled := map[*host.NICFacts]bool{}
	for _, c := range d.cables {
		cabled[c.NIC] = true
	}
	for _, w := range d.wires {
		cabled[w.a.nic], cabled[w.b.nic] = true, true
	}
	for _, m := range d.site.Servers {
		n := d.nodes[m]
		named, used := map[*host.NICFacts]string{}, taken{} // labels
		for _, p := range n.told.Ports {
			used[p.Name] = !n.declared
		}
		for i := range m.Facts.NICs {
			f := &m.Facts.NICs[i]
			if told, known := n.port(f); known && !n.declared {
				named[f] = told.Name
			} else if n.declared {
				named[f] = d.written(m, f)
			}
			used[named[f]] = true
		}
		d.virtual(m)
		for i := range m.Facts.NICs {
			f := &m.Facts.NICs[i]
			told, known := n.port(f)
			if f.OmniPath() {
				d.site.found(Info, m.Host, "", "%s at %s is a port of Omni-Path (driver %s), which weft does not manage: no rnic is written", f.Interface, f.PCI, f.Driver)
			}
			if f.VirtualOf != "" || f.OmniPath() {
				continue
			}
			if named[f] == "" && !known && (m.System.Port != nil && n.declared || len(f.RDMA) == 0 && !cabled[f]) {
				continue
			}
			l := named[f]
			for p := 0; l == ""; p++ {
				if try := fmt.Sprintf("p%d", p); !used[try] {
					l, used[try] = try, true
				}
			}
			at := d.cidr(m, f, told.Address)
			c := &card{label: l, told: told, nic: f, cidr: at, has: at}
			if n.declared && named[f] == "" {
				n.more = append(n.more, c)
				continue
			}
			n.cards = append(n.cards, c)
		}
		if len(n.cards) == 0 {
			d.site.found(Warn, m.Host, "is the driver of its NICs loaded, and are their cables in?", "no RDMA device and no NIC that a switch hears: no rnic is written")
		}
	}
}

// written is the label of a NIC of a server that stands in files; "": it has none.
func (d *draft) written(m *Server, f *host.NICFacts) string {
	for _, r := range d.stands.machines[m.Host].RNICs {
		if f.Is(r) || r.MAC != "" && strings.EqualFold(f.MAC, r.MAC) {
			return r.Name
		}
	}
	return ""
}

// virtual reports the virtual functions and representors of a server, a line for each port.
func (d *draft) virtual(m *Server) {
	of := map[string][]string{} // by PCI address of the port
	for _, f := range m.Facts.NICs {
		if f.VirtualOf != "" {
			of[f.VirtualOf] = append(of[f.VirtualOf], cmp.Or(f.Interface, f.PCI))
		}
		of[f.PCI] = append(of[f.PCI], f.Representors...)
	}
	for _, pci := range slices.Sorted(maps.Keys(of)) {
		if list := of[pci]; len(list) > 0 {
			d.site.found(Info, m.Host, "", "%d virtual functions and representors of the port %s are not written: %s", len(list), pci, text.Few(list, ", "))
		}
	}
}

// cidr is the address that a NIC is to be declared with: the one that weft gave it, else
// its only one.
func (d *draft) cidr(m *Server, f *host.NICFacts, given netip.Prefix) netip.Prefix {
	if given.IsValid() && (m.System.Port != nil || slices.Contains(f.Addresses, given)) {
		return given // that it stands so on a port of such a system is for the plan to prove
	}
	var four []netip.Prefix
	for _, a := range f.Addresses {
		if a.Addr().Is4() {
			four = append(four, a)
		}
	}
	list := four
	if len(four) == 0 {
		list = f.Addresses
	}
	if len(list) > 1 {
		d.site.found(Warn, m.Host, "declare the one that the fabric uses by hand", "%s has %d addresses, and none is written: %v", f.Interface, len(list), list)
		return netip.Prefix{}
	}
	if len(list) == 1 {
		return list[0]
	}
	return netip.Prefix{}
}
