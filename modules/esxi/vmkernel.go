package esxi

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// A VMKernel is a port of the VMkernel with an address.
type VMKernel struct {
	ID        string // vmk3
	PortGroup string
	Stack     string `json:",omitempty"` // of TCP/IP; "": the default one
	MTU       int
	Address   netip.Prefix // not valid: none

	leads leads // observed
}

// defaultStack is the stack of TCP/IP that ports are on where nothing is said.
const defaultStack = "defaultTcpipStack"

// VMKernelKind is the kind vmkernel.
func VMKernelKind() *host.Kind[VMKernel] {
	return &host.Kind[VMKernel]{
		Name: "vmkernel", Risky: true,
		Looks: (*VMKernel).Looks, Parse: (*VMKernel).Parse, Diff: (*VMKernel).Diff, Steps: (*VMKernel).Steps,
		Together: holdStores, Advice: (*VMKernel).Advice,
	}
}

func portsLook() remote.Look { return ask("network", "ip", "interface", "list") }

// addressesLook is at the ports of a stack.
func addressesLook(stack string) remote.Look {
	if stack == "" {
		return ask("network", "ip", "interface", "ipv4", "get")
	}
	return ask("network", "ip", "interface", "ipv4", "get", "-N", stack)
}

func tagsLook(vmk string) remote.Look {
	return ask("network", "ip", "interface", "tag", "get", "-i", vmk)
}

func (v *VMKernel) Looks() []remote.Look {
	return []remote.Look{portsLook(), addressesLook(v.Stack), tagsLook(v.ID), controllersLook(), namespacesLook(), extentsLook()}
}

// Advice says what is to be done about a stack that the host does not have.
func (v *VMKernel) Advice(string) string {
	if v.Stack == "" {
		return ""
	}
	return "weft makes no stack: esxcli network ip netstack list shows those of the host, esxcli network ip netstack add -N makes one"
}

// Parse refuses a port that somebody else uses: that of the management, and one on
// another port group or stack, neither of which can be changed later.
func (v *VMKernel) Parse(s remote.Seen) (*VMKernel, error) {
	var err error
	var have *VMKernel
	for _, r := range table(s, portsLook(), &err) {
		if r.text("Name") != v.ID {
			continue
		}
		have = &VMKernel{ID: v.ID, PortGroup: r.text("Portgroup"), Stack: v.Stack, MTU: r.number("MTU")}
		if stack := r.text("NetstackInstance"); have.PortGroup != v.PortGroup || stack != cmp.Or(v.Stack, defaultStack) {
			return nil, hint.Wrap(fmt.Errorf("there is a %s already, on port group %q and stack %s: neither can be changed", v.ID, have.PortGroup, stack), "give the rnic the id of another vmk")
		}
	}
	if err != nil || have == nil {
		return nil, err
	}
	if slices.Contains(one(s, tagsLook(v.ID), &err).list("Tags"), "Management") {
		return nil, fmt.Errorf("%s carries the management of the host: weft does not touch it", v.ID)
	}
	for _, r := range table(s, addressesLook(v.Stack), &err) {
		if r.text("Name") != v.ID {
			continue
		}
		switch kind := fold(r.text("AddressType")); kind {
		case "none":
		case "static":
			have.Address = prefix(r.text("IPv4Address"), r.text("IPv4Netmask"))
		default:
			return nil, fmt.Errorf("%s has its address by %s: weft changes static ones only", v.ID, r.text("AddressType"))
		}
	}
	have.leads = leadsOver(s, have.Address, &err)
	if err != nil {
		return nil, err
	}
	return have, nil
}

// leadsOver are the connections over a port with an address, and what rests on them.
func leadsOver(s remote.Seen, address netip.Prefix, err *error) (l leads) {
	all := readControllers(s, err)
	l.stores = readStores(s, all, err)
	for _, c := range all {
		if to, bad := netip.ParseAddrPort(c.address); bad == nil && address.IsValid() && address.Masked().Contains(to.Addr()) {
			l.controllers = append(l.controllers, c.number)
		}
	}
	return l
}

// prefix is an address with its mask.
func prefix(address, mask string) netip.Prefix {
	a, err1 := netip.ParseAddr(address)
	m, err2 := netip.ParseAddr(mask)
	if err1 != nil || err2 != nil || !m.Is4() {
		return netip.Prefix{}
	}
	bits, size := net.IPMask(m.AsSlice()).Size()
	if size == 0 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(a, bits)
}

func shownAddress(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}

func (v *VMKernel) Diff(have *VMKernel) []plan.Change {
	switch {
	case v == nil:
		return []plan.Change{{Path: "present", Before: "true", After: "false", Impact: plan.ImpactTraffic}}
	case have == nil:
		return []plan.Change{{Path: "present", Before: "false", After: "true"}, {Path: "mtu", After: fmt.Sprint(v.MTU)}, {Path: "address", After: shownAddress(v.Address)}}
	}
	impact := plan.ImpactTraffic
	if !have.Address.IsValid() { // nothing runs over it: it may be one that was begun and not finished
		impact = plan.ImpactNone
	}
	return append(plan.Changed("mtu", have.MTU, v.MTU, impact), plan.Changed("address", shownAddress(have.Address), shownAddress(v.Address), impact)...)
}

func (v *VMKernel) Steps(have *VMKernel) (steps []remote.Step) {
	do := func(words ...string) {
		steps = append(steps, host.Run(slices.Concat([]string{"esxcli", "network", "ip", "interface"}, words)...))
	}
	switch {
	case v == nil:
		do("remove", "-i", have.ID)
		return steps
	case have == nil:
		words := []string{"add", "-i", v.ID, "-p", v.PortGroup, "-m", fmt.Sprint(v.MTU)}
		if v.Stack != "" {
			words = append(words, "-N", v.Stack)
		}
		do(words...)
		have = &VMKernel{MTU: v.MTU}
	}
	if v.MTU != have.MTU {
		do("set", "-i", v.ID, "-m", fmt.Sprint(v.MTU))
	}
	switch {
	case v.Address == have.Address:
	case v.Address.IsValid():
		do("ipv4", "set", "-i", v.ID, "-I", v.Address.Addr().String(), "-N", net.IP(net.CIDRMask(v.Address.Bits(), 32)).String(), "-t", "static")
	default:
		do("ipv4", "set", "-i", v.ID, "-t", "none")
	}
	return steps
}

// A Service is one that a port of the VMkernel is tagged for.
type Service struct {
	VMKernel, Tag string

	leads leads // observed
}

// ServiceKind is the kind vmk_service.
func ServiceKind() *host.Kind[Service] {
	return &host.Kind[Service]{
		Name: "vmk_service", Present: "tagged",
		Looks: (*Service).Looks, Parse: (*Service).Parse, Steps: (*Service).Steps, Advice: (*Service).Advice,
		Together: holdStores,
	}
}

func (t *Service) Looks() []remote.Look {
	return []remote.Look{portsLook(), tagsLook(t.VMKernel), addressesLook(""), controllersLook(), namespacesLook(), extentsLook()}
}

// Parse: the port may come with a step before. What goes over it, of a port on another stack
// than the default one, is not told.
func (t *Service) Parse(s remote.Seen) (*Service, error) {
	var err error
	there := slices.ContainsFunc(table(s, portsLook(), &err), func(r row) bool { return r.text("Name") == t.VMKernel })
	if err != nil || !there {
		return nil, err
	}
	tagged := slices.Contains(one(s, tagsLook(t.VMKernel), &err).list("Tags"), t.Tag)
	if err != nil || !tagged {
		return nil, err
	}
	have := &Service{VMKernel: t.VMKernel, Tag: t.Tag}
	for _, r := range table(s, addressesLook(""), &err) {
		if r.text("Name") == t.VMKernel {
			have.leads = leadsOver(s, prefix(r.text("IPv4Address"), r.text("IPv4Netmask")), &err)
		}
	}
	return have, err
}

func (t *Service) Steps(have *Service) []remote.Step {
	tag := func(verb string, s *Service) []remote.Step {
		return []remote.Step{host.Run("esxcli", "network", "ip", "interface", "tag", verb, "-i", s.VMKernel, "-t", s.Tag)}
	}
	switch {
	case t == nil && have != nil:
		return tag("remove", have)
	case t != nil && have == nil:
		return tag("add", t)
	}
	return nil
}

func (t *Service) Advice(string) string {
	if t.Tag == "NVMeRDMA" {
		return "the tag NVMeRDMA is there from 7.0 Update 3 on"
	}
	return ""
}
