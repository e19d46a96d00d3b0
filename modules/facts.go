package modules

import (
	"context"
	"errors"
	"fmt"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/plan"
)

// ServerFacts are what a Linux server says of itself. What it does not tell is
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
	NICs   []NICFacts `json:"nics"`             // those declared, in their order
}

// NICFacts are what a server says of one port of a network card.
type NICFacts struct {
	Name      string `json:"name"` // of the rnic block
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
	MTU       int        `json:"mtu,omitempty"`        // bytes
	State     string     `json:"state,omitempty"`      // operstate: up, down
	Carrier   *bool      `json:"carrier,omitempty"`    // nil: the interface is off
	Speed     int64      `json:"speed,omitempty"`      // bit/s
	IPoIB     *IPoIB     `json:"ipoib,omitempty"`      // nil: the interface is none of InfiniBand
	RDMA      []RDMAPort `json:"rdma_ports,omitempty"` // of its RDMA device
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

	pci string
}

func (f Finding) String() string { return f.Place + "  rnic " + f.RNIC + ": " + f.Text }

// An expectation is a declared NIC that facts are compared with.
type expectation struct {
	rnic *inventory.RNIC
	link *inventory.Link // its cable; nil: none is declared
}

// expect tells a server which NICs its facts are to be compared with.
func (x *expansion) expect(d *server, s *inventory.Server) {
	if x.cables == nil {
		x.cables = map[*inventory.RNIC]*inventory.Link{}
		for _, l := range x.model.Links {
			for _, end := range []inventory.LinkEnd{l.From, l.To} {
				if end.RNIC != nil {
					x.cables[end.RNIC] = l
				}
			}
		}
	}
	d.hardware = x.hardware()
	for _, r := range s.RNICs {
		if r.PCI != "" {
			d.expected = append(d.expected, expectation{r, x.cables[r]})
		}
	}
}

// hardware is the catalogue.
func (x *expansion) hardware() *catalogue.Catalogue {
	if x.known == nil {
		known, err := catalogue.Load()
		if err != nil {
			panic(err) // it is part of weft; a test loads it
		}
		x.known = known
	}
	return x.known
}

// factsLook reads the facts of the server and its declared NICs: all of them, or
// those that something is compared with.
func (d *server) factsLook() remote.Look {
	what := "nics"
	if d.curious {
		what = "all"
	}
	args := []string{"sh", "-c", factsScript, "sh", what}
	for _, e := range d.expected {
		args = append(args, e.rnic.PCI)
	}
	return remote.Look{Args: args, Root: true, Own: true}
}

// learn keeps the facts that were seen, and what speaks against them. Facts
// that cannot be read hold nothing up.
func (d *server) learn(seen remote.Seen) error {
	text, err := output(seen, d.factsLook())
	if err != nil {
		return err
	}
	f := parseFacts(text)
	nics := make([]NICFacts, len(d.expected))
	for i, e := range d.expected {
		nics[i] = f.nic(e.rnic.Name, e.rnic.PCI)
		if row := d.hardware.NIC(nics[i].ID); row != nil {
			nics[i].Model = row.Vendor + " " + row.Model
		}
	}
	f.server.NICs = nics
	d.facts, d.findings = &f.server, nil
	for i, e := range d.expected {
		d.findings = append(d.findings, check(e, &f.server, nics[i], d.hardware)...)
	}
	return nil
}

// warnings are the findings that refuse nothing.
func (d *server) warnings() (list []string) {
	for _, f := range d.findings {
		if !f.Refuses {
			list = append(list, f.String())
		}
	}
	return list
}

// forbid refuses what rests on a NIC that cannot do it.
func (d *server) forbid(rs []plan.Resource, states []plan.State) {
	for i := range states {
		r, ok := rs[i].(thing)
		if !ok || r.nic() == "" {
			continue
		}
		var errs []error
		for _, f := range d.findings {
			if f.Refuses && f.pci == r.nic() {
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

// ServerFacts implements ServerTeller.
func (d *server) ServerFacts(ctx context.Context) (*ServerFacts, []Finding, error) {
	d.curious, d.facts = true, nil
	if _, err := d.Open(ctx); err != nil {
		return nil, nil, err
	}
	if d.facts == nil { // nothing is compared with them, or they could not be read
		seen, err := remote.Read(ctx, d.host, []remote.Look{d.factsLook()})
		if err == nil {
			err = d.learn(seen)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the facts of %s: %w", d.name, err)
		}
	}
	return d.facts, d.findings, nil
}
