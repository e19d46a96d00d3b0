//go:build unix

package simserver

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// An rdmaDevice is one RDMA device with one port.
type rdmaDevice struct {
	name   string
	module string // that brings it
	netdev string
	pci    string // "": in software
	rnic   bool   // iWARP
	ib     bool
	subnet subnetState // of InfiniBand
	up     bool
	index  int // of the network interface

	firmware string // of the card
}

// rdmaModule is the module that the RDMA device of a card comes from; "": it
// has none.
func (i *iface) rdmaModule() string {
	if i.virtual() {
		return ""
	}
	return map[string]string{"mlx5_core": "mlx5_ib", "cxgb4": "iw_cxgb4"}[i.kind().driver]
}

// rdmaModules are the modules that the cards' RDMA devices come from; udev
// loads them, and what they need, at boot. The caller holds s.mu.
func (s *Server) rdmaModules() []string {
	var list []string
	for _, i := range s.ifaces {
		if module := i.rdmaModule(); module != "" {
			list = append(list, module, "ib_core", "rdma_cm")
		}
	}
	return list
}

// rdmaDevices are the devices of all modules that are loaded.
func (s *Server) rdmaDevices() []rdmaDevice {
	s.mu.RLock()
	defer s.mu.RUnlock()
	gone := func(d rdmaDevice) bool { return s.software.modules[d.module] == nil }
	if slices.ContainsFunc(s.softRDMA, gone) {
		s.mu.RUnlock()
		s.mu.Lock()
		s.softRDMA = slices.DeleteFunc(s.softRDMA, gone)
		s.mu.Unlock()
		s.mu.RLock()
	}
	var list []rdmaDevice
	for _, i := range s.ifaces {
		module := i.rdmaModule()
		if c := i.kind(); s.software.modules[module] != nil {
			list = append(list, rdmaDevice{name: rdmaName(c.rdma, i.PCI), module: module, netdev: i.Name, pci: i.PCI, firmware: c.firmware,
				rnic: c.rdma == "iw", ib: c.rdma == "ib", subnet: i.subnet(), up: i.up, index: i.index})
		}
		for _, d := range s.softRDMA {
			if d.netdev == i.Name {
				d.up, d.index = i.up, i.index
				list = append(list, d)
			}
		}
	}
	return list
}

// renderSoftRDMA shows the devices in software in /sys; those of cards stand
// in the folders of these.
func (s *Server) renderSoftRDMA(r rendered) {
	r.dir("/sys/class/infiniband")
	for _, d := range s.rdmaDevices() {
		if d.pci != "" {
			continue
		}
		base := "/sys/devices/virtual/infiniband/" + d.name
		r.link("/sys/class/infiniband/"+d.name, "../.."+strings.TrimPrefix(base, "/sys"))
		kind, state, phys := "1: CA", "1: DOWN", "3: Disabled"
		if d.rnic {
			kind = "4: RNIC"
		}
		if d.up {
			state, phys = "4: ACTIVE", "5: LinkUp"
		}
		for file, value := range map[string]string{
			"node_type": kind, "ports/1/state": state, "ports/1/phys_state": phys, "ports/1/link_layer": "Ethernet",
			"ports/1/gid_attrs/ndevs/0": d.netdev,
		} {
			r.file(base+"/"+file, value)
		}
	}
}

// rdma is a part of iproute2's rdma, as of iproute2 6.1: link show, add and
// delete, dev show, and who uses a device.
func rdma(x *call) int {
	args, asJSON := x.args, false
	for len(args) > 0 && (args[0] == "-j" || args[0] == "--json") {
		args, asJSON = args[1:], true
	}
	switch {
	case len(args) == 2 && args[0] == "link" && args[1] == "show":
		return x.showRDMA(asJSON, linkOf)
	case len(args) == 2 && args[0] == "dev" && args[1] == "show":
		return x.showRDMA(asJSON, devOf)
	case len(args) == 7 && args[0] == "link" && args[1] == "add" && args[3] == "type" && args[5] == "netdev":
		return x.addRDMA(args[2], args[4], args[6])
	case len(args) == 3 && args[0] == "link" && (args[1] == "delete" || args[1] == "del"):
		return x.deleteRDMA(args[2])
	case !asJSON && len(args) == 5 && strings.Join(args[:4], " ") == "resource show pd dev":
		return x.showDomains(args[4])
	case !asJSON && len(args) == 7 && strings.Join(args[:4], " ") == "resource show cm_id link" && args[5] == "state" && args[6] == "LISTEN":
		device, one := strings.CutSuffix(args[4], "/1")
		if !one {
			return x.notSimulated(1)
		}
		return x.showListeners(device)
	case !asJSON && strings.Join(args, " ") == "resource show cm_id":
		for _, d := range x.server.rdmaDevices() {
			if rc := x.showListeners(d.name); rc != 0 {
				return rc
			}
		}
		return 0
	}
	return x.notSimulated(1)
}

// showRDMA prints all devices: what about is in JSON and in a line.
func (x *call) showRDMA(asJSON bool, about func(n int, d rdmaDevice) (any, string)) int {
	list := []any{}
	var text strings.Builder
	for n, d := range x.server.rdmaDevices() {
		object, line := about(n, d)
		list = append(list, object)
		text.WriteString(line + "\n")
	}
	if !asJSON {
		fmt.Fprint(x.stdout, text.String())
		return 0
	}
	out, err := json.Marshal(list)
	if err != nil {
		return x.errorf("%v", err)
	}
	fmt.Fprintf(x.stdout, "%s\n", out)
	return 0
}

func linkOf(n int, d rdmaDevice) (any, string) {
	state, phys := "DOWN", "DISABLED"
	if d.up {
		state, phys = "ACTIVE", "LINK_UP"
	}
	if d.ib {
		type ib struct {
			Index    int    `json:"ifindex"`
			Name     string `json:"ifname"`
			Port     int    `json:"port"`
			Subnet   string `json:"subnet_prefix"`
			LID      int    `json:"lid"`
			Manager  int    `json:"sm_lid"`
			LMC      int    `json:"lmc"`
			State    string `json:"state"`
			Physical string `json:"physical_state"`
		}
		l := ib{n, d.name, 1, subnetPrefix, d.subnet.lid, d.subnet.manager, 0, d.subnet.state, "LINK_UP"}
		return l, fmt.Sprintf("link %s/1 subnet_prefix %s lid %d sm_lid %d lmc 0 state %s physical_state %s ", l.Name, l.Subnet, l.LID, l.Manager, l.State, l.Physical)
	}
	type link struct {
		Index    int    `json:"ifindex"`
		Name     string `json:"ifname"`
		Port     int    `json:"port"`
		State    string `json:"state"`
		Physical string `json:"physical_state"`
		Netdev   string `json:"netdev"`
		At       int    `json:"netdev_index"`
	}
	return link{n, d.name, 1, state, phys, d.netdev, d.index},
		fmt.Sprintf("link %s/1 state %s physical_state %s netdev %s ", d.name, state, phys, d.netdev)
}

func devOf(n int, d rdmaDevice) (any, string) {
	type dev struct {
		Index int    `json:"ifindex"`
		Name  string `json:"ifname"`
		Type  string `json:"node_type"`
		FW    string `json:"fw,omitempty"`
		GUID  string `json:"node_guid"`
		Image string `json:"sys_image_guid"`
	}
	sum := sha256.Sum256([]byte("guid " + d.netdev + d.name))
	guid := fmt.Sprintf("%02x%02x:%02x%02x:%02x%02x:%02x%02x", sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6], sum[7])
	v := dev{Index: n, Name: d.name, Type: "ca", GUID: guid, Image: guid}
	if d.rnic {
		v.Type = "rnic"
	}
	fw := ""
	if d.pci != "" {
		v.FW, fw = d.firmware, "fw "+d.firmware+" "
	}
	return v, fmt.Sprintf("%d: %s: node_type %s %snode_guid %s sys_image_guid %s ", n, d.name, v.Type, fw, guid, guid)
}

// addRDMA makes a device in software. The kernel loads its module by itself.
func (x *call) addRDMA(name, kind, netdev string) int {
	module := map[string]string{"rxe": "rdma_rxe", "siw": "siw"}[kind]
	i, ok := x.server.iface(netdev)
	switch {
	case module == "":
		return x.refuseRDMA("Invalid argument")
	case !ok || i.virtual():
		return x.refuseRDMA("No such device")
	case !x.user.root:
		return x.refuseRDMA("Operation not permitted")
	}
	for _, d := range x.server.rdmaDevices() {
		if d.name == name || d.netdev == netdev && d.module == module {
			return x.refuseRDMA("File exists")
		}
	}
	if err := x.server.loadModule(module); err != nil {
		return x.refuseRDMA("Invalid argument")
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.softRDMA = append(s.softRDMA, rdmaDevice{name: name, module: module, netdev: netdev, rnic: kind == "siw"})
	return 0
}

func (x *call) deleteRDMA(name string) int {
	for _, d := range x.server.rdmaDevices() {
		switch {
		case d.name != name:
			continue
		case !x.user.root:
			return x.refuseRDMA("Operation not permitted")
		case d.pci != "":
			return x.refuseRDMA("Operation not supported")
		}
		s := x.server
		s.mu.Lock()
		defer s.mu.Unlock()
		s.softRDMA = slices.DeleteFunc(s.softRDMA, func(d rdmaDevice) bool { return d.name == name })
		if cm := s.cm[name]; cm != nil { // its directory stays, for one of the same name
			*cm = cmDevice{shown: cm.shown, mode: "RoCE v2"}
		}
		return 0
	}
	return x.fail(1, "Wrong device name")
}

func (x *call) refuseRDMA(why string) int {
	return x.fail(1, "error: %s", why)
}
