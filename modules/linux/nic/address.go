package nic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// Address keeps one IP address on the network interface of one NIC port, and
// the interface up. Addresses it did not declare are left alone.
type Address struct {
	PCI       string // address of the NIC port: 0000:41:00.0
	Interface string `json:"-"` // observed: the name it has today
	CIDR      netip.Prefix
	Present   bool // the interface carries the address
	Up        bool // the interface is administratively up

	ours []netip.Prefix // the same address as weft itself set it before
}

// AddressKind is the kind address.
func AddressKind() *host.Kind[Address] {
	return &host.Kind[Address]{
		Name: "address", Risky: true, Part: addressPart,
		Looks: (*Address).Looks, Parse: (*Address).Parse, Diff: (*Address).Diff, Steps: (*Address).Steps, Absent: (*Address).absent,
		About: (*Address).About, Boot: (*Address).Boot, Self: (*Address).Self,
		All:     (*Address).All,
		Special: host.Special[Address]{Inherit: (*Address).inherit, First: (*Address).first, Stay: (*Address).stay},
	}
}

func (a *Address) look() remote.Look {
	return remote.Look{PCI: a.PCI, Args: []string{"ip", "-j", "addr", "show", "dev", "{if}"}}
}

func (a *Address) Looks() []remote.Look { return []remote.Look{a.look()} }

func (a *Address) Parse(s remote.Seen) (*Address, error) {
	name, out, err := see.OutputOn(s, a.PCI, a.look())
	if err != nil {
		return nil, err
	}
	var links []struct {
		Flags []string `json:"flags"`
		Addrs []struct {
			Local netip.Addr `json:"local"`
			Bits  int        `json:"prefixlen"`
		} `json:"addr_info"`
	}
	if err := see.JSON(out, &links); err != nil {
		return nil, fmt.Errorf("ip -j addr show dev %s: %w", name, err)
	}
	have := &Address{PCI: a.PCI, Interface: name, CIDR: a.CIDR}
	for _, l := range links {
		for _, f := range l.Flags {
			have.Up = have.Up || f == "UP"
		}
		for _, x := range l.Addrs {
			switch {
			case x.Local != a.CIDR.Addr():
			case x.Bits == a.CIDR.Bits():
				have.Present = true
			case !slices.Contains(a.ours, netip.PrefixFrom(x.Local, x.Bits)): // else it is taken off as well
				return nil, fmt.Errorf("%s carries %s/%d: take it off, or declare that prefix length", name, x.Local, x.Bits)
			}
		}
	}
	return have, nil
}

// inherit: what was found there stays another's decision.
func (a *Address) inherit(entries []plan.Entry) {
	a.ours = nil
	for _, e := range entries {
		var was Address
		if e.Kind != "address" || e.State == plan.EntryAdopted || json.Unmarshal(e.Applied, &was) != nil {
			continue
		}
		if was.PCI == a.PCI && was.Present && was.CIDR.Addr() == a.CIDR.Addr() {
			a.ours = append(a.ours, was.CIDR)
		}
	}
}

// first: where weft brought the interface up for another
// address, it was down.
func (a *Address) first(have *Address, entries []plan.Entry) *Address {
	first := *have
	for _, e := range entries {
		var was Address
		if e.Kind != "address" || e.State == plan.EntryAdopted || e.Former == nil || json.Unmarshal(e.Former, &was) != nil {
			continue
		}
		first.Up = first.Up && (was.PCI != a.PCI || was.Up)
	}
	return &first
}

// stay: an interface that another address is declared on stays
// up.
func (a *Address) stay(t *host.Things) {
	for other := range t.Of("address") {
		if other != a.About() && strings.HasPrefix(other, a.PCI+",") {
			a.Up = true
		}
	}
}

// absent is the interface without the address, up or down as it is.
func (a *Address) absent() *Address {
	return &Address{PCI: a.PCI, Interface: a.Interface, CIDR: a.CIDR, Up: a.Up}
}

func (a *Address) Diff(have *Address) []plan.Change {
	var out []plan.Change
	if have.Present != a.Present {
		c := plan.Change{Path: "address", After: a.CIDR.String(), Impact: plan.ImpactTraffic}
		if have.Present {
			c.Before, c.After = c.After, c.Before
		}
		out = append(out, c)
	}
	return append(out, plan.Changed("up", have.Up, a.Up, plan.ImpactLinkFlap)...)
}

func (a *Address) Steps(have *Address) []remote.Step {
	name := cmp.Or(a.Interface, have.Interface)
	var steps []remote.Step
	if a.Present != have.Present {
		verb := map[bool]string{true: "add", false: "del"}[a.Present]
		steps = append(steps, host.Run("ip", "addr", verb, a.CIDR.String(), "dev", name))
	}
	if a.Up != have.Up {
		steps = append(steps, host.Run("ip", "link", "set", "dev", name, map[bool]string{true: "up", false: "down"}[a.Up]))
	}
	return steps
}

func (a *Address) About() string { return a.PCI + "," + a.CIDR.String() }

func (a *Address) Boot() []string {
	var lines []string
	if a.Present {
		lines = append(lines, onNIC(a.PCI, []string{"ip", "addr", "replace", a.CIDR.String(), "dev"}, nil))
	}
	if a.Up {
		lines = append(lines, onNIC(a.PCI, []string{"ip", "link", "set", "dev"}, []string{"up"}))
	}
	return lines
}

func (a *Address) Self(s remote.Seen) []host.Object { return []host.Object{a.object(s, a.CIDR)} }

func (a *Address) object(s remote.Seen, cidr netip.Prefix) host.Object {
	name, err := see.Netdev(s, a.PCI)
	if err != nil {
		name = a.PCI
	}
	return host.Object{Kind: "address", Name: name + " " + cidr.String()}
}

// All: the kernel gives every interface an address of
// the link's: those are nobody's.
func (a *Address) All(s remote.Seen) (list []host.Object) {
	var links []struct {
		Addrs []struct {
			Local netip.Addr `json:"local"`
			Bits  int        `json:"prefixlen"`
		} `json:"addr_info"`
	}
	if json.Unmarshal(s.Of(a.look()).Content, &links) != nil {
		return nil
	}
	for _, l := range links {
		for _, x := range l.Addrs {
			if !x.Local.IsLinkLocalUnicast() {
				list = append(list, a.object(s, netip.PrefixFrom(x.Local, x.Bits)))
			}
		}
	}
	return list
}

// addressPart: the address of a NIC stands in its rnic block.
func addressPart(path string) (nic string, ok bool) {
	nic, rnic := strings.CutPrefix(path, "rnic.")
	nic, address := strings.CutSuffix(nic, ".address")
	return nic, rnic && address
}
