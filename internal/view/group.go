package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/internal/text"
	"weft/plan"
)

// byPhase divides steps by the phases of a rollout, in the order of the plan;
// without one they are all of one part.
func byPhase(steps []plan.PlannedStep) [][]plan.PlannedStep {
	at := map[string]int{}
	var parts [][]plan.PlannedStep
	for _, s := range steps {
		i, ok := at[s.Phase]
		if !ok {
			i = len(parts)
			at[s.Phase] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], s)
	}
	return parts
}

// A group is steps of one kind that change the same things.
type group struct {
	kind  string
	steps []plan.PlannedStep
}

// fold puts steps that change the same attributes together, worst impact
// first; the order of the plan otherwise holds.
func fold(steps []plan.PlannedStep) []*group {
	var groups []*group
	at := map[string]*group{}
	for _, s := range steps {
		key := fmt.Sprint(s.ID.Kind, s.Prune, s.Impact())
		for _, c := range s.Changes {
			key += "\x00" + c.Path
			if s.ID.Kind == plan.LedgerKind { // which is shown in one line
				key += "\x00" + c.Before + "\x00" + c.After
			}
		}
		g := at[key]
		if g == nil {
			g = &group{kind: s.ID.Kind}
			at[key] = g
			groups = append(groups, g)
		}
		g.steps = append(g.steps, s)
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return int(b.steps[0].Impact()) - int(a.steps[0].Impact())
	})
	return groups
}

func (g *group) show(w io.Writer, o Options) {
	impact := g.steps[0].Impact()
	if g.kind == "ledger" {
		g.ledger(w, o)
		if g.steps[0].ID.Name == "revert" { // else it is weft's own bookkeeping
			g.lines(w, o)
		}
		return
	}
	mark := o.dress(yellow, "~")
	if g.steps[0].Prune {
		mark = o.dress(red, "-") + " no longer declared:"
	}
	fmt.Fprintf(w, "\n%s %s  %s  %s\n", mark, o.dress(bold, g.kind), g.where(), o.dress(faint, "impact "+impact.String()))
	g.changes(w, o)
	g.lines(w, o)
}

// lines shows what would be sent, and its undo, to those who want to see it.
func (g *group) lines(w io.Writer, o Options) {
	if !o.Lines {
		return
	}
	for _, s := range g.steps {
		fmt.Fprintf(w, "    %s\n", o.dress(faint, s.ID.String()+"  "+Place(s.Range)))
		for _, l := range s.Send {
			fmt.Fprintf(w, "      %s\n", l)
		}
		if len(s.Undo) > 0 { // a heading: undo is a word of some devices
			fmt.Fprintf(w, "      %s\n", o.dress(faint, "to undo:"))
		}
		for _, l := range s.Undo {
			fmt.Fprintf(w, "        %s\n", o.dress(faint, l))
		}
	}
}

// changes shows what changes: once what is the same for all steps, step by
// step what is not.
func (g *group) changes(w io.Writer, o Options) {
	width := 0
	for _, c := range g.steps[0].Changes {
		width = max(width, len(c.Path))
	}
	for n, c := range g.steps[0].Changes {
		if g.same(n) {
			fmt.Fprintln(w, o.folded(fmt.Sprintf("    %s  %s → %s%s", text.Pad(c.Path, width), orNothing(c.Before), orNothing(c.After), o.milder(c, g.steps[0]))))
			continue
		}
		if len(g.steps[0].Changes) > 1 && !o.Lines && len(g.steps) > mostShown {
			fmt.Fprintf(w, "    %s  another on each; see --show-config\n", text.Pad(c.Path, width))
			continue
		}
		wide := 0
		for _, s := range g.steps {
			wide = max(wide, len(s.ID.Device)+1+len(s.ID.Name))
		}
		for i, s := range g.steps {
			if i == mostShown && !o.Lines && len(g.steps) > mostShown+1 {
				fmt.Fprintf(w, "    %s  and %d more; see --show-config\n", text.Pad("", width), len(g.steps)-i)
				break
			}
			c := s.Changes[n]
			fmt.Fprintln(w, o.folded(fmt.Sprintf("    %s  %s  %s → %s", text.Pad(c.Path, width), text.Pad(s.ID.Device+" "+s.ID.Name, wide), orNothing(c.Before), orNothing(c.After))))
		}
	}
}

// milder is the impact of a change where it is not that of its step, for those
// who want to see every line.
func (o Options) milder(c plan.Change, s plan.PlannedStep) string {
	if !o.Lines || c.Impact == s.Impact() {
		return ""
	}
	return "  " + o.dress(faint, "impact "+c.Impact.String())
}

// mostShown is how many steps of a group are shown one by one.
const mostShown = 16

// same reports whether the nth change is the same in all steps.
func (g *group) same(n int) bool {
	return !slices.ContainsFunc(g.steps[1:], func(s plan.PlannedStep) bool { return s.Changes[n] != g.steps[0].Changes[n] })
}

// ledger shows in one line what devices learn about which devices there are.
func (g *group) ledger(w io.Writer, o Options) {
	devices := text.Count(len(g.steps), "server", "servers")
	for _, c := range g.steps[0].Changes {
		what := devices + " will remember which devices are ours"
		switch {
		case c.Path == "revert":
			what = "changes of an interrupted apply are verified and kept on " + devices
		case c.Path == "lease":
			what = fmt.Sprintf("a lease is removed from %s: %s", devices, c.Before)
		case c.Path == "uploads":
			what = fmt.Sprintf("files that were being uploaded are removed from %s: %s", devices, c.Before)
		case c.Path == "protected":
			what = protection(c) + " on " + devices
		case c.Path == "adopted":
			what = fmt.Sprintf("no longer declared, and left as it was found: %s on %s", c.Before, devices)
		case c.Path != "devices":
			what = "the records of weft are dropped on " + devices
		case c.Before != "" && c.After != "":
			what = fmt.Sprintf("%s will remember %s instead of %s as ours", devices, c.After, c.Before)
		case c.Before != "":
			what = fmt.Sprintf("%s will forget %s", devices, c.Before)
		case c.After != "":
			what = fmt.Sprintf("%s will remember that %s: %s", devices, ours(c.After), c.After)
		}
		fmt.Fprintf(w, "\n%s %s  %s  %s\n", o.dress(yellow, "~"), o.dress(bold, "ledger"), what, o.dress(faint, "impact none"))
	}
}

// ours says of devices that they are: not all of those that a server remembers are servers.
func ours(list string) string {
	if strings.Contains(list, ", ") {
		return "these devices are ours"
	}
	return "this device is ours"
}

// protection says what may be pruned from now on, and what may not.
func protection(c plan.Change) string {
	var text []string
	if c.After != "" {
		text = append(text, "protected: "+c.After)
	}
	if c.Before != "" {
		text = append(text, "no longer protected: "+c.Before)
	}
	return strings.Join(text, "; ")
}

// where names the resources of a group: the device once, its names after it.
func (g *group) where() string {
	var all []string
	for device, steps := range slice.Group(g.steps, func(s plan.PlannedStep) string { return s.ID.Device }) {
		all = append(all, device+" "+strings.Join(slice.Map(steps, func(s plan.PlannedStep) string { return s.ID.Name }), " "))
	}
	text := few(all)
	if len(g.steps) > 1 {
		text = fmt.Sprintf("%d: %s", len(g.steps), text)
	}
	return text
}

func orNothing(text string) string {
	if text == "" {
		return "–"
	}
	return text
}
