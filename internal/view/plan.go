package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/findings"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/plan"
)

// Options say how much of a plan is shown.
type Options struct {
	Style
	Lines   bool // also the exact lines that would be sent, and their undo
	Concise bool // neither devices that answered nor what has no effect
}

// Plan shows a plan: devices, then the changes with equal ones folded, worst
// impact first, then what has no effect yet, then the sum.
func Plan(w io.Writer, p *plan.Plan, o Options) {
	Heading(w, o.Style, "plan", p.Owner, p.Simulated)
	planDevices(w, p, o)
	for _, part := range byPhase(p.Steps) {
		if part[0].Phase != "" {
			fmt.Fprintf(w, "\n%s %s\n", o.dress(bold, "phase "+part[0].Phase), o.dress(faint, text.Count(len(part), "step", "steps")))
		}
		for _, g := range fold(part) {
			g.show(w, o)
		}
		restarts(w, p, part[0].Phase, o.Style)
	}
	allowed(w, p, o.Style)
	refusals(w, p.Refusals, "cannot be applied", o.Style)
	leftAlone(w, p.Left, o.Style)
	if o.Lines {
		onlooking(w, p, o.Style)
	}
	if !o.Concise {
		notes(w, p.Notes, o.Style)
	}
	if !o.Concise {
		runMark(w, p, o.Style)
	}
	fmt.Fprintf(w, "\n%s\n", o.dress(bold, Sum(p)))
}

// runMark says what apply writes besides the steps.
func runMark(w io.Writer, p *plan.Plan, s Style) {
	devices := map[string]bool{}
	for _, step := range p.Steps {
		devices[step.ID.Device] = true
	}
	if len(devices) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.dress(faint, fmt.Sprintf("apply marks %s for its run, until that has ended: /var/lib/weft/run.json on a server (in weft's folder there, on other systems than Linux), the directory weft-run.… on a switch",
			text.Count(len(devices), "device", "devices"))))
	}
}

// Drift shows what was changed, then the part of a plan that sets it right, then conflicts
// over what weft has never applied, and says how much else there is to do.
func Drift(w io.Writer, p *plan.Plan, pending int, apart []plan.Refusal, o Options) {
	Heading(w, o.Style, "drift", p.Owner, p.Simulated)
	planDevices(w, p, o)
	for _, g := range fold(turned(p.Steps)) {
		fmt.Fprintf(w, "\n%s %s  %s\n", o.dress(yellow, "~"), o.dress(bold, g.kind), g.where())
		g.changes(w, Options{Style: o.Style, Lines: o.Lines})
	}
	refusals(w, p.Refusals, "has changed, and cannot be set right", o.Style)
	if len(p.Steps) > 0 {
		fmt.Fprintf(w, "\n%s\n", o.dress(bold, "Repair"))
		for _, g := range fold(p.Steps) {
			g.show(w, o)
		}
	}
	if len(apart) > 0 {
		fmt.Fprintf(w, "\n%s\n", o.dress(bold, "Conflicts over what weft has not applied"))
		refusals(w, apart, "cannot be applied", o.Style)
	}
	failing := p.Failing()
	listLeft(w, "In place, but without effect", failing, o.Style)
	leftAlone(w, slice.Filter(p.Left, func(l plan.LeftAlone) bool { return !l.Drift }), o.Style)
	fmt.Fprintf(w, "\n%s\n", o.dress(bold, driftSum(p, pending, len(failing), len(apart))))
}

// driftSum is a drift in one line.
func driftSum(p *plan.Plan, pending, failing, apart int) string {
	var parts []string
	if changed := p.Drifted() - failing; changed > 0 {
		parts = append(parts, text.Count(changed, "resource was changed since weft applied it", "resources were changed since weft applied them"))
	}
	if failing > 0 {
		parts = append(parts, text.Count(failing, "resource is as weft applied it and no longer gives hosts storage", "resources are as weft applied them and no longer give hosts storage"))
	}
	sum := "Drift: " + strings.Join(parts, "; ") + "."
	switch {
	case len(parts) == 0 && len(p.Unreachable()) == 0:
		sum = "No drift: what weft applied is as it was applied."
	case len(parts) == 0:
		sum = "Unchanged on the devices that were read."
	}
	if lost := len(p.Unreachable()); lost > 0 {
		sum += fmt.Sprintf(" %s not read: its drift is unknown.", text.Count(lost, "device was", "devices were"))
	}
	if pending > 0 {
		sum += fmt.Sprintf(" %s declared and not applied yet: see weft plan.", text.Count(pending, "change is", "changes are"))
	}
	if apart > 0 {
		sum += fmt.Sprintf(" %s over what weft has not applied.", text.Count(apart, "conflict", "conflicts"))
	}
	return sum
}

// turned are steps in the direction in which the device was changed: from what weft applied
// to what is there now.
func turned(steps []plan.PlannedStep) []plan.PlannedStep {
	return slice.Map(steps, func(s plan.PlannedStep) plan.PlannedStep {
		s.Changes = slice.Map(s.Changes, func(c plan.Change) plan.Change {
			c.Before, c.After = c.After, c.Before
			return c
		})
		return s
	})
}

// Sum is a plan in one line.
func Sum(p *plan.Plan) string {
	c := p.Counts()
	if p.Empty() {
		sum := fmt.Sprintf("Nothing to do: all of %s on %s as declared",
			text.Count(c.Resources-c.Left, "resource", "resources"), text.Count(len(p.Devices), "device", "devices"))
		if c.Left > 0 {
			sum += fmt.Sprintf("; %d left alone", c.Left)
		}
		return sum + unmanaged(c) + "."
	}
	parts := []string{fmt.Sprintf("%d to change", c.Changed-c.Pruned)}
	if c.Pruned > 0 {
		parts[0] += fmt.Sprintf(", %d to prune", c.Pruned)
	}
	for i := plan.ImpactDataLoss; i > plan.ImpactNone; i-- {
		if n := c.ByImpact[i]; n > 0 {
			parts[0] += fmt.Sprintf(", %d with impact %s", n, i)
		}
	}
	if c.Unread > 0 && c.Unread == c.Resources {
		parts[0] = fmt.Sprintf("what would change is not known: of %s none was read", text.Count(c.Resources, "resource", "resources"))
	} else {
		parts = append(parts, fmt.Sprintf("%d as declared", c.Converged))
	}
	if c.Refused > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", c.Refused))
	}
	if c.Left > 0 {
		parts = append(parts, fmt.Sprintf("%d left alone", c.Left))
	}
	if c.Unread > 0 && c.Unread < c.Resources {
		parts = append(parts, fmt.Sprintf("%d not read", c.Unread))
	}
	return "Plan: " + strings.Join(parts, "; ") + unmanaged(c) + "."
}

// unmanaged says how much else is on the devices.
func unmanaged(c plan.Counts) string {
	sum, kinds := 0, []string{}
	for _, kind := range slices.Sorted(maps.Keys(c.Unmanaged)) {
		sum += c.Unmanaged[kind]
		kinds = append(kinds, fmt.Sprintf("%d %s", c.Unmanaged[kind], kind))
	}
	if sum == 0 {
		return ""
	}
	return fmt.Sprintf("; %s left alone (%s)", text.Count(sum, "unmanaged object", "unmanaged objects"), strings.Join(kinds, ", "))
}

// onlooking names what else is on each device.
func onlooking(w io.Writer, p *plan.Plan, s Style) {
	for _, d := range p.Devices {
		for _, kind := range slices.Sorted(maps.Keys(d.Unmanaged)) {
			for _, name := range d.Unmanaged[kind] {
				fmt.Fprintf(w, "  %s\n", s.dress(faint, fmt.Sprintf("unmanaged  %s  %s  %s", d.Address, kind, name)))
			}
		}
	}
}

// planDevices shows which devices answered; those that say the same of
// themselves share a line.
func planDevices(w io.Writer, p *plan.Plan, o Options) {
	says := func(d plan.PlannedDevice) string {
		id := d.Identity
		return strings.Join(slices.Concat([]string{d.Error, d.Hint, id.System, id.Serial, id.Method}, id.Warnings, id.NotUnderstood), "\x00")
	}
	lost := slice.Filter(p.Devices, func(d plan.PlannedDevice) bool { return d.Error != "" })
	for _, devices := range slice.Group(p.Devices, says) {
		names := slice.Map(devices, func(d plan.PlannedDevice) string { return d.Address })
		if d := devices[0]; d.Error == "" && (!o.Concise || len(d.Identity.Warnings)+len(d.Identity.NotUnderstood) > 0) {
			planDevice(w, d, few(names), o.Style)
		}
	}
	NotReached(w, slice.Map(lost, func(d plan.PlannedDevice) Lost { return Lost{Device: d.Address, Text: d.Error, Hint: d.Hint} }), "  ", o.Style)
}

func planDevice(w io.Writer, d plan.PlannedDevice, names string, s Style) {
	id := d.Identity.System
	if d.Identity.Serial != "" {
		id += ", serial " + d.Identity.Serial
	}
	fmt.Fprintf(w, "  %s %s  %s\n", s.dress(green, "✓"), names, id)
	fmt.Fprintf(w, "      %s\n", s.dress(faint, d.Identity.Method))
	for _, text := range d.Identity.Warnings {
		fmt.Fprintf(w, "      %s %s\n", s.dress(yellow, "!"), text)
	}
	for _, line := range d.Identity.NotUnderstood {
		fmt.Fprintf(w, "      %s not understood: %s\n", s.dress(yellow, "!"), line)
	}
}

// few lists names; of a large number it folds those that differ in numbers.
func few(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return findings.Fold(names, most)
}

// allowed names what loses data because the user has allowed it.
func allowed(w io.Writer, p *plan.Plan, s Style) {
	var names []string
	for _, step := range p.Steps {
		if name := step.ID.String(); step.Impact() == plan.ImpactDataLoss && slices.Contains(p.AllowDestroy, name) {
			names = append(names, name)
		}
	}
	if names != nil {
		fmt.Fprintf(w, "\n%s may lose data, as allowed: %s\n", s.dress(yellow, "!"), strings.Join(names, ", "))
	}
}

// refusals shows what cannot be applied: resources that are refused for one reason are one
// entry.
func refusals(w io.Writer, list []plan.Refusal, what string, s Style) {
	of := func(r plan.Refusal) findings.Finding {
		return findings.Finding{Cause: s.Names.Without(r.Hint), Text: r.Text, Place: findings.Place{Device: r.ID.Device, Part: r.ID.Kind + " " + r.ID.Name}}
	}
	if s.Verbose {
		for _, r := range list {
			refusal(w, r, what, s)
		}
		return
	}
	for _, e := range findings.Group(list, s.Names, of) {
		for _, v := range e.Variants {
			if len(v.All) <= mostSingle {
				for _, r := range v.All {
					refusal(w, r, what, s)
				}
				continue
			}
			at := slice.Map(v.All, func(r plan.Refusal) string { return Place(r.Range) })
			fmt.Fprintf(w, "\n%s %d resources %s\n  %s\n  %s  %s\n", s.dress(red, "✗"), len(v.All), what,
				findings.Wrap(v.Where(mostPlaces), screenWidth-2, "  "), findings.Fold(at, mostPlaces), v.Text)
			adviceBelow(w, e.Cause)
		}
	}
}

func refusal(w io.Writer, r plan.Refusal, what string, s Style) {
	fmt.Fprintf(w, "\n%s %s %s\n  %s  %s\n", s.dress(red, "✗"), r.ID, what, Place(r.Range), r.Text)
	adviceBelow(w, r.Hint)
}

func adviceBelow(w io.Writer, hint string) {
	if hint != "" {
		fmt.Fprintf(w, "  hint  %s\n", strings.ReplaceAll(hint, "\n", "\n        "))
	}
}

func leftAlone(w io.Writer, list []plan.LeftAlone, s Style) { listLeft(w, "Left alone", list, s) }

// listLeft lists resources that are left alone below a heading.
func listLeft(w io.Writer, heading string, list []plan.LeftAlone, s Style) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, heading))
	for len(list) > 0 {
		first := list[0]
		same := func(l plan.LeftAlone) bool { return l.Text == first.Text && l.ID.Kind == first.ID.Kind }
		fmt.Fprintf(w, "  %s  %s\n", leftNames(list, same), first.Text)
		list = slices.DeleteFunc(slices.Clone(list), same)
	}
}

// fewLeft is how many resources that are left alone are named one by one.
const fewLeft = 2

// leftNames names the resources of one kind that are left alone for one reason.
func leftNames(list []plan.LeftAlone, same func(plan.LeftAlone) bool) string {
	var names, devices []string
	for _, l := range list {
		if !same(l) {
			continue
		}
		if !slices.Contains(devices, l.Device) {
			devices = append(devices, l.Device)
		}
		if l.ID.Kind == "" {
			names = append(names, l.Device)
		} else {
			names = append(names, l.ID.String())
		}
	}
	if kind := list[0].ID.Kind; len(names) > fewLeft && kind != "" {
		return fmt.Sprintf("%d %s of %s", len(names), kind, strings.Join(devices, ", "))
	}
	return strings.Join(names, ", ")
}

func notes(w io.Writer, list []plan.Note, s Style) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, "Described, without effect yet"))
	for _, n := range list {
		fmt.Fprintf(w, "  %s  %s  %s\n", s.dress(faint, Place(n.Range)), n.Block, n.Text)
	}
}

// Unknown shows what is not known because files are not trusted.
func Unknown(w io.Writer, s Style, list []string) {
	fmt.Fprintf(w, "\n%s\n", s.dress(yellow, "Not known, because the files are not trusted:"))
	for _, text := range list {
		fmt.Fprintf(w, "  ? %s\n", text)
	}
}

// Place shows where a range starts: file:line.
func Place(r hcl.Range) string {
	if r.Filename == "" {
		return "–"
	}
	return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line)
}
