package discover

import (
	"context"
	"strings"

	"weft/plan"
)

// mostLines is how many lines of an adoption a finding shows.
const mostLines = 40

// adoptions shows, for each switch whose policies are somebody else's, the lines that its
// fabric with adopt = true would have typed: a plan is made as if the files said so, and
// nothing of that is written.
func (d *draft) adoptions(ctx context.Context, o Options) error {
	trial := map[string]*leaf{}
	for _, l := range d.switches() {
		if l.strange && l.fabric == nil && !l.declared && d.tryOn(l) {
			trial[l.String()] = l
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
			d.site.found(Info, l.Host, "write it by hand and plan", "fabric = fabric.%s with adopt = true does not validate here: %s", l.fabric.name, problems[0])
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
			d.site.found(Warn, l.Host, "mend that first", "fabric = fabric.%s with adopt = true would be refused: %s", l.fabric.name, refused)
		case len(lines) > mostLines:
			d.site.found(Info, l.Host, "nothing of it is written: set both on the switch, and weft plan shows them all", "fabric = fabric.%s with adopt = true would type %d lines, of which the first are: %s", l.fabric.name, len(lines), strings.Join(lines[:mostLines], "; "))
		default:
			d.site.found(Info, l.Host, "nothing of it is written: set both on the switch, and weft plan shows them again", "fabric = fabric.%s with adopt = true would type: %s", l.fabric.name, strings.Join(lines, "; "))
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
				lines = append(lines, strings.TrimSpace(line))
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
