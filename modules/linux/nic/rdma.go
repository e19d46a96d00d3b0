package nic

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/linux/see"
)

// An rdmaPort is one port of an RDMA device, as rdma(8) shows it.
type rdmaPort struct {
	Device   string `json:"ifname"` // rocep65s0f0; the next start may name it otherwise
	Port     int    `json:"port"`
	State    string `json:"state"`          // ACTIVE, INIT, DOWN
	Physical string `json:"physical_state"` // LINK_UP, POLLING, DISABLED
	Netdev   string `json:"netdev"`         // "" on InfiniBand
	Subnet   string `json:"subnet_prefix"`  // on InfiniBand only
	Manager  *int   `json:"sm_lid"`         // of the subnet manager, 0: none; nil elsewhere than on InfiniBand

	protocol string // rocev2, iwarp or infiniband, as fabrics call it
}

// rdmaLooks see all RDMA devices of a server: their ports, and what kind of
// node each is, which rdma before 6.5 says instead of the protocol.
func rdmaLooks() (ports, nodes remote.Look) {
	return remote.Look{Args: []string{"rdma", "-j", "link", "show"}}, remote.Look{Args: []string{"rdma", "-j", "dev", "show"}}
}

// bearersLook lists the RDMA devices of a PCI device: InfiniBand ports name no
// network interface.
func bearersLook(place string) remote.Look {
	if function, _, _ := strings.Cut(place, "@"); function != "" {
		return remote.Look{Args: []string{"ls", "/sys/bus/pci/devices/" + function + "/infiniband"}}
	}
	return remote.Look{PCI: place, Args: []string{"ls", "/sys/class/net/{if}/device/infiniband"}}
}

// driverLook sees the driver of a NIC port's network interface.
func driverLook(pci string) remote.Look {
	return remote.Look{PCI: pci, File: "/sys/class/net/{if}/device/uevent"}
}

func driver(s remote.Seen, pci string) string { return variable(s, driverLook(pci), "DRIVER") }

// rdmaPortLooks are what rdmaPortOf and driver need.
func rdmaPortLooks(pci string) []remote.Look {
	ports, nodes := rdmaLooks()
	looks := []remote.Look{ports, nodes, bearersLook(pci), driverLook(pci), masterLook(pci), membersLook(pci), numberLook(pci)}
	if first := firstFunction(pci); first != "" && first != strings.SplitN(pci, "@", 2)[0] {
		looks = append(looks, bearersLook(first))
	}
	return looks
}

// rdmaPortOf finds the RDMA port of a NIC port; nil: it has none.
func rdmaPortOf(s remote.Seen, pci, netdev string) (*rdmaPort, error) {
	ports, err := rdmaPorts(s)
	if err != nil {
		return nil, err
	}
	port := portOf(s, pci, netdev, ports, strings.Fields(s.Of(bearersLook(pci)).Text()))
	if port != nil && driver(s, pci) == "hfi1" { // whose ports look like those of InfiniBand
		port.protocol = "omnipath"
	}
	return port, nil
}

// follows reports whether the port has the number that its interface has, which begins with 0.
func (p rdmaPort) follows(number string) bool { return strconv.Itoa(p.Port-1) == number }

// rdmaPorts are all ports of a server.
func rdmaPorts(s remote.Seen) ([]rdmaPort, error) {
	portsLook, nodesLook := rdmaLooks()
	var ports []rdmaPort
	if err := rdmaJSON(s, portsLook, &ports); err != nil {
		return nil, err
	}
	var nodes []struct {
		Device   string `json:"ifname"`
		Type     string `json:"node_type"`
		Protocol string `json:"protocol"`
	}
	if err := rdmaJSON(s, nodesLook, &nodes); err != nil {
		return nil, err
	}
	for i := range ports {
		p := &ports[i]
		for _, n := range nodes {
			switch {
			case n.Device != p.Device:
			case n.Protocol == "iw" || n.Type == "rnic":
				p.protocol = "iwarp"
			case n.Protocol == "ib" || p.Subnet != "":
				p.protocol = "infiniband"
			case n.Protocol == "roce" || n.Type == "ca":
				p.protocol = "rocev2"
			}
		}
	}
	return ports, nil
}

// rdmaJSON reads what rdma printed. Without the kernel's RDMA core there is
// nobody whom it could ask, and so no device.
func rdmaJSON(s remote.Seen, look remote.Look, into any) error {
	got := s.Of(look)
	switch {
	case got.Code == 127:
		return hint.Wrap(fmt.Errorf("the server has no command rdma to see its RDMA devices"),
			"it comes with the package of ip: iproute2, or iproute where packages are rpm")
	case got.Code != 0 && strings.Contains(string(got.Stderr)+string(got.Content), "NETLINK_RDMA"):
		return nil
	case got.Err != nil:
		return got.Err
	case len(bytes.TrimSpace(got.Content)) == 0:
		return nil
	}
	if err := see.JSON(got.Content, into); err != nil {
		return fmt.Errorf("%s answers %q", look, got.Content)
	}
	return nil
}

// rdmaDriver is the kernel module that makes RDMA devices of the NICs of a
// network driver; "" is none that is known.
func rdmaDriver(netdriver string) string {
	return map[string]string{
		"mlx5_core": "mlx5_ib", "mlx4_en": "mlx4_ib", "bnxt_en": "bnxt_re", "ice": "irdma", "i40e": "irdma",
		"cxgb4": "iw_cxgb4", "qede": "qedr",
	}[netdriver]
}

// anyRDMA stands for the RDMA device of a NIC port in steps that become lines
// of a boot script.
const anyRDMA = "weft-rdma"

// onRDMA are lines of a boot script that set something of the RDMA device of a
// NIC port, once it is there. Every place of anyRDMA becomes its name.
func onRDMA(pci string, lines []string) []string {
	out := []string{`if rdma=$(rdma_of "$(nic ` + remote.Quote(pci) + `)"); then`}
	for _, l := range lines {
		out = append(out, "\t"+strings.ReplaceAll(l, anyRDMA, `"$rdma"`))
	}
	return append(out, "else status=1; fi")
}
