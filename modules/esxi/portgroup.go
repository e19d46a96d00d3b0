package esxi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// A PortGroup is one of a standard switch, whose traffic leaves by one NIC.
type PortGroup struct {
	Name, VSwitch   string
	VLAN            int
	PCI             string   // of the NIC that is its only active uplink
	Active, Standby []string // observed; nil: the NIC, and none

	nic string // observed
}

// PortGroupKind is the kind portgroup.
func PortGroupKind() *host.Kind[PortGroup] {
	return &host.Kind[PortGroup]{
		Name: "portgroup", Risky: true,
		Looks: (*PortGroup).Looks, Parse: (*PortGroup).Parse, Diff: (*PortGroup).Diff, Steps: (*PortGroup).Steps,
	}
}

func groupsLook() remote.Look {
	return ask("network", "vswitch", "standard", "portgroup", "list")
}

func (p *PortGroup) teamLook() remote.Look {
	return ask("network", "vswitch", "standard", "portgroup", "policy", "failover", "get", "-p", p.Name)
}

func (p *PortGroup) Looks() []remote.Look {
	return []remote.Look{groupsLook(), p.teamLook(), nicsLook(), rdmaLook()}
}

func (p *PortGroup) Parse(s remote.Seen) (*PortGroup, error) {
	var err error
	for _, n := range readNICs(s, &err) {
		if n.PCI == p.PCI {
			p.nic = n.Interface
		}
	}
	var have *PortGroup
	for _, r := range table(s, groupsLook(), &err) {
		if r.text("Name") != p.Name {
			continue
		}
		if on := r.text("VirtualSwitch"); on != p.VSwitch {
			fail(&err, "there is a port group %s already, on %s: weft moves none", p.Name, on)
		}
		have = &PortGroup{Name: p.Name, VSwitch: p.VSwitch, VLAN: r.number("VLANID"), PCI: p.PCI, nic: p.nic}
	}
	if p.nic == "" {
		fail(&err, "the host has no NIC at PCI address %s: esxcli network nic list", p.PCI)
	}
	if err != nil || have == nil {
		return nil, err
	}
	team := one(s, p.teamLook(), &err)
	have.Active, have.Standby = append([]string{}, team.list("ActiveAdapters")...), append([]string{}, team.list("StandbyAdapters")...)
	if err != nil {
		return nil, err
	}
	return have, nil
}

func groupNIC(want, have *PortGroup) string {
	w, h := host.Some(want), host.Some(have)
	return cmp.Or(w.nic, h.nic, nicName(cmp.Or(w.PCI, h.PCI)))
}

func (p *PortGroup) active(nic string) []string {
	if p.Active != nil {
		return p.Active
	}
	return []string{nic}
}

func (p *PortGroup) Diff(have *PortGroup) []plan.Change {
	nic := groupNIC(p, have)
	switch {
	case p == nil:
		return []plan.Change{{Path: "present", Before: "true", After: "false", Impact: plan.ImpactTraffic}}
	case have == nil:
		return []plan.Change{{Path: "present", Before: "false", After: "true"}, {Path: "vlan", After: fmt.Sprint(p.VLAN)}, {Path: "active", After: strings.Join(p.active(nic), ", ")}}
	}
	return slices.Concat(plan.Changed("vlan", have.VLAN, p.VLAN, plan.ImpactTraffic),
		plan.Changed("active", strings.Join(have.active(nic), ", "), strings.Join(p.active(nic), ", "), plan.ImpactTraffic),
		plan.Changed("standby", strings.Join(have.Standby, ", "), strings.Join(p.Standby, ", "), plan.ImpactTraffic))
}

// Steps: uplinks that are named neither as active nor as standby are not used.
func (p *PortGroup) Steps(have *PortGroup) (steps []remote.Step) {
	group := []string{"esxcli", "network", "vswitch", "standard", "portgroup"}
	do := func(words ...string) { steps = append(steps, host.Run(slices.Concat(group, words)...)) }
	switch {
	case p == nil:
		do("remove", "-p", have.Name, "-v", have.VSwitch)
		return steps
	case have == nil:
		do("add", "-p", p.Name, "-v", p.VSwitch)
		have = &PortGroup{PCI: p.PCI, Active: []string{}}
	}
	nic := groupNIC(p, have)
	if p.VLAN != have.VLAN {
		do("set", "-p", p.Name, "-v", fmt.Sprint(p.VLAN))
	}
	wants := p.active(nic)
	if slices.Equal(wants, have.active(nic)) && slices.Equal(p.Standby, have.Standby) {
		return steps
	}
	names := slices.Clone(wants)
	if len(names) == 1 && names[0] == nic {
		names[0] = nicName(cmp.Or(p.PCI, have.PCI))
	}
	words := []string{"policy", "failover", "set", "-p", p.Name, "-a", strings.Join(names, ",")}
	if len(p.Standby)+len(have.Standby) > 0 {
		words = append(words, "-s", strings.Join(p.Standby, ","))
	}
	do(words...)
	return steps
}
