package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/plan"
)

// What the first page has of each, so that it is one.
const (
	mostRisky = 3
	mostGates = 6
)

// Carried is by whom a run was carried out, and what it was.
type Carried struct {
	By     string    `json:"by,omitempty"`  // the person or pipeline that asked for it
	Who    string    `json:"who,omitempty"` // user@host that began it
	Begun  time.Time `json:"begun"`
	Commit string    `json:"commit,omitempty"` // of the files, where that is known
	Digest string    `json:"digest,omitempty"` // of the plan, as weft apply --digest takes it
}

// String tells it in a sentence.
func (c Carried) String() string {
	text := "Begun " + c.Begun.UTC().Format(stamp)
	for _, part := range []struct{ before, what string }{{"by", c.Who}, {"asked for by", c.By}, {"from commit", c.Commit}, {"plan", c.Digest}} {
		if part.what != "" {
			text += ", " + part.before + " " + part.what
		}
	}
	return text + "."
}

// A front is the first page: what a decision needs.
type front struct {
	Covers   []string // what the verdict is about, and what it is not
	Picture  template.HTML
	NotDrawn string
	Changed  string
	Risky    []risk
	Approved []string
	Gates    []gateLine
	More     int // gates that are only further down
}

// A risk is a step, with the worst that it does to traffic.
type risk struct{ Step, What, Impact string }

// A gateLine is a metric with its limit, and where that is written.
type gateLine struct {
	Line
	From string
}

// front puts the first page together.
func (r *Report) front() front {
	f := front{Covers: r.covers(), Approved: r.approved()}
	var last *prove.Result
	if m := r.last(); m != nil {
		last = m.Result
	}
	f.Picture, f.NotDrawn = topology(r.Wiring, last)
	if r.Wiring == nil {
		f.NotDrawn = ""
	}
	f.Changed, f.Risky = r.changed()
	f.Gates, f.More = r.gates()
	return f
}

// covers says what the last measurement was about, and what of it is not known.
func (r *Report) covers() (out []string) {
	m := r.headlined()
	if m == nil {
		return nil
	}
	pairs, planes, bad := map[string]bool{}, map[string]bool{}, 0
	for _, row := range m.Result.Rows {
		pairs[row.Pair()] = true
		if row.Plane != "" {
			planes[row.Plane] = true
		}
		if !known(row) {
			bad++
		}
	}
	if len(pairs) > 0 {
		sum := fmt.Sprintf("%s over %s, %s", text.Count(len(pairs), "pair", "pairs"), text.Count(len(planes), "plane", "planes"), text.Count(len(m.Result.Rows), "flow", "flows"))
		if bad > 0 {
			sum += fmt.Sprintf(", %d of which could not be measured", bad)
		}
		out = append(out, sum)
	}
	tally, not := map[prove.Verdict]int{}, []string{}
	for _, l := range Lines(m.Result) {
		tally[l.Verdict]++
		if strings.HasSuffix(l.Passed, "not measured") {
			not = append(not, l.Name())
		}
	}
	partly := ""
	if n := tally[prove.Partial]; n > 0 {
		partly = fmt.Sprintf(", %d partial", n)
	}
	out = append(out, fmt.Sprintf("%s: %d pass, %d fail, %d inconclusive%s", text.Count(len(Lines(m.Result)), "metric", "metrics"), tally[prove.Pass], tally[prove.Fail], tally[prove.Inconclusive], partly))
	if len(not) > 0 {
		out = append(out, "Not measured everywhere: "+strings.Join(not[:min(len(not), mostRisky)], ", ")+text.More(len(not)-mostRisky))
	}
	return out
}

// headlined is the measurement that the headline is about; nil: it is a look, or there is
// none.
func (r *Report) headlined() *Measured {
	for i := range slices.Backward(r.Measured) {
		if m := &r.Measured[i]; r.Headline != nil && m.Time.Equal(r.Headline.Time) {
			return m
		}
	}
	return nil
}

// changed counts what the plan changes, and names what does most to traffic.
func (r *Report) changed() (sum string, out []risk) {
	if r.Plan == nil {
		return "", nil
	}
	by := map[plan.Impact]int{}
	steps := slices.Clone(r.Plan.Steps)
	for _, s := range steps {
		by[s.Impact()]++
	}
	sum = fmt.Sprintf("%s on %s", text.Count(len(steps), "change", "changes"), text.Count(r.Plan.Devices, "device", "devices"))
	for i := plan.ImpactDataLoss; i > plan.ImpactNone; i-- {
		if by[i] > 0 {
			sum += fmt.Sprintf(", %d with impact %s", by[i], i)
		}
	}
	slices.SortStableFunc(steps, func(a, b plan.PlannedStep) int { return cmp.Compare(b.Impact(), a.Impact()) })
	for _, s := range steps[:min(len(steps), mostRisky)] {
		what := slice.Map(s.Changes, func(c plan.Change) string { return c.Path })
		out = append(out, risk{s.ID.String(), strings.Join(what[:min(len(what), 3)], ", ") + text.More(len(what)-3), s.Impact().String()})
	}
	return sum, out
}

// approved are the approvals of phases, and what was accepted without a verdict.
func (r *Report) approved() (out []string) {
	if r.Run == nil {
		return nil
	}
	for _, p := range r.Run.Phases {
		if p.Approved != "" {
			out = append(out, "phase "+p.Name+" by "+p.Approved)
		}
	}
	for _, a := range r.Run.Accepted {
		out = append(out, fmt.Sprintf("%s may stay without a verdict: %s, %s", a.What, a.By, a.Time.UTC().Format(stamp)))
	}
	return out
}

// gates are the metrics of the last measurement that judged any, those first that did not
// pass, with their limits and where these are written.
func (r *Report) gates() (out []gateLine, more int) {
	var last *Measured
	for i := range r.Measured {
		if m := &r.Measured[i]; len(m.Result.Judgements) > 0 {
			last = m
		}
	}
	if last == nil {
		return nil, 0
	}
	for _, l := range Lines(last.Result) {
		g := gateLine{Line: l}
		for _, t := range r.Thresholds {
			if t.Validation == l.Validation && t.Metric == l.Metric {
				g.From = t.Place
			}
		}
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b gateLine) int { return cmp.Compare(b.Verdict.Severity(), a.Verdict.Severity()) })
	n := min(len(out), mostGates)
	return out[:n], len(out) - n
}
