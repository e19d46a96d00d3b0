//go:build unix

package simserver

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// A bonded interface is a bond, or part of one, as the driver of Linux does it
// (Documentation/networking/bonding.rst and drivers/net/bonding). The lab has modes by name
// only: whoever looks sees a bond, nothing is sent over it, and a reboot forgets it.
type bonded struct {
	mode  string   // of a bond; "": it is none
	ports []string // of a bond, in the order in which they came

	master string // the bond that it is part of; "": none
	own    string // the address that it had before it was given that of its bond
}

// bondModes are the modes of a bond, by name; their place is their number.
func bondModes() []string {
	return []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}
}

// virtual reports whether no card stands below the interface.
func (i *iface) virtual() bool { return i.loop || i.bond.mode != "" }

// burnt is the address that the card has of its own.
func (i *iface) burnt() string {
	if i.bond.own != "" {
		return i.bond.own
	}
	return i.MAC
}

// addLink is ip link add [name] NAME type bond [mode MODE].
func (c *ipCall) addLink(args []string) int {
	if len(args) > 0 && args[0] == "name" {
		args = args[1:]
	}
	mode := bondModes()[0]
	switch {
	case len(args) == 5 && args[1] == "type" && args[2] == "bond" && args[3] == "mode":
		mode = args[4]
	case len(args) != 3 || args[1] != "type" || args[2] != "bond":
		return c.notSimulated(255)
	}
	name := args[0]
	_, there := c.server.iface(name)
	switch {
	case !slices.Contains(bondModes(), mode):
		return c.fail(255, "Error: argument %q is wrong: invalid mode\n", mode)
	case !c.user.root:
		return c.fail(2, "RTNETLINK answers: Operation not permitted")
	case there:
		return c.fail(2, "RTNETLINK answers: File exists")
	}
	if err := c.server.loadModule("bonding"); err != nil {
		return c.fail(2, "RTNETLINK answers: Operation not supported")
	}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	index := 0
	for _, i := range s.ifaces {
		index = max(index, i.index)
	}
	sum := sha256.Sum256([]byte("bond " + s.spec.Name + " " + name))
	mac := fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
	s.ifaces = append(s.ifaces, &iface{Interface: Interface{Name: name, MAC: mac}, index: index + 1, mtu: bootMTU, maxMTU: 65535, bond: bonded{mode: mode}})
	return 0
}

// deleteLink is ip link delete [dev] NAME, of a bond.
func (c *ipCall) deleteLink(args []string) int {
	if len(args) > 0 && args[0] == "dev" {
		args = args[1:]
	}
	if len(args) != 1 {
		return c.notSimulated(255)
	}
	i, ok := c.server.iface(args[0])
	switch {
	case !ok:
		return c.fail(1, "Cannot find device %q", args[0])
	case !c.user.root:
		return c.fail(2, "RTNETLINK answers: Operation not permitted")
	case i.bond.mode == "":
		return c.fail(2, "RTNETLINK answers: Operation not supported")
	}
	for _, port := range i.bond.ports {
		c.server.release(port)
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.ifaces = slices.DeleteFunc(c.server.ifaces, func(x *iface) bool { return x.Name == i.Name })
	return 0
}

// set is ip link set: of a bond { master BOND | nomaster }, and all else.
func (c *ipCall) set(args []string) int {
	rest := args
	if len(rest) > 0 && rest[0] == "dev" {
		rest = rest[1:]
	}
	switch {
	case len(rest) == 3 && rest[1] == "master":
		return c.enslave(rest[0], rest[2])
	case len(rest) == 2 && rest[1] == "nomaster":
		return c.free(rest[0])
	}
	return c.setLink(args)
}

// enslave is ip link set NAME master BOND: an interface that is off becomes part of a bond.
// The first gives the bond its address, all have it, and the MTU of the bond.
func (c *ipCall) enslave(name, master string) int {
	i, ok := c.server.iface(name)
	b, there := c.server.iface(master)
	switch {
	case !ok:
		return c.fail(1, "Cannot find device %q", name)
	case !there:
		return c.fail(255, "Error: argument %q is wrong: Device does not exist\n", master)
	case !c.user.root:
		return c.fail(2, "RTNETLINK answers: Operation not permitted")
	case b.bond.mode == "":
		return c.fail(2, "RTNETLINK answers: Operation not supported")
	case i.virtual() || i.infiniBand() || i.bond.master != "":
		return c.notSimulated(255)
	case i.up:
		return c.fail(2, "Error: Device can not be enslaved while up.")
	}
	mac := b.MAC
	if len(b.bond.ports) == 0 {
		mac = i.MAC
	}
	c.server.setIface(master, func(b *iface) { b.MAC, b.bond.ports = mac, append(slices.Clone(b.bond.ports), name) })
	c.server.setIface(name, func(i *iface) {
		i.bond.master, i.bond.own = master, i.MAC
		i.MAC, i.mtu, i.up = mac, b.mtu, true
		i.changes++
	})
	return 0
}

// free is ip link set NAME nomaster.
func (c *ipCall) free(name string) int {
	switch _, ok := c.server.iface(name); {
	case !ok:
		return c.fail(1, "Cannot find device %q", name)
	case !c.user.root:
		return c.fail(2, "RTNETLINK answers: Operation not permitted")
	}
	c.server.release(name)
	return 0
}

// release takes an interface out of its bond; it is off then, and has its own address.
func (s *Server) release(name string) {
	i, ok := s.iface(name)
	if !ok || i.bond.master == "" {
		return
	}
	s.setIface(i.bond.master, func(b *iface) {
		b.bond.ports = slices.DeleteFunc(slices.Clone(b.bond.ports), func(p string) bool { return p == name })
	})
	s.setIface(name, func(i *iface) { i.MAC, i.up, i.bond = i.bond.own, false, bonded{} })
}

// renderBond shows in /sys what the driver does.
func (i *iface) renderBond(r rendered, base string) {
	if mode := i.bond.mode; mode != "" {
		r.file(base+"/bonding/mode", fmt.Sprintf("%s %d", mode, slices.Index(bondModes(), mode)))
		r.file(base+"/bonding/slaves", strings.Join(i.bond.ports, " "))
		r.file(base+"/uevent", fmt.Sprintf("DEVTYPE=bond\nINTERFACE=%s\nIFINDEX=%d", i.Name, i.index))
	}
	if i.bond.master == "" {
		return
	}
	r.link(base+"/master", "/sys/class/net/"+i.bond.master)
	r.file(base+"/bonding_slave/perm_hwaddr", i.bond.own)
	r.file(base+"/bonding_slave/mii_status", i.operstate())
}

// A linkInfo is what ip -d says of the kind of a link.
type linkInfo struct {
	Kind      string            `json:"info_kind,omitempty"`
	Data      map[string]string `json:"info_data,omitempty"`
	SlaveKind string            `json:"info_slave_kind,omitempty"`
	SlaveData map[string]string `json:"info_slave_data,omitempty"`
}

func (i *iface) linkInfo() *linkInfo {
	switch {
	case i.bond.mode != "":
		return &linkInfo{Kind: "bond", Data: map[string]string{"mode": i.bond.mode}}
	case i.bond.master != "":
		return &linkInfo{SlaveKind: "bond", SlaveData: map[string]string{"mii_status": i.operstate(), "perm_hwaddr": i.bond.own}}
	}
	return nil
}
