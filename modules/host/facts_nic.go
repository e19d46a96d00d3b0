package host

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weft/inventory"
)

// NICFacts are what a server says of one port of a network card.
type NICFacts struct {
	Name      string `json:"name"` // of the rnic block; "": it is not declared
	PCI       string `json:"pci"`  // address
	Absent    bool   `json:"absent,omitempty"`
	ID        string `json:"id,omitempty"` // vendor:device, 15b3:1021
	Subsystem string `json:"subsystem,omitempty"`
	Model     string `json:"model,omitempty"` // by the catalogue
	Driver    string `json:"driver,omitempty"`
	Firmware  string `json:"firmware,omitempty"`
	Node      int    `json:"node"` // NUMA; -1: not known
	PCIe      Lanes  `json:"pcie"` // as it runs
	PCIeMax   Lanes  `json:"pcie_max"`

	Port         string   `json:"port,omitempty"`                // its number, where the PCI function has several ports
	ByMAC        bool     `json:"by_mac,omitempty"`              // only its MAC address tells it from other ports of the function
	VirtualOf    string   `json:"virtual_function_of,omitempty"` // the PCI function that it is virtual of; "": it is a port
	Representors []string `json:"representors,omitempty"`        // interfaces of its function that stand for virtual or sub-functions
	Bond         string   `json:"bond,omitempty"`                // that its interface is part of
	Unclear      error    `json:"-"`                             // why it has no interface that is managed

	Interface string     `json:"interface,omitempty"`
	MAC       string     `json:"mac,omitempty"`
	Permanent string     `json:"permanent_mac,omitempty"` // of a part of a bond, whose MAC all parts have; "": MAC
	MTU       int        `json:"mtu,omitempty"`           // bytes
	State     string     `json:"state,omitempty"`         // operstate: up, down
	Carrier   *bool      `json:"carrier,omitempty"`       // nil: the interface is off
	Speed     int64      `json:"speed,omitempty"`         // bit/s
	IPoIB     *IPoIB     `json:"ipoib,omitempty"`         // nil: the interface is none of InfiniBand
	RDMA      []RDMAPort `json:"rdma_ports,omitempty"`    // of its RDMA device

	Addresses []netip.Prefix `json:"addresses,omitempty"` // only where somebody asks
	Sends     []string       `json:"sends,omitempty"`     // MAC addresses, other than its own, of what sends by it; only a survey asks
	Heard     []Heard        `json:"heard,omitempty"`     // at the other end of its cable; only a survey asks
}

// OmniPath reports whether the port is one of Omni-Path, which weft does not manage. Linux shows
// its link layer as InfiniBand (drivers/infiniband/hw/hfi1).
func (n NICFacts) OmniPath() bool {
	return slices.ContainsFunc(n.RDMA, func(p RDMAPort) bool { return p.Protocol == "omnipath" })
}

// At reports whether the port is at a place, as kinds of resources name it.
func (n NICFacts) At(place string) bool {
	switch function, by, _ := strings.Cut(place, "@"); {
	case function == "":
		return strings.EqualFold(cmp.Or(n.Permanent, n.MAC), by)
	default:
		return strings.EqualFold(n.PCI, function) && (by == "" || n.Port == "" || n.Port == by)
	}
}

// Is reports whether the port is the one that an rnic block names.
func (n NICFacts) Is(r *inventory.RNIC) bool {
	place := r.Place()
	return place != "" && n.At(place)
}

// A Heard is a device that an agent of a server hears with LLDP on a port of a NIC, or the
// switch of InfiniBand that the port is plugged into.
type Heard struct {
	System    string `json:"system,omitempty"`  // what it calls itself
	Chassis   string `json:"chassis,omitempty"` // of a switch of InfiniBand its GUID
	Port      string `json:"port"`              // the id of its port: a MAC address, a name, a number
	Describes string `json:"describes,omitempty"`
}

// Lanes are a PCIe connection; the zero value is not known.
type Lanes struct {
	Speed float64 `json:"gt_per_s,omitempty"` // of one lane, GT/s
	Width int     `json:"width,omitempty"`    // lanes
}

// An RDMAPort is one port of an RDMA device.
type RDMAPort struct {
	Device   string `json:"device"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol,omitempty"` // rocev2, infiniband, iwarp or omnipath
	State    string `json:"state,omitempty"`    // ACTIVE, INIT, DOWN
	Rate     string `json:"rate,omitempty"`

	Subnet *SubnetPort `json:"subnet,omitempty"` // of InfiniBand; nil: the port is none, or tells nothing
}

// A SubnetPort is what a port of InfiniBand has of its subnet: all of it but
// the physical state comes from the subnet manager.
type SubnetPort struct {
	Physical string `json:"physical_state,omitempty"` // LinkUp, Polling, Disabled
	LID      int    `json:"lid"`                      // its address in the subnet; 0: none was given
	Manager  int    `json:"sm_lid"`                   // LID of the subnet manager; 0: none has come by
	GID      string `json:"gid,omitempty"`            // of index 0: subnet prefix and GUID
	PKeys    []PKey `json:"pkeys,omitempty"`          // its table, without empty entries
}

// IPoIB is what the IP interface of an InfiniBand port has in addition to others.
type IPoIB struct {
	Mode string `json:"mode,omitempty"` // datagram or connected
	PKey PKey   `json:"pkey"`           // of its partition; 0: not known
}

// String is how facts show it: datagram 0xffff.
func (i *IPoIB) String() string {
	if i.PKey == 0 {
		return i.Mode
	}
	return strings.TrimSpace(i.Mode + " " + i.PKey.String())
}

// A PKey is a partition key of InfiniBand: the number of a partition, and in
// the highest bit whether the member is a full one. Two limited members of a
// partition do not reach each other.
type PKey uint16

const FullMember PKey = 0x8000

// Full reports whether the key makes a full member.
func (k PKey) Full() bool { return k&FullMember != 0 }

// Same reports whether both keys are of one partition.
func (k PKey) Same(other PKey) bool { return k|FullMember == other|FullMember }

func (k PKey) String() string { return fmt.Sprintf("0x%04x", uint16(k)) }

// MarshalText writes the key as sysfs and the files of opensm do: 0xffff.
func (k PKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// member is the key with which the port is in the partition of k; ok: it is.
// A table may have both, and then the full one counts.
func (s *SubnetPort) Member(k PKey) (has PKey, ok bool) {
	for _, have := range s.PKeys {
		if have.Same(k) {
			has, ok = max(has, have), true
		}
	}
	return has, ok
}

// generation is that of PCIe; 0: not known.
func (l Lanes) Generation() int {
	return slices.Index([]float64{0, 2.5, 5, 8, 16, 32, 64}, l.Speed)
}

// bandwidth is what the lanes carry at most, in bit/s, after the line coding;
// 0: not known.
func (l Lanes) Bandwidth() float64 {
	coding := 128.0 / 130 // from generation 3 on
	switch g := l.Generation(); {
	case g < 1:
		return 0
	case g < 3:
		coding = 8.0 / 10
	case g == 6:
		coding = 242.0 / 256 // a flit of 256 bytes has 242 of data
	}
	return l.Speed * 1e9 * coding * float64(l.Width)
}

func (l Lanes) String() string {
	if l == (Lanes{}) {
		return "not known"
	}
	return fmt.Sprintf("%s GT/s x%d", strconv.FormatFloat(l.Speed, 'f', -1, 64), l.Width)
}
