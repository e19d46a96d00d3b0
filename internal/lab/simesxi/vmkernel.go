package simesxi

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// defaultStack is that of TCP/IP which ports are on where nothing is said.
const defaultStack = "defaultTcpipStack"

func vmkList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(h.now.vmks)) {
		v := h.now.vmks[name]
		if v.dvs != "" {
			rows = append(rows, structure("VmkNic", "Enabled", true, "MACAddress", h.macOf(name), "MTU", v.mtu, "Name", name, "NetstackInstance", v.stack,
				"Portgroup", "N/A", "Portset", "DvsPortset-0", "TSOMSS", 65535, "VDSName", v.dvs))
			continue
		}
		rows = append(rows, structure("VmkNic", "Enabled", true, "MACAddress", h.macOf(name), "MTU", v.mtu, "Name", name, "NetstackInstance", v.stack,
			"Portgroup", v.group, "Portset", h.now.groups[v.group].on, "TSOMSS", 65535, "VDSName", "N/A"))
	}
	return list(rows...), nil
}

// macOf is the MAC address of a port, as VMware gives them out.
func (h *Host) macOf(vmk string) string {
	sum := sha256.Sum256([]byte("vmk " + h.spec.Name + " " + vmk))
	return fmt.Sprintf("00:50:56:6%x:%02x:%02x", sum[0]&15, sum[1], sum[2])
}

// Sends are the MAC addresses of the ports of the VMkernel whose frames leave by the NIC at
// a PCI address.
func (h *Host) Sends(pci string) (macs []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.nics, func(n *nic) bool { return n.PCI == pci })
	if i < 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(h.now.vmks)) {
		v := h.now.vmks[name]
		on := h.now.switches[h.now.groups[v.group].on]
		if v.dvs != "" && v.nic == h.nics[i].name || v.dvs == "" && slices.Contains(on.uplinks, h.nics[i].name) {
			macs = append(macs, h.macOf(name))
		}
	}
	return macs
}

func (h *Host) vmk(name string) (vmk, error) {
	v, ok := h.now.vmks[name]
	if !ok {
		return v, says("Invalid vmknic specified: %s", name)
	}
	return v, nil
}

// A DVPort is a port of the VMkernel on a distributed switch.
type DVPort struct {
	Switch, PCI   string // name, and address of the NIC that is its uplink
	Address, Mask string
	Stack         string // "": the default one
	MTU           int
}

// Attach makes a port, or changes one, as vCenter has a host do.
func (h *Host) Attach(id string, p DVPort) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.nics, func(n *nic) bool { return n.PCI == p.PCI })
	if i < 0 {
		return fmt.Errorf("SIMULATED host %s has no NIC at %s", h.spec.Name, p.PCI)
	}
	for _, c := range []*config{&h.now, &h.saved} {
		v := c.vmks[id]
		v.dvs, v.nic, v.stack, v.kind = p.Switch, h.nics[i].name, cmp.Or(p.Stack, defaultStack), "STATIC"
		v.address, v.mask, v.mtu = p.Address, p.Mask, p.MTU
		c.vmks[id] = v
	}
	return nil
}

// Detach takes a port away.
func (h *Host) Detach(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.now.vmks, id)
	delete(h.saved.vmks, id)
}

func vmkAdd(h *Host, o map[string]string) (string, error) {
	if _, there := h.now.vmks[o["i"]]; there || !strings.HasPrefix(o["i"], "vmk") {
		return "", says("A vmkernel nic for the connection point already exists: %s", o["i"])
	}
	if _, err := h.portgroup(o["p"]); err != nil {
		return "", err
	}
	v := vmk{group: o["p"], stack: cmp.Or(o["N"], defaultStack), kind: "NONE", mtu: 1500}
	if v.stack != defaultStack && !slices.Contains(h.spec.Stacks, v.stack) {
		return "", says("No such netstack on this SIMULATED host: %s", o["N"])
	}
	h.now.vmks[o["i"]] = v
	if o["m"] == "" {
		return "", nil
	}
	_, err := vmkSet(h, o)
	return "", err
}

func vmkRemove(h *Host, o map[string]string) (string, error) {
	if _, err := h.vmk(o["i"]); err != nil {
		return "", err
	}
	delete(h.now.vmks, o["i"])
	return "", nil
}

func vmkSet(h *Host, o map[string]string) (string, error) {
	v, err := h.vmk(o["i"])
	if err != nil {
		return "", err
	}
	if v.mtu, err = strconv.Atoi(o["m"]); err != nil || v.mtu < 1280 || v.mtu > 9000 {
		return "", says("Invalid MTU %s", o["m"])
	}
	h.now.vmks[o["i"]] = v
	return "", nil
}

func addressList(h *Host, o map[string]string) (string, error) {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(h.now.vmks)) {
		v := h.now.vmks[name]
		if v.stack != cmp.Or(o["N"], defaultStack) {
			continue
		}
		address, mask := v.address, v.mask
		if address == "" {
			address, mask = "0.0.0.0", "0.0.0.0"
		}
		rows = append(rows, structure("IPv4Interface", "AddressType", v.kind, "DHCPDNS", false, "Gateway", "0.0.0.0", "IPv4Address", address, "IPv4Broadcast", "0.0.0.0", "IPv4Netmask", mask, "Name", name))
	}
	return list(rows...), nil
}

func addressSet(h *Host, o map[string]string) (string, error) {
	v, err := h.vmk(o["i"])
	if err != nil {
		return "", err
	}
	if o["t"] == "none" {
		v.address, v.mask, v.kind = "", "", "NONE"
		h.now.vmks[o["i"]] = v
		return "", nil
	}
	_, bad := netip.ParseAddr(o["I"])
	_, worse := netip.ParseAddr(o["N"])
	if o["t"] != "static" || bad != nil || worse != nil {
		return "", says("Invalid data constraint for parameter 'type'.")
	}
	v.address, v.mask, v.kind = o["I"], o["N"], "STATIC"
	h.now.vmks[o["i"]] = v
	return "", nil
}

func tagGet(h *Host, o map[string]string) (string, error) {
	v, err := h.vmk(o["i"])
	if err != nil {
		return "", err
	}
	return structure("Tags", "Tags", v.tags), nil
}

func tagAdd(h *Host, o map[string]string) (string, error) {
	v, err := h.vmk(o["i"])
	if err != nil {
		return "", err
	}
	if !slices.Contains([]string{"Management", "VMotion", "NVMeRDMA", "NVMeTCP", "VSAN"}, o["t"]) {
		return "", says("Invalid data constraint for parameter 'tagname'.")
	}
	if slices.Contains(v.tags, o["t"]) {
		return "", says("%s is tagged %s already", o["i"], o["t"])
	}
	v.tags = append(slices.Clone(v.tags), o["t"])
	h.now.vmks[o["i"]] = v
	return "", nil
}

func tagRemove(h *Host, o map[string]string) (string, error) {
	v, err := h.vmk(o["i"])
	i := slices.Index(v.tags, o["t"])
	if err != nil || i < 0 {
		return "", fmt.Errorf("%s is not tagged %s", o["i"], o["t"])
	}
	v.tags = slices.Delete(slices.Clone(v.tags), i, i+1)
	h.now.vmks[o["i"]] = v
	return "", nil
}
