package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	f := Finding{RNIC: e.RNIC.Name, Place: fmt.Sprintf("%s:%d", at.Filename, at.Start.Line), PCI: e.RNIC.Place()}
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
		list[i] = NIC{e.RNIC.Name, e.RNIC.Place()}
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
		if at := slices.IndexFunc(known.NICs, func(k NICFacts) bool { return k.PCI == n.PCI && (k.Interface == n.Interface || k.Interface == "") }); at >= 0 {
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
