// Package catalogue holds what is known about hardware before it is asked:
// servers, NICs, switches and arrays, each fact with where it was read.
package catalogue

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"weft/internal/slice"
)

// A Fact is one thing known about a device. The zero Fact is not known.
type Fact[T any] struct {
	Value  T      `json:"value"`
	Source string `json:"source"` // the document it was read in; "": nobody wrote it down
	Known  bool   `json:"-"`
}

// Proven reports whether the fact has a source. Only a proven fact may refuse
// what files declare; any other may only warn.
func (f Fact[T]) Proven() bool { return f.Known && f.Source != "" }

// From names the source, for people.
func (f Fact[T]) From() string { return cmp.Or(f.Source, "no source") }

// IsZero reports whether the fact is not known, for JSON.
func (f Fact[T]) IsZero() bool { return !f.Known }

// A Catalogue is all rows, in the order of their files.
type Catalogue struct {
	Servers  []*Server   `json:"servers,omitempty"`
	NICs     []*NIC      `json:"nics,omitempty"`
	OS       []*SwitchOS `json:"switch_os,omitempty"`
	Switches []*Switch   `json:"switches,omitempty"`
	Arrays   []*Array    `json:"arrays,omitempty"`

	Hosts []*HostOS `json:"-"` // what the language knows of them, and nothing of hardware
}

// A HostOS is an operating system of servers.
type HostOS struct {
	ID        string       // the value of server.os
	MachineID Fact[string] // regular expression of a whole machine id; not known: it is described, not yet managed
	Identity  Fact[string] // the same for people

	Title   Fact[string] // its name for people
	Answers Fact[string] // regular expression of what says that a machine runs it
	Locks   Fact[string] // "fused": hosts take locks in blocks they share by fused Compare and Write

	answers *regexp.Regexp
}

// Recognise returns the system that answers so, nil where no row says so.
func (c *Catalogue) Recognise(said string) *HostOS {
	return slice.First(c.Hosts, func(o *HostOS) bool { return o.Answers.Known && o.answers.MatchString(said) })
}

// HostOS returns the row of an operating system of servers, or nil.
func (c *Catalogue) HostOS(id string) *HostOS {
	return slice.First(c.Hosts, func(o *HostOS) bool { return o.ID == id })
}

// A Server is one model of server.
type Server struct {
	ID     string `json:"id"`
	Vendor string `json:"vendor"`
	Model  string `json:"model"`

	SysVendor Fact[[]string] `json:"sys_vendor,omitzero"` // DMI sys_vendor is one of these
	Product   Fact[[]string] `json:"product,omitzero"`    // DMI product_name is one of these

	PCIeGeneration Fact[int] `json:"pcie_generation,omitzero"` // the newest that any slot offers
	PCIeSlots      Fact[int] `json:"pcie_slots,omitzero"`      // at most, with the fullest risers
	OCPSlots       Fact[int] `json:"ocp_slots,omitzero"`       // OCP 3.0
}

// A NIC is one family of network adapters that its driver and PCI ids tell apart.
type NIC struct {
	ID     string `json:"id"`
	Vendor string `json:"vendor"`
	Model  string `json:"model"`

	PCI              Fact[[]string] `json:"pci,omitzero"`               // vendor:device in small hexadecimal; software has none
	VirtualFunctions Fact[[]string] `json:"virtual_functions,omitzero"` // the same of its virtual functions
	Driver           Fact[string]   `json:"driver,omitzero"`            // Linux module of the network interface
	RDMADriver       Fact[string]   `json:"rdma_driver,omitzero"`       // Linux module of the RDMA device
	Transports       Fact[[]string] `json:"transports,omitzero"`        // rocev2, infiniband, iwarp

	PCIeGeneration Fact[int] `json:"pcie_generation,omitzero"`
	Speed          Fact[int] `json:"speed,omitzero"`     // of its fastest port, Gbit/s
	MaxMTU         Fact[int] `json:"max_mtu,omitzero"`   // bytes
	IOQueues       Fact[int] `json:"io_queues,omitzero"` // I/O queues per connection that are known to work
}

// A SwitchOS is what holds for every switch of one operating system.
type SwitchOS struct {
	ID     string `json:"id"` // the value of switch.os
	Vendor string `json:"vendor"`

	PortNames      Fact[[]string]          `json:"port_names,omitzero"`      // regular expressions, each for a whole name
	PortExample    Fact[string]            `json:"port_example,omitzero"`    // such a name
	PortKinds      Fact[map[string]string] `json:"port_kinds,omitzero"`      // kinds of ports by their short names
	PortSpeeds     Fact[map[string]int]    `json:"port_speeds,omitzero"`     // the fastest that a kind of port is, Gbit/s
	ConfirmSeconds Fact[[]int]             `json:"confirm_seconds,omitzero"` // the shortest and the longest timed revert
	PFCPriorities  Fact[[]int]             `json:"pfc_priorities,omitzero"`  // those that can be lossless
	CommitMethods  Fact[[]string]          `json:"commit_methods,omitzero"`  // the timed reverts that weft arms there
	Models         Fact[string]            `json:"models,omitzero"`          // regular expression: the models whose lines weft writes report such a name
	Queues         Fact[int]               `json:"queues,omitzero"`          // egress queues of a port
	MaxMTU         Fact[int]               `json:"max_mtu,omitzero"`         // bytes
	AvoidPFC       Fact[[]int]             `json:"avoid_pfc,omitzero"`       // priorities the vendor advises against making lossless
	ECN            Fact[bool]              `json:"ecn,omitzero"`             // queues can mark packets instead of dropping them

	ports, models *regexp.Regexp
}

// Takes reports whether a switch that reports this model takes the lines that
// weft writes for the operating system, as far as is known.
func (o *SwitchOS) Takes(model string) bool {
	return !o.Models.Proven() || o.models.MatchString(model)
}

// A Switch is one model of switch. What is not known of it holds as its OS says.
type Switch struct {
	ID      string `json:"id"`
	OS      string `json:"os"`
	Model   string `json:"model"`
	Pattern string `json:"pattern"` // regular expression: the name the switch reports for itself has it

	Ports          Fact[map[string]int] `json:"ports,omitzero"`            // how many of each speed in Gbit/s
	Queues         Fact[int]            `json:"queues,omitzero"`           // egress queues of a port
	NoDropClasses  Fact[int]            `json:"no_drop_classes,omitzero"`  // lossless classes at once, at most
	NoPFCReleases  Fact[[]string]       `json:"no_pfc_releases,omitzero"`  // releases of the OS in which it has no priority flow control
	PauseBufferMin Fact[int]            `json:"pause_buffer_min,omitzero"` // bytes of headroom of a class, at least
	HeadroomCells  Fact[int]            `json:"headroom_cells,omitzero"`   // cells of the headroom pool, by default
	CellBytes      Fact[int]            `json:"cell_bytes,omitzero"`       // bytes of a buffer cell
	WREDUnit       Fact[string]         `json:"wred_unit,omitzero"`        // what WRED limits count: cells or packets
	QoSTCAM        Fact[string]         `json:"qos_tcam,omitzero"`         // ports whose QoS policies its TCAM holds as it comes
	Releases       Fact[string]         `json:"releases,omitzero"`         // releases of the OS made for it

	model *regexp.Regexp
}

// An Array is a storage array that initiators connect to as an external target.
type Array struct {
	ID     string `json:"id"`
	Vendor string `json:"vendor"`
	Model  string `json:"model"`

	Transports Fact[[]string] `json:"transports,omitzero"` // rocev2, infiniband, iwarp, tcp
	Since      Fact[string]   `json:"since,omitzero"`      // first release that speaks NVMe over Fabrics
}

// Server returns the row of a server by what DMI says of it, or nil.
func (c *Catalogue) Server(sysVendor, product string) *Server {
	return slice.First(c.Servers, func(s *Server) bool {
		return among(s.SysVendor.Value, sysVendor) && among(s.Product.Value, product)
	})
}

// NIC returns the row of an adapter by its PCI ids, "15b3:1017", or nil. A
// virtual function has the row of its adapter.
func (c *Catalogue) NIC(pci string) *NIC {
	return slice.First(c.NICs, func(n *NIC) bool {
		return among(n.PCI.Value, pci) || among(n.VirtualFunctions.Value, pci)
	})
}

// SwitchOS returns the row of a switch operating system, "nxos", or nil.
func (c *Catalogue) SwitchOS(os string) *SwitchOS {
	return slice.First(c.OS, func(o *SwitchOS) bool { return o.ID == os })
}

// Switch returns the row of a switch by its operating system and the model it
// reports, "N9K-C93180YC-EX", or nil.
func (c *Catalogue) Switch(os, model string) *Switch {
	return slice.First(c.Switches, func(s *Switch) bool { return s.OS == os && s.model.MatchString(model) })
}

// PortName reports whether a name can be that of a port. Where known is false
// the answer may only warn: the operating system has no row, or none with a
// source.
func (c *Catalogue) PortName(os, name string) (ok, known bool) {
	o := c.SwitchOS(os)
	if o == nil || !o.PortNames.Known {
		return false, false
	}
	return o.ports.MatchString(name), o.PortNames.Proven()
}

// Names of ports are the kind and the number: "Eth1/11", "XGE 1/0/11".
var portParts = regexp.MustCompile(`^([A-Za-z-]+|\d+GE|\d+GigE) ?(\d[\d/:.]*)$`)

// SpellPort writes the name of a port as the switch does in its configuration:
// people write it as its short lists do, or as they type it. A name that is
// none of those stays as it is: the device knows better.
func (c *Catalogue) SpellPort(os, name string) string {
	o, m := c.SwitchOS(os), portParts.FindStringSubmatch(strings.TrimSpace(name))
	if o == nil || m == nil {
		return name
	}
	for short, long := range o.PortKinds.Value {
		if strings.EqualFold(m[1], short) || strings.EqualFold(m[1], long) {
			return long + m[2]
		}
	}
	return name
}

// HostSystems are the operating systems of servers, the usual one first, and those
// that are described, not yet managed.
func HostSystems() (managed []*HostOS, later []string) {
	c, err := Load()
	if err != nil {
		return nil, nil
	}
	for _, o := range c.Hosts {
		if o.MachineID.Known {
			managed = append(managed, o)
		} else {
			later = append(later, o.ID)
		}
	}
	return managed, later
}

// UsualHostSystem is that of servers and ledgers that name none.
func UsualHostSystem() string {
	managed, _ := HostSystems()
	return managed[0].ID // a row of the catalogue, which is part of weft
}

// SwitchSystems are the operating systems of switches that have a row.
func SwitchSystems() []string {
	c, err := Load()
	if err != nil {
		return nil
	}
	return slice.Map(c.OS, func(o *SwitchOS) string { return o.ID })
}

// Array returns the row of a storage array, or nil.
func (c *Catalogue) Array(vendor, model string) *Array {
	return slice.First(c.Arrays, func(a *Array) bool {
		return strings.EqualFold(a.Vendor, vendor) && strings.EqualFold(a.Model, model)
	})
}

// among reports whether one of the names is the word, without regard to case
// and to the spaces that firmware pads with.
func among(names []string, word string) bool {
	word = strings.TrimSpace(word)
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, word) })
}
