package discover

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"weft/inventory"
	"weft/switches"
)

// The names of the files.
const (
	mainFile    = "main.weft.hcl"
	fabricFile  = "fabric.weft.hcl"
	hostsFile   = "hosts.weft.hcl"
	storageFile = "storage.weft.hcl"
	vcenterFile = "vcenter.weft.hcl" // where one was asked
)

// ordered are the servers in the order of their addresses.
func (d *draft) ordered() []*node {
	return slices.SortedFunc(maps.Values(d.nodes), func(a, b *node) int {
		return cmp.Or(strings.Compare(a.label, b.label), natural(a.key, b.key), natural(a.Host, b.Host))
	})
}

// switches are the switches in the order of their addresses.
func (d *draft) switches() []*leaf {
	return slices.SortedFunc(maps.Values(d.leaves), func(a, b *leaf) int {
		return cmp.Or(strings.Compare(a.label, b.label), natural(a.key, b.key), natural(a.Host, b.Host))
	})
}

// files renders the draft.
func (d *draft) files(login Login, when time.Time) (map[string][]byte, error) {
	d.sound()
	d.regroup()
	d.linked, d.sources = nil, map[string]map[int]source{} // of the round before
	if d.base != nil {
		return d.additions(login, when)
	}
	texts := d.printers(mainFile, fabricFile, hostsFile, storageFile, vcenterFile)
	d.main(texts[mainFile], login)
	w := texts[fabricFile]
	for _, f := range d.fabrics {
		w.block(d.fabric(f))
		w.out.WriteString("\n")
	}
	var list []instance
	for _, l := range d.switches() {
		list = append(list, d.leaf(l))
	}
	unmanaged, cables, at := d.subnet()
	err := w.all(append(list, unmanaged...))
	for _, l := range d.switches() {
		if l.strange != "" && l.fabric == nil {
			w.unmanaged(l.Host + ": " + l.strange)
		}
		for _, what := range l.bundles {
			w.unmanaged(l.Host + ": " + what)
		}
	}
	list = nil
	for _, n := range d.ordered() {
		list = append(list, d.node(n))
	}
	if err == nil {
		err = texts[hostsFile].all(slices.Concat(list, d.links(d.cables, d.leaves), d.links(cables, at), d.between(), d.direct()))
	}
	for _, n := range d.ordered() {
		for _, what := range n.seen {
			texts[hostsFile].unmanaged(n.Host + ": " + what)
		}
	}
	if err == nil {
		err = texts[vcenterFile].all(d.vcenters())
	}
	if err == nil && !d.noNVMe {
		d.unmanaged, d.variables = nil, nil // of the round before
		err = texts[storageFile].all(d.storage())
		for _, what := range d.unmanaged {
			texts[storageFile].unmanaged(what)
		}
	}
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for name, w := range texts {
		d.keep(out, name, w, when)
	}
	return out, nil
}

// printers are those of files, by name.
func (d *draft) printers(names ...string) map[string]*printer {
	out := map[string]*printer{}
	for _, name := range names {
		out[name] = &printer{refused: d.refused}
	}
	return out
}

// headerLines are those above what printers write.
const headerLines = 2

// keep lays a file out, where something stands in it.
func (d *draft) keep(out map[string][]byte, name string, w *printer, when time.Time) {
	for _, a := range w.unlike {
		d.site.found(Error, "", "write it by hand", "%s is not written: it has not the attributes of the other instances of its block", a)
	}
	if w.out.Len() > 0 {
		d.sources[name] = map[int]source{}
		text := w.out.String()
		blank := strings.Count(text[:len(text)-len(strings.TrimLeft(text, "\n"))], "\n")
		for line, from := range w.lines { // below the header, counted from 1
			d.sources[name][line-blank+headerLines+1] = from
		}
		head := fmt.Sprintf("# Written by weft discover on %s, from %d switches and %d servers as they stood.\n", when.UTC().Format("2006-01-02 15:04 MST"), len(d.leaves), len(d.nodes))
		out[name] = hclwrite.Format([]byte(head + "\n" + strings.TrimSpace(w.out.String()) + "\n"))
	}
}

// all prints instances, each block once, in the order in which they first come.
func (w *printer) all(list []instance) error {
	type name struct{ kind, label string }
	var order []name
	of := map[name][]instance{}
	for _, one := range list {
		n := name{one.address.kind, one.label}
		if of[n] == nil {
			order = append(order, n)
		}
		of[n] = append(of[n], one)
	}
	for _, n := range order {
		if err := w.instances(of[n]); err != nil {
			return err
		}
		w.out.WriteString("\n")
	}
	return nil
}

// unmanaged writes a comment about what stands there and has no block.
func (w *printer) unmanaged(what string) {
	w.out.WriteString("# seen, not managed: " + oneLine(what) + "\n")
}

// regroup gives servers that no ledger names blocks of their own where they differ in
// more than values.
func (d *draft) regroup() {
	shapes, labels := map[string]string{}, taken{}
	if d.base != nil {
		for _, m := range d.base.Servers {
			if a, ok := parseAddress(m.Addr); ok {
				labels[a.label] = true
			}
		}
	}
	for _, n := range d.ordered() { // those that ledgers name have their blocks already
		if d.base == nil && n.fixed && !n.hand && n.keyed && !n.number {
			if shape := d.node(n).shape(); shapes[shape] == "" {
				shapes[shape] = n.label
			}
		}
		if n.fixed {
			labels[n.label] = true
		}
	}
	for _, n := range d.ordered() {
		if n.fixed || n.hand {
			continue
		}
		n.label = "node"
		shape := d.node(n).shape()
		if shapes[shape] == "" {
			shapes[shape] = labels.dashed("node")
		}
		n.label = shapes[shape]
		n.origin = n.address
	}
}

func (d *draft) main(w *printer, login Login) {
	b := &block{kind: "weft"}
	b.setNoted("name", str(d.owner), "the owner: written on everything weft creates")
	w.block(b)
	w.out.WriteString("\n")
	if c := connection(login); len(d.nodes) > 0 && c.body != nil {
		w.block(c)
		w.out.WriteString("\n")
	}
	var names []string
	for _, l := range d.switches() {
		if !slices.Contains(names, l.credential) {
			names = append(names, l.credential)
		}
	}
	for _, name := range names {
		w.block(credential(name, login.SwitchUser, SwitchPassword))
		w.out.WriteString("\n")
	}
	for _, c := range d.credentials(login) {
		w.block(c)
		w.out.WriteString("\n")
	}
}

func connection(login Login) *block {
	c := &block{kind: "connection", labels: []string{"default"}}
	if login.User != "" {
		c.set("user", str(login.User))
	}
	if login.Port != 0 {
		c.set("port", number(int64(login.Port)))
	}
	if login.Become != "" {
		c.set("become", str(login.Become))
	}
	if t := login.ConnectWait; t != 0 && t != inventory.DefaultConnectTimeout {
		c.set("connect_timeout", str(t.String()))
	}
	if t := login.CommandMax; t != 0 && t != inventory.DefaultCommandTimeout {
		c.set("command_timeout", str(t.String()))
	}
	return c
}

func credential(name, user, variable string) *block {
	c := &block{kind: "credential", labels: []string{name}}
	if user != "" {
		c.set("user", str(user))
	}
	c.setNoted("password", raw("env("+quoted(variable)+")"), "read when connecting")
	return c
}

func (d *draft) fabric(f *fabric) *block {
	b := &block{kind: "fabric", labels: []string{f.name}}
	b.set("transport", str(f.transport))
	b.set("mode", str(f.mode))
	if f.partition != 0 {
		b.set("partition", str(f.partition.String()))
	}
	if f.mtu != 0 && f.mtu != usualMTU {
		b.set("mtu", number(int64(f.mtu)))
	}
	if f.hostMTU != 0 && f.hostMTU != 9000 {
		b.set("host_mtu", number(int64(f.hostMTU)))
	}
	for i, p := range f.planes {
		b.add("plane", f.planeName(i)).set("subnet", str(p.String()))
	}
	for _, c := range f.classes {
		class(b.add("traffic_class", c.Name), c)
	}
	if f.watchdog != "" {
		b.add("pfc_watchdog").set("action", str(f.watchdog))
	}
	return b
}

func class(b *block, c switches.Class) {
	if c.Name != switches.AllOther {
		list := raw("[")
		for i, n := range c.DSCP {
			if i > 0 {
				list = append(list, raw(", ")...)
			}
			list = append(list, number(int64(n))...)
		}
		b.set("dscp", append(list, raw("]")...))
		b.set("priority", number(int64(c.Priority)))
	}
	if c.Bandwidth > 0 {
		b.setNoted("bandwidth", number(int64(c.Bandwidth)), "percent")
	}
	if c.Strict {
		b.set("strict", boolean(true))
	}
	if c.PFC {
		b.set("pfc", boolean(true))
	}
	if e := c.ECN; e != nil {
		in := b.add("ecn")
		in.set("min", str(size(e.Min)))
		in.set("max", str(size(e.Max)))
		in.set("probability", number(int64(e.Probability)))
	}
	if h := c.Headroom; h != nil {
		in := b.add("headroom")
		in.set("xoff", str(size(h.Xoff)))
		in.set("xon", str(size(h.Xon)))
		in.set("size", str(size(h.Size)))
	}
}

func (d *draft) leaf(l *leaf) instance {
	b := newInstance(l.address)
	b.set("os", str(l.OS.Name))
	b.set("host", str(l.Host))
	if serial := l.Reading.Facts.Serial; serial != "" {
		b.set("serial", str(serial))
	}
	b.set("credential", raw("credential."+l.credential))
	if l.fabric != nil {
		b.set("fabric", raw("fabric."+l.fabric.name))
		if l.plane != "" {
			b.set("plane", str(l.plane))
		}
		if l.adopt {
			b.set("adopt", boolean(true))
		}
		b.add("safety").setNoted("commit_confirm", str("5m"), "the switch reverts by itself if weft vanishes")
	}
	return b
}

func (d *draft) node(n *node) instance {
	b := newInstance(n.address)
	if n.Named {
		b.set("os", str(n.System.Name))
	}
	b.set("host", str(n.Host))
	if n.login != "" {
		b.set("credential", raw("credential."+n.login))
	}
	b.set("labels", append(append(raw("{ role = "), str(n.role).named("role")...), raw(" }")...))
	for _, c := range n.cards {
		b.body = append(b.body, item{in: c.block()})
	}
	d.everyday(b.block, n)
	return b
}

func (c *card) block() *block {
	in := &block{kind: "rnic", labels: []string{c.label}}
	switch match := append(raw("{ pci = "), str(c.nic.PCI).named("pci")...); {
	case c.nic.ByMAC:
		in.set("match", slices.Concat(raw("{ mac = "), str(cmp.Or(c.nic.Permanent, c.nic.MAC)).named("mac"), raw(" }")))
	case c.nic.Port != "":
		in.set("match", slices.Concat(match, raw(", port = "+c.nic.Port+" }")))
	default:
		in.set("match", append(match, raw(" }")...))
	}
	if c.cidr.IsValid() {
		in.set("address", str(c.cidr.String()))
	}
	if c.fabric != nil {
		in.set("fabric", raw("fabric."+c.fabric.name))
	}
	if c.told.Software && c.fabric != nil {
		in.setNoted("software", boolean(true), "RDMA without a card that can do it")
	}
	if c.told.VLAN != 0 && c.fabric != nil {
		in.set("vlan", number(int64(c.told.VLAN)))
	}
	if c.told.VMK != nil {
		in.declare(*c.told.VMK)
	}
	return in
}
