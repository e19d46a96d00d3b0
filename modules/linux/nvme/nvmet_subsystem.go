package nvme

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/storage"
	"weft/plan"
)

// NVMeTSubsystem keeps one subsystem of the kernel's target as declared: who
// it is, its namespaces, and which hosts may connect. A subsystem that weft
// made is weft's as a whole; one that another owner made is refused.
type NVMeTSubsystem struct {
	NQN        string
	Serial     string
	Model      string
	AnyHost    bool     `json:",omitempty"` // everybody may connect, and no host is listed
	Hosts      []string // names of those that may connect, in order
	Namespaces map[uint32]NVMeTNamespace
	Exact      bool `json:",omitempty"` // no other hosts, as was observed; else nvmet_access ends what others have
}

// NVMeTSubsystemKind is the kind nvmet_subsystem.
func NVMeTSubsystemKind() *host.Kind[NVMeTSubsystem] {
	return &host.Kind[NVMeTSubsystem]{
		Name: "nvmet_subsystem", Additive: true,
		Looks: (*NVMeTSubsystem).Looks, Parse: (*NVMeTSubsystem).Parse, Diff: (*NVMeTSubsystem).Diff, Steps: (*NVMeTSubsystem).Steps,
		Check: (*NVMeTSubsystem).unwritable, Boot: (*NVMeTSubsystem).Boot, Advice: (*NVMeTSubsystem).Advice,
		Self: (*NVMeTSubsystem).Self, All: (*NVMeTSubsystem).All,
	}
}

// An NVMeTNamespace is one block device of a subsystem.
type NVMeTNamespace struct {
	Path    string // of the block device
	UUID    string // in lower case
	NGUID   string // in the form of a UUID; all zeros: none
	Group   int    // ANA group
	Enabled bool
}

// newNVMeTSubsystem is a subsystem that those hosts alone may connect to.
func NewNVMeTSubsystem(nqn, serial string, hosts []string) *NVMeTSubsystem {
	return &NVMeTSubsystem{NQN: nqn, Serial: serial, Model: nvmetMark, Hosts: slices.Sorted(slices.Values(hosts)), Namespaces: map[uint32]NVMeTNamespace{}}
}

// newNVMeTNamespace is a namespace that keeps its identity.
func NewNVMeTNamespace(path, uuid string) NVMeTNamespace {
	id := strings.ToLower(uuid)
	return NVMeTNamespace{Path: path, UUID: id, NGUID: id, Group: 1, Enabled: true}
}

func (n *NVMeTSubsystem) dir() string { return storage.NVMeT + "/subsystems/" + n.NQN }
func (n *NVMeTSubsystem) namespace(id uint32) string {
	return fmt.Sprintf("%s/namespaces/%d", n.dir(), id)
}
func (n *NVMeTSubsystem) allows(host string) string { return n.dir() + "/allowed_hosts/" + host }

func (n *NVMeTSubsystem) unwritable() error {
	return put.CheckNQNs(append([]string{n.NQN}, n.Hosts...)...)
}

func (n *NVMeTSubsystem) Looks() []remote.Look { return []remote.Look{nvmetLook()} }

func (n *NVMeTSubsystem) Parse(s remote.Seen) (*NVMeTSubsystem, error) {
	t, err := parseNVMeT(s)
	at := "subsystems/" + n.NQN
	if err != nil || t[at] == "" {
		return nil, err
	}
	have := &NVMeTSubsystem{NQN: n.NQN, Serial: t[at+"/attr_serial"], Model: t[at+"/attr_model"], AnyHost: t[at+"/attr_allow_any_host"] == "1",
		Hosts: t.in(at + "/allowed_hosts"), Namespaces: map[uint32]NVMeTNamespace{}, Exact: true}
	for _, name := range t.in(at + "/namespaces") {
		id, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s has a namespace %q", n.dir(), name)
		}
		dir := at + "/namespaces/" + name
		ns := NVMeTNamespace{Path: t[dir+"/device_path"], UUID: t[dir+"/device_uuid"], NGUID: t[dir+"/device_nguid"], Enabled: t[dir+"/enable"] == "1"}
		if ns.Path == "(null)" { // so the kernel says that none is set
			ns.Path = ""
		}
		ns.Group, _ = strconv.Atoi(t[dir+"/ana_grpid"]) // kernels without ANA have none: 0
		have.Namespaces[uint32(id)] = ns
	}
	// What was cut off while it was made holds nothing yet.
	if empty := len(have.Namespaces)+len(have.Hosts) == 0; have.Model != nvmetMark && !empty {
		return nil, hint.Wrap(fmt.Errorf("the kernel's target has a subsystem %s that weft did not make (its model is %q)", n.NQN, have.Model),
			"give the one in the files another nqn, or take that one away: nvmetcli, or rmdir below %s", n.dir())
	}
	return have, nil
}

// absent is the target without it.
func (n *NVMeTSubsystem) absent() *NVMeTSubsystem { return &NVMeTSubsystem{NQN: n.NQN} }

func (n *NVMeTSubsystem) Diff(have *NVMeTSubsystem) []plan.Change {
	gone := n == nil
	n, have = host.Either(n, have, (*NVMeTSubsystem).absent)
	n = n.toward(have)
	impact := plan.ImpactNone
	if gone {
		impact = plan.ImpactTraffic
	}
	out := plan.Changed("serial", have.Serial, n.Serial, impact)
	out = append(out, plan.Changed("model", have.Model, n.Model, impact)...)
	out = append(out, plan.Changed("allow_any_host", have.AnyHost, n.AnyHost, plan.ImpactNone)...)
	out = append(out, plan.Changed("allow_hosts", strings.Join(have.Hosts, " "), strings.Join(n.Hosts, " "), plan.ImpactNone)...)
	for _, id := range union(n.Namespaces, have.Namespaces) {
		want, is := n.Namespaces[id], have.Namespaces[id]
		at := fmt.Sprintf("namespace.%d.", id)
		impact := plan.ImpactTraffic
		if _, there := have.Namespaces[id]; !there {
			impact = plan.ImpactNone
		}
		out = append(out, plan.Changed(at+"path", is.Path, want.Path, impact)...)
		out = append(out, plan.Changed(at+"uuid", is.UUID, want.UUID, impact)...)
		out = append(out, plan.Changed(at+"nguid", is.NGUID, want.NGUID, impact)...)
		out = append(out, plan.Changed(at+"ana_group", is.Group, want.Group, impact)...)
		out = append(out, plan.Changed(at+"enabled", is.Enabled, want.Enabled, impact)...)
	}
	return out
}

// toward is what is wanted while the hosts that are admitted may still be using it.
func (n *NVMeTSubsystem) toward(have *NVMeTSubsystem) *NVMeTSubsystem {
	if n.Exact || n.Model == "" || n.AnyHost {
		return n
	}
	g := *n
	g.Hosts = slices.Sorted(slices.Values(both(n.Hosts, have.Hosts)))
	return &g
}

func union(a, b map[uint32]NVMeTNamespace) []uint32 {
	all := maps.Clone(a)
	if all == nil {
		all = map[uint32]NVMeTNamespace{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// Steps: attributes that have their value are never written:
// the kernel drops connections over some of them.
func (n *NVMeTSubsystem) Steps(have *NVMeTSubsystem) []remote.Step {
	if n == nil {
		return have.remove()
	}
	var steps []remote.Step
	if have == nil {
		have = n.absent()
		steps = append(steps, host.Run("modprobe", "nvmet"), makeWith(n.dir(), n.identity(have)...))
	} else if differs := n.identity(have); len(differs) > 0 {
		steps = append(steps, write(n.dir(), differs...))
	}
	n = n.toward(have)
	steps = append(steps, n.admit(have)...)
	for _, id := range union(n.Namespaces, have.Namespaces) {
		steps = append(steps, n.expose(id, have)...)
	}
	return steps
}

// identity are the attributes that differ.
func (n *NVMeTSubsystem) identity(have *NVMeTSubsystem) []attr {
	var differs []attr
	if n.Model != have.Model {
		differs = append(differs, attr{"attr_model", n.Model})
	}
	if n.Serial != have.Serial {
		differs = append(differs, attr{"attr_serial", n.Serial})
	}
	return differs
}

// admit leads to the wanted hosts: those that are listed, or everybody. The
// kernel takes one only when the other is gone.
func (n *NVMeTSubsystem) admit(have *NVMeTSubsystem) []remote.Step {
	var steps []remote.Step
	if have.AnyHost && !n.AnyHost {
		steps = append(steps, write(n.dir(), attr{"attr_allow_any_host", "0"}))
	}
	for _, h := range have.Hosts {
		if !slices.Contains(n.Hosts, h) {
			steps = append(steps, host.Run("rm", n.allows(h)))
		}
	}
	for _, h := range n.Hosts {
		if !slices.Contains(have.Hosts, h) {
			steps = append(steps, host.Run("ln", "-s", (&NVMeTHost{NQN: h}).dir(), n.allows(h)))
		}
	}
	if n.AnyHost && !have.AnyHost {
		steps = append(steps, write(n.dir(), attr{"attr_allow_any_host", "1"}))
	}
	return steps
}

// expose leads to one wanted namespace. What it is can be written only while
// it is not enabled; enabling is the last.
func (n *NVMeTSubsystem) expose(id uint32, have *NVMeTSubsystem) []remote.Step {
	want, wanted := n.Namespaces[id]
	is, there := have.Namespaces[id]
	dir := n.namespace(id)
	if !wanted {
		return []remote.Step{host.Run("rmdir", dir)} // disables it, after what is in flight
	}
	var device, group []attr
	for _, v := range []struct{ attribute, is, want string }{
		{"device_uuid", is.UUID, want.UUID}, {"device_nguid", is.NGUID, want.NGUID}, {"device_path", is.Path, want.Path},
	} {
		if v.is != v.want && v.want != "" {
			device = append(device, attr{v.attribute, v.want})
		}
	}
	if is.Group != want.Group && want.Group > 0 {
		group = append(group, attr{"ana_grpid", strconv.Itoa(want.Group)})
	}
	enabled := is.Enabled
	var steps []remote.Step
	if enabled && (len(device) > 0 || !want.Enabled) {
		steps, enabled = append(steps, write(dir, attr{"enable", "0"})), false
	}
	values := slices.Concat(group, device)
	if want.Enabled && !enabled {
		values = append(values, attr{"enable", "1"})
	}
	switch {
	case !there:
		if want.Enabled {
			steps = append(steps, isBlock(want.Path))
		}
		return append(steps, makeWith(dir, values...))
	case len(values) > 0:
		if want.Enabled && !enabled {
			steps = append(steps, isBlock(want.Path))
		}
		return append(steps, write(dir, values...))
	}
	return steps
}

// isBlock refuses what is no block device: the kernel would take a file, or
// whatever else has that name.
func isBlock(path string) remote.Step { return host.Run("test", "-b", path) }

// remove takes it away; the ports that exported it have let it go before.
func (n *NVMeTSubsystem) remove() []remote.Step {
	steps := slice.Map(union(n.Namespaces, nil), func(id uint32) remote.Step { return host.Run("rmdir", n.namespace(id)) })
	for _, h := range n.Hosts {
		steps = append(steps, host.Run("rm", n.allows(h)))
	}
	return append(steps, host.Run("rmdir", n.dir()))
}

func (n *NVMeTSubsystem) Boot() []string {
	lines := []string{"do_ modprobe nvmet", bootDir(n.dir()), bootSet(n.dir(), attr{"attr_model", n.Model}, attr{"attr_serial", n.Serial})}
	for _, h := range n.Hosts {
		lines = append(lines, bootLink((&NVMeTHost{NQN: h}).dir(), n.allows(h)))
	}
	for _, id := range union(n.Namespaces, nil) {
		ns, dir := n.Namespaces[id], n.namespace(id)
		set := bootSet(dir, attr{"device_uuid", ns.UUID}, attr{"device_nguid", ns.NGUID}, attr{"ana_grpid", strconv.Itoa(ns.Group)},
			attr{"device_path", ns.Path}, attr{"enable", "1"})
		lines = append(lines, fmt.Sprintf("if block_ %s; then %s; %s; fi", remote.Quote(ns.Path), bootDir(dir), set))
	}
	return lines
}

func (n *NVMeTSubsystem) Advice(reply string) string {
	switch {
	case strings.Contains(reply, "attr_serial") || strings.Contains(reply, "attr_model"):
		return "a host has seen this subsystem, and the kernel keeps who it is from then on: give it another nqn, or leave the serial as it was"
	case strings.Contains(reply, "enable: No such file") || strings.Contains(reply, "enable: No such device"):
		return "the block device of the namespace is not there: lsblk, lvs"
	case strings.Contains(reply, "No such file or directory"):
		return "is the kernel's target loaded, and configfs mounted? see modprobe nvmet; findmnt /sys/kernel/config"
	case strings.Contains(reply, "exit 1: ") && strings.TrimPrefix(reply, "exit 1: ") == "":
		return "a namespace must be a block device: check its path with ls -lL"
	case strings.Contains(reply, "busy"):
		return "something of others holds it: ls " + storage.NVMeT + "/ports/*/subsystems"
	}
	return ""
}

func (n *NVMeTSubsystem) Self(remote.Seen) []host.Object {
	return []host.Object{{Kind: "nvmet_subsystem", Name: n.NQN}}
}

func (n *NVMeTSubsystem) All(s remote.Seen) []host.Object { return nvmetObjects(s) }
