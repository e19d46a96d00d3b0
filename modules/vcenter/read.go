package vcenter

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A reading is what vCenter has, as read at one time.
type reading struct {
	switches map[string]*dvs     // by path
	hosts    map[string]*host    // by name, in lower case
	vms      map[string]*vm      // by path: those that were asked for, and those with a mark of weft's
	clusters map[string]*cluster // likewise
}

// A dvs is a distributed switch.
type dvs struct {
	ref     types.ManagedObjectReference
	uuid    string
	path    string
	version string
	mtu     int
	lacp    bool // it has bundles of uplinks
	note    note
	groups  map[string]*group // by name, without those of uplinks
	members map[types.ManagedObjectReference][]string
}

// A group is a port group of a distributed switch.
type group struct {
	ref  types.ManagedObjectReference
	conf types.DVPortgroupConfigInfo
	vlan int                            // -1: no single one
	vms  []types.ManagedObjectReference // that are on it
	note note
}

// A host is one of vCenter's.
type host struct {
	ref     types.ManagedObjectReference
	name    string
	nics    map[string]string // names, by PCI address
	rdma    map[string]bool   // by name of a NIC: an RDMA device runs on it
	taken   map[string]string // by name of a NIC: the switch whose uplink it is
	teaming map[string]string // by name of a standard switch: how it spreads over its uplinks
	ports   map[string]port   // of the VMkernel, by name
	release string            // of ESXi: 8.0.2
	notes   []note            // a member of which switches weft has made it
}

// A note is what the custom attribute of an object says.
type note struct{ owner, text string }

func readNote(text string) note {
	owner, rest, _ := strings.Cut(text, " ")
	return note{owner, rest}
}

// madeBy is the description that weft gives what it makes, in the same call: a weft that is
// killed before it has set the mark has said whose it is. It names the place, so that a
// copy elsewhere, of somebody's import, is nobody's.
func madeBy(owner, at string) string { return "made by weft for " + owner + ": " + at }

// or is what the description of an object says, where there is no mark.
func (n note) or(description, at string) note {
	owner, _, _ := strings.Cut(strings.TrimPrefix(description, "made by weft for "), ": ")
	if n.owner == "" && description == madeBy(owner, at) {
		n.owner = owner
	}
	return n
}

func (n note) String() string { return strings.TrimSpace(n.owner + " " + n.text) }

// read takes all that weft looks at, and of virtual machines and clusters those at some
// paths.
func (c *client) read(ctx context.Context, paths ...string) (*reading, error) {
	pc := property.DefaultCollector(c.vim)
	root := c.vim.ServiceContent.RootFolder
	v, err := view.NewManager(c.vim).CreateContainerView(ctx, root, []string{"DistributedVirtualSwitch", "DistributedVirtualPortgroup", "HostSystem", "ClusterComputeResource", "VirtualMachine", "Folder", "Datacenter"}, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Destroy(ctx) }() // it goes with the session at the latest
	var switches []mo.DistributedVirtualSwitch
	var groups []mo.DistributedVirtualPortgroup
	var hosts []mo.HostSystem
	var clusters []mo.ClusterComputeResource
	var vms []mo.VirtualMachine
	var folders []mo.ManagedEntity
	for _, ask := range []struct {
		kinds, props []string
		into         any
	}{
		{[]string{"DistributedVirtualSwitch"}, []string{"name", "parent", "uuid", "config", "customValue"}, &switches},
		{[]string{"DistributedVirtualPortgroup"}, []string{"name", "config", "vm", "customValue"}, &groups},
		{[]string{"HostSystem"}, []string{"name", "config.network.pnic", "config.network.vnic", "config.network.vswitch", "config.network.proxySwitch", "config.network.rdmaDevice", "config.product.version", "customValue"}, &hosts},
		{[]string{"ClusterComputeResource"}, []string{"name", "parent", "host", "customValue"}, &clusters},
		{[]string{"VirtualMachine"}, []string{"name", "parent", "customValue"}, &vms},
		{[]string{"Folder", "Datacenter"}, []string{"name", "parent"}, &folders},
	} {
		if err := v.Retrieve(ctx, ask.kinds, ask.props, ask.into); err != nil {
			return nil, err
		}
	}
	key, err := c.markKey(ctx, pc)
	if err != nil {
		return nil, err
	}
	r := &reading{switches: map[string]*dvs{}, hosts: map[string]*host{}}
	byRef := map[types.ManagedObjectReference]*dvs{}
	for _, s := range switches {
		d := newDVS(s, pathOf(s.ManagedEntity, folders), readNote(noteIn(s.CustomValue, key)))
		if s.Config != nil {
			d.note = d.note.or(s.Config.GetDVSConfigInfo().Description, d.path)
		}
		r.switches[d.path], byRef[d.ref] = d, d
	}
	for _, g := range groups {
		if d := g.Config.DistributedVirtualSwitch; d != nil && byRef[*d] != nil && !isUplinks(g) {
			byRef[*d].groups[g.Name] = &group{ref: g.Self, conf: g.Config, vlan: vlanOf(g.Config.DefaultPortConfig), vms: g.Vm, note: readNote(noteIn(g.CustomValue, key)).or(g.Config.Description, byRef[*d].path+"/"+g.Name)}
		}
	}
	for _, h := range hosts {
		r.hosts[strings.ToLower(h.Name)] = newHost(h, noteIn(h.CustomValue, key))
	}
	if r.vms, err = c.readVMs(ctx, vms, folders, key, paths); err != nil {
		return nil, err
	}
	r.listClusters(clusters, folders, key, paths)
	return r, nil
}

// markKey is the key of the custom attribute that says whose an object is; -1: there is none yet.
func (c *client) markKey(ctx context.Context, pc *property.Collector) (int32, error) {
	return c.keyOf(ctx, pc, mark)
}

// keyOf is the key of a custom attribute; -1: there is none.
func (c *client) keyOf(ctx context.Context, pc *property.Collector, name string) (int32, error) {
	at := c.vim.ServiceContent.CustomFieldsManager
	if at == nil {
		return -1, nil
	}
	var fields mo.CustomFieldsManager
	if err := pc.RetrieveOne(ctx, *at, []string{"field"}, &fields); err != nil {
		return -1, err
	}
	for _, f := range fields.Field {
		if f.Name == name {
			return f.Key, nil
		}
	}
	return -1, nil
}

func noteIn(values []types.BaseCustomFieldValue, key int32) string {
	for _, v := range values {
		if s, ok := v.(*types.CustomFieldStringValue); ok && s.Key == key {
			return s.Value
		}
	}
	return ""
}

// pathOf is where an entity stands in the inventory, without the root.
func pathOf(e mo.ManagedEntity, all []mo.ManagedEntity) string {
	path := e.Name
	for up := e.Parent; up != nil; {
		i := slices.IndexFunc(all, func(f mo.ManagedEntity) bool { return f.Self == *up })
		if i < 0 {
			break // the root, which no path names
		}
		path, up = all[i].Name+"/"+path, all[i].Parent
	}
	return path
}

func newDVS(s mo.DistributedVirtualSwitch, path string, n note) *dvs {
	d := &dvs{ref: s.Self, uuid: s.Uuid, path: path, note: n, groups: map[string]*group{}, members: map[types.ManagedObjectReference][]string{}}
	if s.Config == nil {
		return d
	}
	d.version = s.Config.GetDVSConfigInfo().ConfigVersion
	if v, ok := s.Config.(*types.VMwareDVSConfigInfo); ok {
		d.mtu, d.lacp = int(v.MaxMtu), len(v.LacpGroupConfig) > 0
	}
	for _, m := range s.Config.GetDVSConfigInfo().Host {
		if m.Config.Host == nil {
			continue
		}
		nics := []string{}
		if b, ok := m.Config.Backing.(*types.DistributedVirtualSwitchHostMemberPnicBacking); ok {
			for _, p := range b.PnicSpec {
				nics = append(nics, p.PnicDevice)
			}
		}
		d.members[*m.Config.Host] = nics
	}
	return d
}

func isUplinks(g mo.DistributedVirtualPortgroup) bool {
	return g.Config.Uplink != nil && *g.Config.Uplink || strings.Contains(g.Name, "-DVUplinks-")
}

// teaming is how a port group spreads over uplinks; "": as its switch does, or not told.
func (g *group) teaming() string {
	if s, ok := g.conf.DefaultPortConfig.(*types.VMwareDVSPortSetting); ok && s.UplinkTeamingPolicy != nil && s.UplinkTeamingPolicy.Policy != nil {
		return s.UplinkTeamingPolicy.Policy.Value
	}
	return ""
}

// vlanOf is the VLAN of a port group; -1: it has a trunk, a private one, or none is told.
func vlanOf(c types.BaseDVPortSetting) int {
	if s, ok := c.(*types.VMwareDVSPortSetting); ok {
		if v, ok := s.Vlan.(*types.VmwareDistributedVirtualSwitchVlanIdSpec); ok {
			return int(v.VlanId)
		}
	}
	return -1
}

func newHost(h mo.HostSystem, marked string) *host {
	out := &host{ref: h.Self, name: h.Name, nics: map[string]string{}, rdma: map[string]bool{}, taken: map[string]string{}, teaming: map[string]string{}, ports: map[string]port{}}
	for _, text := range strings.Split(marked, ";") {
		if n := readNote(strings.TrimSpace(text)); n.owner != "" {
			out.notes = append(out.notes, n)
		}
	}
	if h.Config == nil {
		return out
	}
	out.release = h.Config.Product.Version
	if h.Config.Network == nil {
		return out
	}
	net := h.Config.Network
	name := map[string]string{} // by key
	for _, p := range net.Pnic {
		out.nics[strings.ToLower(p.Pci)], name[p.Key] = p.Device, p.Device
	}
	for _, s := range net.Vswitch {
		for _, key := range s.Pnic {
			out.taken[name[key]] = s.Name
		}
		if p := s.Spec.Policy; p != nil && p.NicTeaming != nil {
			out.teaming[s.Name] = p.NicTeaming.Policy
		}
	}
	for _, n := range net.Vnic {
		out.ports[n.Device] = readPort(n)
	}
	for _, d := range net.RdmaDevice {
		if b, ok := d.Backing.(*types.HostRdmaDevicePnicBacking); ok {
			out.rdma[cmp.Or(name[b.PairedUplink], b.PairedUplink)] = true
		}
	}
	for _, s := range net.ProxySwitch {
		for _, key := range s.Pnic {
			out.taken[name[key]] = s.DvsName
		}
	}
	return out
}
