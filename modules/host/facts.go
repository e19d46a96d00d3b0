package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/plan"
)

// ServerFacts are what a server says of itself. What it does not tell is
// empty or 0.
type ServerFacts struct {
	Vendor string     `json:"vendor,omitempty"` // as DMI has it
	Model  string     `json:"model,omitempty"`
	Serial string     `json:"serial,omitempty"` // only root may read it
	BIOS   string     `json:"bios,omitempty"`
	System string     `json:"system,omitempty"` // distribution
	Kernel string     `json:"kernel,omitempty"`
	CPU    string     `json:"cpu,omitempty"`    // model
	CPUs   int        `json:"cpus,omitempty"`   // online, threads counted
	Nodes  int        `json:"nodes,omitempty"`  // NUMA
	Memory int64      `json:"memory,omitempty"` // bytes
	NICs   []NICFacts `json:"nics"`             // those declared, in their order; then, where somebody asks, the others by PCI address
	Name   string     `json:"name,omitempty"`   // its own; only a survey asks

	Unlisted string `json:"unlisted,omitempty"` // why NICs that nothing declares are not among them; "": they are, where somebody asks

	Deaf string `json:"deaf,omitempty"` // why it is not known whom its NICs hear with LLDP; only a survey asks

	NVMe    *NVMeFacts   `json:"nvme,omitempty"`    // only a survey asks
	Volumes *VolumeFacts `json:"volumes,omitempty"` // likewise; nil: not known
	Bundles []Bundle     `json:"bundles,omitempty"` // likewise; those with a NIC

	Adrift []PortFacts `json:"adrift,omitempty"` // likewise: ports of its kernel that go out nobody there says where

	Tuning *Tuning `json:"tuning,omitempty"` // likewise; nil: not known

	HostNQN  string        `json:"host_nqn,omitempty"`      // where the system gives one itself
	Adapters []NVMeAdapter `json:"nvme_adapters,omitempty"` // where a system has such

	Taken []string `json:"taken,omitempty"` // in words, NICs that something of the machine has which weft leaves alone
}

// PortFacts are what a port of a host's own kernel is.
type PortFacts struct {
	Name string `json:"name"`
	MAC  string `json:"mac,omitempty"`
}

// An NVMeAdapter is what some systems connect to NVMe over fabrics with.
type NVMeAdapter struct {
	Name      string   `json:"name"`      // vmhba64
	Transport string   `json:"transport"` // rdma, tcp, fc, pcie
	Driver    string   `json:"driver,omitempty"`
	Devices   []string `json:"devices,omitempty"` // what it runs on: vmrdma0, vmnic2
}

// NVMeFacts are what the kernel of a server has of NVMe over fabrics, whoever made it.
type NVMeFacts struct {
	Exports     []NVMeExport     `json:"exports,omitempty"`
	Connections []NVMeConnection `json:"connections,omitempty"`
}

// An NVMeExport is a subsystem of the kernel's target.
type NVMeExport struct {
	NQN   string     `json:"nqn"`
	Ports []NVMePort `json:"ports,omitempty"` // none: nobody reaches it
}

// An NVMePort is where the kernel's target listens.
type NVMePort struct {
	Transport string `json:"transport"`
	Address   string `json:"address"` // 10.40.1.11:4420
}

// An NVMeConnection is a controller over a fabric that the kernel has.
type NVMeConnection struct {
	NQN string `json:"nqn"`
	NVMePort
}

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
	Protocol string `json:"protocol,omitempty"` // rocev2, infiniband or iwarp
	State    string `json:"state,omitempty"`    // ACTIVE, INIT, DOWN
	Rate     string `json:"rate,omitempty"`

	Subnet *SubnetPort `json:"subnet,omitempty"` // of InfiniBand; nil: the port is none, or tells nothing
}

// A Finding is a fact that speaks against the files.
type Finding struct {
	RNIC    string `json:"rnic"`
	Place   string `json:"place"` // what it speaks against, file:line
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"`
	Refuses bool   `json:"refuses"` // the plan; else it only warns

	PCI string `json:"-"` // of the NIC
}

func (f Finding) String() string { return f.Place + "  rnic " + f.RNIC + ": " + f.Text }

// An Expectation is a declared NIC that facts are compared with, and what is known
// of hardware.
type Expectation struct {
	RNIC     *inventory.RNIC
	Link     *inventory.Link // its cable; nil: none is declared
	Hardware *catalogue.Catalogue
}

// Missing says what a declared NIC lacks of what any system tells: that it is there, has
// a link, and RDMA where its fabric wants it. nics and rdma are hints: what lists them.
func (e Expectation) Missing(have NICFacts, nics, rdma string) []Finding {
	at := e.RNIC.At("match")
	f := Finding{RNIC: e.RNIC.Name, Place: fmt.Sprintf("%s:%d", at.Filename, at.Start.Line), PCI: e.RNIC.PCI}
	switch {
	case have.Absent:
		f.Text, f.Hint, f.Refuses = "the host has no NIC at PCI address "+have.PCI, nics, true
	case have.Carrier != nil && !*have.Carrier:
		f.Text = have.Interface + " has no link"
	case e.RNIC.Fabric != nil && e.RNIC.Fabric.Transport != "tcp" && len(have.RDMA) == 0:
		f.Text, f.Hint = have.Interface+" ("+have.Driver+") has no RDMA device", rdma
	default:
		return nil
	}
	return []Finding{f}
}

// Expect adds a NIC that facts are compared with.
func (d *Machine) Expect(e Expectation) { d.expected = append(d.expected, e) }

// nics are those that are declared.
func (d *Machine) nics() []NIC {
	list := make([]NIC, len(d.expected))
	for i, e := range d.expected {
		list[i] = NIC{e.RNIC.Name, e.RNIC.PCI}
	}
	return list
}

// factsLooks read the facts of the server and its declared NICs: all of them, or
// those that something is compared with.
//
// Where all facts are asked for, they are those of the NICs that nothing declares, too.
func (d *Machine) factsLooks() []remote.Look {
	looks := d.os.Facts.Looks(d.curious, d.nics())
	if d.curious && d.os.Facts.Survey != nil {
		looks = slices.Concat(looks, d.os.Facts.Survey())
	}
	return looks
}

// learn keeps the facts that were seen, and what speaks against them. Facts
// that cannot be read hold nothing up.
func (d *Machine) learn(seen remote.Seen) error {
	f, err := d.os.Facts.Parse(seen, d.curious, d.nics())
	if err != nil {
		return err
	}
	d.facts, d.findings = f, nil
	if d.curious && d.os.Facts.Survey != nil {
		d.surveyed, d.surveyFault = d.os.Facts.Surveyed(seen)
	}
	for i, e := range d.expected {
		n := &f.NICs[i]
		if row := e.Hardware.NIC(n.ID); row != nil {
			n.Model = row.Vendor + " " + row.Model
		}
	}
	for i, e := range d.expected {
		d.findings = append(d.findings, d.os.Facts.Check(e, f, f.NICs[i])...)
	}
	return nil
}

// warnings are the findings that refuse nothing, and what nothing can be found of.
func (d *Machine) warnings() (list []string) {
	if err := d.os.Lacks(Telling); err != nil {
		list = slice.Map(d.nics(), func(n NIC) string { return fmt.Sprintf("rnic %s is not checked: %v", n.Name, err) })
	}
	for _, f := range d.findings {
		if !f.Refuses {
			list = append(list, f.String())
		}
	}
	return list
}

// forbid refuses what rests on a NIC that cannot do it.
func (d *Machine) forbid(rs []plan.Resource, states []plan.State) {
	for i := range states {
		r, ok := rs[i].(Thing)
		if !ok || r.nic() == "" {
			continue
		}
		var errs []error
		for _, f := range d.findings {
			if f.Refuses && f.PCI == r.nic() {
				err := errors.New(f.String())
				if f.Hint != "" {
					err = hint.Wrap(err, "%s", f.Hint)
				}
				errs = append(errs, err)
			}
		}
		if errs != nil {
			states[i] = refused{err: errors.Join(errs...)}
		}
	}
}

// ServerFacts opens the machine and asks what it is; findings are what of that speaks
// against the files or the catalogue.
func (d *Machine) ServerFacts(ctx context.Context) (_ *ServerFacts, findings []Finding, _ error) {
	if err := d.os.Lacks(Telling); err != nil {
		return nil, nil, err
	}
	d.curious, d.facts = true, nil
	if _, err := d.Open(ctx); err != nil {
		return nil, nil, err
	}
	if d.facts == nil { // nothing is compared with them, or they could not be read
		seen, err := d.host.Read(ctx, d.factsLooks())
		if err == nil {
			err = d.learn(seen)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the facts of %s: %w", d.name, err)
		}
	}
	facts := *d.facts
	if err := d.undeclared(&facts); err != nil {
		facts.Unlisted = "the NICs that nothing declares are not listed: " + err.Error()
	}
	return &facts, d.findings, nil
}

// undeclared adds the ports that no rnic names.
func (d *Machine) undeclared(known *ServerFacts) error {
	if d.surveyed == nil {
		return d.surveyFault
	}
	hardware, err := catalogue.Load()
	if err != nil {
		return err
	}
	known.NICs = slices.Clone(known.NICs)
	for _, n := range d.surveyed.NICs {
		if at := slices.IndexFunc(known.NICs, func(k NICFacts) bool { return k.PCI == n.PCI }); at >= 0 {
			known.NICs[at].Addresses = n.Addresses
			continue
		}
		if row := hardware.NIC(n.ID); row != nil {
			n.Model = row.Vendor + " " + row.Model
		}
		known.NICs = append(known.NICs, n)
	}
	return nil
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
