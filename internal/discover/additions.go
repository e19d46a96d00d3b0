package discover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/inventory"
	"weft/plan"
)

// AdditionsFile is what a second run writes beside files that stand already.
const AdditionsFile = "discovered.weft.hcl"

// additions renders what the files that stand already do not declare: new switches and
// servers, what these carry, and the cables of them. Nothing that stands is renamed or
// written again.
func (d *draft) additions(login Login, when time.Time) (map[string][]byte, error) {
	w := &printer{refused: d.refused}
	for _, f := range d.fabrics {
		if !f.declared {
			w.block(d.fabric(f))
			w.out.WriteString("\n")
		}
	}
	var list []instance
	for _, l := range d.switches() {
		if !l.declared {
			list = append(list, d.leaf(l))
		}
	}
	if len(list) > 0 && d.standingCredential() == "" {
		w.block(credential("switch", "", SwitchPassword))
		w.out.WriteString("\n")
	}
	for _, c := range d.credentials(login) {
		w.block(c)
		w.out.WriteString("\n")
	}
	for _, n := range d.ordered() {
		switch one := d.node(n); {
		case n.declared:
			d.lacking(n)
		case n.hand:
			d.wholly(n, one)
		default:
			list = append(list, one)
		}
	}
	unmanaged, cables, at := d.subnet()
	list = slices.Concat(list, unmanaged, d.links(d.cables, d.leaves), d.links(cables, at), d.between(), d.direct())
	list = append(list, d.vcenters()...)
	if !d.noNVMe {
		d.unmanaged, d.variables = nil, nil // of the round before
		list = append(list, d.storage()...)
	}
	d.tellInserts()
	if err := w.all(list); err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	d.keep(out, AdditionsFile, w, when)
	return out, nil
}

// lacking tells the NICs of a server that its block in the files does not have.
func (d *draft) lacking(n *node) {
	for _, c := range n.more {
		for _, cable := range d.cables {
			if l := d.leaves[cable.Switch]; cable.NIC == c.nic && l.fabric != nil && !l.fabric.hand && c.cidr.IsValid() && l.fabric.plane(c.cidr.Addr()) >= 0 {
				c.fabric = l.fabric
			}
		}
		i := insert{host: n.Host, grave: Info, what: fmt.Sprintf("it has the NIC %s at %s", c.nic.Interface, c.nic.PCI), within: &d.stands.machines[n.Host].Block, lines: c.block()}
		if _, known := n.port(c.nic); known {
			i.grave = Error
			i.what += ", which weft has set"
		}
		d.into(i)
	}
	for _, c := range n.cards {
		r := d.stands.machines[n.Host].RNIC(c.label)
		if c.told.VMK == nil || r == nil || r.VMK != nil {
			continue
		}
		in := &block{}
		in.declare(*c.told.VMK)
		d.into(insert{host: n.Host, grave: Error, what: fmt.Sprintf("%v stands there", c.told.VMK.Set[0].Value), within: &d.stands.machines[n.Host].Block, inner: &r.Block, of: fmt.Sprintf("rnic %q", r.Name), lines: in.body[0].in})
	}
}

// old reports whether something is about a device that stands in files already.
func (d *draft) old(id plan.ID) bool {
	return d.base != nil && (slices.ContainsFunc(d.base.Switches, func(s *inventory.Switch) bool { return s.Addr == id.Device }) ||
		slices.ContainsFunc(d.base.Servers, func(s *inventory.Server) bool { return s.Addr == id.Device }) ||
		slices.ContainsFunc(d.base.VCenters, func(v *inventory.VCenter) bool { return v.Addr == id.Device }))
}

// judgeOld plans with the files that stand, alone, where a plan with all of them changes
// something of theirs: what both change is not for what is added to answer for.
func (d *draft) judgeOld(ctx context.Context, o Options, made *plan.Plan) error {
	_, changes := changesOf(made)
	if d.was != nil || !slices.ContainsFunc(changes, func(c change) bool { return d.old(c.id) }) {
		return nil
	}
	problems, _, alone, err := o.Judge(ctx, nil)
	d.was = map[plan.ID][]change{}
	if err != nil || len(problems) > 0 {
		return err // then nothing of it is known to be old
	}
	_, before := changesOf(alone)
	for _, c := range before {
		d.was[c.id] = append(d.was[c.id], c)
	}
	return nil
}

// stood reports whether the files that stood have that change by themselves: of the same
// thing nothing else changes.
func (d *draft) stood(c change) bool {
	return slices.ContainsFunc(d.was[c.id], func(was change) bool {
		return was.prune == c.prune && (was.paths == nil) == (c.paths == nil) && (c.paths != nil || was.text == c.text) &&
			!slices.ContainsFunc(c.paths, func(p string) bool { return !slices.Contains(was.paths, p) })
	})
}

// drifted tells, device by device, what of the files that stand is not as they say, and what
// they do not have of a device of theirs.
func (d *draft) drifted(p *plan.Plan) (count int) {
	at := d.devices()
	var devices []string
	lost, other := map[string][]string{}, map[string][]string{}
	_, changes := changesOf(p)
	for _, c := range changes {
		if !d.stood(c) {
			continue
		}
		count++
		on := c.id.Device
		n, is := at[on].(*node)
		if is && !n.declared {
			continue // a block that stands is to have it: that is told
		}
		if is && c.prune {
			d.everydayLost(n, c.id)
		}
		if !slices.Contains(devices, on) {
			devices = append(devices, on)
		}
		if c.prune {
			lost[on] = append(lost[on], c.id.Kind+"."+c.id.Name)
		} else {
			other[on] = append(other[on], c.id.Kind+"."+c.id.Name+" ("+c.text+")")
		}
	}
	d.tellInserts()
	for _, on := range devices {
		host := on
		switch x := at[on].(type) {
		case *node:
			host = x.Host
		case *leaf:
			host = x.Host
		}
		if list := lost[on]; list != nil {
			d.site.found(Error, host, "add the printed lines before weft apply, which would remove it otherwise", "it and its ledger have what the files do not have, and an apply of them would take away: %s", strings.Join(list, ", "))
		}
		if list := other[on]; list != nil {
			d.site.found(Warn, host, "weft plan", "%s is in the files already, but differs: %s", on, strings.Join(list, ", "))
		}
	}
	return count
}

// everydayLost tells a block within a server, such as a file, that its block in the files does
// not have.
func (d *draft) everydayLost(n *node, id plan.ID) {
	for _, kind := range n.System.Kinds() {
		for _, e := range n.entries(d.owner, kind.KindName()) {
			if e.Kind != id.Kind || e.Name != id.Name {
				continue
			}
			if label, set, ok, err := kind.Written(e); ok && err == nil {
				in := &block{kind: e.Kind, labels: []string{label}}
				for _, s := range set {
					in.set(s.Name, written(s.Value))
				}
				d.into(insert{host: n.Host, grave: Error, what: fmt.Sprintf("%s %q exists", e.Kind, label), within: &d.stands.machines[n.Host].Block, lines: in})
			}
		}
	}
}
