package discover

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/owned"
	"weft/modules/host"
	"weft/modules/linux/nic"
	"weft/plan"
	"weft/switches"
)

// weave finds the fabrics: those whose objects stand on switches, with all that is
// cabled to these. Where no switch has any, the NICs that weft has set are one.
func (d *draft) weave() {
	byName := map[string]*fabric{}
	named := func(name string) *fabric {
		if byName[name] == nil {
			byName[name] = &fabric{name: name}
			d.fabrics = append(d.fabrics, byName[name])
		}
		return byName[name]
	}
	d.weaveBase(named)
	for _, sw := range d.site.Switches {
		if d.leaves[sw].declared {
			continue
		}
		rest, ours := strings.CutPrefix(sw.Reading.Name, owned.Objects+d.owner+"-")
		switch {
		case ours:
			d.leaves[sw].fabric = named(rest)
		case sw.Reading.Name != "":
			d.site.found(Warn, sw.Host, "discover that owner's files, or take its policies off", "its policies are of another owner of weft: %s", sw.Reading.Name)
		}
	}
	if len(d.fabrics) == 0 && d.set() {
		f := named("fabric")
		for _, c := range d.cables {
			if l := d.leaves[c.Switch]; c.NIC != nil && l.Reading.Name == "" && len(foreign(c.Switch, d.owner)) == 0 {
				l.fabric = f
			}
		}
	}
	d.join()
	for _, f := range d.fabrics {
		if f.declared {
			d.level(f)
		} else {
			d.complete(f)
		}
	}
	for _, sw := range d.site.Switches {
		d.strangers(d.leaves[sw])
	}
	d.unreachable()
}

// unreachable takes what is new out of fabrics that stand in modules: their blocks could not
// refer to these.
func (d *draft) unreachable() {
	tell := func(host string, f *fabric) {
		d.site.found(Warn, host, "write it in that module, or give the fabric out of the module with an output", "its fabric %s is in a module and cannot be referenced: it is written without fabric", f.name)
	}
	for _, l := range d.switches() {
		if !l.declared && l.fabric != nil && l.fabric.hand {
			tell(l.Host, l.fabric)
			l.fabric, l.plane = nil, ""
		}
	}
	for _, n := range d.ordered() {
		told := false
		for _, c := range n.cards {
			if c.fabric == nil || !c.fabric.hand || n.declared {
				continue
			}
			if !told {
				tell(n.Host, c.fabric)
			}
			c.fabric, told = nil, true
		}
	}
}

// weaveBase takes over the fabrics that files have, with the switches in them.
func (d *draft) weaveBase(named func(string) *fabric) {
	if d.base == nil {
		return
	}
	for _, b := range d.base.Fabrics {
		f := named(b.Name)
		_, root := parseAddress(b.Addr)
		f.hand = !root
		f.declared, f.transport, f.mode, f.mtu, f.hostMTU = true, b.Transport, b.Mode, b.MTU, b.HostMTU
		for _, p := range b.Planes {
			f.planes, f.names = append(f.planes, p.Subnet.Masked()), append(f.names, p.Name)
		}
	}
	for _, sw := range d.base.Switches {
		for _, l := range d.leaves {
			if l.declared && l.Host == sw.Host && sw.Fabric != nil {
				l.fabric, l.plane = named(sw.Fabric.Name), sw.Plane
			}
		}
	}
}

// set reports whether weft has set NICs for a fabric.
func (d *draft) set() bool {
	for _, n := range d.nodes {
		if slices.ContainsFunc(n.told.Ports, func(p host.DeclaredPort) bool { return p.Fabric }) {
			return true
		}
	}
	return false
}

// join puts NICs into the fabric of the switch that they are cabled to; those that weft
// has set and nobody hears are in the only one there is.
func (d *draft) join() {
	at := map[*host.NICFacts]*leaf{}
	for _, c := range d.cables {
		if c.NIC != nil {
			at[c.NIC] = d.leaves[c.Switch]
		}
	}
	for _, m := range d.site.Servers {
		for _, c := range d.nodes[m].cards {
			switch l := at[c.nic]; {
			case m.System.Port != nil && !c.told.Fabric: // people choose what a fabric asks of it
			case l != nil:
				c.fabric = l.fabric
			case c.told.Fabric && len(d.fabrics) == 1:
				c.fabric = d.fabrics[0]
			}
		}
	}
}

// foreign are the policies of somebody else on a switch, as lines.
func foreign(sw *Switch, owner string) []string {
	want := switches.Intent{Name: switches.ObjectName(owner, "x"), Owner: switches.Owner{Name: owner}, Classes: []switches.Class{{Name: "default"}}}
	for _, p := range sw.Reading.PortNames() {
		want.Ports = append(want.Ports, switches.Port{Name: p, Classify: true, Queue: true})
	}
	return sw.Reading.For(want).Foreign
}

// standing are the policies of somebody else on a switch, and what they mean; "": there
// are none.
func (d *draft) standing(sw *Switch) string {
	if lines := foreign(sw, d.owner); len(lines) > 0 {
		return "policies that weft did not write: " + strings.Join(lines, "; ") + means(sw.Meant)
	}
	if len(sw.Meant.Classes) > 0 { // without a name, as some systems have them
		return "classes that weft did not set up" + means(sw.Meant)
	}
	return ""
}

// strangers tells what foreign policies stand on a switch that is in no fabric.
func (d *draft) strangers(l *leaf) {
	if l.fabric != nil || l.declared {
		return
	}
	if l.strange = d.standing(l.Switch); l.strange != "" {
		d.site.found(Warn, l.Host, "fabric = … with adopt = true on the switch puts weft's policies there: weft plan then shows each line that changes, and what stood there comes back when weft leaves",
			"%s. It is written without fabric", l.strange)
		return
	}
	d.site.found(Info, l.Host, "give it a fabric when its policies are to be weft's", "it has no policies of weft: it is written without fabric")
}

// complete fills a fabric with what its switches and NICs do.
func (d *draft) complete(f *fabric) {
	var cards, set []*card // set: those that weft has set
	speaks := map[*card]string{}
	for _, m := range d.site.Servers {
		for _, c := range d.nodes[m].cards {
			if c.fabric == f {
				cards = append(cards, c)
				speaks[c] = c.speaks()
				if c.told.Fabric {
					set = append(set, c)
				}
			}
		}
	}
	d.classes(f)
	says := cards
	if len(set) > 0 {
		says = set // the rest is as it was before weft came
	}
	f.transport = most(slices.DeleteFunc(slices.Clone(says), func(c *card) bool { return speaks[c] == "" }), func(c *card) string { return speaks[c] }, "rocev2")
	f.mode = "lossy"
	if f.transport == "infiniband" || slices.ContainsFunc(f.classes, func(c switches.Class) bool { return c.PFC }) {
		f.mode = "lossless"
	}
	f.hostMTU = most(says, func(c *card) int { return c.nic.MTU }, 0)
	d.partition(f, says)
	if f.watchdog != "" {
		d.site.found(Info, "", "write detect and restore in its pfc_watchdog by hand where they matter to you: weft sets neither", "the switches of fabric %s have a PFC watchdog, whose times are not read", f.name)
	}
	for _, c := range d.cables {
		if l := d.leaves[c.Switch]; l.fabric == f && c.NIC != nil {
			p, _ := c.Switch.Reading.Port(c.Port)
			// It is asked for at least: what takes longer frames is as good.
			if mtu := min(max(p.MTU, p.Frame), usualMTU); mtu > 0 && (f.mtu == 0 || mtu < f.mtu) {
				f.mtu = mtu
			}
		}
	}
	for _, c := range cards {
		if p := c.cidr.Masked(); c.cidr.IsValid() && !slices.Contains(f.planes, p) {
			f.planes = append(f.planes, p)
		}
	}
	slices.SortFunc(f.planes, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	d.level(f)
}

// usualMTU is that of ports where files say nothing.
const usualMTU = 9216

// classes are those of the switch that says most of them; where names are kept they
// are taken from there.
func (d *draft) classes(f *fabric) {
	best := -1
	for _, sw := range d.site.Switches {
		if d.leaves[sw].fabric != f || sw.Reading.Name == "" { // else they are the system's own
			continue
		}
		score := len(sw.Reading.Classes) * 10
		for _, c := range sw.Reading.Classes {
			if !strings.HasPrefix(c.Name, "priority-") {
				score++
			}
		}
		if score > best {
			best, f.classes = score, sw.Reading.Classes
		}
		if f.watchdog == "" {
			f.watchdog = sw.Reading.Watchdog
		}
	}
	if best < 0 {
		d.told(f)
	}
	f.classes = slices.Clone(f.classes)
	names := taken{}
	for i, c := range f.classes {
		if strings.HasPrefix(c.Name, "priority-") { // no name was kept
			f.classes[i].Name = names.column(className(c))
		}
		names[f.classes[i].Name] = true
	}
}

// className is what a class is called of which no name was kept.
func className(c switches.Class) string {
	switch {
	case c.PFC:
		return "rdma"
	case c.Strict:
		return "cnp"
	}
	return fmt.Sprintf("p%d", c.Priority)
}

// speaks is the transport that a NIC is used with; "": it does not tell. One that can do
// RDMA, and that weft has set for a fabric without setting RDMA, is used with TCP.
func (c *card) speaks() string {
	if len(c.nic.RDMA) == 0 {
		return "tcp"
	}
	const roce = "rocev2"
	switch p := c.nic.RDMA[0].Protocol; {
	case p != "" && p != roce:
		return p
	case c.told.RoCE:
		return roce
	case c.told.Fabric:
		return "tcp"
	default:
		return p
	}
}

// has reports whether the owner's ledger has an entry of that kind and name.
func (d *draft) has(m *Server, kind, name string) bool {
	return slices.ContainsFunc(m.entries(d.owner, kind), func(e plan.Entry) bool { return e.Name == name })
}

// told are the classes that NICs have been given, where no switch says them.
func (d *draft) told(f *fabric) {
	for _, n := range d.ordered() {
		shares, _ := decoded[nic.ETS](d, n, "ets")
		maps, _ := decoded[nic.DSCP](d, n, "dscp")
		pauses, _ := decoded[nic.PFC](d, n, "pfc")
		if len(shares) == 0 || len(maps) == 0 {
			continue
		}
		ets, byPriority := shares[0], map[int][]int{}
		for _, m := range maps[0].Map {
			byPriority[m.Priority] = append(byPriority[m.Priority], m.DSCP)
		}
		class := func(name string, priority int, dscp []int) switches.Class {
			tc := ets.PrioTC[priority]
			c := switches.Class{Name: name, Priority: priority, DSCP: dscp, Bandwidth: ets.Share[tc], Strict: ets.TSA[tc] == "strict"}
			if len(pauses) > 0 {
				c.PFC = slices.Contains(pauses[0].Priorities, priority)
			}
			return c
		}
		for priority := range ets.PrioTC {
			if dscp := byPriority[priority]; dscp != nil {
				slices.Sort(dscp)
				c := class(fmt.Sprintf("priority-%d", priority), priority, dscp)
				f.classes = append(f.classes, c)
			}
		}
		f.classes = append(f.classes, class(switches.AllOther, 0, nil))
		return
	}
}

// level gives each switch the plane of the NICs that are cabled to it.
func (d *draft) level(f *fabric) {
	at := map[*Switch]map[int]int{}
	cards := map[*host.NICFacts]*card{}
	for _, m := range d.site.Servers {
		for _, c := range d.nodes[m].cards {
			cards[c.nic] = c
		}
	}
	for _, c := range d.cables {
		if k := cards[c.NIC]; c.NIC != nil && k != nil && k.fabric == f && k.cidr.IsValid() {
			if at[c.Switch] == nil {
				at[c.Switch] = map[int]int{}
			}
			if p := f.plane(k.cidr.Addr()); p >= 0 {
				at[c.Switch][p]++
			}
		}
	}
	for _, sw := range d.site.Switches {
		l := d.leaves[sw]
		if l.fabric != f || l.declared || len(at[sw]) == 0 {
			continue
		}
		plane, most := 0, 0
		for p, n := range at[sw] {
			if n > most || n == most && p < plane {
				plane, most = p, n
			}
		}
		if len(at[sw]) > 1 {
			d.site.found(Error, sw.Host, "see weft verify cabling: each switch is to carry one plane", "NICs of %d subnets are cabled to it; it is written as one of plane %s", len(at[sw]), f.planeName(plane))
		}
		l.subnet, l.plane = f.planes[plane], f.planeName(plane)
	}
}

// most is the value that most have; of as many the one that comes first.
func most[T any, V comparable](list []T, of func(T) V, none V) V {
	count := map[V]int{}
	best, times := none, 0
	for _, x := range list {
		count[of(x)]++
	}
	for _, x := range list {
		if v := of(x); count[v] > times {
			best, times = v, count[v]
		}
	}
	return best
}
