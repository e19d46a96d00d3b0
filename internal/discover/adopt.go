package discover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weft/internal/traffic"
	"weft/plan"
	"weft/switches"
)

// usualClasses are those of examples/pilot: what a fabric is planned with of which nothing
// is known.
func usualClasses(lossless bool) []switches.Class {
	rdma := switches.Class{Name: "rdma", DSCP: []int{26}, Priority: 3, Bandwidth: 50, PFC: lossless, ECN: &switches.ECN{Min: 150e3, Max: 1500e3, Probability: 5}}
	return []switches.Class{rdma, {Name: "cnp", DSCP: []int{48}, Priority: 6, Strict: true}, {Name: switches.AllOther, Bandwidth: 50}}
}

// usualFabric is one for a rack in which no fabric is known, with the planes that tryOn
// finds: its NICs do what most of them can.
func (d *draft) usualFabric() *fabric {
	var cards []*card
	speaks := map[*card]string{}
	for _, n := range d.ordered() {
		for _, c := range n.cards {
			cards, speaks[c] = append(cards, c), c.speaks()
		}
	}
	f := &fabric{name: "roce", mode: "lossy", transport: most(cards, func(c *card) string { return speaks[c] }, "rocev2"),
		hostMTU: most(cards, func(c *card) int { return c.nic.MTU }, 0)}
	if f.transport == "rocev2" {
		f.mode = "lossless"
	}
	f.classes = usualClasses(f.mode == "lossless")
	return f
}

// means says what policies of others mean, behind their lines; "": that is not known.
func means(m switches.Meaning) string {
	var list []string
	for _, k := range m.Classes {
		text := fmt.Sprintf("%s with %d percent", k.Name, k.Bandwidth)
		if k.Strict {
			text = k.Name + ", strict"
		}
		if k.Name != switches.AllOther {
			text += fmt.Sprintf(", DSCP %s, priority %d", traffic.Ranges(k.DSCP), k.Priority)
		}
		if k.PFC {
			text += ", lossless"
		}
		if k.ECN != nil {
			text += fmt.Sprintf(", ECN from %s to %s", size(k.ECN.Min), size(k.ECN.Max))
		}
		if k.Headroom != nil {
			text += fmt.Sprintf(", headroom %s", size(k.Headroom.Size))
		}
		list = append(list, text)
	}
	out := ""
	if list != nil {
		out = "; in weft's words they mean " + strings.Join(list, "; ")
	}
	for _, r := range m.Remarks {
		out += "; " + r
	}
	return out
}

// meant gives a fabric the classes that policies of others mean, of the switch that has
// most of them, and says whose; "": nobody's are known.
func (d *draft) meant(f *fabric) (host string) {
	best := 0
	for _, l := range d.switches() {
		if n := len(l.Meant.Classes); l.strange != "" && l.fabric == nil && n > best {
			best, host, f.classes, f.mode = n, l.Host, slices.Clone(l.Meant.Classes), "lossy"
		}
	}
	names := taken{}
	for i, k := range f.classes {
		switch {
		case host == "":
		case strings.HasPrefix(k.Name, "priority-"): // no name was kept
			f.classes[i].Name = names.column(className(k))
		default:
			f.classes[i].Name = names.dashed(label(k.Name, "class"))
		}
		if k.PFC {
			f.mode = "lossless"
		}
	}
	return host
}

// adoptions shows, for each switch whose policies are somebody else's, the lines that its
// fabric with adopt = true would have typed: a plan is made as if the files said so, and
// nothing of that is written. Where no fabric is known at all it is the usual one.
func (d *draft) adoptions(ctx context.Context, o Options) error {
	if !slices.ContainsFunc(d.switches(), func(l *leaf) bool { return l.strange != "" && l.fabric == nil && !l.declared }) {
		return nil
	}
	like := ""
	if len(d.fabrics) == 0 {
		like = " (no fabric is known here: one with the classes of examples/pilot is taken, which are rdma with DSCP 26 and priority 3, cnp with DSCP 48 and priority 6)"
		f := d.usualFabric()
		if host := d.meant(f); host != "" {
			like = " (no fabric is known here: one with the classes that the policies of " + host + " mean is taken)"
		}
		d.fabrics = []*fabric{f}
	}
	for _, n := range d.ordered() {
		for _, c := range n.cards {
			c.cidr = c.has // a plan of which nothing comes may give addresses a boot entry
		}
	}
	trial := map[string]*leaf{}
	for _, l := range d.switches() {
		switch {
		case l.strange == "" || l.fabric != nil || l.declared:
		case d.tryOn(l):
			trial[l.String()] = l
		default:
			d.site.found(Info, l.Host, "ask the servers that are cabled to it, or give their NICs addresses", "the changes of an adoption are unknown: no NIC with an address in a plane of a fabric is cabled to it")
		}
	}
	if len(trial) == 0 {
		return nil
	}
	if o.Say != nil {
		o.Say("a plan shows what the adoption of others' policies would change")
	}
	files, err := d.files(o.Login, o.When)
	if err != nil {
		return err
	}
	problems, _, made, err := o.Judge(ctx, files)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		for _, l := range trial {
			d.site.found(Info, l.Host, "write it by hand and plan", "fabric = fabric.%s with adopt = true%s does not validate here: %s", l.fabric.name, like, problems[0])
		}
		return nil
	}
	for _, l := range d.switches() {
		if trial[l.String()] == nil {
			continue
		}
		lines, refused := lead(made, l.String())
		switch {
		case refused != "":
			d.site.found(Warn, l.Host, "mend that first", "fabric = fabric.%s with adopt = true%s would be refused: %s", l.fabric.name, like, refused)
		default:
			d.site.add(Finding{Severity: Info, Device: l.Host, Lines: lines, Hint: "nothing of it is written: set both on the switch, and weft plan shows them again",
				Text: fmt.Sprintf("fabric = fabric.%s with adopt = true%s would type %d lines, which stand below", l.fabric.name, like, len(lines))})
		}
	}
	return nil
}

// lead are the lines that a plan would type on a device, or why it refuses to.
func lead(p *plan.Plan, device string) (lines []string, refused string) {
	for _, r := range p.Refusals {
		if r.ID.Device == device {
			return nil, strings.TrimSpace(r.Text + " " + r.Hint)
		}
	}
	for _, s := range p.Steps {
		if s.ID.Device == device && s.ID.Kind != plan.LedgerKind {
			for _, line := range s.Send {
				lines = append(lines, strings.TrimRight(line, "\n"))
			}
		}
	}
	return lines, ""
}

// tryOn puts a switch, with the NICs that are cabled to it, into the fabric whose planes
// their addresses are of, or into the only one, as a plane of its own; false: there is
// none.
func (d *draft) tryOn(l *leaf) bool {
	for _, c := range d.cables {
		n, k := d.end(c)
		if c.Switch != l.Switch || k == nil || n.declared || !k.cidr.IsValid() {
			continue
		}
		if len(d.fabrics) == 1 && d.fabrics[0].plane(k.cidr.Addr()) < 0 { // nothing else is in that plane
			d.fabrics[0].planes = append(d.fabrics[0].planes, k.cidr.Masked())
		}
		for _, f := range d.fabrics {
			if p := f.plane(k.cidr.Addr()); p >= 0 && (l.fabric == nil || l.fabric == f && l.subnet == f.planes[p]) {
				l.fabric, l.subnet, l.plane, l.adopt = f, f.planes[p], f.planeName(p), true
				k.fabric = f
			}
		}
	}
	return l.fabric != nil
}
