package review

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/view"
	"weft/plan"
)

// How long comments may be, in characters; a byte is counted as one.
const (
	GitHubComment = 65_535
	GitLabNote    = 1_000_000
	Shortest      = 5_000 // that a limit may be
)

// maxWindows is how many windows the first line names.
const maxWindows = 4

// maxChanges is how many changes of one resource are shown.
const maxChanges = 40

// A Plan is a plan with what a reviewer must know beside it.
type Plan struct {
	*plan.Plan
	Digest string  // of the file
	Phases []Phase // of the rollout, in their order; none: there is none
	Lines  bool    // also the exact lines that would be sent
}

// A Phase is how a rollout carries a part of the plan out.
type Phase struct {
	Name    string
	Window  string // "": any time
	Approve string // who must approve it; "": nobody
	Gates   []string
	Soak    string // "": none
}

// A section is a list that may be cut between two items.
type section struct {
	open, close string
	items       []string
	what        [2]string // one of them, several
}

// Markdown writes a plan as a comment of at most limit bytes; 0: of any length. The
// first line is the plan in short, the second how the comment is found again. What
// does not fit is counted.
func (p *Plan) Markdown(w io.Writer, limit int) error {
	head := p.first() + "\n" + Marker(p.Owner) + "\n"
	if p.Simulated {
		head += "\n**SIMULATED devices.**\n"
	}
	const tail = 400 // bytes for what says how much is missing
	var b strings.Builder
	b.WriteString(head)
	var left omitted
	for _, s := range p.sections() {
		room := limit - b.Len() - len(s.open) - len(s.close) - tail
		n := 0
		for n < len(s.items) && (limit == 0 || room >= len(s.items[n])) {
			room -= len(s.items[n])
			n++
		}
		if n > 0 {
			b.WriteString(s.open + strings.Join(s.items[:n], "") + s.close)
		}
		if missing := len(s.items) - n; missing > 0 {
			left.add(missing, s.what)
			if n > 0 {
				limit = b.Len() + tail // the order holds: nothing of what comes later fits
			}
		}
	}
	if left.order != nil {
		fmt.Fprintf(&b, "\n**Not shown for want of room: %s.** `weft show FILE` shows all of it.\n", left.text())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// omitted counts what does not fit, by its name (one, many) in the order of the sections.
type omitted struct {
	order [][2]string
	sums  map[[2]string]int
}

func (o *omitted) add(n int, what [2]string) {
	if o.sums == nil {
		o.sums = map[[2]string]int{}
	}
	if o.sums[what] == 0 {
		o.order = append(o.order, what)
	}
	o.sums[what] += n
}

func (o *omitted) text() string {
	return strings.Join(slice.Map(o.order, func(what [2]string) string { return text.Count(o.sums[what], what[0], what[1]) }), ", ")
}

// Marker is by what a comment on the plans of an owner is found again.
func Marker(owner string) string {
	keep := func(r rune) rune {
		if r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}
	return "<!-- weft:" + strings.Map(keep, owner) + " -->"
}

// first is the plan in one line: counts, worst impact, windows, digest.
func (p *Plan) first() string {
	parts := []string{"**" + strings.TrimSuffix(view.Sum(p.Plan), ".") + "**"}
	if len(p.Steps) > 0 {
		worst := plan.ImpactNone
		for _, s := range p.Steps {
			worst = max(worst, s.Impact())
		}
		parts = append(parts, "worst impact **"+worst.String()+"**")
	}
	if n := len(p.Refusals); n > 0 {
		parts = append(parts, "**"+text.Count(n, "refusal", "refusals")+": it cannot be applied**")
	}
	if n := len(p.Unreachable()); n > 0 {
		parts = append(parts, "**"+text.Count(n, "device was", "devices were")+" not read**")
	}
	var windows []string
	for _, ph := range p.Phases {
		if ph.Window != "" {
			windows = append(windows, code(ph.Name)+" "+code(ph.Window))
		}
	}
	phased := slices.ContainsFunc(p.Steps, func(s plan.PlannedStep) bool { return s.Phase != "" })
	switch {
	case len(windows) > maxWindows:
		parts = append(parts, "windows: "+text.List(windows, maxWindows))
	case len(p.Phases) > 0:
		parts = append(parts, "windows: "+cmp.Or(strings.Join(windows, ", "), "any time"))
	case phased:
		parts = append(parts, "windows: not known, for the files of the plan cannot be read here")
	}
	return strings.Join(append(parts, code(p.Digest)), " · ")
}

// sections are the parts of a comment, what must not be missed first.
func (p *Plan) sections() []section {
	var list []section
	add := func(title string, what [2]string, items []string) {
		if len(items) > 0 {
			list = append(list, section{open: "\n### " + title + "\n\n", items: items, what: what})
		}
	}
	var refused, unread, odd, alone, notes []string
	for _, r := range p.Refusals {
		text := fmt.Sprintf("- %s %s: %s", code(r.ID.String()), code(view.Place(r.Range)), code(r.Text))
		if r.Hint != "" {
			text += " — " + code(r.Hint)
		}
		refused = append(refused, text+"\n")
	}
	for _, d := range p.Devices {
		if d.Error != "" {
			unread = append(unread, fmt.Sprintf("- %s: %s\n", code(d.Address), code(d.Error)))
		}
		for _, text := range append(slices.Clone(d.Identity.Warnings), d.Identity.NotUnderstood...) {
			odd = append(odd, fmt.Sprintf("- %s: %s\n", code(d.Address), code(text)))
		}
	}
	for _, l := range p.Left {
		alone = append(alone, fmt.Sprintf("- %s: %s\n", code(cmp.Or(strings.Trim(l.ID.String(), "/."), l.Device)), code(l.Text)))
	}
	for _, n := range p.Notes {
		notes = append(notes, fmt.Sprintf("- %s %s: %s\n", code(n.Block), code(view.Place(n.Range)), code(n.Text)))
	}
	add("Cannot be applied", [2]string{"refusal", "refusals"}, refused)
	add("Not read", [2]string{"device", "devices"}, unread)
	add("Not understood, or to be checked", [2]string{"line", "lines"}, odd)
	list = append(list, p.phases()...)
	add("Left alone", [2]string{"finding", "findings"}, alone)
	if len(notes) > 0 {
		list = append(list, section{open: "\n<details><summary>Described, without effect yet</summary>\n\n", close: "\n</details>\n", items: notes, what: [2]string{"note", "notes"}})
	}
	return list
}

// phases are the steps, folded by phase, the worst impact first.
func (p *Plan) phases() []section {
	var list []section
	for name, part := range slice.Group(p.Steps, func(s plan.PlannedStep) string { return s.Phase }) {
		slices.SortStableFunc(part, func(a, b plan.PlannedStep) int { return int(b.Impact()) - int(a.Impact()) })
		title := "Changes"
		if name != "" {
			title = "Phase " + html(name)
		}
		title += ": " + text.Count(len(part), "resource", "resources") + ", worst impact " + part[0].Impact().String()
		title += p.restarts(name)
		if i := slices.IndexFunc(p.Phases, func(ph Phase) bool { return ph.Name == name }); i >= 0 {
			title += p.Phases[i].terms()
		}
		s := section{open: "\n<details><summary>" + title + "</summary>\n\n", close: "\n</details>\n", what: [2]string{"resource", "resources"}}
		s.items = slice.Map(part, func(step plan.PlannedStep) string { return p.step(step) })
		list = append(list, s)
	}
	return list
}

// restarts are those that a phase does, and those that nothing does.
func (p *Plan) restarts(phase string) string {
	rolling, needed := 0, 0
	for _, r := range p.Restarts {
		switch {
		case r.Phase != phase:
		case r.Rolling:
			rolling++
		default:
			needed++
		}
	}
	note := ""
	if rolling > 0 {
		note += ", empties and restarts " + text.Count(rolling, "host", "hosts") + " one after another"
	}
	if needed > 0 {
		note += ", in force from the next start of " + text.Count(needed, "host", "hosts") + ", which nothing restarts"
	}
	return note
}

// terms are what stands before and behind a phase.
func (ph Phase) terms() string {
	text := ""
	if ph.Window != "" {
		text += ", window " + html(ph.Window)
	}
	if ph.Approve != "" {
		text += ", approval " + html(ph.Approve)
	}
	if len(ph.Gates) > 0 {
		text += ", gate " + html(strings.Join(ph.Gates, ", "))
	}
	if ph.Soak != "" {
		text += ", soak " + html(ph.Soak)
	}
	return text
}

// step is one resource with what changes of it.
func (p *Plan) step(s plan.PlannedStep) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s **%s** %s", code(s.ID.String()), s.Impact(), code(view.Place(s.Range)))
	if s.Prune {
		b.WriteString(" no longer declared")
	}
	if s.Drift {
		b.WriteString(" drifted")
	}
	b.WriteByte('\n')
	for i, c := range s.Changes {
		if i == maxChanges {
			fmt.Fprintf(&b, "  - and %s\n", text.Count(len(s.Changes)-i, "more change", "more changes"))
			break
		}
		fmt.Fprintf(&b, "  - %s: %s → %s\n", code(c.Path), code(c.Before), code(c.After))
	}
	if p.Lines && len(s.Send) > 0 {
		b.WriteString("\n" + fenced("  ", slices.Clone(s.Send)) + "\n")
	}
	return b.String()
}
