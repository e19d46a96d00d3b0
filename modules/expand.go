package modules

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/bundle"
	"weft/internal/text"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/problem"
	"weft/modules/claim"
	"weft/modules/host"
	"weft/modules/linux/nic"
	"weft/modules/linux/nvme"
	"weft/modules/linux/storage"
	"weft/modules/vcenter"
	"weft/plan"
	"weft/switches"
)

// An Env is what an expansion needs of the world: how devices are reached
// and where the agents come from. Expand calls none of it.
type Env struct {
	Holder   claim.Holder         // who applies, for leases
	Token    func() claim.Token   // of the run, by the store that keeps it; nil: there is none
	Stands   func(string) string  // what the token that stands on a device means for whoever applies; nil: it is not said
	Mine     func(plan.Mark) bool // whether whoever applies has the record of that run; nil: of none
	Bundle   *bundle.Bundle
	Host     func(*inventory.Server) host.DialHost
	Terminal func(*inventory.Switch) switches.Dial
	VCenter  func(*inventory.VCenter) vcenter.Login // nil: none is reached
	System   func(name string) *switches.OS         // nil: systems.Named
	HostOS   func(name string) *host.OS             // nil: HostOS

	// Settle makes switches wait, when they are opened, until they have
	// reverted what an apply that died left unproven.
	Settle bool
	Say    func(device, text string) // what is worth knowing meanwhile; may be nil
}

// A Fleet is a model expanded: every resource, and the devices that carry
// them.
type Fleet struct {
	Items   []plan.Item
	Notes   []plan.Note // what is described and has no effect yet
	Devices map[string]Device

	Roster  []plan.Member                          // all devices of the owner
	Moved   plan.Renames                           // how those that are declared were called
	Removed []plan.Removed                         // what becomes of devices that are not declared any more
	Recall  func(plan.Member) (plan.Device, error) // makes a device of one of those; Close closes it

	recalled []Device
}

// Device is the device at an address; where there is none, one that supports nothing and says so.
func (f *Fleet) Device(address string) Device {
	if f != nil && f.Devices[address] != nil {
		return f.Devices[address]
	}
	return newUnknown(address)
}

// Engine is a new map of the devices, for plan.Input.
func (f *Fleet) Engine() map[string]plan.Device {
	out := make(map[string]plan.Device, len(f.Devices))
	for address, d := range f.Devices {
		out[address] = d
	}
	return out
}

// Close ends every login.
func (f *Fleet) Close() error {
	var errs []error
	for _, d := range f.Devices {
		errs = append(errs, d.Close())
	}
	for _, d := range f.recalled {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// Expand turns a model into resources. It is pure: it touches no device, and
// the same model gives the same items in the same order. Diagnostics name
// what the model asks for and weft cannot do yet.
func Expand(m *inventory.Model, env Env) (*Fleet, hcl.Diagnostics) {
	x := &expansion{
		hosts: map[string]*hostSystem{}, machines: map[string]*host.Machine{}, model: m, env: env, fleet: &Fleet{Devices: map[string]Device{}},
		refused: map[reason]int{}, ports: map[*inventory.RNIC]plan.ID{}, nics: map[*inventory.RNIC][]plan.ID{},
		stands: map[*inventory.Block][]plan.ID{}, exports: map[export]plan.ID{}, paths: map[reached][]plan.ID{}, access: newAccess(),
		chap: chap{keys: map[*inventory.Secret]*nvme.Key{}, added: map[plan.ID]bool{},
			hosts: keyed(m, func(i *inventory.Initiator) *inventory.Secret { return i.Key }),
			tls:   keyed(m, func(i *inventory.Initiator) *inventory.Secret { return i.TLSKey })},
	}
	for _, r := range m.Moved {
		x.fleet.Moved = append(x.fleet.Moved, plan.Rename{From: r.From, To: r.To})
	}
	for _, sw := range m.Switches {
		x.switches(sw)
	}
	for _, s := range m.Servers {
		x.server(s)
	}
	x.vcenters()
	x.storage()
	x.treat()
	x.notes()
	x.roster()
	x.later()
	for _, r := range x.refusals {
		x.diags = append(x.diags, r.diagnostic())
	}
	return x.fleet, x.diags
}

type expansion struct {
	model *inventory.Model
	env   Env
	fleet *Fleet
	diags hcl.Diagnostics

	refusals []refusal
	refused  map[reason]int // where in refusals

	ports map[*inventory.RNIC]plan.ID   // the switch port a NIC is cabled to
	nics  map[*inventory.RNIC][]plan.ID // what must be in force before a NIC is used

	stands  map[*inventory.Block][]plan.ID // what a block of storage stands for
	exports map[export]plan.ID             // by what a connection leads to
	paths   map[reached][]plan.ID          // the connections of an initiator to a subsystem
	access  access
	chap    chap
	rooms   map[*inventory.Pool]*storage.Room // nil until one is asked for

	cables map[*inventory.RNIC]*inventory.Link // nil until it is asked for, as is known
	known  *catalogue.Catalogue                // see hardware

	hosts    map[string]*hostSystem   // by name, as far as they were asked for
	machines map[string]*host.Machine // by the address of their server
	things   []thing                  // what they carry
}

// A thing is what a machine carries.
type thing struct {
	id plan.ID
	is host.Thing
}

// thing makes an item of what a machine carries.
func (x *expansion) thing(id plan.ID, is host.Thing, at hcl.Range, needs ...plan.ID) plan.ID {
	is.Named(id)
	x.things = append(x.things, thing{id, is})
	return x.add(id, is, at, needs...)
}

// add makes an item.
func (x *expansion) add(id plan.ID, r plan.Resource, at hcl.Range, needs ...plan.ID) plan.ID {
	x.fleet.Items = append(x.fleet.Items, plan.Item{ID: id, Resource: r, Needs: needs, Range: at})
	return id
}

// refuse reports what weft cannot do yet and must not skip in silence.
// Instances of one block that are refused for the same reason share a report.
func (x *expansion) refuse(at hcl.Range, block, what string) {
	x.report(reason{problem.NotManaged, "described, not yet managed", at, what}, block)
}

// report keeps one problem of a block.
func (x *expansion) report(key reason, block string) {
	i, seen := x.refused[key]
	if !seen {
		i = len(x.refusals)
		x.refused[key] = i
		x.refusals = append(x.refusals, refusal{reason: key})
	}
	x.refusals[i].blocks = append(x.refusals[i].blocks, block)
}

type reason struct {
	code  problem.Code
	title string
	at    hcl.Range
	what  string
}

type refusal struct {
	reason
	blocks []string
}

func (r refusal) diagnostic() *hcl.Diagnostic {
	who := text.List(r.blocks, 1)
	return &hcl.Diagnostic{
		Severity: hcl.DiagError, Subject: r.at.Ptr(),
		Summary: string(r.code) + ": " + r.title, Extra: r.code, Detail: who + ": " + r.what,
	}
}

// connection is the one a device names, else the default one.
func connection(m *inventory.Model, c *inventory.Connection) *inventory.Connection {
	if c == nil {
		return m.DefaultConnection()
	}
	return c
}

// server expands one server: its NICs and files.
func (x *expansion) server(s *inventory.Server) {
	os := x.host(s.OS)
	if os == nil {
		x.refuse(s.At("os"), s.Addr, fmt.Sprintf("os = %q", s.OS))
		return
	}
	d := x.newServer(os, s)
	x.fleet.Devices[s.Addr], x.machines[s.Addr] = newServer(d), d
	if x.only(os, s); os.Lacks(host.Intents) != nil {
		x.ownPorts(os, d, s)
		x.generic(d, s)
		return
	}
	x.expect(d, s)
	since := len(x.things)
	id := func(kind, name string) plan.ID { return plan.ID{Device: s.Addr, Kind: kind, Name: name} }
	for _, r := range s.RNICs {
		place := r.Place()
		if place == "" {
			x.refuse(r.Range, s.Addr, "rnic "+r.Name+": match = { pci = … } or match = { mac = … } is required")
			continue
		}
		var wired []plan.ID
		if port, ok := x.ports[r]; ok {
			wired = append(wired, port)
		}
		var ready []plan.ID
		if r.Fabric != nil {
			ready = append(ready, x.thing(id("mtu", r.Name), nic.MTUKind().Want(d, &nic.MTU{PCI: place, Bytes: r.Fabric.HostMTU, IPoIB: r.Fabric.Transport == "infiniband"}), r.Range, wired...))
		}
		if r.Address.IsValid() {
			want := &nic.Address{PCI: place, CIDR: r.Address, Present: true, Up: true}
			ready = append(ready, x.thing(id("address", r.Name), nic.AddressKind().Want(d, want), r.At("address"), slices.Concat(wired, ready)...))
		}
		ready = append(ready, x.rdma(d, r, slices.Concat(wired, ready))...)
		x.nics[r] = append(ready, x.nicQoS(d, r, wired)...)
	}
	x.memlock(d, s)
	x.generic(d, s)
	x.boot(d, s, "", x.things[since:])
}

// probes puts weft-initiator on every server that measures or is measured.
func (x *expansion) probes() {
	seen := map[*inventory.Server]bool{}
	probe := func(s *inventory.Server, at hcl.Range) {
		d, ok := x.machine(s)
		if d != nil && d.OS().Agent != nil && !seen[s] {
			seen[s] = true
			w := d.OS().Agent(d, x.env.Bundle)
			x.thing(plan.ID{Device: s.Addr, Kind: w.Kind, Name: w.Name}, w.Resource, at)
		}
		if ok && !seen[s] {
			seen[s] = true
			id := plan.ID{Device: s.Addr, Kind: "agent", Name: "weft-initiator"}
			x.thing(id, nvme.AgentKind().Want(d, &nvme.Agent{Name: "weft-initiator", Bundle: x.env.Bundle}), at)
		}
	}
	for _, i := range x.model.Initiators {
		probe(i.Server, i.Range)
	}
	for _, t := range x.model.Targets {
		probe(t.Server, t.Range)
	}
}

func addr(s *inventory.Server) string {
	if s == nil {
		return ""
	}
	return s.Addr
}
