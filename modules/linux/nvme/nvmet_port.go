package nvme

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
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

// NVMeTPort keeps one port of the kernel's target: the address that it listens
// on, and which of weft's subsystems it exports. Subsystems of others that are
// exported there stay.
type NVMeTPort struct {
	Number     uint16
	Transport  string // rdma or tcp
	Address    netip.AddrPort
	Groups     map[int]string // states of ANA groups; group 1 is always there
	Subsystems []string       // NQNs that are exported, in order

	Elsewhere []string `json:"-"` // declared at other ports: nvmet_access ends their export here

	foreign []string // observed: exported too, and not weft's
}

// NVMeTPortKind is the kind nvmet_port.
func NVMeTPortKind() *host.Kind[NVMeTPort] {
	return &host.Kind[NVMeTPort]{
		Name: "nvmet_port", Additive: true,
		Looks: (*NVMeTPort).Looks, Parse: (*NVMeTPort).Parse, Diff: (*NVMeTPort).Diff, Steps: (*NVMeTPort).Steps,
		Check: (*NVMeTPort).unwritable, Boot: (*NVMeTPort).Boot, Advice: (*NVMeTPort).Advice, Self: (*NVMeTPort).Self,
		All: (*NVMeTPort).All, Keeps: (*NVMeTPort).Keeps, Holds: (*NVMeTPort).Holds,
	}
}

// newNVMeTPort is the port of an owner for an address. Its number follows from
// these, so that another address is another port, made before the old one
// goes.
func NewNVMeTPort(owner, transport string, address netip.AddrPort, subsystems []string) *NVMeTPort {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %s %s", owner, transport, address)
	return &NVMeTPort{
		Number: uint16(1024 + h.Sum32()%(65536-1024)), Transport: transport, Address: address,
		Groups: map[int]string{1: "optimized"}, Subsystems: slices.Sorted(slices.Values(subsystems)),
	}
}

// name is that of the resource.
func (n *NVMeTPort) Name() string { return n.Transport + "-" + n.Address.String() }

func (n *NVMeTPort) dir() string { return fmt.Sprintf("%s/ports/%d", storage.NVMeT, n.Number) }

func (n *NVMeTPort) export(nqn string) string { return n.dir() + "/subsystems/" + nqn }

func (n *NVMeTPort) group(id int) string { return fmt.Sprintf("%s/ana_groups/%d", n.dir(), id) }

func (n *NVMeTPort) unwritable() error { return put.CheckNQNs(n.Subsystems...) }

func (n *NVMeTPort) Looks() []remote.Look { return []remote.Look{nvmetLook()} }

func (n *NVMeTPort) Parse(s remote.Seen) (*NVMeTPort, error) {
	t, err := parseNVMeT(s)
	if err != nil {
		return nil, err
	}
	if err := n.taken(t); err != nil {
		return nil, err
	}
	at := fmt.Sprintf("ports/%d", n.Number)
	if t[at] == "" {
		return nil, nil
	}
	have := &NVMeTPort{Number: n.Number, Transport: t[at+"/addr_trtype"], Groups: map[int]string{}}
	have.Address = portAddress(t, at) // not valid: not set
	for _, name := range t.in(at + "/ana_groups") {
		if id, err := strconv.Atoi(name); err == nil {
			have.Groups[id] = t[at+"/ana_groups/"+name+"/ana_state"]
		}
	}
	for _, nqn := range t.in(at + "/subsystems") {
		if t["subsystems/"+nqn+"/attr_model"] == nvmetMark {
			have.Subsystems = append(have.Subsystems, nqn)
		} else {
			have.foreign = append(have.foreign, nqn)
		}
	}
	if have.Address != n.Address && len(have.foreign) > 0 {
		return nil, hint.Wrap(fmt.Errorf("port %d of the kernel's target is foreign: it exports %s at %s", n.Number, have.foreign[0], have.Address),
			"give that port another number, or take it away")
	}
	return have, nil
}

// taken refuses an address that a port of another owner listens on.
func (n *NVMeTPort) taken(t nvmetTree) error {
	for _, name := range t.in("ports") {
		at := "ports/" + name
		if name == strconv.Itoa(int(n.Number)) || t[at+"/addr_trtype"] != n.Transport || portAddress(t, at) != n.Address || len(t.in(at+"/subsystems")) == 0 {
			continue
		}
		return hint.Wrap(fmt.Errorf("port %s of the kernel's target listens on %s with %s already, and is not weft's", name, n.Address, n.Transport),
			"take that port away, or declare another port = … in the target")
	}
	return nil
}

// portAddress is where a port listens.
func portAddress(t nvmetTree, at string) netip.AddrPort {
	a, err := netip.ParseAddr(t[at+"/addr_traddr"])
	port, err2 := strconv.ParseUint(t[at+"/addr_trsvcid"], 10, 16)
	if err != nil || err2 != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a, uint16(port))
}

func (n *NVMeTPort) absent() *NVMeTPort { return &NVMeTPort{Number: n.Number} }

// where is what is shown of an address.
func (n *NVMeTPort) where() string {
	if !n.Address.IsValid() {
		return ""
	}
	return n.Address.String()
}

func (n *NVMeTPort) Diff(have *NVMeTPort) []plan.Change {
	n, have = host.Either(n, have, (*NVMeTPort).absent)
	n = n.toward(have)
	impact := plan.ImpactTraffic
	if have.Transport == "" {
		impact = plan.ImpactNone
	}
	out := plan.Changed("transport", have.Transport, n.Transport, impact)
	out = append(out, plan.Changed("address", have.where(), n.where(), impact)...)
	for _, id := range slices.Sorted(maps.Keys(n.groups(have))) {
		out = append(out, plan.Changed(fmt.Sprintf("ana_group.%d", id), have.Groups[id], n.Groups[id], impact)...)
	}
	gone := slices.ContainsFunc(have.Subsystems, func(nqn string) bool { return !slices.Contains(n.Subsystems, nqn) })
	if !gone {
		impact = plan.ImpactNone
	}
	return append(out, plan.Changed("exports", strings.Join(have.Subsystems, " "), strings.Join(n.Subsystems, " "), impact)...)
}

// toward is what is wanted while hosts may still be using what is exported here, and is to
// be so elsewhere.
func (n *NVMeTPort) toward(have *NVMeTPort) *NVMeTPort {
	if n.Address != have.Address || n.Transport != have.Transport {
		return n
	}
	g := *n
	for _, nqn := range n.Elsewhere {
		if slices.Contains(have.Subsystems, nqn) && !slices.Contains(n.Subsystems, nqn) {
			g.Subsystems = append(slices.Clip(g.Subsystems), nqn)
		}
	}
	g.Subsystems = slices.Sorted(slices.Values(g.Subsystems))
	return &g
}

func (n *NVMeTPort) groups(have *NVMeTPort) map[int]string {
	all := maps.Clone(n.Groups)
	if all == nil {
		all = map[int]string{}
	}
	maps.Copy(all, have.Groups)
	return all
}

// Steps: a port listens from its first export on, and takes no
// other address from then on until its last one is gone. So what is exported
// comes last, and where the address changes all of it goes first.
func (n *NVMeTPort) Steps(have *NVMeTPort) []remote.Step {
	if n == nil {
		return have.remove()
	}
	var steps []remote.Step
	if have != nil {
		n = n.toward(have)
	}
	if have == nil {
		have = n.absent()
		have.Groups = map[int]string{1: "optimized"}
		steps = append(steps, host.Run("modprobe", "nvmet-"+n.Transport), makeWith(n.dir(), n.attributes()...))
	} else if n.Transport != have.Transport || n.Address != have.Address {
		for _, nqn := range have.Subsystems {
			steps = append(steps, host.Run("rm", n.export(nqn)))
		}
		have = &NVMeTPort{Groups: have.Groups}
		if n.Address.IsValid() {
			steps = append(steps, write(n.dir(), n.attributes()...))
		}
	}
	steps = append(steps, n.access(have)...)
	for _, nqn := range have.Subsystems {
		if !slices.Contains(n.Subsystems, nqn) {
			steps = append(steps, host.Run("rm", n.export(nqn)))
		}
	}
	for _, nqn := range n.Subsystems {
		if !slices.Contains(have.Subsystems, nqn) {
			steps = append(steps, host.Run("ln", "-s", (&NVMeTSubsystem{NQN: nqn}).dir(), n.export(nqn)))
		}
	}
	return steps
}

// attributes are where it listens. The transport is first: writing it resets
// what depends on it.
func (n *NVMeTPort) attributes() []attr {
	if !n.Address.IsValid() {
		return nil
	}
	family := "ipv4"
	if n.Address.Addr().Is6() {
		family = "ipv6"
	}
	return []attr{{"addr_trtype", n.Transport}, {"addr_adrfam", family}, {"addr_traddr", n.Address.Addr().String()}, {"addr_trsvcid", strconv.Itoa(int(n.Address.Port()))}}
}

// access leads to the wanted ANA groups.
func (n *NVMeTPort) access(have *NVMeTPort) []remote.Step {
	var steps []remote.Step
	for _, id := range slices.Sorted(maps.Keys(n.groups(have))) {
		want, wanted := n.Groups[id]
		is, there := have.Groups[id]
		switch {
		case !wanted && id != 1:
			steps = append(steps, host.Run("rmdir", n.group(id)))
		case wanted && !there:
			steps = append(steps, makeWith(n.group(id), attr{"ana_state", want}))
		case wanted && is != want:
			steps = append(steps, write(n.group(id), attr{"ana_state", want}))
		}
	}
	return steps
}

// remove takes it away.
func (n *NVMeTPort) remove() []remote.Step {
	steps := slice.Map(n.Subsystems, func(nqn string) remote.Step { return host.Run("rm", n.export(nqn)) })
	for _, id := range slices.Sorted(maps.Keys(n.Groups)) {
		if id != 1 {
			steps = append(steps, host.Run("rmdir", n.group(id)))
		}
	}
	return append(steps, host.Run("rmdir", n.dir()))
}

// Keeps: a port that exports what is not weft's stays.
func (n *NVMeTPort) Keeps() string {
	if len(n.foreign) == 0 {
		return ""
	}
	return fmt.Sprintf("it exports %s too, which is not weft's", strings.Join(n.foreign, ", "))
}

// Holds: it listens from its first export on.
func (n *NVMeTPort) Holds() []string {
	if len(n.Subsystems)+len(n.foreign) == 0 {
		return nil
	}
	return []string{listens(n.Transport, n.where())}
}

func (n *NVMeTPort) Boot() []string {
	lines := []string{"do_ modprobe nvmet-" + n.Transport, bootDir(n.dir()), bootSet(n.dir(), n.attributes()...)}
	for _, id := range slices.Sorted(maps.Keys(n.Groups)) {
		lines = append(lines, bootDir(n.group(id)), bootSet(n.group(id), attr{"ana_state", n.Groups[id]}))
	}
	for _, nqn := range n.Subsystems {
		lines = append(lines, bootLink((&NVMeTSubsystem{NQN: nqn}).dir(), n.export(nqn)))
	}
	return lines
}

func (n *NVMeTPort) Advice(reply string) string {
	addr := n.Address.Addr().String()
	switch {
	case strings.Contains(reply, "Cannot assign requested address"):
		return "no interface of the server has " + addr + ": ip addr"
	case strings.Contains(reply, "No such device"):
		return "the interface that has " + addr + " has no RDMA device: rdma link show"
	case strings.Contains(reply, "Address already in use"):
		return "something else listens there: ss -tlnp; rdma resource show cm_id"
	case strings.Contains(reply, "symbolic link") && strings.Contains(reply, "Invalid argument"):
		return "the kernel has no transport " + n.Transport + " for targets, or does not take the address: modprobe nvmet-" + n.Transport + "; dmesg"
	case strings.Contains(reply, "Permission denied"):
		return "the port listens while it is changed: something was exported there meanwhile; plan again"
	}
	return ""
}

func (n *NVMeTPort) Self(remote.Seen) []host.Object {
	return []host.Object{{Kind: "nvmet_port", Name: strconv.Itoa(int(n.Number))}}
}

func (n *NVMeTPort) All(s remote.Seen) []host.Object { return nvmetObjects(s) }
