package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"weft/internal/metric"
	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/view"
)

// acted is what readers of Markdown act upon: links, images and addresses,
// mentions of people and references to tickets, HTML and entities. In code they
// do not. A backslash begins an escape.
var acted = regexp.MustCompile(`(?i)[@<\\]|\]\(|\]\[|\]:|://|\bwww\.|\b(?:mailto|xmpp):|&[#a-z]|[#!~$%][a-z0-9]`)

// cell makes text of others fit for a cell of a table or a line: it is shown,
// whatever it is, with what a reader of Markdown would act upon as code.
func cell(s string) string {
	s = strings.NewReplacer("`", "'", "\r\n", " ", "\n", " ", "\t", " ").Replace(s)
	words := strings.Split(view.Visible(s), " ")
	for i, word := range words {
		if acted.MatchString(word) {
			// Which of a backslash and a bar escapes the other is not the same everywhere.
			words[i] = "`" + strings.ReplaceAll(word, "|", "¦") + "`"
			continue
		}
		words[i] = strings.NewReplacer("|", `\|`, "*", `\*`, "__", `\_\_`).Replace(word)
	}
	return strings.Join(words, " ")
}

// Mark is a verdict for people: never a colour alone.
func Mark(v prove.Verdict) string {
	return v.Mark() + " " + string(v)
}

// Markdown writes the report for a pull request or a ticket.
func (r *Report) Markdown(w io.Writer) error {
	p := &printer{w: w}
	p.line("# weft report: %s", cell(r.Owner))
	p.line("")
	if r.Simulated {
		p.line("**SIMULATED**: measured on weft's lab. It shows function, not speed.")
		p.line("")
	}
	p.line("Verdict of the last measurement: **%s** · made %s by weft %s", Mark(r.Verdict), r.Made.UTC().Format(stamp), cell(r.Weft))
	p.line("")
	if r.Headline == nil {
		p.line("Nothing was measured.")
	} else {
		p.line("It is that of: %s.", cell(r.Headline.text(r.Made)))
	}
	for _, text := range r.Since {
		p.line("")
		p.line("**! %s**", cell(text))
	}
	if covers := r.covers(); len(covers) > 0 {
		p.line("\nIt covers %s.", cell(strings.Join(covers, "; ")))
	}
	if text, _ := r.changed(); text != "" {
		p.line("\nWhat changes: %s.", cell(text))
	}
	if r.Carried != nil {
		p.line("\n%s", cell(r.Carried.String()))
	}
	r.markdownRun(p)
	for _, m := range r.Measured {
		p.line("\n## %s\n", m.Title())
		p.line("%s, measured %s\n", Mark(m.Result.Verdict), m.Time.UTC().Format(stamp))
		markdownResult(p, m.Result)
	}
	r.markdownWorth(p)
	r.markdownDevices(p)
	if len(r.Thresholds) > 0 {
		p.line("\n## Thresholds\n\n| metric | what is measured | limit | from |\n|---|---|---|---|")
		for _, t := range r.Thresholds {
			p.line("| %s.%s | %s | %s | %s |", cell(t.Validation), cell(t.Metric), cell(what(t)), cell(Limit(t)), cell(t.Place))
		}
	}
	if r.Plan != nil {
		p.line("\n## Plan\n\nOf %s: %d steps on %d devices.\n\n| phase | resource | changes | impact |\n|---|---|---|---|",
			r.Plan.Created.UTC().Format(stamp), len(r.Plan.Steps), r.Plan.Devices)
		for _, s := range r.Plan.Steps {
			p.line("| %s | %s | %d | %s |", cell(s.Phase), cell(s.ID.String()), len(s.Changes), s.Impact().String())
		}
	}
	return p.err
}

func (r *Report) markdownRun(p *printer) {
	if r.Run == nil {
		return
	}
	p.line("\n## Rollout\n\n%s, %s. %s\n", cell(r.Run.Rollout), r.Run.State, cell(r.Run.Why))
	p.line("| phase | state | steps | gate |\n|---|---|---|---|")
	for _, ph := range r.Run.Phases {
		gate := "–"
		if n := len(ph.Verdicts); n > 0 {
			gate = string(ph.Verdicts[n-1].Verdict)
			if ph.Verdicts[n-1].Recorded {
				gate = "recorded: " + gate
			}
			if n > 1 {
				gate += fmt.Sprintf(" (%d samples)", n)
			}
		}
		p.line("| %s | %s | %d | %s |", cell(ph.Name), ph.State, len(ph.Steps), gate)
	}
	for _, a := range r.Run.Accepted {
		p.line("\nNot judged, which %s accepted %s: %s", cell(a.By), a.Time.UTC().Format(stamp), cell(a.What))
	}
}

func markdownResult(p *printer, res *prove.Result) {
	for _, c := range res.Checks {
		text := ""
		if c.Why != "" {
			text = ": " + c.Why
		}
		p.line("- %s %s%s", Mark(c.Verdict), cell(c.Name), cell(text))
	}
	for _, o := range res.Outputs {
		p.line("- output %s = %s", cell(o.Name), cell(told(o)))
	}
	if len(res.Judgements) == 0 {
		return
	}
	p.line("")
	p.line("| | metric | places | worst | limit |\n|---|---|---|---|---|")
	for _, l := range Lines(res) {
		p.line("| %s | %s | %s | %s | %s |", Mark(l.Verdict), cell(l.Name()), l.Passed, cell(l.Worst), cell(l.Limit))
	}
	for _, l := range Lines(res) {
		for _, note := range l.Notes {
			p.line("\n%s: %s", cell(l.Name()), cell(note))
		}
		for _, j := range l.Bad {
			p.line("\n- %s: %s", j.Verdict, cell(view.Judged(j)))
		}
	}
	for _, text := range view.Degraded(res) {
		p.line("\n**%s**", cell(text))
	}
	markdownLoads(p, res.Loads)
	markdownCompared(p, res.Compared)
	if len(res.Rows) == 0 {
		return
	}
	p.line("\n| initiator | target | plane | over | size | %s | samples |\n|---|---|---|---|---|%s---|", quantileTitles(), quantileRule())
	for _, row := range append(append([]*prove.Row{}, res.Local...), res.Rows...) {
		if !known(row) {
			p.line("| %s | %s | %s | %s | %s | %s | | | %d |", cell(row.Initiator), cell(row.Target), plane(row), over(row), size(row), cell(row.Why+row.FirstErr), row.Samples)
			continue
		}
		p.line("| %s | %s | %s | %s | %s | %s | %d |", cell(row.Initiator), cell(row.Target), plane(row), over(row), size(row),
			quantiles(row.Quantiles), row.Samples)
	}
	for i, t := range res.Throughput {
		if i == 0 {
			p.line("\n| initiator | target | plane | over | Gbit/s | IOPS | CPU µs per Gbit | of the target |\n|---|---|---|---|---|---|---|---|")
		}
		if t.Why != "" {
			p.line("| %s | %s | %s | %s | %s | | | |", cell(t.Initiator), cell(t.Target), t.Plane, t.Over(), cell(t.Why))
			continue
		}
		p.line("| %s | %s | %s | %s | %.3g | %.0f | %.0f | %s |", cell(t.Initiator), cell(t.Target), t.Plane, t.Over(), t.BitsPerSec/1e9, t.IOPS, t.CPUPerGbit, targetCPU(t))
	}
}

// quantileTitles are the columns that quantiles fills, and quantileRule is their line below.
func quantileTitles() string {
	return strings.Join(slice.Map(metric.Columns(), func(id metric.ID) string { return id.Row().Title }), " | ")
}

func quantileRule() string { return strings.Repeat("---|", len(metric.Columns())) }

// quantiles are those of the table that have a column.
func quantiles(q metric.Quantiles) string {
	return strings.Join(slice.Map(metric.Columns(), func(id metric.ID) string {
		d, _ := q.Quantile(id)
		return view.Duration(d)
	}), " | ")
}

// markdownLoads writes what loads have done.
func markdownLoads(p *printer, list []*prove.Load) {
	for i, l := range list {
		if i == 0 {
			p.line("\n| initiator | target | plane | over | load | | %s | IOPS | Gbit/s |\n|---|---|---|---|---|---|%s---|---|", quantileTitles(), quantileRule())
		}
		words := l.Validation + ": " + view.LoadWords(l)
		if l.Why != "" {
			p.line("| %s | %s | %s | %s | %s | %s | | | | | |", cell(l.Initiator), cell(l.Target), l.Plane, l.Over(), cell(words), cell("not measured: "+l.Why))
			continue
		}
		for _, k := range view.LoadKinds(l) {
			rate, gbit := "", ""
			if k.IOPS > 0 {
				rate, gbit = fmt.Sprintf("%.0f", k.IOPS), fmt.Sprintf("%.3g", k.Gbit)
			}
			p.line("| %s | %s | %s | %s | %s | %s | %s | %s | %s |", cell(l.Initiator), cell(l.Target), l.Plane, l.Over(), cell(words), k.Name,
				quantiles(k.Quantiles), rate, gbit)
		}
	}
	for _, l := range list {
		for _, note := range view.LoadNotes(l) {
			p.line("\n%s: %s", cell(l.Pair()), cell(note))
		}
	}
}

// markdownCompared writes what was measured in turn.
func markdownCompared(p *printer, list []*prove.Comparison) {
	for i, c := range list {
		if i == 0 {
			p.line("\n| initiator | target | plane | size | compared over | %s | IOPS | Gbit/s | CPU µs per Gbit |\n|---|---|---|---|---|%s---|---|---|", quantileTitles(), quantileRule())
		}
		for _, w := range c.Ways {
			to := cmp.Or(c.Target, w.Device)
			if w.Why != "" {
				p.line("| %s | %s | %s | %s | %s | %s | | | | | |", cell(c.Initiator), cell(to), c.Plane, view.Size(c.Size), w.Over, cell("not measured: "+w.Why))
				continue
			}
			p.line("| %s | %s | %s | %s | %s | %s | %s | %s | %s |", cell(c.Initiator), cell(to), c.Plane, view.Size(c.Size), w.Over,
				quantiles(w.Quantiles), view.Rate(w), view.Gigabits(w), view.Cost(w))
		}
	}
	for _, c := range list {
		for _, text := range view.Compares(c) {
			p.line("\n%s, %s: %s", cell(c.Pair()), view.Size(c.Size), cell(text))
		}
	}
}

// told is the value of an output in one line, or why there is none.
func told(o prove.Output) string {
	switch {
	case o.Why != "":
		return "not known: " + o.Why
	case o.Sensitive:
		return "(sensitive)"
	}
	return string(o.Value)
}

// targetCPU is what a gigabit costs the target, where that is known.
func targetCPU(t *prove.Throughput) string {
	if t.TargetCPU == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", t.TargetCPU)
}

// known reports whether a row has figures.
func known(row *prove.Row) bool { return row.Why == "" && row.Samples > 0 }

func plane(row *prove.Row) string {
	if row.Plane == "" {
		return "–"
	}
	return row.Plane
}

// size is what a row has measured, in a word or two.
func size(row *prove.Row) string { return strings.TrimSuffix(view.Size(row.Size)+" "+row.Probe, " ") }

// over is what carried a row.
func over(row *prove.Row) string {
	text := row.Over()
	if row.Mode != "" && row.Transport != "local" {
		text += " " + row.Mode
	}
	if row.Degraded {
		text += " (degraded)"
	}
	return text
}

// what a threshold is about.
func what(t prove.Threshold) string {
	switch {
	case t.Source != "":
		return t.Source
	case t.Size > 0:
		return view.Measured(t.Probe, t.Size)
	case t.Probe != "":
		return "messages of every size (" + t.Probe + ")"
	}
	return "reads of every size"
}

// A printer keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// seconds is a duration as JUnit has it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
