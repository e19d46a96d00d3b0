package vcenter

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/modules/claim"
)

// An Inventory is what stands in a vCenter of what files declare, whoever has made it.
// Objects of an owner carry that owner's mark; "": nobody's.
type Inventory struct {
	System   string // product, release and build
	Switches []StandingSwitch
	Ports    []StandingPort
	Machines []StandingVM      // with a mark
	Clusters []StandingCluster // likewise
}

// A StandingSwitch is a distributed switch.
type StandingSwitch struct {
	Path, Owner string
	Groups      []StandingGroup
	Members     []StandingMember
}

// A StandingGroup is a port group.
type StandingGroup struct {
	Name, Owner string
	VLAN        int // -1: no single one
}

// A StandingMember is a host with its uplinks.
type StandingMember struct {
	Host string
	PCI  []string // of NICs that vCenter tells
}

// A StandingPort is a port of the VMkernel on a distributed switch.
type StandingPort struct {
	Host, ID, Owner string
	Switch, Group   string // path and name; "": vCenter does not tell
	Stack           string // of TCP/IP; "": the default one
	Address         netip.Prefix
}

// A StandingVM is a virtual machine with adapters that weft has made.
type StandingVM struct {
	Path, Owner string
	Adapters    []StandingAdapter
}

// A StandingAdapter is one for PVRDMA.
type StandingAdapter struct {
	Name, Switch, Group, Protocol string
	Degraded                      bool // its host has no RDMA device on the uplink of that switch
}

// A StandingCluster is one whose vSAN weft has set.
type StandingCluster struct {
	Path, Owner string
	RDMA        bool
}

// Inventory logs in, reads, and ends the session.
func (l Login) Inventory(ctx context.Context) (*Inventory, error) {
	d := New(l.Host, "", claim.Holder{}, l)
	who, err := d.Open(ctx)
	if err != nil {
		return nil, err
	}
	have := d.have
	out := &Inventory{System: who.System}
	out.Switches = slice.Map(sorted(have.switches), func(at string) StandingSwitch { return have.switches[at].standing(have) })
	for _, name := range sorted(have.hosts) {
		out.Ports = append(out.Ports, have.standingPorts(have.hosts[name])...)
	}
	for _, at := range sorted(have.vms) {
		if v := have.vms[at]; v.note.owner != "" {
			out.Machines = append(out.Machines, have.standingVM(v))
		}
	}
	for _, at := range sorted(have.clusters) {
		if k := have.clusters[at]; k.note.owner != "" {
			out.Clusters = append(out.Clusters, StandingCluster{at, k.note.owner, k.rdma})
		}
	}
	return out, d.Close()
}

func (d *dvs) standing(have *reading) StandingSwitch {
	s := StandingSwitch{Path: d.path, Owner: d.note.owner}
	for _, name := range sorted(d.groups) {
		g := d.groups[name]
		s.Groups = append(s.Groups, StandingGroup{name, g.note.owner, g.vlan})
	}
	for _, name := range sorted(have.hosts) {
		h := have.hosts[name]
		nics, member := d.members[h.ref]
		if !member {
			continue
		}
		m := StandingMember{Host: h.name}
		m.PCI = slice.Filter(sorted(h.nics), func(pci string) bool { return slices.Contains(nics, h.nics[pci]) })
		s.Members = append(s.Members, m)
	}
	return s
}

func (r *reading) standingPorts(h *host) (list []StandingPort) {
	for _, id := range sorted(h.ports) {
		p := h.ports[id]
		if !p.dvs {
			continue
		}
		out := StandingPort{Host: h.name, ID: id, Address: p.address}
		if p.stack != defaultStack {
			out.Stack = p.stack
		}
		for _, n := range h.notes {
			if n.text == id {
				out.Owner = n.owner
			}
		}
		out.Switch, out.Group = state{reading: r}.groupOf(p.on)
		list = append(list, out)
	}
	return list
}

func (r *reading) standingVM(v *vm) StandingVM {
	s := state{reading: r}
	out := StandingVM{Path: v.path, Owner: v.note.owner}
	for _, name := range slices.Sorted(maps.Keys(v.note.keys)) {
		a := v.adapter(v.note.keys[name])
		if a == nil {
			continue // somebody took it away
		}
		at, group := s.groupOf(a.group)
		one := StandingAdapter{Name: name, Switch: at, Group: group, Protocol: a.protocol}
		if h := s.hostOf(v.host); h != nil && r.switches[at] != nil {
			one.Degraded = !slices.ContainsFunc(r.switches[at].members[h.ref], func(nic string) bool { return h.rdma[nic] })
		}
		out.Adapters = append(out.Adapters, one)
	}
	return out
}

// Base is what the name of a port group has after that of its switch and a dash, as weft
// makes them; false: it is called otherwise.
func (s *StandingSwitch) Base(group string) (string, bool) {
	name := s.Path[strings.LastIndexByte(s.Path, '/')+1:]
	rest, ok := strings.CutPrefix(group, name+"-")
	return rest, ok && rest != ""
}
