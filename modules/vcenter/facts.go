package vcenter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"weft/internal/slice"
)

// Facts are what vCenter says of itself, and of its hosts.
type Facts struct {
	System string      `json:"system"` // product, release and build
	Serial string      `json:"serial"` // its instance UUID
	Hosts  []HostFacts `json:"hosts"`

	// Warnings are what speaks against weft's keeping what is declared.
	Warnings []string `json:"warnings,omitempty"`
}

// HostFacts are what vCenter says of a host.
type HostFacts struct {
	Name    string      `json:"name"`
	Release string      `json:"release"` // of ESXi
	NICs    []NICFacts  `json:"nics"`
	Ports   []PortFacts `json:"ports,omitempty"`
}

// NICFacts are what vCenter says of a NIC.
type NICFacts struct {
	Name   string `json:"name"`
	PCI    string `json:"pci"`
	RDMA   bool   `json:"rdma"`             // an RDMA device runs on it
	Uplink string `json:"uplink,omitempty"` // the switch whose uplink it is
}

// PortFacts are what vCenter says of a port of the VMkernel.
type PortFacts struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	MTU     int    `json:"mtu,omitempty"`
}

// Facts opens vCenter and asks.
func (d *Device) Facts(ctx context.Context) (*Facts, error) {
	who, err := d.Open(ctx)
	if err != nil {
		return nil, err
	}
	f := &Facts{System: who.System, Serial: who.Serial, Warnings: who.Warnings}
	for _, key := range sorted(d.have.hosts) {
		h := d.have.hosts[key]
		hf := HostFacts{Name: h.name, Release: h.release}
		for pci, name := range h.nics {
			hf.NICs = append(hf.NICs, NICFacts{Name: name, PCI: pci, RDMA: h.rdma[name], Uplink: d.have.uplinkOf(h, name)})
		}
		slices.SortFunc(hf.NICs, func(a, b NICFacts) int { return cmp.Or(len(a.Name)-len(b.Name), cmp.Compare(a.Name, b.Name)) })
		for _, name := range sorted(h.ports) {
			p := PortFacts{Name: name, MTU: h.ports[name].mtu}
			if a := h.ports[name].address; a.IsValid() {
				p.Address = a.String()
			}
			hf.Ports = append(hf.Ports, p)
		}
		f.Hosts = append(f.Hosts, hf)
	}
	return f, nil
}

// uplinkOf is the switch whose uplink a NIC is: the path of a distributed one, the name of
// another; "": of none.
func (r *reading) uplinkOf(h *host, nic string) string {
	for _, path := range sorted(r.switches) {
		if slices.Contains(r.switches[path].members[h.ref], nic) {
			return path
		}
	}
	return h.taken[nic]
}

// Health is how what weft keeps in vCenter is.
type Health struct {
	VSAN     []VSANState
	Silent   error // why vSAN is not told; nil: it is
	Members  []MemberState
	Profiled []string // hosts with a host profile that may own what weft sets, and whose
	Blind    error    // why that is not told; nil: it is
}

// A MemberState is whether a host is a member of a distributed switch with its uplink.
type MemberState struct {
	Switch, Host string
	Told         bool   // vCenter says what the host has
	Wrong        string // why it is none; "": it is
}

// Health opens vCenter and asks.
func (d *Device) Health(ctx context.Context) (*Health, error) {
	if _, err := d.Open(ctx); err != nil {
		return nil, err
	}
	h := &Health{}
	h.Members = slice.Map(d.members, func(m *Member) MemberState { return m.state(d.have) })
	h.VSAN, h.Silent = d.VSAN(ctx)
	h.Profiled, h.Blind = d.profiled(ctx)
	return h, nil
}

// state is whether a host is a member with its uplink.
func (w *Member) state(have *reading) MemberState {
	h, at := have.hosts[strings.ToLower(w.Host)], have.switches[w.Switch]
	s := MemberState{Switch: w.Switch, Host: w.Host, Told: h == nil || len(h.nics) > 0}
	switch {
	case h == nil:
		s.Wrong = "vCenter has no such host"
		return s
	case at == nil:
		s.Wrong = "there is no such switch"
		return s
	}
	nic := h.nics[strings.ToLower(w.PCI)]
	nics, member := at.members[h.ref]
	switch {
	case nic == "":
		s.Wrong = "it has no NIC at PCI address " + w.PCI
	case !member:
		s.Wrong = "it is no member"
	case !slices.Equal(nics, []string{nic}):
		s.Wrong = fmt.Sprintf("its uplink is %s, not %s (%s)", cmp.Or(strings.Join(nics, ", "), "no NIC"), nic, w.PCI)
	}
	return s
}
