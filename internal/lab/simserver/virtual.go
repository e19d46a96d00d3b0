//go:build unix

package simserver

import (
	"fmt"
	"strings"
)

// Virtual gives every RDMA card of the server a virtual function whose traffic its switch
// forwards (switchdev), or takes them away again.
func (s *Server) Virtual(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.ifaces {
		i.virtuals = on
	}
}

// renderVirtual renders the virtual function of a card and its representor. The names of ports
// are those of net/devlink of Linux (devlink_nl_port_phys_port_name), the links those of
// Documentation/ABI/testing/sysfs-bus-pci. No tool of the server knows the two interfaces:
// nothing is to be set of them.
func (i *iface) renderVirtual(r rendered, card string) {
	c := i.kind()
	if !i.virtuals || c.rdma == "" || i.infiniBand() {
		return
	}
	slot, function, _ := strings.Cut(i.PCI, ".")
	stem, _, _ := strings.Cut(i.Name, "np")
	netdev := func(base, name, mac string, index int) {
		for file, value := range map[string]string{"address": mac, "mtu": "1500", "operstate": "up", "carrier": "1", "ifindex": fmt.Sprint(index), "iflink": fmt.Sprint(index)} {
			r.file(base+"/"+file, value)
		}
		r.link("/sys/class/net/"+name, "../.."+strings.TrimPrefix(base, "/sys"))
	}
	const switchID = "0100f6ceb8"
	r.file(card+"/net/"+i.Name+"/phys_port_name", "p"+function)
	r.file(card+"/net/"+i.Name+"/phys_switch_id", switchID)
	representor := card + "/net/" + stem + "_0"
	netdev(representor, stem+"_0", "06"+i.MAC[2:], 100+i.index)
	r.file(representor+"/phys_port_name", "pf"+function+"vf0")
	r.file(representor+"/phys_switch_id", switchID)

	vf := *i
	vf.PCI, vf.Name, vf.virtuals = slot+"."+string(function[0]+4), stem+"v0", false
	at := "/sys/devices/pci" + bus(vf.PCI) + "/" + vf.PCI
	r.card(at, &vf)
	r.link(at+"/physfn", "../"+i.PCI)
	netdev(at+"/net/"+vf.Name, vf.Name, "0a"+i.MAC[2:], 200+i.index)
}
