package windows

import (
	"slices"
	"strconv"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// versionsLook sees the versions of drivers.
func versionsLook() remote.Look { return query("Name DriverVersion", "Get-NetAdapter", "-Physical") }

// marksOf are the priorities of the policies in force, by port of NetworkDirect; nil: they
// could not be read.
func marksOf(s remote.Seen) map[int]int {
	type policy struct{ NetDirectPort, PriorityValue int }
	list, err := rows[policy](s, activePoliciesLook())
	if err != nil {
		return nil
	}
	marks := map[int]int{}
	for _, p := range list {
		if p.NetDirectPort != 0 {
			marks[p.NetDirectPort] = p.PriorityValue
		}
	}
	return marks
}

// directOf reads what RDMA of a NIC is set to, and what has taken the NIC.
func directOf(s remote.Seen, x *host.NICHealth) {
	d := &host.Direct{}
	x.Direct = d
	type version struct{ Name, DriverVersion string }
	if list, err := rows[version](s, versionsLook()); err == nil {
		if i := slices.IndexFunc(list, func(v version) bool { return v.Name == x.Interface }); i >= 0 {
			d.Version = list[i].DriverVersion
		}
	}
	if list, err := rows[operational](s, operationalLook()); err == nil {
		i := slices.IndexFunc(list, func(o operational) bool { return o.Name == x.Interface })
		on := i >= 0 && list[i].Enabled
		d.Bridging = &on
	}
	all, err := readAdapters(s)
	if i := slices.IndexFunc(all, func(a adapter) bool { return a.Interface == x.Interface }); err == nil && i >= 0 {
		d.Taken = &all[i].taken
		if list, err := rows[struct{ NetworkDirect string }](s, offloadsLook()); err == nil && len(list) == 1 {
			on := all[i].on && list[0].NetworkDirect == "Enabled"
			d.On = &on
		} else {
			x.Silent["rdma"] = "Get-NetOffloadGlobalSetting does not tell whether RDMA is on for the host"
		}
	}
	set, err := driverOf(s, x.Interface)
	if err != nil {
		x.Silent["technology"], x.Silent["vlan"] = err.Error(), err.Error()
		return
	}
	d.Technology = set[kwTechnology]
	if n, err := strconv.Atoi(set[kwVLAN]); err == nil {
		d.VLAN = &n
	}
}

// driverOf are the settings of a driver that have one value, by keyword.
func driverOf(s remote.Seen, name string) (map[string]string, error) {
	type set struct {
		Name, RegistryKeyword string
		RegistryValue         powershell.List
	}
	list, err := rows[set](s, driversLook())
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, d := range list {
		if words := texts(d.RegistryValue); d.Name == name && len(words) == 1 {
			out[d.RegistryKeyword] = words[0]
		}
	}
	return out, nil
}
