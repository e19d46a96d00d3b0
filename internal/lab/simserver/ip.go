//go:build unix

package simserver

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weft/internal/slice"
)

// ip is a part of iproute2's ip, as of iproute2 6.1: showing as JSON and
// changing links and addresses.
func ip(x *call) int {
	c := &ipCall{call: x}
	args := x.args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-j", "-json":
			c.json = true
		case "-d", "-details":
			c.details = true
		case "-4":
			c.family = "inet"
		case "-6":
			c.family = "inet6"
		case "-jd", "-dj":
			return x.errorf("Option \"%s\" is unknown, try \"ip -help\".", args[0]) + 254
		default:
			return x.notSimulated(255)
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return x.notSimulated(255)
	}
	verb := "show"
	if len(args) > 1 {
		verb = args[1]
	}
	rest := args[min(2, len(args)):]
	switch object := args[0]; object {
	case "link", "l":
		switch verb {
		case "show", "list", "ls":
			return c.show(rest, false)
		case "set":
			return c.set(rest)
		case "add":
			return c.addLink(rest)
		case "del", "delete":
			return c.deleteLink(rest)
		}
	case "addr", "address", "a":
		switch verb {
		case "show", "list", "ls":
			return c.show(rest, true)
		case "add", "replace", "del", "delete":
			return c.changeAddr(strings.TrimSuffix(verb, "ete"), rest)
		}
	}
	return x.notSimulated(255)
}

type ipCall struct {
	*call
	json, details bool
	family        string
}

func (c *ipCall) show(args []string, withAddrs bool) int {
	if len(args) > 0 && args[0] == "dev" {
		args = args[1:]
	}
	var shown []any
	switch len(args) {
	case 0:
		shown = slice.Map(c.server.interfaces(), func(i iface) any { return c.describe(&i, withAddrs) })
	case 1:
		i, ok := c.server.iface(args[0])
		if !ok {
			return c.fail(1, "Device %q does not exist.", args[0])
		}
		shown = append(shown, c.describe(&i, withAddrs))
	default:
		return c.notSimulated(255)
	}
	if !c.json {
		return c.notSimulated(255) // the text form is for people
	}
	out, err := json.Marshal(shown)
	if err != nil {
		return c.fail(255, "%v", err)
	}
	fmt.Fprintf(c.stdout, "%s\n", out)
	return 0
}

// linkJSON is a link as ip -j prints it, in its order.
type linkJSON struct {
	Index     int      `json:"ifindex"`
	Name      string   `json:"ifname"`
	Flags     []string `json:"flags"`
	MTU       int      `json:"mtu"`
	Qdisc     string   `json:"qdisc"`
	Master    string   `json:"master,omitempty"`
	State     string   `json:"operstate"`
	Mode      string   `json:"linkmode,omitempty"`
	Group     string   `json:"group"`
	TxQLen    int      `json:"txqlen"`
	Type      string   `json:"link_type,omitempty"`
	Address   string   `json:"address,omitempty"`
	Broadcast string   `json:"broadcast,omitempty"`
	*detailsJSON
	Addrs *[]addrJSON `json:"addr_info,omitempty"`
}

type detailsJSON struct {
	Promiscuity int    `json:"promiscuity"`
	AllMulti    int    `json:"allmulti"`
	MinMTU      int    `json:"min_mtu"`
	MaxMTU      int    `json:"max_mtu"`
	AddrGen     string `json:"inet6_addr_gen_mode,omitempty"`
	TxQueues    int    `json:"num_tx_queues"`
	RxQueues    int    `json:"num_rx_queues"`
	GSOSize     int    `json:"gso_max_size"`
	GSOSegs     int    `json:"gso_max_segs"`
	TSOSize     int    `json:"tso_max_size"`
	TSOSegs     int    `json:"tso_max_segs"`
	GROSize     int    `json:"gro_max_size"`
	ParentBus   string `json:"parentbus,omitempty"`
	ParentDev   string `json:"parentdev,omitempty"`

	Info *linkInfo `json:"linkinfo,omitempty"`
}

type addrJSON struct {
	Family    string `json:"family"`
	Local     string `json:"local"`
	Bits      int    `json:"prefixlen"`
	Scope     string `json:"scope"`
	Secondary bool   `json:"secondary,omitempty"`
	Label     string `json:"label,omitempty"`
	Valid     uint32 `json:"valid_life_time"`
	Preferred uint32 `json:"preferred_life_time"`
}

func (c *ipCall) describe(i *iface, withAddrs bool) linkJSON {
	l := linkJSON{Index: i.index, Name: i.Name, Flags: i.flags(), MTU: i.mtu, Qdisc: "mq", State: i.operstate(),
		Master: i.bond.master, Mode: "DEFAULT", Group: "default", TxQLen: 1000, Type: "ether", Address: i.MAC, Broadcast: "ff:ff:ff:ff:ff:ff"}
	switch {
	case i.bond.mode != "":
		l.Qdisc = "noqueue"
	case i.loop:
		l.Qdisc, l.Type, l.Broadcast = "noqueue", "loopback", i.MAC
	case i.infiniBand():
		l.Type, l.Address, l.Broadcast = "infiniband", i.hardware(), ipoibBroadcast
	}
	if c.details {
		l.detailsJSON = &detailsJSON{MinMTU: minMTU, MaxMTU: i.maxMTU, AddrGen: "eui64", TxQueues: 8, RxQueues: 8,
			GSOSize: 65536, GSOSegs: 65535, TSOSize: 524280, TSOSegs: 65535, GROSize: 65536, ParentBus: "pci", ParentDev: i.PCI, Info: i.linkInfo()}
		if i.loop {
			l.MinMTU, l.TxQueues, l.RxQueues = 0, 1, 1
		}
		if i.virtual() {
			l.ParentBus = ""
		}
	}
	if !withAddrs {
		return l
	}
	l.Mode = ""
	if c.family != "" {
		l.Type, l.Address, l.Broadcast = "", "", ""
	}
	addrs := []addrJSON{}
	var subnets []netip.Prefix
	for _, a := range i.addrs {
		j := addrJSON{Family: "inet", Local: a.Addr().String(), Bits: a.Bits(), Scope: "global", Label: i.Name,
			Valid: 1<<32 - 1, Preferred: 1<<32 - 1}
		if a.Addr().Is6() {
			j.Family, j.Label = "inet6", ""
		} else {
			j.Secondary = slices.Contains(subnets, a.Masked())
			subnets = append(subnets, a.Masked())
		}
		if i.loop {
			j.Scope = "host"
		}
		if c.family == "" || c.family == j.Family {
			addrs = append(addrs, j)
		}
	}
	l.Addrs = &addrs
	return l
}

// setLink is ip link set [dev] NAME { mtu N | up | down }….
func (c *ipCall) setLink(args []string) int {
	if len(args) > 0 && args[0] == "dev" {
		args = args[1:]
	}
	if len(args) == 0 {
		return c.fail(255, `Not enough information: "dev" argument is required.`)
	}
	name, mtu, up := args[0], 0, ""
	for args = args[1:]; len(args) > 0; args = args[1:] {
		switch a := args[0]; a {
		case "up", "down":
			up = a
		case "mtu":
			if len(args) < 2 {
				return c.fail(255, `Command line is not complete. Try option "help"`)
			}
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 0 {
				return c.fail(255, "Error: argument %q is wrong: Invalid \"mtu\" value\n", args[1])
			}
			mtu, args = n, args[1:]
		default:
			return c.notSimulated(255)
		}
	}
	i, ok := c.server.iface(name)
	switch {
	case !ok:
		return c.fail(1, "Cannot find device %q", name)
	case !c.user.root:
		return c.fail(2, "RTNETLINK answers: Operation not permitted")
	case mtu > 0 && mtu < minMTU && !i.loop:
		return c.fail(2, "Error: mtu less than device minimum.")
	case mtu > i.maxMTU && i.maxMTU > 0:
		return c.fail(2, "Error: mtu greater than device maximum.")
	case mtu > ipoibDatagramMTU && i.infiniBand():
		return c.fail(2, "RTNETLINK answers: Invalid argument")
	}
	if mtu > 0 {
		for _, port := range i.bond.ports { // the driver gives them that of the bond
			c.server.setIface(port, func(p *iface) { p.mtu = mtu })
		}
	}
	c.server.setIface(name, func(i *iface) {
		if mtu > 0 {
			i.mtu = mtu
		}
		if up != "" {
			if i.up != (up == "up") {
				i.changes++
			}
			i.up = up == "up"
		}
	})
	return 0
}

// changeAddr is ip addr { add | replace | del } ADDRESS/BITS dev NAME.
func (c *ipCall) changeAddr(verb string, args []string) int {
	var addr netip.Prefix
	var name string
	for len(args) > 0 {
		switch {
		case args[0] == "dev" && len(args) > 1:
			name, args = args[1], args[2:]
		case !addr.IsValid():
			var err error
			if addr, err = parsePrefix(args[0]); err != nil {
				return c.fail(1, "Error: any valid prefix is expected rather than %q.", args[0])
			}
			args = args[1:]
		default:
			return c.notSimulated(255)
		}
	}
	if name == "" {
		return c.fail(255, `Not enough information: "dev" argument is required.`)
	}
	if !addr.IsValid() {
		return c.notSimulated(255)
	}
	if _, ok := c.server.iface(name); !ok {
		return c.fail(1, "Cannot find device %q", name)
	}
	if !c.user.root {
		return c.fail(2, "RTNETLINK answers: Operation not permitted")
	}
	var has bool
	c.server.setIface(name, func(i *iface) {
		has = slices.Contains(i.addrs, addr)
		switch {
		case verb == "del":
			i.addrs = slices.DeleteFunc(i.addrs, func(a netip.Prefix) bool { return a == addr })
		case !has:
			i.addrs = append(i.addrs, addr)
		}
	})
	family := "ipv4"
	if addr.Addr().Is6() {
		family = "ipv6"
	}
	switch {
	case has && verb == "add":
		return c.fail(2, "Error: %s: Address already assigned.", family)
	case !has && verb == "del":
		return c.fail(2, "Error: %s: Address not found.", family)
	}
	return 0
}

// parsePrefix reads an address with or without a length.
func parsePrefix(s string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p, nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}
