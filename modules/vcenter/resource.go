package vcenter

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/slice"
	"weft/plan"
)

// The kinds of resources of a vCenter.
const (
	SwitchKind = "dvswitch"
	GroupKind  = "dvportgroup"
	MemberKind = "dvswitch_member"
)

// A Switch is a distributed switch; a nil one is to be removed.
type Switch struct {
	Path string
	MTU  int // 0: what vCenter gives it
}

// A Group is a port group of a distributed switch.
type Group struct {
	Switch string // its path
	Name   string
	VLAN   int
}

// A Member is a host with the one NIC that is its uplink.
type Member struct {
	Switch string // its path
	Host   string // as vCenter calls it
	PCI    string // of the NIC
}

// A state is what was read, with whose eyes: all resources look at the same reading.
type state struct {
	*reading
	owner string
}

// An op is one call of the API, as people see it and as it is made.
type op struct {
	text string
	do   func(context.Context, *client) error
}

// A change is what leads from what was read to what is wanted, and back.
type change struct {
	list []plan.Change
	ops  []op
	undo []op // for each op; none: there is no way back
	err  error
	left string // why nothing is done about it
}

func (c change) diff() plan.Diff {
	d := plan.Diff{Changes: c.list, Err: c.err, Left: c.left}
	d.Send = slice.Map(c.ops, func(o op) string { return o.text })
	d.Undo = slice.Map(c.undo, func(o op) string { return o.text })
	return d
}

// A thing leads from what was read to what is wanted.
type thing interface {
	change(state) change
	key() (kind, name string)
}

// A resource is a thing as the engine has it.
type resource struct{ thing }

// Diff implements plan.Resource.
func (r resource) Diff(s plan.State) plan.Diff {
	have, ok := s.(*state)
	if !ok {
		return plan.Diff{}
	}
	return r.change(*have).diff()
}

// Verify implements plan.Resource: Commit has read all of it back.
func (r resource) Verify(context.Context) error { return nil }

func present(is bool) []plan.Change {
	return []plan.Change{{Path: "present", Before: strconv.FormatBool(!is), After: strconv.FormatBool(is)}}
}

// foreign says why an object that is there is not weft's to change; nil: it is the owner's.
func (s state) foreign(what string, n note) error {
	switch {
	case n.owner == s.owner:
		return nil
	case n.owner == "":
		return hint.Wrap(fmt.Errorf("there is %s already, which weft has not made: its custom attribute %q is empty", what, mark),
			"use another path for the block; weft does not adopt distributed switches")
	}
	return fmt.Errorf("%s belongs to the owner %s, says its custom attribute %q", what, n.owner, mark)
}

func (w *Switch) key() (string, string) { return SwitchKind, w.Path }

func (w *Switch) change(s state) (c change) {
	have := s.switches[w.Path]
	if have == nil {
		c.list = append(present(true), plan.Change{Path: "mtu", After: strconv.Itoa(w.MTU)})
		c.ops, c.undo = []op{createSwitch(w.Path, w.MTU, s.owner)}, []op{destroySwitch(w.Path, s.owner)}
		return c
	}
	if c.err = s.foreign("the distributed switch "+w.Path, have.note); c.err != nil || w.MTU == 0 || w.MTU == have.mtu {
		return c
	}
	c.list = plan.Changed("mtu", have.mtu, w.MTU, plan.ImpactLinkFlap)
	c.ops, c.undo = []op{setMTU(w.Path, w.MTU, s.owner)}, []op{setMTU(w.Path, have.mtu, s.owner)}
	return c
}

func mtuText(mtu int) string   { return "mtu=" + strconv.Itoa(mtu) }
func vlanText(vlan int) string { return "vlan=" + strconv.Itoa(vlan) }

func (w *Group) key() (string, string) { return GroupKind, w.Switch + "/" + w.Name }

func (w *Group) change(s state) (c change) {
	d := s.switches[w.Switch]
	var have *group
	if d != nil {
		have, c.err = d.groups[w.Name], s.foreign("the distributed switch "+w.Switch, d.note)
	}
	switch {
	case c.err != nil:
	case have == nil:
		c.list = append(present(true), plan.Change{Path: "vlan", After: strconv.Itoa(w.VLAN)})
		c.ops, c.undo = []op{createGroup(w.Switch, w.Name, w.VLAN, s.owner)}, []op{destroyGroup(w.Switch, w.Name, s.owner)}
		return c
	case s.foreign("the port group "+w.Name, have.note) != nil:
		c.err = s.foreign("the port group "+w.Name, have.note)
	case have.vlan < 0:
		c.err = hint.Wrap(fmt.Errorf("the port group %s has a trunk or a private VLAN, which weft does not change", w.Name), "give it a single VLAN by hand")
	case have.vlan != w.VLAN:
		c.list = plan.Changed("vlan", have.vlan, w.VLAN, plan.ImpactTraffic)
		c.ops, c.undo = []op{setVLAN(w.Switch, w.Name, w.VLAN, s.owner)}, []op{setVLAN(w.Switch, w.Name, have.vlan, s.owner)}
	}
	return c
}

func (w *Member) key() (string, string) { return MemberKind, w.Switch + "@" + strings.ToLower(w.Host) }

func (w *Member) change(s state) (c change) {
	h := s.hosts[strings.ToLower(w.Host)]
	if h == nil {
		c.err = noHost(w.Host)
		return c
	}
	nic := h.nics[strings.ToLower(w.PCI)]
	if nic == "" {
		c.err = hint.Wrap(fmt.Errorf("%s has no NIC at PCI address %s", h.name, w.PCI), "Host > Configure > Physical Adapters shows them")
		return c
	}
	if d := s.switches[w.Switch]; d != nil {
		if c.err = s.foreign("the distributed switch "+w.Switch, d.note); c.err != nil {
			return c
		}
		if nics, member := d.members[h.ref]; member {
			if !slices.Equal(nics, []string{nic}) {
				c.err = hint.Wrap(fmt.Errorf("%s is a member with %s, and its uplink is to be %s (%s)", h.name, cmp.Or(strings.Join(nics, ", "), "no NIC"), nic, w.PCI),
					"weft moves no uplinks: take the host out of the switch by hand, or write that NIC")
			}
			return c
		}
	}
	if other := h.taken[nic]; other != "" {
		c.err = fmt.Errorf("%s (%s) of %s is an uplink of %s already: weft takes no NIC away from a switch", nic, w.PCI, h.name, other)
		return c
	}
	c.list = append(present(true), plan.Change{Path: "uplink", After: nic})
	c.ops, c.undo = []op{addMember(w.Switch, h.name, nic, s.owner)}, []op{removeMember(w.Switch, h.name, s.owner)}
	return c
}

// A removal takes away what weft has made, as long as nobody else uses it.
type removal struct{ kind, name string }

func (r removal) key() (string, string) { return r.kind, r.name }

func (r removal) change(s state) (c change) {
	switch r.kind {
	case SwitchKind:
		c = s.removeSwitch(r.name)
	case GroupKind:
		c = s.removeGroup(path.Dir(r.name), path.Base(r.name))
	case AdapterKind:
		c = s.removeAdapter(path.Dir(r.name), path.Base(r.name))
	case VSANKind:
		c = s.forgetVSAN(r.name)
	case VMKernelKind:
		c = s.removePort(r.name)
	default:
		at, host, _ := strings.Cut(r.name, "@")
		c = s.removeMember(at, host)
	}
	if c.left == "" && c.ops != nil {
		c.list = present(false)
		c.list[0].Impact = plan.ImpactTraffic
	}
	return c
}

func (s state) removeSwitch(at string) (c change) {
	d := s.switches[at]
	if d == nil {
		return c
	}
	for name, g := range d.groups {
		if g.note.owner != s.owner {
			c.left = "it has the port group " + name + ", which weft did not make"
		}
	}
	for _, h := range s.hosts {
		if _, member := d.members[h.ref]; member && !h.noted(s.owner, at) {
			c.left = h.name + " is a member, which weft did not make it"
		}
	}
	if c.left == "" {
		c.ops, c.undo = []op{destroySwitch(at, s.owner)}, []op{createSwitch(at, d.mtu, s.owner)}
	}
	return c
}

func (s state) removeGroup(at, name string) (c change) {
	d := s.switches[at]
	if d == nil || d.groups[name] == nil {
		return c
	}
	if g := d.groups[name]; s.others(g) > 0 {
		c.left = fmt.Sprintf("%d virtual machines are on it", s.others(g))
	} else {
		c.ops, c.undo = []op{destroyGroup(at, name, s.owner)}, []op{createGroup(at, name, max(g.vlan, 0), s.owner)}
	}
	return c
}

func (s state) removeMember(at, host string) (c change) {
	d, h := s.switches[at], s.hosts[host]
	if d == nil || h == nil {
		return c
	}
	nics, member := d.members[h.ref]
	switch {
	case !member:
	case len(nics) != 1:
		c.left = fmt.Sprintf("it has the uplinks %q, and weft gave it one", nics)
	default:
		c.ops, c.undo = []op{removeMember(at, h.name, s.owner)}, []op{addMember(at, h.name, nics[0], s.owner)}
	}
	return c
}

func (h *host) noted(owner, at string) bool { return slices.Contains(h.notes, note{owner, at}) }
