package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/inventory"
	"weft/plan"
)

// A look at the cables is what LLDP tells of the switches that a plan writes to.
type cableLook struct {
	found *prove.Cabling
	wrong []plan.Refusal // where that contradicts the links
}

// look asks the switches that a plan writes to whom they hear. Wrong is where one
// declared end of a cable is heard and another is declared: that port would be made
// ready for another server; and a port that would lose its settings while the NIC is
// heard there that is linked elsewhere: it would be cut off. What LLDP does not tell
// is no proof. Nil: the plan writes to no port that this is about.
func (s *Site) look(ctx context.Context, made *plan.Plan) (*cableLook, error) {
	if made.Destroy {
		return nil, nil // what is pruned does not depend on who is plugged in
	}
	writes := func(sw *inventory.Switch) bool {
		return sw != nil && !sw.Unmanaged && slices.ContainsFunc(made.Steps, func(x plan.PlannedStep) bool { return x.ID.Device == sw.Addr })
	}
	freed, at := map[*inventory.Switch][]string{}, map[plan.ID]hcl.Range{}
	for _, sw := range s.Model.Switches {
		for _, x := range made.Steps {
			if x.ID.Device == sw.Addr && x.ID.Kind == "port" && x.Prune && !sw.Unmanaged {
				freed[sw] = append(freed[sw], x.ID.Name)
				at[x.ID] = x.Range
			}
		}
	}
	for _, l := range s.Model.Links {
		for _, e := range []inventory.LinkEnd{l.From, l.To} {
			if e.Switch != nil {
				at[plan.ID{Device: e.Switch.Addr, Kind: "port", Name: e.Port}] = l.Range
			}
		}
	}
	linked := func(l *inventory.Link) bool { return writes(l.From.Switch) || writes(l.To.Switch) }
	if len(freed) == 0 && !slices.ContainsFunc(s.Model.Links, linked) {
		return nil, nil
	}
	found, err := s.Cables(ctx, writes, freed)
	if err != nil {
		return nil, fmt.Errorf("look at the cabling before the first write: %w", err)
	}
	mend := "plug the cables as declared"
	if len(found.Swaps) > 0 {
		mend = text.Few(found.Swaps, "; ")
	}
	out := &cableLook{found: found}
	for _, c := range found.Cables {
		if c.Verdict != prove.Fail || c.Stranger {
			continue
		}
		id := plan.ID{Device: c.Switch, Kind: "port", Name: c.Port}
		message := fmt.Sprintf("%s %s hears %s, declared is %s", c.Switch, c.Port, c.Hears, c.Wants)
		if slices.Contains(freed[s.switchAt(c.Switch)], c.Port) {
			message = fmt.Sprintf("%s %s, which would be reverted, hears %s: %s", c.Switch, c.Port, c.Hears, c.Why)
		}
		out.wrong = append(out.wrong, plan.Refusal{ID: id, Range: at[id], Text: message, Hint: mend + ", or change the links; see weft verify cabling"})
	}
	return out, nil
}

// refusePlugs refuses in a plan what LLDP speaks against.
func (s *Site) refusePlugs(ctx context.Context, made *plan.Plan) error {
	seen, err := s.look(ctx, made)
	if err != nil || seen == nil {
		return err
	}
	s.cables = seen
	for _, r := range seen.wrong {
		r.Text = "LLDP contradicts the links: " + r.Text
		made.Refusals = append(made.Refusals, r)
	}
	return nil
}

// plugged refuses to carry out what LLDP speaks against, and says what LLDP does
// not tell. What was looked at when the plan was made is not asked again.
func (s *Site) plugged(ctx context.Context, made *plan.Plan) error {
	seen, err := s.cables, error(nil)
	if seen == nil {
		seen, err = s.look(ctx, made)
	}
	if err != nil || seen == nil {
		return err
	}
	if message := unproven(seen.found.Cables); message != "" {
		emit(&s.Input, plan.Event{Type: plan.EventNote, Level: "warn", Message: message})
	}
	if len(seen.wrong) == 0 {
		return nil
	}
	texts := slice.Map(seen.wrong, func(r plan.Refusal) string { return r.Text })
	return hint.Wrap(fmt.Errorf("LLDP contradicts the links, nothing was changed: %s", text.Few(texts, "; ")), "%s", seen.wrong[0].Hint)
}

// switchAt is the switch with an HCL address.
func (s *Site) switchAt(addr string) *inventory.Switch {
	i := slices.IndexFunc(s.Model.Switches, func(sw *inventory.Switch) bool { return sw.Addr == addr })
	if i < 0 {
		return nil
	}
	return s.Model.Switches[i]
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
			why = "the neighbour is not declared, or is declared by another name"
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
		whys[i] = text.Few(at[why], ", ") + ": " + why
	}
	return fmt.Sprintf("cabling is not proven at %d of %d ports: %s", n, len(cables), strings.Join(whys, "; "))
}
