package labctl

import (
	"net/netip"
	"slices"

	"weft/internal/slice"
	"weft/inventory"
)

// Devices is the part of a model that a lab simulates, as JSON. Lists refer to each other by
// index, and -1 refers to nothing. It holds no secret.
type Devices struct {
	Fabrics    []Fabric
	Servers    []Server
	Switches   []Switch
	Links      []Link
	VCenters   []VCenter
	DVSwitches []DVSwitch
	VMs        []VM
}

// Fabric is a fabric.
type Fabric struct {
	Name, Transport, Mode string
	Classes               []Class
}

// Class is a traffic class, as far as NICs hear of it from their switch.
type Class struct {
	Priority int
	PFC      bool
}

// Server is a server of any host system.
type Server struct {
	Addr, Host, OS, MachineID string

	User    string // of its credential
	Login   string // of its connection
	SMB     bool   // shares files over RDMA
	NICs    []NIC
	Pools   []Pool
	Portals [][]netip.AddrPort // by target
	Before  []string           // devices that validations compare with
}

// NIC is a port of a network card.
type NIC struct {
	Name, PCI, MAC string

	Software bool // does RDMA in software
	Fabric   int
	Plane    string // "": in none
	Address  netip.Prefix
	VLAN     int
	VMK      *VMK `json:",omitempty"`
}

// VMK is the VMkernel port of a NIC.
type VMK struct {
	ID, Netstack string
	Services     []string
	PortGroup    bool // of a distributed switch
}

// Pool is the drives of a pool.
type Pool struct {
	Drives  []string
	Volumes int64 // bytes of all
}

// Switch is a switch, managed or not.
type Switch struct {
	Addr, Name, Host, OS, Serial string

	User      string // of its credential
	Unmanaged bool
}

// Link is a cable.
type Link struct {
	Addr     string
	From, To End
	Speed    int64 // bit/s; 0: not known
}

// End is one end of a cable: a port of a switch, or a NIC of a server.
type End struct {
	Switch int
	Port   string
	Card   Card
}

// Card refers to a NIC.
type Card struct{ Server, NIC int }

// VCenter is a vCenter.
type VCenter struct {
	Addr, Host, User string
	Clusters         []string // paths
}

// DVSwitch is a distributed switch.
type DVSwitch struct {
	VCenter int
	Path    string
	Uplinks []Card
}

// VM is a virtual machine.
type VM struct {
	Path     string
	Hardware int // version
	DVSwitch int // of its first adapter
}

// Describe returns the part of a model that a lab simulates.
func Describe(m *inventory.Model) *Devices {
	d := &Devices{}
	card := func(r *inventory.RNIC) Card {
		if r == nil {
			return Card{-1, -1}
		}
		return Card{slices.Index(m.Servers, r.Server), slices.Index(r.Server.RNICs, r)}
	}
	end := func(e inventory.LinkEnd) End {
		return End{slices.Index(m.Switches, e.Switch), e.Port, card(e.RNIC)}
	}
	for _, f := range m.Fabrics {
		d.Fabrics = append(d.Fabrics, Fabric{f.Name, f.Transport, f.Mode, slice.Map(f.Classes, func(c *inventory.TrafficClass) Class { return Class{c.Priority, c.PFC} })})
	}
	for _, s := range m.Servers {
		d.Servers = append(d.Servers, describeServer(m, s))
	}
	for _, s := range m.Switches {
		d.Switches = append(d.Switches, Switch{s.Addr, s.Name, s.Host, s.OS, s.Serial, userOf(s.Credential), s.Unmanaged})
	}
	for _, l := range m.Links {
		d.Links = append(d.Links, Link{l.Addr, end(l.From), end(l.To), l.Speed})
	}
	for _, v := range m.VCenters {
		d.VCenters = append(d.VCenters, VCenter{v.Addr, v.Host, userOf(v.Credential), slice.Map(v.Clusters, func(c *inventory.Cluster) string { return c.Path })})
	}
	for _, s := range m.DVSwitches {
		d.DVSwitches = append(d.DVSwitches, DVSwitch{slices.Index(m.VCenters, s.VCenter), s.Path, slice.Map(s.Uplinks, card)})
	}
	for _, v := range m.VMs {
		described := VM{v.Path, v.HardwareVersion, -1}
		if g := v.Adapters[0].PortGroup; g != nil {
			described.DVSwitch = slices.Index(m.DVSwitches, g.Switch)
		}
		d.VMs = append(d.VMs, described)
	}
	return d
}

func describeServer(m *inventory.Model, s *inventory.Server) Server {
	d := Server{Addr: s.Addr, Host: s.Host, OS: s.OS, MachineID: s.MachineID, User: userOf(s.Credential), Login: m.DefaultConnection().User, SMB: s.SMB != nil}
	if s.Connection != nil {
		d.Login = s.Connection.User
	}
	for _, r := range s.RNICs {
		n := NIC{Name: r.Name, PCI: r.PCI, MAC: r.MAC, Software: r.Software, Fabric: slices.Index(m.Fabrics, r.Fabric), Address: r.Address, VLAN: r.VLAN}
		if r.Plane != nil {
			n.Plane = r.Plane.Name
		}
		if r.VMK != nil {
			n.VMK = &VMK{r.VMK.ID, r.VMK.Netstack, r.VMK.Services, r.VMK.PortGroup != nil}
		}
		d.NICs = append(d.NICs, n)
	}
	for _, p := range m.Pools {
		if p.Server != s {
			continue
		}
		pool := Pool{Drives: p.Drives}
		for _, v := range m.Volumes {
			if v.Pool == p {
				pool.Volumes += v.Size
			}
		}
		d.Pools = append(d.Pools, pool)
	}
	for _, t := range m.Targets {
		if t.Server == s {
			d.Portals = append(d.Portals, slice.Map(t.Portals, func(p inventory.Portal) netip.AddrPort { return p.Address }))
		}
	}
	for _, v := range m.Validations {
		if v.Before != nil && v.Before.Server == s {
			d.Before = append(d.Before, v.Before.Device)
		}
	}
	return d
}

func userOf(c *inventory.Credential) string {
	if c == nil {
		return ""
	}
	return c.User
}

// Model is a model of the described devices, which holds nothing else of the files.
func (d *Devices) Model() *inventory.Model {
	m := &inventory.Model{}
	for _, f := range d.Fabrics {
		m.Fabrics = append(m.Fabrics, &inventory.Fabric{Name: f.Name, Transport: f.Transport, Mode: f.Mode,
			Classes: slice.Map(f.Classes, func(c Class) *inventory.TrafficClass {
				return &inventory.TrafficClass{Priority: c.Priority, PFC: c.PFC}
			})})
	}
	for _, s := range d.Servers {
		s.addTo(m)
	}
	for _, s := range d.Switches {
		m.Switches = append(m.Switches, &inventory.Switch{Block: inventory.Block{Addr: s.Addr}, Name: s.Name, Host: s.Host, OS: s.OS, Serial: s.Serial, Credential: credentialOf(s.User), Unmanaged: s.Unmanaged})
	}
	card := func(c Card) *inventory.RNIC {
		if s := at(m.Servers, c.Server); s != nil {
			return at(s.RNICs, c.NIC)
		}
		return nil
	}
	end := func(e End) inventory.LinkEnd {
		return inventory.LinkEnd{Switch: at(m.Switches, e.Switch), Port: e.Port, RNIC: card(e.Card)}
	}
	for _, l := range d.Links {
		m.Links = append(m.Links, &inventory.Link{Block: inventory.Block{Addr: l.Addr}, From: end(l.From), To: end(l.To), Speed: l.Speed})
	}
	for _, v := range d.VCenters {
		m.VCenters = append(m.VCenters, &inventory.VCenter{Block: inventory.Block{Addr: v.Addr}, Host: v.Host, Credential: credentialOf(v.User),
			Clusters: slice.Map(v.Clusters, func(path string) *inventory.Cluster { return &inventory.Cluster{Path: path} })})
	}
	for _, s := range d.DVSwitches {
		m.DVSwitches = append(m.DVSwitches, &inventory.DVSwitch{VCenter: at(m.VCenters, s.VCenter), Path: s.Path, Uplinks: slice.Map(s.Uplinks, card)})
	}
	for _, v := range d.VMs {
		adapter := &inventory.PVRDMA{}
		if s := at(m.DVSwitches, v.DVSwitch); s != nil {
			adapter.PortGroup = &inventory.DVPortGroup{Switch: s}
		}
		m.VMs = append(m.VMs, &inventory.VM{Path: v.Path, HardwareVersion: v.Hardware, Adapters: []*inventory.PVRDMA{adapter}})
	}
	return m
}

// addTo adds a server and what stands on it to a model, after the fabrics.
func (d Server) addTo(m *inventory.Model) {
	s := &inventory.Server{Block: inventory.Block{Addr: d.Addr}, Host: d.Host, OS: d.OS, MachineID: d.MachineID,
		Credential: credentialOf(d.User), Connection: &inventory.Connection{User: d.Login}}
	if d.SMB {
		s.SMB = &inventory.SMB{}
	}
	for _, n := range d.NICs {
		r := &inventory.RNIC{Server: s, Name: n.Name, PCI: n.PCI, MAC: n.MAC, Software: n.Software, Fabric: at(m.Fabrics, n.Fabric), Address: n.Address, VLAN: n.VLAN}
		if n.Plane != "" {
			r.Plane = &inventory.Plane{Name: n.Plane}
		}
		if n.VMK != nil {
			r.VMK = &inventory.VMK{ID: n.VMK.ID, Netstack: n.VMK.Netstack, Services: n.VMK.Services}
			if n.VMK.PortGroup {
				r.VMK.PortGroup = &inventory.DVPortGroup{}
			}
		}
		s.RNICs = append(s.RNICs, r)
	}
	for _, p := range d.Pools {
		pool := &inventory.Pool{Server: s, Drives: p.Drives}
		m.Pools = append(m.Pools, pool)
		m.Volumes = append(m.Volumes, &inventory.Volume{Pool: pool, Size: p.Volumes})
	}
	for _, portals := range d.Portals {
		m.Targets = append(m.Targets, &inventory.Target{Server: s, Portals: slice.Map(portals, func(a netip.AddrPort) inventory.Portal { return inventory.Portal{Address: a} })})
	}
	for _, device := range d.Before {
		m.Validations = append(m.Validations, &inventory.Validation{Before: &inventory.Before{Server: s, Device: device}})
	}
	m.Servers = append(m.Servers, s)
}

// at is the element that an index refers to; nil: it refers to none.
func at[T any](list []*T, i int) *T {
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

func credentialOf(user string) *inventory.Credential {
	if user == "" {
		return nil
	}
	return &inventory.Credential{User: user}
}
