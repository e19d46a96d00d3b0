// Package simvcenter is a SIMULATED vCenter Server: vcsim of govmomi, with what that lacks of
// distributed switches. It answers the vSphere API over TLS, keeps state, and refuses what it
// does not know.
package simvcenter

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"weft/internal/slice"
)

// Datacenter is the usual name of the only one there is.
const Datacenter = "DC0"

// A Spec says what a vCenter has.
type Spec struct {
	User       string // the only one that is let in
	Password   string // "": the first that it is given, and from then on no other
	Also       string // a password that is taken beside it, and is never the first
	Datacenter string // "": Datacenter
	Cluster    string // path of the one that the hosts are in, with vSAN; "": they are in none
	Witnesses  int    // of its vSAN
	Mute       bool   // the health service of vSAN does not answer
	DRS        bool   // machines move by themselves from a host that is to be empty
	Stuck      bool   // its tasks about distributed switches never end
	Hosts      []Host
	VMs        []VM

	// Tell is told of what becomes of hosts, before whoever did it hears of that. nil:
	// nobody is.
	Tell func(Event) `json:"-"`
}

// An Event is a port of the VMkernel of a host that is made, changed or removed on a
// distributed switch, or maintenance mode.
type Event struct {
	Host          string
	Fault         string // the answer to one that was asked for: what is against it, or "done"
	Maintenance   string // "on", "off": of the host, and there is no port; "": there is
	ID            string
	Switch, PCI   string // name, and address of the NIC that is its uplink; "": it has gone
	Address, Mask string
	Stack         string // "": the default one
	MTU           int
}

// A Host is an ESXi host of a vCenter.
type Host struct {
	Name string
	NICs []string // PCI addresses; the first NIC, vmnic0, is that of the management
	RDMA []string // those of them on which an RDMA device runs
	VSAN *VSAN    // nil: it has no network for it

	Ports   []string // of the VMkernel that others have made, besides vmk0
	Profile string   // the host profile that is attached to it; "": none is

	Release string // of ESXi; "": 8.0.2
}

// vmnic is what a host calls the NIC at a PCI address.
func (h Host) vmnic(pci string) string { return "vmnic" + strconv.Itoa(slices.Index(h.NICs, pci)+1) }

// A Server is a simulated vCenter that answers.
type Server struct {
	Host   string
	Port   int
	SHA256 string // of its certificate

	model  *simulator.Model
	server *simulator.Server
	state  *state
}

// Start makes a vCenter answer on loopback.
func Start(spec Spec) (*Server, error) {
	m := simulator.VPX()
	m.Host, m.Cluster, m.Machine, m.Portgroup, m.Datastore = len(spec.Hosts), 0, 0, 0, 1
	if spec.Cluster != "" {
		m.Host, m.Cluster, m.ClusterHost = 0, 1, len(spec.Hosts)
	}
	m.ServiceContent.About.FullName += " (SIMULATED)"
	if err := m.Create(); err != nil {
		return nil, fmt.Errorf("simulated vCenter: %w", err)
	}
	for i, o := range m.Map().All("HostSystem") {
		equip(o.(*simulator.HostSystem), spec.Hosts[i])
	}
	profile(m, spec)
	for _, o := range m.Map().All("Datacenter") {
		o.(*simulator.Datacenter).Name = cmp.Or(spec.Datacenter, Datacenter)
	}
	for _, o := range m.Map().All("ClusterComputeResource") {
		c := o.(*simulator.ClusterComputeResource)
		c.Name = path.Base(spec.Cluster)
		if conf, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx); ok && spec.DRS {
			conf.DrsConfig.DefaultVmBehavior = types.DrsBehaviorFullyAutomated
		}
		m.Service.HandleFunc(vsanPath, newVSAN(m, o.Reference(), spec).ServeHTTP)
	}
	for _, v := range spec.VMs {
		if err := install(m, v); err != nil {
			return nil, fmt.Errorf("simulated vCenter: virtual machine %s: %w", v.Path, err)
		}
	}
	is := &state{password: spec.Password, also: spec.Also, seen: map[string]bool{}}
	m.Map().Handler = ours(spec, is)
	m.Service.TLS = new(tls.Config)
	m.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(spec.User, spec.Password)}
	m.Map().SessionManager().ValidLogin = func(l *types.Login) bool {
		return l.UserName == spec.User && is.takes(l.Password)
	}
	s := &Server{model: m, server: m.Service.NewServer(), state: is}
	s.server.Config.Handler = is.in(s.server.Config.Handler)
	sum := sha256.Sum256(s.server.Certificate().Raw)
	s.SHA256 = hex.EncodeToString(sum[:])
	host, port, err := net.SplitHostPort(s.server.URL.Host)
	if err == nil {
		s.Port, err = strconv.Atoi(port)
	}
	if s.Host = host; err != nil {
		s.Close()
		return nil, fmt.Errorf("simulated vCenter: %w", err)
	}
	return s, nil
}

// ours has sessions see types of ours, which can more: the code of vcsim wants its own in the
// inventory.
func ours(spec Spec, is *state) func(*simulator.Context, *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	return func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if spec.Stuck && method.Name == "CreateDVS_Task" && ctx.Session != nil {
			ctx.Session.Put(&stuck{ctx.Map.Get(method.This).(*simulator.Folder)})
		}
		switch o := ctx.Map.Get(method.This).(type) {
		case *simulator.DistributedVirtualSwitch:
			if method.Name == "ReconfigureDvs_Task" && ctx.Session != nil {
				ctx.Session.Put(&dvs{o})
			}
		case *simulator.ServiceInstance:
			if method.Name == "CurrentTime" && ctx.Session != nil {
				ctx.Session.Put(&clock{o, is.now()})
			}
		case *simulator.HostSystem:
			if on, ok := map[string]string{"EnterMaintenanceMode_Task": "on", "ExitMaintenanceMode_Task": "off"}[method.Name]; ok && spec.Tell != nil {
				spec.Tell(Event{Host: o.Name, Maintenance: on})
			}
		case *simulator.HostNetworkSystem:
			if strings.HasSuffix(method.Name, "VirtualNic") && ctx.Session != nil {
				ctx.Session.Put(&hostNetwork{o, spec})
			}
		}
		return nil, nil
	}
}

// Close ends it.
func (s *Server) Close() {
	s.server.Close()
	s.model.Remove()
}

// equip gives a host its name and its NICs.
func equip(h *simulator.HostSystem, spec Host) {
	h.Name, h.Summary.Config.Name = spec.Name, spec.Name
	config, network := *h.Config, types.HostNetworkInfo{}
	if h.Config.Network != nil {
		network = *h.Config.Network
	}
	network.Pnic = []types.PhysicalNic{{Key: "key-vim.host.PhysicalNic-vmnic0", Device: "vmnic0", Pci: "0000:01:00.0"}}
	network.Vswitch = []types.HostVirtualSwitch{{Name: "vSwitch0", Pnic: []string{network.Pnic[0].Key}}}
	network.Vnic = slices.Clone(network.Vnic)
	for _, name := range spec.Ports {
		network.Vnic = append(network.Vnic, types.HostVirtualNic{Device: name, Key: "key-vim.host.VirtualNic-" + name, Portgroup: "VM Network"})
	}
	for _, pci := range spec.NICs {
		name := spec.vmnic(pci)
		network.Pnic = append(network.Pnic, types.PhysicalNic{Key: "key-vim.host.PhysicalNic-" + name, Device: name, Pci: pci})
		if slices.Contains(spec.RDMA, pci) {
			device := "vmrdma" + strconv.Itoa(len(network.RdmaDevice))
			network.RdmaDevice = append(network.RdmaDevice, types.HostRdmaDevice{Key: "key-vim.host.RdmaDevice-" + device, Device: device,
				Backing: &types.HostRdmaDevicePnicBacking{PairedUplink: "key-vim.host.PhysicalNic-" + name}})
		}
	}
	config.Network, config.Product.Version = &network, cmp.Or(spec.Release, config.Product.Version)
	h.Config = &config
}

// A dvs is a distributed switch that takes an MTU and keeps the NICs of its members, which
// vcsim does not.
type dvs struct {
	*simulator.DistributedVirtualSwitch
}

// ReconfigureDvsTask refuses what was read before somebody else's change, and NICs that a
// host does not have.
func (d *dvs) ReconfigureDvsTask(ctx *simulator.Context, req *types.ReconfigureDvs_Task) soap.HasFault {
	config, ok := d.Config.(*types.VMwareDVSConfigInfo)
	spec, given := req.Spec.(*types.VMwareDVSConfigSpec)
	if !ok || !given {
		return refused(&types.NotSupported{})
	}
	if spec.ConfigVersion != config.ConfigVersion {
		return refused(&types.ConcurrentAccess{})
	}
	for _, m := range spec.Host {
		for _, nic := range nicsOf(m) {
			h, ok := ctx.Map.Get(m.Host).(*simulator.HostSystem)
			if !ok || !slices.ContainsFunc(h.Config.Network.Pnic, func(p types.PhysicalNic) bool { return p.Device == nic }) {
				return refused(&types.PlatformConfigFault{Text: "no NIC " + nic})
			}
		}
	}
	body := d.DistributedVirtualSwitch.ReconfigureDvsTask(ctx, req)
	if spec.MaxMtu != 0 {
		config.MaxMtu = spec.MaxMtu
	}
	for _, m := range spec.Host {
		config.Host = slices.DeleteFunc(config.Host, func(h types.DistributedVirtualSwitchHostMember) bool { return *h.Config.Host == m.Host })
		if m.Operation == string(types.ConfigSpecOperationAdd) {
			config.Host = append(config.Host, types.DistributedVirtualSwitchHostMember{Config: types.DistributedVirtualSwitchHostMemberConfigInfo{Host: &m.Host, Backing: m.Backing}})
		}
	}
	n, _ := strconv.Atoi(config.ConfigVersion) // "" is the first
	config.ConfigVersion = strconv.Itoa(n + 1)
	return body
}

func refused(f types.BaseMethodFault) soap.HasFault {
	return &methods.ReconfigureDvs_TaskBody{Fault_: simulator.Fault("", f)}
}

func nicsOf(m types.DistributedVirtualSwitchHostMemberConfigSpec) (names []string) {
	if b, ok := m.Backing.(*types.DistributedVirtualSwitchHostMemberPnicBacking); ok {
		names = slice.Map(b.PnicSpec, func(p types.DistributedVirtualSwitchHostMemberPnicSpec) string { return p.PnicDevice })
	}
	return names
}
