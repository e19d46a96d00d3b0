package vcenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"weft/internal/hint"
	"weft/plan"
)

// VMKernelKind is the kind of the resource that a VMKernel is.
const VMKernelKind = "dvswitch_vmkernel"

// defaultStack is the stack of TCP/IP that ports are on where nothing is said.
const defaultStack = "defaultTcpipStack"

// A VMKernel is a port of the VMkernel of a host on a port group of a distributed switch.
type VMKernel struct {
	Host    string // as vCenter calls it
	ID      string // vmk2, which hosts give out in turn
	Switch  string // path
	Group   string // as vCenter calls it
	Stack   string // of TCP/IP; "": the default one
	Address netip.Prefix
	MTU     int
}

// A port is one of the VMkernel, as read.
type port struct {
	on      string // port group: its key on a distributed switch, else its name
	dvs     bool
	stack   string
	address netip.Prefix // not valid: none, or by DHCP
	mtu     int
}

func readPort(n types.HostVirtualNic) port {
	p := port{on: n.Portgroup, stack: cmp.Or(n.Spec.NetStackInstanceKey, defaultStack), mtu: int(n.Spec.Mtu)}
	if d := n.Spec.DistributedVirtualPort; d != nil {
		p.on, p.dvs = d.PortgroupKey, true
	}
	if ip := n.Spec.Ip; ip != nil && !ip.Dhcp {
		a, err := netip.ParseAddr(ip.IpAddress)
		ones, size := net.IPMask(net.ParseIP(ip.SubnetMask).To4()).Size()
		if err == nil && size > 0 {
			p.address = netip.PrefixFrom(a, ones)
		}
	}
	return p
}

// PortName is what the resource of a port of the VMkernel is called.
func PortName(host, id string) string { return strings.ToLower(host) + "/" + id }

func (w *VMKernel) key() (string, string) { return VMKernelKind, PortName(w.Host, w.ID) }

func (w *VMKernel) change(s state) (c change) {
	h := s.hosts[strings.ToLower(w.Host)]
	if h == nil {
		c.err = noHost(w.Host)
		return c
	}
	add := addPort(*w, s.owner)
	have, there := h.ports[w.ID]
	switch {
	case !there:
		c.list = append(present(true), plan.Change{Path: "portgroup", After: w.Group}, plan.Change{Path: "address", After: w.Address.String()}, plan.Change{Path: "mtu", After: fmt.Sprint(w.MTU)})
		c.ops, c.undo = []op{add}, []op{removePort(h.name, w.ID, s.owner)}
		return c
	case !h.noted(s.owner, w.ID):
		c.err = hint.Wrap(fmt.Errorf("%s has a %s already, which weft has not made", h.name, w.ID), "give the vmk block another id; weft takes over no port of the VMkernel")
		return c
	case !have.dvs || have.on != s.groupKey(w.Switch, w.Group):
		c.err = hint.Wrap(fmt.Errorf("%s of %s is on another port group than %s", w.ID, h.name, w.Group), "weft moves no port of the VMkernel: take it away by hand, or give the vmk block another id")
		return c
	}
	if is := cmp.Or(w.Stack, defaultStack); have.stack != is {
		c.err = hint.Wrap(fmt.Errorf("%s of %s is on the stack %s, and is to be on %s: a stack cannot be changed", w.ID, h.name, have.stack, is), "take it away by hand, or give the vmk block another id")
		return c
	}
	c.list = slices.Concat(plan.Changed("address", have.address, w.Address, plan.ImpactTraffic), plan.Changed("mtu", have.mtu, w.MTU, plan.ImpactTraffic))
	if c.list != nil {
		was := *w
		was.Address, was.MTU = have.address, have.mtu
		c.ops, c.undo = []op{setPort(*w, s.owner)}, []op{setPort(was, s.owner)}
	}
	return c
}

func noHost(name string) error {
	return hint.Wrap(fmt.Errorf("vCenter has no host %s", name), "host of the server must be the name that vCenter shows; weft adds no host to it")
}

func (s state) removePort(name string) (c change) {
	at, id, _ := strings.Cut(name, "/")
	h := s.hosts[at]
	if h == nil || !h.noted(s.owner, id) {
		return c
	}
	have, there := h.ports[id]
	if !there {
		c.ops, c.undo = []op{removePort(h.name, id, s.owner)}, []op{{"nothing: it was not there any more", func(context.Context, *client) error { return nil }}}
		return c
	}
	on, group := s.groupOf(have.on)
	c.ops, c.undo = []op{removePort(h.name, id, s.owner)}, []op{addPort(VMKernel{Host: h.name, ID: id, Switch: on, Group: group, Stack: have.stack, Address: have.address, MTU: have.mtu}, s.owner)}
	return c
}

// spec is what a port is to be like.
func (w *VMKernel) spec() types.HostVirtualNicSpec {
	spec := types.HostVirtualNicSpec{Mtu: int32(w.MTU)}
	if w.Address.IsValid() {
		spec.Ip = &types.HostIpConfig{IpAddress: w.Address.Addr().String(), SubnetMask: net.IP(net.CIDRMask(w.Address.Bits(), 32)).String()}
	}
	return spec
}

// findHost reads a host again.
func (c *client) findHost(ctx context.Context, name string) (*reading, *host, *object.HostNetworkSystem, error) {
	r, err := c.read(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	h := r.hosts[strings.ToLower(name)]
	if h == nil {
		return nil, nil, nil, noHost(name)
	}
	n, err := object.NewHostSystem(c.vim, h.ref).ConfigManager().NetworkSystem(ctx)
	return r, h, n, err
}

// addPort makes a port. Hosts name them: where that is not the declared name, it goes again.
func addPort(w VMKernel, owner string) op {
	return op{fmt.Sprintf("AddVirtualNic of %s: %s portgroup=%s ip=%s mtu=%d", w.Host, w.ID, w.Group, w.Address, w.MTU), func(ctx context.Context, c *client) error {
		r, h, n, err := c.findHost(ctx, w.Host)
		if err != nil {
			return err
		}
		d := r.switches[w.Switch]
		if d == nil || d.groups[w.Group] == nil {
			return fmt.Errorf("vCenter has no port group %s on %s", w.Group, w.Switch)
		}
		spec := w.spec()
		spec.NetStackInstanceKey = w.Stack
		spec.DistributedVirtualPort = &types.DistributedVirtualSwitchPortConnection{SwitchUuid: d.uuid, PortgroupKey: d.groups[w.Group].conf.Key}
		// The mark first: whoever is killed in between has said whose the port is.
		if !h.noted(owner, w.ID) {
			if err := c.remark(ctx, h, append(slices.Clone(h.notes), note{owner, w.ID})); err != nil {
				return err
			}
		}
		id, err := n.AddVirtualNic(ctx, "", spec)
		if err == nil && id != w.ID {
			err = hint.Wrap(errors.Join(fmt.Errorf("%s called the new port %s, and the files call it %s", h.name, id, w.ID), n.RemoveVirtualNic(ctx, id)), "hosts give out the first name that is free: write that")
		}
		if err != nil {
			return errors.Join(err, c.remark(ctx, h, h.notes))
		}
		return nil
	}}
}

func setPort(w VMKernel, owner string) op {
	return op{fmt.Sprintf("UpdateVirtualNic of %s: %s ip=%s mtu=%d", w.Host, w.ID, w.Address, w.MTU), func(ctx context.Context, c *client) error {
		_, h, n, err := c.findHost(ctx, w.Host)
		if err == nil && !h.noted(owner, w.ID) {
			err = fmt.Errorf("%s of %s stays as it is: its mark does not say that weft has made it", w.ID, w.Host)
		}
		if err != nil {
			return err
		}
		return n.UpdateVirtualNic(ctx, w.ID, w.spec())
	}}
}

func removePort(name, id, owner string) op {
	return op{fmt.Sprintf("RemoveVirtualNic of %s: %s", name, id), func(ctx context.Context, c *client) error {
		_, h, n, err := c.findHost(ctx, name)
		if err == nil && !h.noted(owner, id) {
			err = fmt.Errorf("%s of %s is not removed: its mark does not say that weft has made it", id, name)
		}
		if err != nil {
			return err
		}
		if _, there := h.ports[id]; there {
			if err := n.RemoveVirtualNic(ctx, id); err != nil {
				return err
			}
		}
		return c.remark(ctx, h, slices.DeleteFunc(slices.Clone(h.notes), func(n note) bool { return n == note{owner, id} }))
	}}
}

// keptPorts are those that carry the owner's name.
func (s state) keptPorts(device string) (list []plan.Entry) {
	for _, name := range sorted(s.hosts) {
		h := s.hosts[name]
		for _, n := range h.notes {
			if n.owner != s.owner || !strings.HasPrefix(n.text, "vmk") || strings.Contains(n.text, "/") {
				continue
			}
			e := plan.Entry{Kind: VMKernelKind, Name: PortName(name, n.text), State: plan.EntryCreated}
			if on, group := s.groupOf(h.ports[n.text].on); group != "" {
				e.Needs = []plan.ID{{Device: device, Kind: GroupKind, Name: on + "/" + group}, {Device: device, Kind: MemberKind, Name: on + "@" + name}}
			}
			list = append(list, e)
		}
	}
	return list
}
