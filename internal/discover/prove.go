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

// Parts are what is asked and written.
type Parts struct{ Switches, Servers, NVMe bool }

// Options say what is written.
type Options struct {
	Owner string           // "": the only one that left traces
	Base  *inventory.Model // what stands in files already, to which is added; nil: nothing
	Login Login
	Want  bool // the files keep what they say of the fabric, although the plan would change something
	// NoNVMe leaves out what is exported and connected, by whomever.
	NoNVMe bool
	When   time.Time
	// Judge loads files and plans with them. problems is what validate says against them.
	Judge func(ctx context.Context, files map[string][]byte) (problems []Problem, m *inventory.Model, p *plan.Plan, err error)
	Say   func(text string) // progress; may be nil
}

// A Result is what was made of a site.
type Result struct {
	Owner     string
	Files     map[string][]byte
	Findings  []Finding
	Coverage  Coverage
	Begins    []string // devices on which the first apply begins a ledger, and changes nothing else
	Failed    []string // why the files are not proven; none: they are
	Silent    bool     // Failed is who did not answer again, for the proof
	InPart    bool     // Failed is what a plan changes with all that was inferred: weft was applied in part, or devices were changed since
	Changes   int      // what a plan with them would change, as Options.Want allows
	Stood     int      // of the files that stood before, which a plan with them changes without what is added
	Model     *inventory.Model
	Passwords []string // likewise of passwords of servers
	Keys      []string // variables of the environment that the files name in the place of keys
}

// Coverage is how much of what was read stands in the files.
type Coverage struct {
	Switches, Servers            int
	NICs, NICsSeen               int
	Cables, Heard                int
	Pools, Volumes               int
	Targets, Namespaces          int
	Connections, FabricsOfSwitch int
	VCenters, DVSwitches, VMs    int
}

// Discover writes the files of a site, and takes out of them what the plan would change.
func (s *Site) Discover(ctx context.Context, o Options) (*Result, error) {
	d, err := s.infer(o.Owner, o.Base)
	if err != nil {
		return nil, err
	}
	d.noNVMe = o.NoNVMe
	r := &Result{Owner: d.owner}
	var first []string // what the plan changes with all that was inferred
	for round := 0; round < mostRounds; round++ {
		if r.Files, err = d.files(o.Login, o.When); err != nil {
			r.Failed = []string{err.Error()}
			break
		}
		var problems []Problem
		var made *plan.Plan
		problems, r.Model, made, err = o.Judge(ctx, r.Files)
		if err != nil {
			return nil, err
		}
		if d.refuse(problems) {
			round--
			continue
		}
		if r.Failed = listed(problems); len(problems) > 0 {
			break
		}
		var again bool
		if err := d.judgeOld(ctx, o, made); err != nil {
			return nil, err
		}
		if round == 0 {
			first = d.changed(made)
		}
		r.Begins, r.Failed, again = d.weigh(made, o.Want)
		r.Silent = len(made.Unreachable()) > 0
		if r.InPart = len(r.Failed) > 0 && len(made.Unreachable()) == 0 && len(first) > 0; r.InPart {
			r.Failed = first
		}
		if o.Want {
			r.Changes = len(made.Steps) - len(r.Begins) + len(made.Refusals)
		}
		if !again {
			r.Stood = d.drifted(made)
			break
		}
		if o.Say != nil {
			o.Say("the plan is not empty: the causes are removed, and the plan is repeated")
		}
	}
	r.Coverage, r.Keys, r.Passwords = d.coverage(r.Model), d.variables, d.secret
	if len(r.Failed) == 0 && o.Base == nil {
		if err := d.adoptions(ctx, o); err != nil {
			return nil, err
		}
	}
	r.Findings = s.Findings
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return rank(a.Severity) - rank(b.Severity) })
	return r, nil
}

// mostRounds is how often something is taken out: a NIC's fabric, then its address, then
// what is left of the server; of a switch its port, then its fabric.
const mostRounds = 5

func rank(s Severity) int { return slices.Index([]Severity{Error, Warn, Info}, s) }

// weigh judges a plan. What would change is taken out of the draft where the files can
// do without it, and the rest is why they are not proven.
func (d *draft) weigh(p *plan.Plan, want bool) (begins, failed []string, again bool) {
	begins, changes := changesOf(p)
	for _, u := range p.Unreachable() {
		failed = append(failed, u.Address+": "+u.Error)
	}
	at := d.devices()
	for _, c := range changes {
		if d.stood(c) {
			continue // told when all is taken out
		}
		if want {
			d.site.found(Error, c.id.Device, "weft plan shows the lines", "the plan would change it: %s: %s", c.id, c.text)
			continue
		}
		if d.without(at, c.id, c.text) {
			again = true
		} else {
			failed = append(failed, fmt.Sprintf("%s: %s", c.id, c.text))
		}
	}
	return begins, failed, again
}

// A change is a step or a refusal, in a line.
type change struct {
	id    plan.ID
	text  string
	prune bool     // the files do not have it, and it would be taken away
	paths []string // what changes of it; none: it is made, taken away or refused
}

// changesOf are what a plan changes or refuses, and the devices whose ledger it begins.
func changesOf(p *plan.Plan) (begins []string, changes []change) {
	for _, s := range p.Steps {
		if s.ID.Kind == plan.LedgerKind {
			begins = append(begins, s.ID.Device)
			continue
		}
		c := change{id: s.ID, text: what(s), prune: s.Prune}
		for _, one := range s.Changes {
			c.paths = append(c.paths, one.Path)
		}
		changes = append(changes, c)
	}
	for _, r := range p.Refusals {
		changes = append(changes, change{id: r.ID, text: said(r)})
	}
	return begins, changes
}

// said is a refusal, with what to do about it.
func said(r plan.Refusal) string {
	if r.Hint == "" {
		return r.Text
	}
	return r.Text + "; " + r.Hint
}

// changed are the changes of a plan to what does not stand in files already, in a line each.
func (d *draft) changed(p *plan.Plan) (list []string) {
	_, changes := changesOf(p)
	for _, c := range changes {
		if !d.stood(c) {
			list = append(list, fmt.Sprintf("%s: %s", c.id, c.text))
		}
	}
	return list
}

// what a step changes, in a line.
func what(s plan.PlannedStep) string {
	var list []string
	for _, c := range s.Changes {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s → %s", c.Path, none(c.Before), none(c.After))))
	}
	switch {
	case s.Prune:
		return "it would be taken away"
	case list == nil:
		return "it would be made"
	}
	return strings.Join(list, ", ")
}

func none(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// without takes out of the draft what a change rests on; false: it cannot.
func (d *draft) without(at map[string]any, id plan.ID, text string) bool {
	switch x := at[id.Device].(type) {
	case *leaf:
		return d.unweave(x, id, text)
	case *node:
		return d.undress(x, id, text)
	}
	return false
}

// devices are the devices of the draft, by address.
func (d *draft) devices() map[string]any {
	at := map[string]any{}
	for _, l := range d.leaves {
		at[l.String()] = l
	}
	for _, n := range d.nodes {
		at[n.String()] = n
	}
	return at
}

// unweave takes a port's cable or a switch's fabric out.
func (d *draft) unweave(l *leaf, id plan.ID, text string) bool {
	if id.Kind == "port" && l.fabric != nil {
		before := len(d.cables)
		d.cables = slices.DeleteFunc(d.cables, func(c Cable) bool {
			return c.Switch == l.Switch && c.Port == id.Name || c.Peer == l.Switch && c.PeerPort == id.Name
		})
		if len(d.cables) < before {
			d.site.found(Error, l.Host, "write the link by hand, or use --want, and weft plan shows the repair", "port %s is not as the fabric says, and its link is not written: %s", id.Name, text)
			return true
		}
	}
	if l.fabric == nil || l.declared {
		return false
	}
	d.site.found(Error, l.Host, "use --want, and weft plan shows the repair", "its classes are not as those of fabric %s, and it is written without fabric: %s", l.fabric.name, text)
	l.fabric, l.plane = nil, ""
	return true
}

// undress takes the fabric of a NIC, its address, or both of all NICs out.
func (d *draft) undress(n *node, id plan.ID, text string) bool {
	if n.declared {
		return false // its rnics are those of the files
	}
	for _, c := range n.cards {
		if c.label != id.Name {
			continue
		}
		switch {
		case id.Kind == "address" && c.cidr.IsValid():
			d.site.found(Error, n.Host, "set it in the files by hand", "rnic %s: the address %s is not written: %s", c.label, c.cidr, text)
			c.cidr = noAddress
			return true
		case id.Kind != "address" && c.fabric != nil:
			d.site.found(Error, n.Host, "use --want, and weft plan shows the repair", "rnic %s is not as fabric %s says, and is written without fabric (%s): %s", c.label, c.fabric.name, id.Kind, text)
			c.fabric = nil
			return true
		}
	}
	own := n.System.Port != nil // its fabrics ask for things of the whole host
	if id.Kind != "boot" && id.Kind != "memlock" && id.Kind != "kernel_module" && !own {
		return false
	}
	dressed := false
	for _, c := range n.cards {
		dressed = dressed || c.fabric != nil || c.cidr.IsValid()
		c.fabric, c.cidr = nil, noAddress
	}
	if dressed && own {
		d.site.found(Error, n.Host, "use --want, and weft plan shows the repair", "it is not as the fabric of its NICs asks (%s %s): %s", id.Kind, id.Name, text)
	} else if dressed {
		d.site.found(Warn, n.Host, "discover with --want, and apply keeps them", "no boot entry of weft keeps the addresses and settings of its NICs: they are not written (%s %s)", id.Kind, id.Name)
	}
	return dressed
}

func (d *draft) coverage(m *inventory.Model) Coverage {
	c := Coverage{Switches: len(d.leaves), Servers: len(d.nodes)}
	for _, n := range d.nodes {
		c.NICs += len(n.cards)
		c.NICsSeen += len(n.Facts.NICs)
		for _, f := range n.Facts.NICs {
			c.Heard += len(f.Heard)
		}
	}
	for _, l := range d.leaves {
		c.Heard += len(l.Neighbours)
		if l.fabric != nil {
			c.FabricsOfSwitch++
		}
	}
	if m == nil {
		return c
	}
	c.Cables, c.Pools, c.Volumes, c.Targets = len(m.Links), len(m.Pools), len(m.Volumes), len(m.Targets)
	for _, t := range m.Targets {
		for _, s := range t.Subsystems {
			c.Namespaces += len(s.Namespaces)
		}
	}
	c.Connections = len(m.Initiators)
	c.VCenters, c.DVSwitches, c.VMs = len(m.VCenters), len(m.DVSwitches), len(m.VMs)
	return c
}
