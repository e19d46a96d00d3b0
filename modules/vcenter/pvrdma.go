package vcenter

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"weft/internal/hint"
	"weft/plan"
)

// The kinds of resources of virtual machines.
const (
	HardwareKind = "vm_hardware"
	AdapterKind  = "vm_pvrdma"
)

// A Hardware is the version of the virtual hardware of a machine, at least.
type Hardware struct {
	VM      string // path
	Version int
}

// An Adapter is one for PVRDMA of a virtual machine.
type Adapter struct {
	VM       string // path
	Name     string
	Switch   string // path
	Group    string // as vCenter calls it
	Protocol string // rocev1 or rocev2
	Degraded bool   // memory copy and TCP will do
	Hardware int    // version that is declared; 0: none is

	Uplinks map[string]string // PCI addresses of the uplinks of the switch, by host in lower case
	Peers   []string          // paths of the other machines on the switch
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (w *Hardware) key() (string, string) { return HardwareKind, w.VM }

func (w *Hardware) change(s state) (c change) {
	v := s.vms[w.VM]
	switch {
	case v == nil:
		c.err = noVM(w.VM)
	case v.hardware == 0:
		c.err = fmt.Errorf("vCenter does not tell the hardware version of %s", w.VM)
	case v.hardware >= w.Version:
	case v.on:
		c.err = mustBeOff(w.VM, "its hardware is raised")
	default:
		c.list = plan.Changed("version", v.hardware, w.Version, plan.ImpactNone)
		c.ops = []op{upgrade(w.VM, w.Version)} // without a way back
	}
	return c
}

func noVM(at string) error {
	return hint.Wrap(fmt.Errorf("vCenter has no virtual machine %s", at), "weft makes none: path is DATACENTER/vm/FOLDER/NAME")
}

func mustBeOff(at, what string) error {
	return hint.Wrap(fmt.Errorf("%s runs, and it must be off when %s", at, what), "shut its guest down, plan and apply again, then start it")
}

func (w *Adapter) key() (string, string) { return AdapterKind, w.VM + "/" + w.Name }

func (w *Adapter) change(s state) (c change) {
	v := s.vms[w.VM]
	if v == nil {
		c.err = noVM(w.VM)
		return c
	}
	if v.note.owner != "" && v.note.owner != s.owner {
		c.err = fmt.Errorf("adapters of %s belong to the owner %s, says its custom attribute %q", w.VM, v.note.owner, mark)
		return c
	}
	if c.err = w.lacks(s, v); c.err != nil {
		return c
	}
	have, spec := v.adapter(v.note.keys[w.Name]), adapterSpec{w.VM, w.Name, w.Switch, w.Group, w.Protocol}
	add, remove := addAdapter(spec, s.owner), removeAdapter(w.VM, w.Name, s.owner)
	switch {
	case have == nil:
		c.list = append(present(true), plan.Change{Path: "protocol", After: w.Protocol}, plan.Change{Path: "portgroup", After: w.Group})
		c.ops, c.undo = []op{add}, []op{remove}
	case have.protocol != w.Protocol || have.group != s.groupKey(w.Switch, w.Group):
		was := spec
		was.protocol = have.protocol
		if was.at, was.group = s.groupOf(have.group); was.group == "" {
			c.err = fmt.Errorf("%s of %s is on a port group that vCenter does not tell", w.Name, w.VM)
			return c
		}
		c.list = slices.Concat(plan.Changed("protocol", have.protocol, w.Protocol, plan.ImpactTraffic), plan.Changed("portgroup", was.group, w.Group, plan.ImpactTraffic))
		c.ops, c.undo = []op{remove, add}, []op{addAdapter(was, s.owner), remove}
	default:
		return c
	}
	if v.on {
		c.err = mustBeOff(w.VM, "adapters for PVRDMA are changed")
		return c
	}
	c.list = append(c.list, plan.Changed("memory_reserved", v.locked, true, plan.ImpactNone)...)
	for _, peer := range w.Peers {
		c.list = append(c.list, plan.Change{Path: "to " + path.Base(peer), After: w.way(s, v, peer)})
	}
	return c
}

// The oldest of what PVRDMA runs on; RoCE v2 is of the second.
var (
	pvrdmaRelease, rocev2Release   = []int{6, 5}, []int{6, 7}
	pvrdmaHardware, rocev2Hardware = 13, 14
)

// lacks says why an adapter would not work where its machine is now.
func (w *Adapter) lacks(s state, v *vm) error {
	const page = "weft explain WF-NET-019 lists what PVRDMA needs"
	hardware, release := pvrdmaHardware, pvrdmaRelease
	if w.Protocol == "rocev2" {
		hardware, release = rocev2Hardware, rocev2Release
	}
	h := s.hostOf(v.host)
	switch is := max(v.hardware, w.Hardware); {
	case !linux(v.guest):
		return hint.Wrap(fmt.Errorf("the guest of %s is %s, and PVRDMA is for Linux of 64 bits", w.VM, strconv.Quote(v.guest)), page)
	case is < hardware:
		return hint.Wrap(fmt.Errorf("%s has virtual hardware %d, and %s wants %d", w.VM, is, w.Protocol, hardware), "write hardware_version = %d; raising it has no undo", hardware)
	case h == nil:
		return hint.Wrap(fmt.Errorf("vCenter does not tell on which host %s is", w.VM), "see in vCenter whether it is orphaned or its host is away, and whether the account may read that host")
	case older(h.release, release):
		return hint.Wrap(fmt.Errorf("%s, where %s is, has ESXi %s, and %s wants %d.%d", h.name, w.VM, h.release, w.Protocol, release[0], release[1]), page)
	case w.Uplinks[strings.ToLower(h.name)] == "":
		return hint.Wrap(fmt.Errorf("%s, where %s is, has no uplink in %s", h.name, w.VM, w.Switch), "add a NIC of it to uplinks, or move the machine to a host that is a member")
	case !w.Degraded && !w.adapted(h):
		return hint.Wrap(fmt.Errorf("%s, where %s is, has no RDMA device on its uplink (%s): to other hosts it would be TCP", h.name, w.VM, w.Uplinks[strings.ToLower(h.name)]),
			"esxcli rdma device list shows what there is; allow_degraded = true takes TCP")
	}
	return nil
}

// older compares a release such as 6.7.0; one that does not say is old.
func older(release string, than []int) bool {
	parts := strings.Split(release, ".")
	for i, want := range than {
		if i >= len(parts) {
			return true
		}
		if is, err := strconv.Atoi(parts[i]); err != nil || is != want {
			return err != nil || is < want
		}
	}
	return false
}

// adapted reports whether an RDMA device runs on a host's uplink of the switch.
func (w *Adapter) adapted(h *host) bool {
	return h.rdma[h.nics[strings.ToLower(w.Uplinks[strings.ToLower(h.name)])]]
}

// way is how two machines will reach each other, as far as where they are decides it.
func (w *Adapter) way(s state, v *vm, peer string) string {
	other := s.vms[peer]
	if other == nil {
		return "not known: vCenter has no " + peer
	}
	here, there := s.hostOf(v.host), s.hostOf(other.host)
	switch {
	case here == nil || there == nil:
		return "not known: vCenter does not tell on which hosts they are"
	case here == there:
		return "memory copy, both on " + here.name
	case w.adapted(here) && w.adapted(there):
		return "RDMA, " + here.name + " to " + there.name
	case w.adapted(here):
		here = there
	}
	return "TCP, as " + here.name + " has no RDMA device on its uplink"
}

func (s state) hostOf(ref types.ManagedObjectReference) *host {
	for _, h := range s.hosts {
		if h.ref == ref {
			return h
		}
	}
	return nil
}

func (s state) groupKey(at, name string) string {
	if d := s.switches[at]; d != nil && d.groups[name] != nil {
		return d.groups[name].conf.Key
	}
	return ""
}

// groupOf is the port group of a key, and the switch it is on.
func (s state) groupOf(key string) (at, name string) {
	for at, d := range s.switches {
		for name, g := range d.groups {
			if key != "" && g.conf.Key == key {
				return at, name
			}
		}
	}
	return "", ""
}

func (s state) removeAdapter(at, name string) (c change) {
	v := s.vms[at]
	if v == nil || v.note.owner != s.owner {
		return c
	}
	have := v.adapter(v.note.keys[name])
	switch {
	case have == nil:
	case v.on:
		c.left = "its machine runs: it is taken away when that is off"
	default:
		on, group := s.groupOf(have.group)
		c.ops, c.undo = []op{removeAdapter(at, name, s.owner)}, []op{addAdapter(adapterSpec{at, name, on, group, have.protocol}, s.owner)}
	}
	return c
}

// others counts machines on a port group but those whose adapters on it are the owner's
// and go before it.
func (s state) others(g *group) (n int) {
	ours := map[types.ManagedObjectReference]bool{}
	for _, v := range s.vms {
		for _, key := range v.note.keys {
			if a := v.adapter(key); a != nil && a.group == g.conf.Key && v.note.owner == s.owner && !v.on {
				ours[v.ref] = true
			}
		}
	}
	for _, ref := range g.vms {
		if !ours[ref] {
			n++
		}
	}
	return n
}

// keptVMs are the adapters that carry the owner's name.
func (s state) keptVMs(device string) (list []plan.Entry) {
	for _, at := range sorted(s.vms) {
		v := s.vms[at]
		if v.note.owner != s.owner {
			continue
		}
		for _, name := range sorted(v.note.keys) {
			a := v.adapter(v.note.keys[name])
			if a == nil {
				continue // somebody took it away
			}
			e := plan.Entry{Kind: AdapterKind, Name: at + "/" + name, State: plan.EntryCreated}
			if on, group := s.groupOf(a.group); group != "" {
				e.Needs = []plan.ID{{Device: device, Kind: GroupKind, Name: on + "/" + group}}
				for _, h := range sorted(s.hosts) {
					if s.hosts[h].noted(s.owner, on) {
						e.Needs = append(e.Needs, plan.ID{Device: device, Kind: MemberKind, Name: on + "@" + h})
					}
				}
			}
			list = append(list, e)
		}
	}
	return list
}

// paths are those of the machines and clusters that things are about.
func paths(t thing) []string {
	switch t := t.(type) {
	case *Hardware:
		return []string{t.VM}
	case *Adapter:
		return append([]string{t.VM}, t.Peers...)
	case *VSAN:
		return []string{t.Cluster}
	}
	return nil
}
