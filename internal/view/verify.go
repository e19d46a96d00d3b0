package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/latency"
	"weft/internal/metric"
	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/text"
)

// bars is the width of a drawn histogram.
const bars = 24

// Verify shows what a verification has measured and how it was judged.
func Verify(w io.Writer, r *prove.Result, s Style) {
	low, high := span(r)
	first := true
	for what, rows := range slice.Group(r.Rows, func(r *prove.Row) string { return Measured(r.Probe, r.Size) }) {
		if !first {
			fmt.Fprintln(w)
		}
		first = false
		size, rest, _ := strings.Cut(what, " ")
		unit, rest, _ := strings.Cut(rest, " ")
		depth := ""
		if rows[0].Probe == "" {
			depth = fmt.Sprintf(", queue depth %d", rows[0].Depth)
			local := slice.Filter(r.Local, func(l *prove.Row) bool { return l.Size == rows[0].Size })
			rows = slices.Concat(local, rows)
		}
		fmt.Fprintf(w, "%s %s%s\n", s.dress(bold, size+" "+unit), rest, depth)
		header(w, s, low, high)
		measurements(w, s, r, rows, low, high)
	}
	if len(r.Rows) > 0 {
		fmt.Fprintln(w)
	}
	for _, text := range Degraded(r) {
		fmt.Fprintf(w, "  %s %s\n", s.dress(yellow, "!"), text)
	}
	throughputs(w, s, r)
	compared(w, s, r)
	loads(w, s, r.Loads)
	judgements(w, s, r)
	checks(w, s, r.Checks)
	concluded(w, s, r)
	outputs(w, s, r.Outputs)
}

func concluded(w io.Writer, s Style, r *prove.Result) {
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, "verdict: "+Conclusion(r)))
	if allow := AllowUnmeasured(r); r.Verdict == prove.Partial && allow != "" {
		fmt.Fprintf(w, "  to accept what was not measured, in the validation: %s\n", allow)
	}
}

// Conclusion is the verdict of a result, with what it does not cover.
func Conclusion(r *prove.Result) string {
	degraded := r.DegradedAllowed()
	switch {
	case r.Verdict == prove.Fail:
		degraded = "" // there is worse to say
	case degraded != "":
		degraded = ", " + degraded
	}
	c := r.Coverage()
	if c.Whole() {
		return string(r.Verdict) + degraded
	}
	var parts []string
	if c.Pairs > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s measured", c.Measured, text.Count(c.Pairs, "pair", "pairs")))
	}
	if len(c.Missing) > 0 {
		parts = append(parts, "not measured: "+text.List(c.Missing, mostMissing))
	}
	if len(c.Allowed) > 0 {
		allowed := "not measured: "
		if len(c.Missing) > 0 {
			allowed = "not measured, which is allowed: "
		}
		parts = append(parts, allowed+text.List(c.Allowed, mostMissing))
	}
	return string(r.Verdict) + " (" + strings.Join(parts, "; ") + ")" + degraded
}

// AllowUnmeasured is the line that would allow what a partial result lacks; "": there is
// nothing to allow by name.
func AllowUnmeasured(r *prove.Result) string {
	names := r.Coverage().Allow
	if len(names) == 0 {
		return ""
	}
	list := slice.Map(names, func(name string) string {
		if strings.Contains(name, ".") {
			return name // a reference
		}
		return strconv.Quote(name)
	})
	return "allow_unmeasured = [" + strings.Join(list, ", ") + "]"
}

// mostMissing is the number of missing metrics that one line names.
const mostMissing = 5

// Conclusions shows checks and outputs that were computed with what devices
// say.
func Conclusions(w io.Writer, list []prove.Check, values []prove.Output, s Style) {
	if len(list) > 0 {
		fmt.Fprintln(w)
	}
	checks(w, s, list)
	outputs(w, s, values)
}

func checks(w io.Writer, s Style, list []prove.Check) {
	for _, c := range list {
		fmt.Fprintf(w, "  %s %s\n", verdict(s, []prove.Judgement{{Verdict: c.Verdict}}), c.Name)
		if c.Why != "" {
			fmt.Fprintf(w, "      %s: %s (%s)\n", c.Verdict, c.Why, c.Place)
		}
	}
}

func outputs(w io.Writer, s Style, list []prove.Output) {
	if len(list) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.dress(bold, "Outputs"))
	}
	for _, o := range list {
		text := o.Text
		switch {
		case o.Why != "":
			text = s.dress(yellow, "not known") + ": " + o.Why
		case o.Sensitive:
			text = "(sensitive)"
		}
		fmt.Fprintf(w, "  %s = %s\n", o.Name, strings.ReplaceAll(text, "\n", "\n  "))
	}
}

// Degraded says which measurements went over TCP where RDMA was to be expected,
// and why: a line for each reason.
func Degraded(r *prove.Result) []string {
	var order []string
	many := map[string]int{}
	note := func(degraded bool, why string) {
		if !degraded {
			return
		}
		if many[why] == 0 {
			order = append(order, why)
		}
		many[why]++
	}
	for _, row := range r.Rows {
		note(row.Degraded, row.ProbeResult.Degraded)
	}
	for _, t := range r.Throughput {
		note(t.Degraded, t.Instead)
	}
	for i, why := range order {
		text := fmt.Sprintf("DEGRADED: %d of %d measured over TCP on a fabric that is declared for RDMA", many[why], len(r.Rows)+len(r.Throughput))
		if why != "" {
			text += ": " + why
		}
		order[i] = text
	}
	return order
}

// throughputs shows what goes over each pair and plane, and what that costs.
func throughputs(w io.Writer, s Style, r *prove.Result) {
	for i, t := range r.Throughput {
		if i == 0 {
			fmt.Fprintf(w, "%s reads, queue depth %d, as fast as they go\n", s.dress(bold, Size(t.Size)), t.Depth)
			fmt.Fprintln(w, s.dress(faint, fmt.Sprintf("  %s %s %s %s %s %s %s %s",
				text.Pad("initiator", 20), text.Pad("target", 22), text.Pad("plane", 5), text.Pad("over", 9), text.PadLeft("Gbit/s", 8), text.PadLeft("IOPS", 8),
				text.PadLeft("CPU µs/Gbit", 12), text.PadLeft("of the target", 13))))
		}
		plane, over := t.Plane, t.Over()
		if t.Transport == "local" {
			plane = "local"
		} else if t.Mode != "" {
			over += " " + t.Mode
		}
		fmt.Fprintf(w, "  %s %s %s %s ", text.Pad(short(t.Initiator), 20), text.Pad(short(t.Target), 22), text.Pad(plane, 5), text.Pad(over, 9))
		if t.Why != "" {
			fmt.Fprintln(w, s.dress(red, t.Why))
			continue
		}
		fmt.Fprintf(w, "%s %s %s", text.PadLeft(fmt.Sprintf("%.3g", t.BitsPerSec/1e9), 8), text.PadLeft(fmt.Sprintf("%.0f", t.IOPS), 8), text.PadLeft(fmt.Sprintf("%.0f", t.CPUPerGbit), 12))
		target := "–"
		if t.TargetCPU > 0 {
			target = fmt.Sprintf("%.0f", t.TargetCPU)
		}
		fmt.Fprint(w, " ", text.PadLeft(target, 13))
		if t.Errors > 0 {
			fmt.Fprint(w, "  ", s.dress(red, text.Count(t.Errors, "error", "errors")))
		}
		fmt.Fprintln(w)
	}
	if len(r.Throughput) > 0 {
		fmt.Fprintln(w)
	}
}

// Measured is what a probe measures, for people: 4 KiB reads.
func Measured(probe string, size int) string {
	switch probe {
	case "":
		return Size(size) + " reads"
	case "nvme-load":
		return Size(size) + " commands of a load"
	case "verbs":
		return Size(size) + " sends over RDMA without NVMe, half of a round trip"
	}
	return Size(size) + " messages over TCP without NVMe, half of a round trip"
}

func span(r *prove.Result) (low, high time.Duration) {
	for _, rows := range [][]*prove.Row{r.Rows, r.Local} {
		for _, row := range rows {
			if h := row.Latencies(); h.Count() > 0 {
				if low == 0 || h.Min() < low {
					low = h.Min()
				}
				high = max(high, h.Max())
			}
		}
	}
	return max(low, 1), max(high, 2)
}

func header(w io.Writer, s Style, low, high time.Duration) {
	scale := Duration(low)
	scale += text.PadLeft(Duration(high), bars-len([]rune(scale)))
	fmt.Fprintln(w, s.dress(faint, fmt.Sprintf("  %s %s %s %s %s %s %s  %s",
		text.Pad("initiator", 20), text.Pad("portal", 22), text.Pad("plane", 5), text.Pad("over", 9),
		quantileTitles(), text.PadLeft("added", 8), text.PadLeft("samples", 8), scale)))
}

func line(w io.Writer, s Style, r *prove.Result, row *prove.Row, low, high time.Duration) {
	from, to, plane := ends(row)
	added := "–"
	if d, ok := r.Added(row); ok && row.Plane != "" {
		added = Duration(d)
	}
	over := row.Over()
	if row.Mode != "" && row.Plane != "" {
		over += " " + row.Mode
	}
	fmt.Fprintf(w, "  %s %s %s %s ", text.Pad(from, 20), text.Pad(to, 22), text.Pad(plane, 5), text.Pad(over, 9))
	if row.Unprobed {
		fmt.Fprintln(w, s.dress(faint, string(prove.NotMeasured)+": "+row.Why))
		return
	}
	if row.Why != "" || row.Samples == 0 {
		fmt.Fprintln(w, s.dress(red, row.Why+row.FirstErr))
		return
	}
	drawn := strings.TrimRight(spark(row.Latencies(), low, high), " ")
	fmt.Fprintf(w, "%s %s %s  %s\n",
		quantiles(row.Quantiles), text.PadLeft(added, 8),
		text.PadLeft(fmt.Sprint(row.Samples), 8), s.dress(cyan, drawn))
}

// quantileTitles are the columns that quantiles fills.
func quantileTitles() string {
	return strings.Join(slice.Map(metric.Columns(), func(id metric.ID) string { return text.PadLeft(id.Row().Title, 8) }), " ")
}

// quantiles are those of the table that have a column.
func quantiles(q metric.Quantiles) string {
	return strings.Join(slice.Map(metric.Columns(), func(id metric.ID) string {
		d, _ := q.Quantile(id)
		return text.PadLeft(Duration(d), 8)
	}), " ")
}

// ends are both ends of a row and the plane between them.
func ends(row *prove.Row) (from, to, plane string) {
	if row.Plane == "" {
		return short(row.Initiator), "its own storage", "local"
	}
	return short(row.Initiator) + " " + row.ProbeResult.Local, short(row.Target) + " " + row.Remote, row.Plane
}

// spark draws a histogram on a logarithmic scale that all rows share.
func spark(h *latency.Histogram, low, high time.Duration) string {
	counts := h.Counts(low, high, bars)
	var most int64
	for _, c := range counts {
		most = max(most, c)
	}
	marks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, c := range counts {
		switch {
		case c == 0:
			b.WriteByte(' ')
		default:
			b.WriteRune(marks[min(len(marks)-1, int(c*int64(len(marks))/(most+1)))])
		}
	}
	return b.String()
}

func short(addr string) string {
	if _, name, ok := strings.Cut(addr, `["`); ok {
		return strings.TrimSuffix(name, `"]`)
	}
	_, name, _ := strings.Cut(addr, ".")
	return name
}

// Schedule shows what is measured at the same time.
func Schedule(w io.Writer, rounds []prove.Round, s Style) {
	flows := 0
	for n, r := range rounds {
		flows += len(r)
		fmt.Fprintln(w, s.dress(bold, fmt.Sprintf("round %d", n+1)))
		for _, flow := range r {
			fmt.Fprintln(w, "  "+flow)
		}
	}
	fmt.Fprintf(w, "\n%s in %s: no server carries two at a time\n", text.Count(flows, "flow", "flows"), text.Count(len(rounds), "round", "rounds"))
}

// Watch shows one look at the fabric; with wipe it takes the place of the one
// before.
func Watch(w io.Writer, r *prove.Result, at time.Time, s Style, wipe bool) {
	if wipe {
		fmt.Fprint(w, s.order("[H"), s.order("[2J"))
	}
	fmt.Fprintf(w, "%s\n", s.dress(bold, at.Format(time.TimeOnly)))
	judgements(w, s, r)
	concluded(w, s, r)
	fmt.Fprintln(w)
}

// Cabling shows who is plugged in where, and what would mend it.
func Cabling(w io.Writer, c *prove.Cabling, s Style) {
	for _, x := range c.Cables {
		fmt.Fprintf(w, "  %s %s %s  %s", s.sign(x.Verdict), text.Pad(x.Switch, 16), text.Pad(x.Port, 18), x.Wants)
		if x.Why != "" {
			fmt.Fprintf(w, ": %s", x.Why)
		}
		if x.Verdict != prove.Pass && x.Hears != "" {
			fmt.Fprintf(w, ": %s", x.Hears)
		}
		fmt.Fprintln(w)
	}
	for _, swap := range c.Swaps {
		fmt.Fprintf(w, "\n  %s", s.dress(bold, swap))
	}
	if len(c.Swaps) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, "verdict: "+string(c.Verdict)))
}
