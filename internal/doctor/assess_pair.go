package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/inventory"
)

// A Pair is a target and an initiator to pilot with.
type Pair struct {
	Target    string   `json:"target"`
	Initiator string   `json:"initiator"`
	Flavour   string   `json:"flavour"`
	Over      []string `json:"over,omitempty"` // switches that both are cabled to; none: that is not known
	Why       []string `json:"why"`
	Needs     []string `json:"needs,omitempty"` // what has to be done before
}

// A pairing is the choice of a pair: who can be what, and who is cabled where.
type pairing struct {
	site    *Site
	flavour string
	at      map[*Host][]string
}

// pair proposes a target and an initiator, each of those that can be one: as the files
// declare them; else a machine of a system on which weft runs targets. Of these the fitter,
// then the better cabled ones come first, and the target is one with drives.
func (a *Assessment) pair(s *Site) {
	p := &pairing{s, a.flavourOfMost(), map[*Host][]string{}}
	for _, c := range s.cables {
		if !slices.Contains(p.at[c.host], c.sw.Name) {
			p.at[c.host] = append(p.at[c.host], c.sw.Name)
		}
	}
	var targets, initiators []*Subject
	for i := range a.Subjects {
		x := &a.Subjects[i]
		if p.flavour == "" || !x.may(p.flavour) {
			continue
		}
		if x.canTarget(s) {
			targets = append(targets, x)
		}
		if x.canInitiate(s) {
			initiators = append(initiators, x)
		}
	}
	if slices.ContainsFunc(initiators, func(x *Subject) bool { return x.host.initiates(s) }) {
		initiators = slice.Filter(initiators, func(x *Subject) bool { return x.host.initiates(s) })
	}
	if len(initiators) > 1 { // who is only fit as a target is left to be one
		initiators = slices.DeleteFunc(initiators, func(x *Subject) bool { return len(targets) == 1 && x == targets[0] })
	}
	target := p.best(targets, nil)
	if target != nil {
		initiators = slices.DeleteFunc(initiators, func(x *Subject) bool { return x == target })
	}
	initiator := p.best(initiators, target)
	switch {
	case target == nil || initiator == nil:
		a.NoPair = p.missing(len(targets), len(initiators))
	default:
		a.Pair = p.reasons(target, initiator)
	}
}

// flavourOfMost is the kind of RDMA that all ends share; else the one of which most are known.
func (a *Assessment) flavourOfMost() string {
	flavour, most := a.Choice, 0
	if flavour != "" {
		return flavour
	}
	for _, f := range a.Flavours {
		if len(f.Can) > most {
			flavour, most = f.Name, len(f.Can)
		}
	}
	return flavour
}

// may reports whether a device can do a kind of RDMA, or may do it.
func (x *Subject) may(flavour string) bool {
	return x.Kind != "switch" && (slices.Contains(x.Flavours, flavour) || x.Unsure && (x.host != nil || x.target != nil))
}

// canTarget reports whether weft can have a device be a target: where files declare targets,
// only those.
func (x *Subject) canTarget(s *Site) bool {
	switch {
	case s.Model != nil && len(s.Model.Targets) > 0:
		return x.target != nil || x.host != nil && x.host.Server != nil && x.host.serves(s)
	case x.host == nil:
		return false
	}
	return x.host.Origins.Serves && !x.host.initiates(s)
}

// canInitiate reports whether a device can be the initiator: any machine but a declared
// target beside others.
func (x *Subject) canInitiate(s *Site) bool {
	return x.host != nil && (x.host.initiates(s) || s.Model == nil || x.host.Server == nil || len(s.Model.Initiators) == 0)
}

// initiates reports whether the files declare an initiator on a machine.
func (h *Host) initiates(s *Site) bool {
	return s.Model != nil && h.Server != nil && slices.ContainsFunc(s.Model.Initiators, func(i *inventory.Initiator) bool { return i.Server == h.Server })
}

// best is the fittest of a list: as a target, or as the initiator of one, which a machine
// that is no target itself comes first for.
func (p *pairing) best(list []*Subject, target *Subject) *Subject {
	if len(list) == 0 {
		return nil
	}
	sure := func(x *Subject) int {
		if slices.Contains(x.Flavours, p.flavour) {
			return 0
		}
		return 1
	}
	rank := func(x *Subject) int { return slices.Index([]Fitness{Ready, Unknown, Needs}, x.State) }
	gives := func(x *Subject) int {
		if x.host == nil {
			return 0
		}
		return x.host.gives()
	}
	serves := func(x *Subject) int {
		if p.site.Model != nil && x.host.Server != nil && x.host.serves(p.site) {
			return 1
		}
		return 0
	}
	return slices.MinFunc(list, func(x, y *Subject) int {
		n := cmp.Or(sure(x)-sure(y), rank(x)-rank(y))
		if target == nil {
			return cmp.Or(n, gives(y)-gives(x), len(p.at[y.host])-len(p.at[x.host]), cmp.Compare(x.Device, y.Device))
		}
		return cmp.Or(serves(x)-serves(y), n, len(p.shared(y, target))-len(p.shared(x, target)), gives(x)-gives(y), len(p.at[y.host])-len(p.at[x.host]), cmp.Compare(x.Device, y.Device))
	})
}

// shared are the switches that two machines are cabled to.
func (p *pairing) shared(x, y *Subject) []string {
	return slice.Filter(p.at[x.host], func(name string) bool { return slices.Contains(p.at[y.host], name) })
}

// missing says why there is no pair.
func (p *pairing) missing(targets, initiators int) string {
	if p.flavour == "" {
		return "no device is known to support RDMA"
	}
	declared := ""
	if p.site.Model != nil && len(p.site.Model.Targets) > 0 {
		declared = " among the declared ones"
	}
	if targets == 0 {
		return fmt.Sprintf("no target%s supports %s", declared, p.flavour)
	}
	return fmt.Sprintf("no other server%s supports %s: %d can be a target, %d an initiator", declared, p.flavour, targets, initiators)
}

// reasons are those for a pair, and what has to be done before.
func (p *pairing) reasons(target, initiator *Subject) *Pair {
	out := &Pair{Target: target.Device, Initiator: initiator.Device, Flavour: p.flavour, Over: p.shared(initiator, target)}
	var unsure []string
	for _, x := range []*Subject{target, initiator} {
		if !slices.Contains(x.Flavours, p.flavour) {
			unsure = append(unsure, x.Device)
		}
	}
	if len(unsure) == 0 {
		out.Why = append(out.Why, "both support "+p.flavour)
	} else {
		out.Why = append(out.Why, fmt.Sprintf("support of %s for %s is unknown", strings.Join(unsure, " and "), p.flavour))
	}
	switch {
	case target.host == nil || target.host.Server != nil && target.host.serves(p.site) && p.site.Model != nil:
		out.Why = append(out.Why, target.Device+" is a declared target")
	case target.host.gives() > 0:
		out.Why = append(out.Why, fmt.Sprintf("%s has %d drives", target.Device, target.host.gives()))
	default:
		out.Why = append(out.Why, "no server has a drive: the target would export memory or a file")
	}
	if initiator.host.initiates(p.site) {
		out.Why = append(out.Why, initiator.Device+" is a declared initiator")
	}
	if len(out.Over) > 0 {
		out.Why = append(out.Why, "both are cabled to "+strings.Join(out.Over, " and "))
	} else {
		out.Why = append(out.Why, "their cabling is unknown")
	}
	for _, x := range []*Subject{target, initiator} {
		for _, one := range x.Answers {
			if one.State == Needs && !one.Aside {
				out.Needs = append(out.Needs, strings.TrimSpace(x.Device+" "+one.Part)+" needs "+one.Text)
			}
		}
	}
	return out
}

// gives is how many drives a machine could export.
func (h *Host) gives() int {
	n := 0
	for _, c := range h.Controllers {
		if c.Transport == "pcie" {
			n++
		}
	}
	return n
}
