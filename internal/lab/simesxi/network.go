//go:build unix

package simesxi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func aboutNetwork() []command {
	return []command{
		{words: "network nic list", source: reference + "; published documents of --formatter=xml", run: nicList},
		{words: "network nic stats get", options: map[string]string{"n": "nic-name"}, needed: "n", source: reference + "; intel/mfd-network-adapter, its tests", run: nicStats},
		{words: "network nic dcb status get", options: map[string]string{"n": "nic-name"}, needed: "n", source: reference + "; four lines that an operator quotes", run: dcbStatus},
		{words: "network nic pauseParams list", source: reference + "; published output of ESXi 8.0 Update 1a", run: pauseList},
		{words: "network nic pauseParams set", options: map[string]string{"n": "nic-name", "r": "rx", "t": "tx"}, needed: "n", changes: true, source: reference + "; what an operator quotes", run: pauseSet},
		{words: "rdma device list", source: reference + "; " + ciscoVIC, run: rdmaList},
		{words: "network vswitch standard list", source: reference + "; published output of --formatter=keyvalue", run: switchList},
		{words: "network vswitch standard add", options: map[string]string{"v": "vswitch-name"}, needed: "v", changes: true, source: reference, run: switchAdd},
		{words: "network vswitch standard remove", options: map[string]string{"v": "vswitch-name"}, needed: "v", changes: true, source: reference, run: switchRemove},
		{words: "network vswitch standard set", options: map[string]string{"v": "vswitch-name", "m": "mtu"}, needed: "vm", changes: true, source: reference, run: switchSet},
		{words: "network vswitch standard uplink add", options: map[string]string{"v": "vswitch-name", "u": "uplink-name"}, needed: "vu", changes: true, source: reference, run: uplinkAdd},
		{words: "network vswitch standard uplink remove", options: map[string]string{"v": "vswitch-name", "u": "uplink-name"}, needed: "vu", changes: true, source: reference, run: uplinkRemove},
		{words: "network vswitch standard portgroup list", source: reference + "; published output of --formatter=csv", run: groupList},
		{words: "network vswitch standard portgroup add", options: map[string]string{"p": "portgroup-name", "v": "vswitch-name"}, needed: "pv", changes: true, source: reference, run: groupAdd},
		{words: "network vswitch standard portgroup remove", options: map[string]string{"p": "portgroup-name", "v": "vswitch-name"}, needed: "pv", changes: true, source: reference, run: groupRemove},
		{words: "network vswitch standard portgroup set", options: map[string]string{"p": "portgroup-name", "v": "vlan-id"}, needed: "pv", changes: true, source: reference, run: groupSet},
		{words: "network vswitch standard portgroup policy failover get", options: map[string]string{"p": "portgroup-name"}, needed: "p", source: reference, run: failoverGet},
		{words: "network vswitch standard portgroup policy failover set", options: map[string]string{"p": "portgroup-name", "a": "active-uplinks", "s": "standby-uplinks"}, needed: "pa", changes: true,
			source: reference + "; intel/mfd-esxi, which takes uplinks that are not named to be unused", run: failoverSet},
		{words: "network ip interface list", source: reference + "; " + ciscoVIC, run: vmkList},
		{words: "network ip interface add", options: map[string]string{"i": "interface-name", "p": "portgroup-name", "m": "mtu", "N": "netstack"}, needed: "ip", changes: true, source: reference, run: vmkAdd},
		{words: "network ip interface remove", options: map[string]string{"i": "interface-name"}, needed: "i", changes: true, source: reference, run: vmkRemove},
		{words: "network ip interface set", options: map[string]string{"i": "interface-name", "m": "mtu"}, needed: "im", changes: true, source: reference, run: vmkSet},
		{words: "network ip interface ipv4 get", options: map[string]string{"N": "netstack"}, source: reference + "; without one, of the default stack", run: addressList},
		{words: "network ip interface ipv4 set", options: map[string]string{"i": "interface-name", "I": "ipv4", "N": "netmask", "t": "type"}, needed: "it", changes: true, source: reference, run: addressSet},
		{words: "vsan network list", source: reference + "; published output of VCF 9.0; VMware's plug-in of host profiles, for its fields", run: vsanList},
		{words: "vsan network ip add", options: map[string]string{"i": "interface-name", "T": "traffic-type"}, needed: "i", changes: true, source: reference + "; VMware's plug-in of host profiles", run: vsanAdd},
		{words: "vsan network ip remove", options: map[string]string{"i": "interface-name"}, needed: "i", changes: true, source: reference, run: vsanRemove},
		{words: "vsan cluster get", source: reference + "; public notes, for what a host in no cluster says", run: vsanCluster},
		{words: "network ip interface tag get", options: map[string]string{"i": "interface-name"}, needed: "i", source: reference, run: tagGet},
		{words: "network ip interface tag add", options: map[string]string{"i": "interface-name", "t": "tagname"}, needed: "it", changes: true, source: reference + "; " + nvmeGuide, run: tagAdd},
		{words: "network ip interface tag remove", options: map[string]string{"i": "interface-name", "t": "tagname"}, needed: "it", changes: true, source: reference, run: tagRemove},
	}
}

// mtuOf is that of the switch which a NIC belongs to.
func (h *Host) mtuOf(name string) int {
	for _, s := range h.now.switches {
		if slices.Contains(s.uplinks, name) {
			return s.mtu
		}
	}
	mtu := 1500
	for _, v := range h.now.vmks {
		if v.dvs != "" && v.nic == name {
			mtu = max(mtu, v.mtu) // of its distributed switch, as far as the host's own ports tell
		}
	}
	return mtu
}

func nicList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, n := range h.nics {
		driver := "nmlx5_core"
		if !n.RDMA {
			driver = "ixgben"
		}
		rows = append(rows, structure("Nic", "AdminStatus", "Up", "DPUId", "N/A", "Description", "SIMULATED NIC", "Driver", driver, "Duplex", "Full", "Link", "Up", "LinkStatus", "Up",
			"MACAddress", n.MAC, "MTU", h.mtuOf(n.name), "Name", n.name, "PCIDevice", n.PCI, "Speed", int(n.Speed/1e6)))
	}
	return list(rows...), nil
}

// rdma is the RDMA device on a NIC, by the order of such NICs; "": it has none.
func (h *Host) rdma(name string) string {
	i := 0
	for _, n := range h.nics {
		if n.RDMA {
			if n.name == name {
				return fmt.Sprintf("vmrdma%d", i)
			}
			i++
		}
	}
	return ""
}

func rdmaList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, n := range h.nics {
		if device := h.rdma(n.name); device != "" {
			size := "1024"
			if h.mtuOf(n.name) >= 4200 {
				size = "4096"
			}
			rows = append(rows, structure("RdmaDevice", "Description", "SIMULATED RDMA device", "Driver", "nmlx5_rdma", "MTU", size, "Name", device, "PairedUplink", n.name,
				"Speed", fmt.Sprintf("%d Gbps", n.Speed/1e9), "State", "Active"))
		}
	}
	return list(rows...), nil
}

func switchList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(h.now.switches)) {
		s := h.now.switches[name]
		var groups []string
		for _, g := range slices.Sorted(maps.Keys(h.now.groups)) {
			if h.now.groups[g].on == name {
				groups = append(groups, g)
			}
		}
		rows = append(rows, structure("VirtualSwitch", "BeaconEnabled", false, "BeaconInterval", 1, "CDPStatus", "listen", "Class", "cswitch", "ConfiguredPorts", 128, "MTU", s.mtu,
			"Name", name, "NumPorts", 2560, "Portgroups", groups, "Uplinks", s.uplinks, "UsedPorts", 1))
	}
	return list(rows...), nil
}

func (h *Host) vswitch(name string) (vswitch, error) {
	s, ok := h.now.switches[name]
	if !ok {
		return s, says("No such virtual switch: %s", name)
	}
	return s, nil
}

func switchAdd(h *Host, o map[string]string) (string, error) {
	if _, there := h.now.switches[o["v"]]; there {
		return "", says("A virtual switch named %s already exists", o["v"])
	}
	h.now.switches[o["v"]] = vswitch{mtu: 1500}
	return "", nil
}

func switchRemove(h *Host, o map[string]string) (string, error) {
	if _, err := h.vswitch(o["v"]); err != nil {
		return "", err
	}
	for _, v := range h.now.vmks {
		if h.now.groups[v.group].on == o["v"] {
			return "", says("Unable to remove virtual switch %s: it is in use", o["v"])
		}
	}
	maps.DeleteFunc(h.now.groups, func(_ string, g portgroup) bool { return g.on == o["v"] })
	delete(h.now.switches, o["v"])
	return "", nil
}

func switchSet(h *Host, o map[string]string) (string, error) {
	s, err := h.vswitch(o["v"])
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(o["m"])
	if err != nil || n < 1280 || n > 9000 {
		return "", says("Invalid MTU %s: it is from 1280 to 9000", o["m"])
	}
	s.mtu = n
	h.now.switches[o["v"]] = s
	return "", nil
}

func uplinkAdd(h *Host, o map[string]string) (string, error) {
	s, err := h.vswitch(o["v"])
	if err != nil {
		return "", err
	}
	if !slices.ContainsFunc(h.nics, func(n *nic) bool { return n.name == o["u"] }) {
		return "", says("No such uplink: %s", o["u"])
	}
	for name, other := range h.now.switches {
		if slices.Contains(other.uplinks, o["u"]) {
			return "", says("Uplink already exists: %s is one of %s", o["u"], name)
		}
	}
	s.uplinks = append(slices.Clone(s.uplinks), o["u"])
	h.now.switches[o["v"]] = s
	return "", nil
}

func uplinkRemove(h *Host, o map[string]string) (string, error) {
	s, err := h.vswitch(o["v"])
	i := slices.Index(s.uplinks, o["u"])
	if err != nil || i < 0 {
		return "", says("No such uplink: %s", o["u"])
	}
	s.uplinks = slices.Delete(slices.Clone(s.uplinks), i, i+1)
	h.now.switches[o["v"]] = s
	return "", nil
}

func groupList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(h.now.groups)) {
		g, clients := h.now.groups[name], 0
		for _, v := range h.now.vmks {
			if v.group == name {
				clients++
			}
		}
		rows = append(rows, structure("PortGroup", "ActiveClients", clients, "Name", name, "VLANID", g.vlan, "VirtualSwitch", g.on))
	}
	return list(rows...), nil
}

func (h *Host) portgroup(name string) (portgroup, error) {
	g, ok := h.now.groups[name]
	if !ok {
		return g, says("No such portgroup: %s", name)
	}
	return g, nil
}

func groupAdd(h *Host, o map[string]string) (string, error) {
	if _, there := h.now.groups[o["p"]]; there {
		return "", says("A portgroup with the name %s already exists", o["p"])
	}
	if _, err := h.vswitch(o["v"]); err != nil {
		return "", err
	}
	h.now.groups[o["p"]] = portgroup{on: o["v"]}
	return "", nil
}

func groupRemove(h *Host, o map[string]string) (string, error) {
	g, err := h.portgroup(o["p"])
	if err != nil || g.on != o["v"] {
		return "", says("No such portgroup: %s", o["p"])
	}
	for name, v := range h.now.vmks {
		if v.group == o["p"] {
			return "", says("Unable to remove portgroup %s: %s is on it", o["p"], name)
		}
	}
	delete(h.now.groups, o["p"])
	return "", nil
}

func groupSet(h *Host, o map[string]string) (string, error) {
	g, err := h.portgroup(o["p"])
	n, bad := strconv.Atoi(o["v"])
	if err == nil && (bad != nil || n < 0 || n > 4095) {
		err = says("Invalid VLAN %s", o["v"])
	}
	if err != nil {
		return "", err
	}
	g.vlan = n
	h.now.groups[o["p"]] = g
	return "", nil
}

func failoverGet(h *Host, o map[string]string) (string, error) {
	g, err := h.portgroup(o["p"])
	if err != nil {
		return "", err
	}
	active, unused := h.now.switches[g.on].uplinks, []string{}
	if g.override {
		active = g.active
		for _, u := range h.now.switches[g.on].uplinks {
			if !slices.Contains(g.active, u) && !slices.Contains(g.stands, u) {
				unused = append(unused, u)
			}
		}
	}
	return structure("PortGroupFailoverPolicy", "ActiveAdapters", active, "Failback", true, "LoadBalancing", "srcport", "NetworkFailureDetection", "link", "NotifySwitches", true,
		"StandbyAdapters", g.stands, "UnusedAdapters", unused), nil
}

func uplinks(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func failoverSet(h *Host, o map[string]string) (string, error) {
	g, err := h.portgroup(o["p"])
	if err != nil {
		return "", err
	}
	g.active, g.stands, g.override = uplinks(o["a"]), uplinks(o["s"]), true
	for _, u := range slices.Concat(g.active, g.stands) {
		if !slices.Contains(h.now.switches[g.on].uplinks, u) {
			return "", says("Invalid uplink %s: it is none of %s", u, g.on)
		}
	}
	h.now.groups[o["p"]] = g
	return "", nil
}
