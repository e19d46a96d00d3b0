// Package report writes what a rollout did and what was measured, for a change
// board: as JSON, Markdown, JUnit and one HTML file that needs nothing else.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/prove"
	"weft/internal/view"
	"weft/plan"
	"weft/plan/rollout"
)

// Format is the number of the format of the JSON.
const Format = 1

// A Report is everything that is told, whatever its face.
type Report struct {
	Format    int       `json:"format"`
	Weft      string    `json:"weft"`
	Owner     string    `json:"owner"`
	Simulated bool      `json:"simulated"` // by the lab: function, not speed
	Made      time.Time `json:"made"`

	Verdict    prove.Verdict     `json:"verdict"` // of the headline; inconclusive where nothing was measured
	Headline   *Headline         `json:"headline,omitempty"`
	Since      []string          `json:"since,omitempty"` // what has changed since it was measured, in words
	Run        *rollout.Run      `json:"run,omitempty"`
	Carried    *Carried          `json:"carried,omitempty"` // by whom
	Course     *Course           `json:"course,omitempty"`
	Wiring     *Wiring           `json:"wiring,omitempty"`
	Hardware   *Hardware         `json:"hardware,omitempty"`
	Figures    *Figures          `json:"payback,omitempty"` // nil: nobody gave any
	Plan       *Plan             `json:"plan,omitempty"`
	Measured   []Measured        `json:"measured"` // in the order of time
	Soak       []prove.Look      `json:"soak,omitempty"`
	Thresholds []prove.Threshold `json:"thresholds,omitempty"`
}

// A Plan is the part of a plan that a report tells.
type Plan struct {
	Created time.Time          `json:"created"`
	Devices int                `json:"devices"`
	Steps   []plan.PlannedStep `json:"steps"`
	Notes   []plan.Note        `json:"notes,omitempty"`
	Left    []plan.LeftAlone   `json:"left_alone,omitempty"`
}

// Of takes what a report tells of a plan.
func Of(p *plan.Plan) *Plan {
	return &Plan{Created: p.Created, Devices: len(p.Devices), Steps: p.Steps, Notes: p.Notes, Left: p.Left}
}

// Measured is one measurement: of a phase, or of weft verify.
type Measured struct {
	Phase       string        `json:"phase,omitempty"` // "": weft verify
	Recorded    bool          `json:"recorded,omitempty"`
	After       bool          `json:"after,omitempty"`    // checks and outputs only, when all was applied
	Failover    bool          `json:"failover,omitempty"` // one plane was cut
	Validations []string      `json:"validations,omitempty"`
	Time        time.Time     `json:"time"`
	Files       string        `json:"files,omitempty"` // sum of what the files said
	Result      *prove.Result `json:"result"`
}

// Title names a measurement for people.
func (m Measured) Title() string {
	switch {
	case m.After:
		return "after the last phase"
	case m.Failover:
		return "weft verify failover"
	case m.Phase == "":
		return strings.Join(append([]string{"weft verify"}, m.Validations...), " ")
	case m.Recorded:
		return "phase " + m.Phase + ", before it began"
	}
	return "gate of phase " + m.Phase
}

// of is the verdict of one metric. Samples that an earlier weft kept have one
// for all of them.
func of(s prove.Look, metric string) prove.Verdict {
	if len(s.Verdicts) == 0 {
		return s.Verdict
	}
	return cmp.Or(s.Verdicts[metric], prove.Pass)
}

// Limit is a threshold for people.
func Limit(t prove.Threshold) string {
	var parts []string
	compares := prove.Judgement{Unit: t.Measure().JudgedIn()}
	if t.HasMin {
		parts = append(parts, "at least "+view.Value(compares, t.Min))
	}
	switch {
	case t.HasMax && t.Made == "" && compares.Unit != "":
		parts = append(parts, "at most "+view.Value(compares, t.Max))
	case t.Made != "":
		parts = append(parts, "at most "+t.Made)
	case t.HasMax && t.Duration:
		parts = append(parts, "at most "+view.Duration(time.Duration(t.Max)))
	case t.HasMax && t.Unit == "ratio":
		parts = append(parts, fmt.Sprintf("at most %.3g %%", t.Max*100))
	case t.HasMax:
		parts = append(parts, fmt.Sprintf("at most %.0f", t.Max))
	}
	if t.Regression != 0 {
		parts = append(parts, "at most "+strconv.FormatFloat(math.Round(t.Regression*1e5)/1e3, 'f', -1, 64)+" % over the baseline")
	}
	return strings.Join(parts, ", ")
}

// Finish orders what was measured and draws the verdict. It must be called before
// any face is written.
func (r *Report) Finish() {
	r.Format = Format
	slices.SortStableFunc(r.Measured, func(a, b Measured) int { return a.Time.Compare(b.Time) })
	slices.SortStableFunc(r.Soak, func(a, b prove.Look) int { return a.Time.Compare(b.Time) })
	r.Verdict = prove.Inconclusive
	if r.Headline = r.latest(); r.Headline != nil {
		r.Verdict = r.Headline.Verdict
	}
}

// A Headline is what was measured last of everything.
type Headline struct {
	Title   string        `json:"title"`
	Time    time.Time     `json:"time"`
	Verdict prove.Verdict `json:"verdict"`
	files   string
}

// Stands reports whether it was measured with files of that sum, or of one that
// nobody has kept.
func (h Headline) Stands(files string) bool { return h.files == "" || h.files == files }

func (h Headline) text(made time.Time) string {
	return fmt.Sprintf("%s, measured %s, %s before this report", h.Title, h.Time.UTC().Format(stamp), age(made.Sub(h.Time)))
}

// age is how long ago something was, as people say it.
func age(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// latest is what was measured last, by whatever: also a look while a phase was
// carried out, and what was recorded before one began. nil: nothing was.
func (r *Report) latest() *Headline {
	var h *Headline
	if n := len(r.Measured); n > 0 {
		m := r.Measured[n-1]
		h = &Headline{m.Title(), m.Time, m.Result.Verdict, m.Files}
	}
	if n := len(r.Soak); n > 0 && (h == nil || r.Soak[n-1].Time.After(h.Time)) {
		s := r.Soak[n-1]
		h = &Headline{"look at phase " + s.Phase, s.Time, s.Verdict, s.Files}
	}
	return h
}

// last is the latest measurement that has rows; nil: none has.
func (r *Report) last() *Measured {
	for i := range slices.Backward(r.Measured) {
		if m := &r.Measured[i]; len(m.Result.Rows) > 0 {
			return m
		}
	}
	return nil
}

// beforeAfter are the earliest measurement that has rows and the latest one that
// was made when something had been changed; nil: there is nothing to compare.
func (r *Report) beforeAfter() (before, after *Measured) {
	for i := range r.Measured {
		m := &r.Measured[i]
		switch {
		case len(m.Result.Rows) == 0:
		case before == nil:
			before = m
		case !m.Recorded:
			after = m
		}
	}
	if after == nil {
		return nil, nil
	}
	return before, after
}

// JSON writes the report as JSON.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// A Line is one metric of a validation over all its places.
type Line struct {
	Validation, Metric string
	Verdict            prove.Verdict
	Passed             string // of how many
	Worst, Limit       string
	Notes              []string
	Bad                []prove.Judgement // neither passed nor not measured; Notes say what was not
}

// Name is that of the metric with its validation.
func (l Line) Name() string { return l.Validation + "." + l.Metric }

// Lines are the judgements of a result, a line for each metric.
func Lines(res *prove.Result) []Line {
	var out []Line
	for k, of := range view.ByMetric(res.Judgements) {
		l := Line{Validation: k.Validation, Metric: k.Name, Verdict: prove.Pass, Passed: view.Passed(of)}
		worst := slices.MaxFunc(of, func(a, b prove.Judgement) int { return cmp.Compare(a.Excess(), b.Excess()) })
		if worst.Measured() {
			l.Worst, l.Limit = view.Value(worst, worst.Value), view.Value(worst, worst.Limit)
		}
		if k.Least && l.Limit != "" {
			l.Limit = "at least " + l.Limit
		}
		if k.Base {
			l.Limit += " by the baseline of " + worst.Against.UTC().Format(stamp)
		}
		passed := false
		if off := view.Unmeasured(of); off != "" {
			l.Notes = append(l.Notes, off)
		}
		for _, j := range of {
			if j.Note != "" && !slices.Contains(l.Notes, j.Note) {
				l.Notes = append(l.Notes, j.Note)
			}
			switch {
			case j.Verdict == prove.Pass:
				passed = true
				continue
			case j.Verdict == prove.NotMeasured:
				l.Verdict = prove.Worse(l.Verdict, j.Weight())
				continue
			}
			l.Verdict = prove.Worse(l.Verdict, j.Verdict)
			l.Bad = append(l.Bad, j)
		}
		switch {
		case l.Worst != "" && !passed && l.Verdict == prove.Inconclusive:
			l.Worst, l.Limit = "not known", "–"
		case !passed && l.Verdict == prove.Pass: // no place is measured
			l.Verdict, l.Worst, l.Limit = prove.NotMeasured, "", ""
		}
		out = append(out, l)
	}
	return out
}

const stamp = "2006-01-02 15:04:05 MST"

// Hardware is what devices have said of themselves, as weft facts has kept it.
type Hardware struct {
	From    time.Time    `json:"from"` // the oldest answer
	To      time.Time    `json:"to"`   // the youngest
	Tables  []view.Table `json:"tables"`
	Against []string     `json:"against,omitempty"` // what speaks against the files, each with its device
	Unasked []string     `json:"unasked,omitempty"` // devices of the files that have said nothing
}

// Age says when it was asked for.
func (h *Hardware) Age() string {
	from, to := h.From.UTC().Format(stamp), h.To.UTC().Format(stamp)
	if from == to {
		return from
	}
	return from + " to " + to
}
