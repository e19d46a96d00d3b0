package report

import (
	"cmp"
	_ "embed" // of the page
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/view"
	"weft/plan"
)

//go:embed page.html
var pageText string

// Style is how the page looks, and any page that shows the same: it is self-contained.
//
//go:embed page.css
var Style string

// paperSteps is of how many steps a print shows all: thousands are hundreds of sheets.
const paperSteps = 200

// A page is what the HTML shows.
type page struct {
	*Report
	Front     front
	Curves    []sized
	Legend    []string
	Heat      []heatMap
	Before    *Measured
	After     *Measured
	Changes   []change
	Bars      template.HTML
	Timelines []Timeline
	Quiet     []string // metrics that were nothing at every look, which no picture tells better
	Latest    *Measured
	Steps     []stepsOf
	Scripts   scripts

	CoursePicture template.HTML
	Happened      []Happening
	HappenedMore  int
}

// NothingCompared reports whether RDMA and TCP were not compared.
func (p *page) NothingCompared() bool { return len(p.compared()) == 0 }

type sized struct {
	What    string
	Picture template.HTML
	Groups  []group
}

type heatMap struct {
	Title   string
	Picture template.HTML
	Worst   []*prove.Row // those that took longest, in words
}

// A Timeline is a metric at every look.
type Timeline struct {
	Title   string
	Picture template.HTML // whose every text is escaped
}

// stepsOf are the steps of a phase, by device.
type stepsOf struct {
	Phase   string
	Devices []deviceSteps
}

// deviceSteps are the steps of a device in a phase. A browser opens thousands of steps in a
// moment only where each is little to it: they fold by device, and what a step does is one text.
type deviceSteps struct {
	Device string
	Impact plan.Impact // the worst
	Steps  []plan.PlannedStep
}

// HTML writes the report as one page that is self-contained: no other file or host, no script.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"mark": Mark, "lines": Lines, "style": func() template.CSS { return template.CSS(Style) }, "judged": view.Judged, "duration": view.Duration, "size": size, "plane": plane, "over": over,
		"known": known, "firstBad": firstBad, "otherBad": otherBad, "limit": Limit, "what": what, "join": strings.Join, "short": short, "degraded": view.Degraded, "told": told, "targetCPU": targetCPU,
		"gbit":     func(bits float64) string { return fmt.Sprintf("%.3g", bits/1e9) },
		"time":     func(m Measured) string { return m.Time.UTC().Format(stamp) },
		"rows":     func(res *prove.Result) []*prove.Row { return slices.Concat(res.Local, res.Rows) },
		"paper":    func(steps []plan.PlannedStep) bool { return len(steps) > paperSteps },
		"headline": func(h Headline) string { return h.text(r.Made) },
		"blocks":   func() int { return prove.CompareBlocks }, "bytes": view.Size, "compares": view.Compares, "claims": r.claims, "notCounted": func() string { return notCounted }, "count": text.Count, "rate": view.Rate, "gigabits": view.Gigabits, "cost": view.Cost,
		"load": view.LoadWords, "loadKinds": view.LoadKinds, "loadNotes": view.LoadNotes,
		"series": func(i int) int { return i % series },
		"next":   func(i int) int { return i + 1 },
	}).Parse(pageText)
	if err != nil {
		return err
	}
	p := &page{Report: r, Front: r.front(), Latest: r.last(), CoursePicture: r.course()}
	p.Happened, p.HappenedMore = r.happened()
	if err := p.draw(); err != nil {
		return err
	}
	return t.Execute(w, p)
}

// draw makes the pictures of what there is.
func (p *page) draw() error {
	p.Timelines, p.Quiet = p.Report.Timelines()
	p.drawSteps()
	if p.Latest == nil {
		return nil
	}
	if err := p.drawLatest(); err != nil {
		return err
	}
	if p.Before, p.After = p.beforeAfter(); p.Before == nil {
		return nil
	}
	before, err := grouped(p.Before.Result)
	if err != nil {
		return err
	}
	after, err := grouped(p.After.Result)
	if err != nil {
		return err
	}
	p.Changes = changes(before, after)
	p.Bars = bars(p.Changes)
	return nil
}

// drawLatest makes the curves and heat maps of what was measured last.
func (p *page) drawLatest() error {
	groups, err := grouped(p.Latest.Result)
	if err != nil {
		return err
	}
	for _, g := range groups {
		what := view.Measured(g.Probe, g.Size)
		if n := len(p.Curves); n == 0 || p.Curves[n-1].What != what {
			p.Curves = append(p.Curves, sized{What: what})
		}
		last := &p.Curves[len(p.Curves)-1]
		last.Groups = append(last.Groups, g)
	}
	for i := range p.Curves {
		p.Curves[i].Picture = curves(p.Curves[i].Groups, p.ofCurves(p.Curves[i].Groups[0].Probe, p.Curves[i].Groups[0].Size), "latency of "+p.Curves[i].What)
	}
	for _, g := range grids(p.Latest.Result) {
		p.Heat = append(p.Heat, heatMap{g.Title, heat(g), worst(g)})
	}
	return nil
}

// Timelines are of each metric that moved while a phase was watched, and what did not
// move, in words.
func (r *Report) Timelines() (moved []Timeline, quiet []string) {
	metrics := map[string]bool{}
	for _, s := range r.Soak {
		for name := range s.Worst {
			metrics[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if strings.HasPrefix(name, "accounting.") {
			continue // how much was read says nothing about the fabric
		}
		if looks := still(r.Soak, name); looks > 0 {
			limit := words(r.ofTimeline(name))
			if limit != "" {
				limit = ", " + limit
			}
			quiet = append(quiet, fmt.Sprintf("%s (%d looks%s)", name, looks, limit))
		} else if picture := timeline(r.Soak, name, r.value(name), r.ofTimeline(name)); picture != "" {
			moved = append(moved, Timeline{name, picture})
		}
	}
	return moved, quiet
}

// drawSteps groups the steps of the plan by phase and device.
func (p *page) drawSteps() {
	if p.Plan == nil {
		return
	}
	p.Scripts = scriptsOf(p.Plan.Steps)
	at := map[string]int{} // devices of the phase
	for _, s := range p.Plan.Steps {
		if n := len(p.Steps); n == 0 || p.Steps[n-1].Phase != s.Phase {
			p.Steps = append(p.Steps, stepsOf{Phase: s.Phase})
			clear(at)
		}
		of := &p.Steps[len(p.Steps)-1]
		i, ok := at[s.ID.Device]
		if !ok {
			i, at[s.ID.Device] = len(of.Devices), len(of.Devices)
			of.Devices = append(of.Devices, deviceSteps{Device: s.ID.Device})
		}
		d := &of.Devices[i]
		d.Steps, d.Impact = append(d.Steps, s), max(d.Impact, s.Impact())
	}
}

// Doing is what a step changes, what it sends for that, and what would take it back.
func (p *page) Doing(s plan.PlannedStep) string {
	var text []string
	for _, c := range s.Changes {
		text = append(text, fmt.Sprintf("%s: %s → %s, impact %s", c.Path, cmp.Or(c.Before, "–"), cmp.Or(c.After, "–"), c.Impact))
	}
	text = append(text, slice.Map(s.Send, p.Scripts.named)...)
	if len(s.Undo) > 0 {
		text = append(text, "to revert it:")
	}
	text = append(text, slice.Map(s.Undo, p.Scripts.named)...)
	return strings.Join(text, "\n")
}

// still is at how many looks a metric was seen, if it was nothing and let through
// at all of them.
func still(samples []prove.Look, metric string) (looks int) {
	for _, s := range samples {
		v, ok := s.Worst[metric]
		if ok && v != 0 || of(s, metric) != prove.Pass && (ok || s.Verdicts[metric] != "") {
			return 0
		}
		if ok {
			looks++
		}
	}
	return looks
}

// value tells how the values of a metric, VALIDATION.METRIC, are told.
func (r *Report) value(metric string) func(float64) string {
	for _, m := range slices.Backward(r.Measured) {
		for _, j := range m.Result.Judgements {
			if j.Validation+"."+j.Metric == metric && j.Measured() {
				return func(v float64) string { return view.Value(j, v) }
			}
		}
	}
	return func(v float64) string { return fmt.Sprintf("%.4g", v) }
}

// worst are the pairs of a grid that failed or took longest, ten at most.
func worst(g grid) []*prove.Row {
	var all []*prove.Row
	for _, line := range g.Cells {
		for _, row := range line {
			if row != nil {
				all = append(all, row)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *prove.Row) int {
		if ka, kb := known(a) && a.Errors == 0, known(b) && b.Errors == 0; ka != kb {
			if kb {
				return -1
			}
			return 1
		}
		return int(b.P99 - a.P99)
	})
	return all[:min(len(all), 10)]
}

// mostBad is how many places of a metric are shown at once; the others fold.
const mostBad = 20

func firstBad(bad []prove.Judgement) []prove.Judgement { return bad[:min(len(bad), mostBad)] }

func otherBad(bad []prove.Judgement) []prove.Judgement { return bad[min(len(bad), mostBad):] }
