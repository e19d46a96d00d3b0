package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/inventory"
	"weft/plan"
)

// plugged refuses to write to switches on which LLDP hears one declared end of
// a cable where another is declared: their ports would be made ready for
// somebody else; and to take a port back on which the NIC is heard that is linked
// elsewhere: it would be cut off. What LLDP does not tell is said, and is no proof.
func (a *app) plugged(ctx context.Context, p *project, made *plan.Plan) error {
	if made.Destroy {
		return nil // what is taken back does not depend on who is plugged in
	}
	writes := func(sw *inventory.Switch) bool {
		return sw != nil && !sw.Unmanaged && slices.ContainsFunc(made.Steps, func(s plan.PlannedStep) bool { return s.ID.Device == sw.Addr })
	}
	freed := map[*inventory.Switch][]string{}
	for _, sw := range p.model.Switches {
		for _, s := range made.Steps {
			if s.ID.Device == sw.Addr && s.ID.Kind == "port" && s.Prune && !sw.Unmanaged {
				freed[sw] = append(freed[sw], s.ID.Name)
			}
		}
	}
	linked := func(l *inventory.Link) bool { return writes(l.From.Switch) || writes(l.To.Switch) }
	if len(freed) == 0 && !slices.ContainsFunc(p.model.Links, linked) {
		return nil
	}
	res, err := cables(ctx, p, writes, freed)
	if err != nil {
		return fmt.Errorf("look at the cabling before the first write: %w", err)
	}
	if text := unproven(res.Cables); text != "" {
		a.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: text})
	}
	var wrong []string
	for _, c := range res.Cables {
		switch {
		case c.Verdict != prove.Fail || c.Stranger:
		case slices.Contains(freed[p.switchAt(c.Switch)], c.Port):
			wrong = append(wrong, fmt.Sprintf("%s %s, which would be taken back, hears %s: %s", c.Switch, c.Port, c.Hears, c.Why))
		default:
			wrong = append(wrong, fmt.Sprintf("%s %s hears %s, declared is %s", c.Switch, c.Port, c.Hears, c.Wants))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	mend := "plug the cables as declared"
	if len(res.Swaps) > 0 {
		mend = few(res.Swaps, "; ")
	}
	return hint.Wrap(fmt.Errorf("LLDP contradicts the links, nothing was changed: %s", few(wrong, "; ")),
		"%s, or change the links; see weft verify cabling", mend)
}

// switchAt is the switch with an HCL address.
func (p *project) switchAt(addr string) *inventory.Switch {
	i := slices.IndexFunc(p.model.Switches, func(sw *inventory.Switch) bool { return sw.Addr == addr })
	if i < 0 {
		return nil
	}
	return p.model.Switches[i]
}

// unproven says at which ports nothing is known of the cable, by reason.
func unproven(cables []prove.Cable) string {
	var whys []string
	at := map[string][]string{}
	n := 0
	for _, c := range cables {
		if c.Verdict == prove.Pass || c.Verdict == prove.Fail && !c.Stranger {
			continue
		}
		why := c.Why
		if c.Stranger {
			why = "who is heard is nobody who is declared, or goes by another name"
		}
		if at[why] == nil {
			whys = append(whys, why)
		}
		at[why] = append(at[why], c.Switch+" "+c.Port)
		n++
	}
	if n == 0 {
		return ""
	}
	for i, why := range whys {
		whys[i] = few(at[why], ", ") + ": " + why
	}
	return fmt.Sprintf("cabling is not proven at %d of %d ports: %s", n, len(cables), strings.Join(whys, "; "))
}

// few keeps a long list to its first, for one message.
func few(list []string, between string) string {
	const most = 3
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], between), len(list)-most)
	}
	return strings.Join(list, between)
}
