package esxi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// A VSwitch is a standard switch of the host with one uplink.
type VSwitch struct {
	Name    string
	PCI     string // of the NIC that is its only uplink
	MTU     int
	Uplinks []string // observed; nil: the NIC

	nic   string   // observed: what the NIC is called today
	hosts []string // observed: port groups of others
}

// VSwitchKind is the kind vswitch.
func VSwitchKind() *host.Kind[VSwitch] {
	return &host.Kind[VSwitch]{
		Name: "vswitch", Risky: true,
		Looks: (*VSwitch).Looks, Parse: (*VSwitch).Parse, Diff: (*VSwitch).Diff, Steps: (*VSwitch).Steps, Keeps: (*VSwitch).Keeps, NIC: func(v *VSwitch) string { return v.PCI },
	}
}

func switchesLook() remote.Look { return ask("network", "vswitch", "standard", "list") }

func (v *VSwitch) Looks() []remote.Look {
	return []remote.Look{switchesLook(), nicsLook(), rdmaLook(), adaptersLook()}
}

// Parse refuses what would take something from others: a switch that has more uplinks,
// and a NIC that is one of another switch.
func (v *VSwitch) Parse(s remote.Seen) (*VSwitch, error) {
	d, err := readDevices(s)
	if err != nil {
		return nil, err
	}
	n, err := d.nic(v.PCI)
	if err != nil {
		return nil, err
	}
	v.nic = n.Interface
	var have *VSwitch
	for _, r := range table(s, switchesLook(), &err) {
		name, uplinks := r.text("Name"), r.list("Uplinks")
		switch {
		case name == v.Name:
			groups := slices.DeleteFunc(r.list("Portgroups"), func(g string) bool { return g == name })
			have = &VSwitch{hosts: groups, Name: name, PCI: v.PCI, MTU: r.number("MTU"), Uplinks: append([]string{}, uplinks...), nic: v.nic}
		case slices.Contains(uplinks, v.nic):
			fail(&err, "%s (%s) is an uplink of %s already: weft takes no NIC away from a switch", v.nic, v.PCI, name)
		}
	}
	if err != nil || have == nil {
		return nil, err
	}
	if more := slices.DeleteFunc(slices.Clone(have.Uplinks), func(u string) bool { return u == v.nic }); len(more) > 0 && v.Uplinks == nil {
		return nil, hint.Wrap(fmt.Errorf("%s has other uplinks, %s, and RDMA wants one only", v.Name, strings.Join(more, ", ")), "declare a vswitch of another name; weft takes no uplink away")
	}
	return have, nil
}

// Keeps: what others have put on the switch is theirs.
func (v *VSwitch) Keeps() string {
	if len(v.hosts) > 0 {
		return "it has port groups that weft did not make: " + strings.Join(v.hosts, ", ")
	}
	return ""
}

// uplinks are those that it is to have, where the NIC is called so.
func (v *VSwitch) uplinks(nic string) []string {
	if v == nil {
		return nil
	}
	if v.Uplinks != nil {
		return v.Uplinks
	}
	return []string{nic}
}

// called is the NIC's name in steps.
func called(want, have *VSwitch) string {
	w, h := host.Some(want), host.Some(have)
	return cmp.Or(w.nic, h.nic, nicName(cmp.Or(w.PCI, h.PCI)))
}

func (v *VSwitch) Diff(have *VSwitch) []plan.Change {
	nic := called(v, have)
	switch {
	case v == nil:
		return []plan.Change{{Path: "present", Before: "true", After: "false", Impact: plan.ImpactTraffic}}
	case have == nil:
		return []plan.Change{{Path: "present", Before: "false", After: "true"}, {Path: "mtu", After: fmt.Sprint(v.MTU)}, {Path: "uplinks", After: strings.Join(v.uplinks(nic), ", ")}}
	}
	list := append(plan.Changed("mtu", have.MTU, v.MTU, plan.ImpactLinkFlap),
		plan.Changed("uplinks", strings.Join(have.uplinks(nic), ", "), strings.Join(v.uplinks(nic), ", "), plan.ImpactTraffic)...)
	if len(have.uplinks(nic)) == 0 { // nothing runs over it: it may be one that was begun and not finished
		for i := range list {
			list[i].Before, list[i].Impact = "", plan.ImpactNone
		}
	}
	return list
}

// Steps name the NIC by its address: its name is asked for when they are taken. The NIC
// comes last: what was begun until then disturbs nobody, and can be gone on with.
func (v *VSwitch) Steps(have *VSwitch) (steps []remote.Step) {
	std := []string{"esxcli", "network", "vswitch", "standard"}
	do := func(words ...string) { steps = append(steps, host.Run(slices.Concat(std, words)...)) }
	switch {
	case v == nil:
		do("remove", "-v", have.Name)
		return steps
	case have == nil:
		do("add", "-v", v.Name)
		have = &VSwitch{Name: v.Name, PCI: v.PCI, Uplinks: []string{}}
	}
	nic := called(v, have)
	by := func(name string) string {
		if name == nic {
			return nicName(cmp.Or(v.PCI, have.PCI))
		}
		return name
	}
	wants, has := v.uplinks(nic), have.uplinks(nic)
	for _, u := range has {
		if !slices.Contains(wants, u) {
			do("uplink", "remove", "-u", by(u), "-v", v.Name)
		}
	}
	if v.MTU != have.MTU {
		do("set", "-v", v.Name, "-m", fmt.Sprint(v.MTU))
	}
	for _, u := range wants {
		if !slices.Contains(has, u) {
			do("uplink", "add", "-u", by(u), "-v", v.Name)
		}
	}
	return steps
}
