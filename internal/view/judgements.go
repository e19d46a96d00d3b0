package view

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/findings"
	"weft/internal/metric"
	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/text"
)

// A Metric is what one line of judgements is about.
type Metric struct {
	Validation, Name string
	Base, Least      bool // it is held against a baseline; it wants no less
}

// ByMetric hands out judgements by what they are about.
func ByMetric(list []prove.Judgement) iter.Seq2[Metric, []prove.Judgement] {
	return slice.Group(list, func(j prove.Judgement) Metric { return Metric{j.Validation, j.Metric, !j.Against.IsZero(), j.Least} })
}

// judgements shows one line for each metric, then every row that did not pass.
func judgements(w io.Writer, s Style, r *prove.Result) {
	for k, of := range ByMetric(r.Judgements) {
		worst := of[0]
		for _, j := range of {
			if j.Value > worst.Value {
				worst = j
			}
		}
		against := "worst %s, limit %s"
		if k.Least {
			worst, against = furthest(of), "worst %s, at least %s"
		}
		if k.Base {
			worst = furthest(of)
			against += " by the baseline of " + worst.Against.Local().Format("2006-01-02 15:04")
		}
		if k.Name == "bytes" && !worst.Counted {
			against = "served %s, read %s"
		}
		said := ""
		if worst.Measured() && slices.ContainsFunc(of, func(j prove.Judgement) bool { return j.Verdict == prove.Pass || j.Verdict == prove.Fail }) {
			said = fmt.Sprintf("  "+against, Value(worst, worst.Value), Value(worst, worst.Limit))
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %s %s  %s%s", verdict(s, of), text.Pad(k.Validation+"."+k.Name, 22),
			text.Pad(Passed(of), 16), said), " "))
		if notes := places(of, func(j prove.Judgement) string { return j.Note }); notes != "" {
			fmt.Fprintf(w, "      %s\n", s.dress(faint, notes))
		}
		if off := Unmeasured(of); off != "" {
			fmt.Fprintf(w, "      %s\n", off)
		}
		failing(w, s, of)
	}
}

// failing shows the rows of a metric that did not pass: those that failed at the same place,
// or say the same, are one entry with the pairs.
func failing(w io.Writer, s Style, all []prove.Judgement) {
	all = slice.Filter(all, func(j prove.Judgement) bool { return j.Verdict != prove.Pass && j.Verdict != prove.NotMeasured })
	if s.Verbose {
		for _, j := range all {
			fmt.Fprintf(w, "      %s: %s, %s\n", j.Verdict, j.Pair, reason(j))
		}
		return
	}
	for _, e := range findings.Group(all, s.Names, finding) {
		for i, v := range e.Variants {
			first := v.All[0]
			if i == mostVariants {
				rest := e.Rest(i)
				entry(w, fmt.Sprintf("%s: %d more of another kind each, see --verbose", first.Verdict, len(rest.All)), rest.Where(mostPlaces))
				break
			}
			if len(v.All) <= mostSingle {
				for _, j := range v.All {
					fmt.Fprintf(w, "      %s: %s, %s\n", j.Verdict, j.Pair, reason(j))
				}
				continue
			}
			entry(w, fmt.Sprintf("%s: %d places, %s", first.Verdict, len(v.All), v.Text), v.Where(mostPlaces))
		}
	}
}

// entry shows what several places have in common, and the places.
func entry(w io.Writer, text, where string) {
	fmt.Fprintf(w, "      %s\n        %s\n", text, findings.Wrap(where, screenWidth-8, "        "))
}

const (
	mostSingle   = 4  // findings with one cause that are shown one by one
	mostVariants = 5  // texts of one cause that are shown
	screenWidth  = 80 // characters
)

// finding is a judgement by its verdict and where the fault is: at its own place, at another,
// or not known.
func finding(j prove.Judgement) findings.Finding {
	where := j.Where
	if where == "at "+j.Pair {
		where, j.Where = "there", "there"
	}
	return findings.Finding{Cause: string(j.Verdict) + "\x00" + where, Text: reason(j), Place: findings.Place{Device: j.Pair}}
}

// furthest is what lies furthest over its own limit.
func furthest(js []prove.Judgement) prove.Judgement {
	return slices.MaxFunc(js, func(a, b prove.Judgement) int { return cmp.Compare(a.Excess(), b.Excess()) })
}

// Passed says how many places of a metric pass, and how many are not measured.
func Passed(js []prove.Judgement) string {
	passed, off := 0, 0
	for _, j := range js {
		switch j.Verdict {
		case prove.Pass:
			passed++
		case prove.NotMeasured:
			off++
		}
	}
	if off == len(js) {
		return string(prove.NotMeasured)
	}
	text := fmt.Sprintf("%d of %d pass", passed, len(js)-off)
	if off > 0 {
		text += fmt.Sprintf(", %d not measured", off)
	}
	return text
}

// Unmeasured says why places of a metric are not measured; "": they all are.
func Unmeasured(js []prove.Judgement) string {
	why := places(js, func(j prove.Judgement) string {
		if j.Verdict != prove.NotMeasured {
			return ""
		}
		return j.Why
	})
	if why == "" {
		return ""
	}
	return string(prove.NotMeasured) + ": " + why
}

// places says what is to be said of some places, and of how many.
func places(js []prove.Judgement, of func(prove.Judgement) string) string {
	var order []string
	many := map[string]int{}
	for _, j := range js {
		note := of(j)
		if note == "" {
			continue
		}
		if many[note] == 0 {
			order = append(order, note)
		}
		many[note]++
	}
	for i, note := range order {
		order[i] = fmt.Sprintf("%s (%s)", note, text.Count(many[note], "place", "places"))
	}
	return strings.Join(order, "; ")
}

func verdict(s Style, js []prove.Judgement) string {
	out := prove.Pass
	if !slices.ContainsFunc(js, func(j prove.Judgement) bool { return j.Verdict != prove.NotMeasured }) {
		out = prove.NotMeasured
	}
	for _, j := range js {
		out = prove.Worse(out, j.Weight())
	}
	return s.sign(out)
}

// sign is a verdict as one sign in its colour.
func (s Style) sign(v prove.Verdict) string {
	switch v {
	case prove.Pass:
		return s.dress(green, v.Mark())
	case prove.Fail:
		return s.dress(red, v.Mark())
	case prove.NotMeasured:
		return s.dress(faint, v.Mark())
	case prove.Inconclusive, prove.Partial:
		return s.dress(yellow, v.Mark())
	}
	return s.dress(yellow, prove.Inconclusive.Mark())
}

// Value is a value of a judgement for people.
func Value(j prove.Judgement, v float64) string {
	switch {
	case j.Unit == string(metric.Share):
		return number(v*100) + " %"
	case j.Unit == string(metric.Times):
		return number(v) + " ×"
	case j.Unit == string(metric.Gbit):
		return number(v) + " " + string(metric.Gbit)
	case j.Latency:
		return Duration(time.Duration(v))
	case j.Counted && j.Unit == "ratio":
		return strconv.FormatFloat(v*100, 'g', 3, 64) + " %"
	case j.Counted:
		return fmt.Sprintf("%.0f", v)
	case j.Metric == "bytes":
		return fmt.Sprintf("%.1f MB", v/1e6)
	}
	return fmt.Sprintf("%.0f", v)
}

// limit is that of a judgement, as a part of a sentence.
func limit(j prove.Judgement) string {
	if j.Least {
		return "at least " + Value(j, j.Limit)
	}
	return "limit " + Value(j, j.Limit)
}

func reason(j prove.Judgement) string {
	text := Value(j, j.Value)
	if j.Interval != nil {
		text += between(*j.Interval, j.Unit)
	}
	if j.Size != 0 {
		text = Size(j.Size) + " " + text
	}
	switch {
	case j.Interval != nil && j.Why != "":
		text += ": " + j.Why + ", " + limit(j)
	case j.Why != "" && (j.Value == 0 || j.Where != "" || !j.Measured()):
		text = j.Why
	case j.Why != "":
		text += ": " + j.Why
	}
	if j.Where != "" {
		text += "; the fault is " + j.Where
	}
	return text
}
