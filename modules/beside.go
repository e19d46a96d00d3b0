package modules

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/plan"
)

// An object is one thing on a server, as people know it.
type object struct{ kind, name string }

// A neighbour is a kind that cannot look at its own thing without seeing others
// of its sort.
type neighbour interface {
	// Self is what the state itself is about.
	Self(remote.Seen) []object
	// Beside is all that its first look shows; two states with the same first
	// look see the same.
	Beside(remote.Seen) []object
	Looks() []remote.Look
}

func (r *resource[T, K]) neighbours() []any { return []any{r.want} }

// What weft made, and what was there before that, are both its business.
func (r *restoration[T, K]) neighbours() []any {
	var states []any
	for _, state := range []K{r.last, r.former} {
		if state != nil {
			states = append(states, state)
		}
	}
	return states
}

// beside names what was seen and is neither declared nor weft's, by kind: it
// took no look of its own.
func beside(rs []plan.Resource, seen remote.Seen, foreign map[string]string) map[string][]string {
	all, mine := map[object]bool{}, map[object]bool{}
	looked, kinds := map[string]bool{}, map[string]bool{}
	for _, r := range rs {
		n, ok := r.(interface{ neighbours() []any })
		if !ok {
			continue
		}
		for _, state := range n.neighbours() {
			n, ok := state.(neighbour)
			if !ok {
				continue
			}
			for _, o := range n.Self(seen) {
				mine[o], kinds[o.kind] = true, true
			}
			if look := n.Looks()[0].String(); !looked[look] {
				looked[look] = true
				for _, o := range n.Beside(seen) {
					all[o] = true
				}
			}
		}
	}
	var out map[string][]string
	add := func(kind, name string) {
		if out == nil {
			out = map[string][]string{}
		}
		out[kind] = append(out[kind], name)
	}
	for o := range all {
		if !mine[o] {
			add(o.kind, o.name)
		}
	}
	for key, owner := range foreign {
		if kind, _, _ := strings.Cut(key, "."); !kinds[kind] { // else it was counted where it was seen
			add("of the owner "+owner, key)
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// Unmanaged implements plan.Onlooker.
func (d *server) Unmanaged() map[string][]string { return d.beside }

// Self implements neighbour.
func (a *Address) Self(s remote.Seen) []object { return []object{a.object(s, a.CIDR)} }

func (a *Address) object(s remote.Seen, cidr netip.Prefix) object {
	name, err := netdev(s, a.PCI)
	if err != nil {
		name = a.PCI
	}
	return object{"address", name + " " + cidr.String()}
}

// Beside implements neighbour. The kernel gives every interface an address of
// the link's: those are nobody's.
func (a *Address) Beside(s remote.Seen) (list []object) {
	var links []struct {
		Addrs []struct {
			Local netip.Addr `json:"local"`
			Bits  int        `json:"prefixlen"`
		} `json:"addr_info"`
	}
	if json.Unmarshal(s.Of(a.look()).Content, &links) != nil {
		return nil
	}
	for _, l := range links {
		for _, x := range l.Addrs {
			if !x.Local.IsLinkLocalUnicast() {
				list = append(list, a.object(s, netip.PrefixFrom(x.Local, x.Bits)))
			}
		}
	}
	return list
}

// Self implements neighbour: all entries of the code points that are declared.
func (d *DSCP) Self(s remote.Seen) []object {
	have, err := d.Parse(s)
	if err != nil {
		return nil
	}
	return have.objects()
}

// Beside implements neighbour.
func (d *DSCP) Beside(s remote.Seen) []object {
	every := &DSCP{PCI: d.PCI}
	for dscp := range 64 {
		every.Map = append(every.Map, Marking{DSCP: dscp})
	}
	have, err := every.Parse(s)
	if err != nil {
		return nil
	}
	return have.objects()
}

func (d *DSCP) objects() (list []object) {
	for _, m := range d.Map {
		list = append(list, object{"dscp", d.Interface + " " + m.String()})
	}
	return list
}

// nvmetDiscovery is a subsystem that newer kernels have from the start.
const nvmetDiscovery = "nqn.2014-08.org.nvmexpress.discovery"

// nvmetObjects is everything of the kernel's target.
func nvmetObjects(s remote.Seen) (list []object) {
	t, err := parseNVMeT(s)
	if err != nil {
		return nil
	}
	for _, nqn := range t.in("subsystems") {
		if nqn != nvmetDiscovery {
			list = append(list, object{"nvmet_subsystem", nqn})
		}
	}
	for _, nqn := range t.in("hosts") {
		list = append(list, object{"nvmet_host", nqn})
	}
	for _, port := range t.in("ports") {
		list = append(list, object{"nvmet_port", port})
	}
	return list
}

// Self implements neighbour.
func (n *NVMeTSubsystem) Self(remote.Seen) []object { return []object{{"nvmet_subsystem", n.NQN}} }

// Beside implements neighbour.
func (n *NVMeTSubsystem) Beside(s remote.Seen) []object { return nvmetObjects(s) }

// Self implements neighbour.
func (n *NVMeTHost) Self(remote.Seen) []object { return []object{{"nvmet_host", n.NQN}} }

// Beside implements neighbour.
func (n *NVMeTHost) Beside(s remote.Seen) []object { return nvmetObjects(s) }

// Self implements neighbour.
func (n *NVMeTPort) Self(remote.Seen) []object {
	return []object{{"nvmet_port", strconv.Itoa(int(n.Number))}}
}

// Beside implements neighbour.
func (n *NVMeTPort) Beside(s remote.Seen) []object { return nvmetObjects(s) }

// Self implements neighbour.
func (n *NVMeConnection) Self(s remote.Seen) []object {
	list, err := parseNVMe(s)
	if err != nil {
		return nil
	}
	if c, _ := n.find(list); c != nil {
		return []object{c.object()}
	}
	return nil
}

// Beside implements neighbour: connections over a fabric, not drives.
func (n *NVMeConnection) Beside(s remote.Seen) (out []object) {
	list, err := parseNVMe(s)
	if err != nil {
		return nil
	}
	for _, c := range list {
		if c.values["transport"] != "pcie" {
			out = append(out, c.object())
		}
	}
	return out
}

func (c *controller) object() object {
	return object{"nvme_connection", fmt.Sprintf("%s: %s at %s", c.name, c.values["subsysnqn"], c.values["address"])}
}

// Self implements neighbour.
func (v *Volume) Self(remote.Seen) []object { return []object{{"volume", v.Group + "/" + v.Name}} }

// Beside implements neighbour.
func (v *Volume) Beside(s remote.Seen) (list []object) {
	rows, err := lvmRows(s, lvsLook())
	if err != nil {
		return nil
	}
	for _, row := range rows {
		list = append(list, object{"volume", row["vg_name"] + "/" + row["lv_name"]})
	}
	return list
}

// Self implements neighbour.
func (g *VolumeGroup) Self(remote.Seen) []object { return []object{{"volume_group", g.Name}} }

// Beside implements neighbour.
func (g *VolumeGroup) Beside(s remote.Seen) (list []object) {
	rows, err := lvmRows(s, vgsLook())
	if err != nil {
		return nil
	}
	for _, row := range rows {
		list = append(list, object{"volume_group", row["vg_name"]})
	}
	return list
}
