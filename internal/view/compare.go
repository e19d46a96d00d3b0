package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"weft/internal/metric"
	"weft/internal/prove"
	"weft/internal/text"
)

// compared shows what was measured in turn: a line for each way, and for each pair how
// RDMA and TCP compare.
func compared(w io.Writer, s Style, r *prove.Result) {
	size := 0
	for _, c := range r.Compared {
		if c.Size != size {
			if size != 0 {
				fmt.Fprintln(w)
			}
			size = c.Size
			fmt.Fprintf(w, "%s reads compared, in turn: latency one at a time, the rest with %d under way for %s in each block; ± is 95 %% of confidence\n", s.dress(bold, Size(size)), c.Depth, c.Runtime)
			fmt.Fprintln(w, s.dress(faint, fmt.Sprintf("  %s %s %s %s %s %s %s %s",
				text.Pad("initiator", 20), text.Pad("target", 22), text.Pad("plane", 5), text.Pad("over", 9),
				quantileTitles(), text.PadLeft("IOPS", 8), text.PadLeft("Gbit/s", 14), text.PadLeft("CPU µs/Gbit", 16))))
		}
		for _, way := range c.Ways {
			target := short(c.Target)
			if c.Target == "" {
				target = way.Device
			}
			fmt.Fprintf(w, "  %s %s %s %s ", text.Pad(short(c.Initiator), 20), text.Pad(target, 22), text.Pad(c.Plane, 5), text.Pad(way.Over, 9))
			if why := way.Why; why != "" {
				fmt.Fprintln(w, s.dress(map[bool]string{true: faint, false: red}[way.Untried], string(prove.NotMeasured)+": "+why))
				continue
			}
			fmt.Fprintf(w, "%s %s %s %s\n", quantiles(way.Quantiles),
				text.PadLeft(give(way.IOPS, 1, "%.0f"), 8), text.PadLeft(spread(way.Bits, 1e9), 14), text.PadLeft(spread(way.Cost, 1), 16))
		}
		for _, line := range Compares(c) {
			fmt.Fprintf(w, "      %s\n", line)
		}
	}
	if len(r.Compared) > 0 {
		fmt.Fprintln(w)
	}
}

// A figure is an interval, or why there is none.
type figure func() (prove.Interval, string)

// give is the value of a figure in a unit; – where it is not known.
func give(of figure, unit float64, format string) string {
	i, why := of()
	if why != "" {
		return "–"
	}
	return fmt.Sprintf(format, i.Value/unit)
}

// spread is a figure in a unit with half of its interval; – where it is not known.
func spread(of figure, unit float64) string {
	i, why := of()
	if why != "" {
		return "–"
	}
	return number(i.Value/unit) + " ± " + number((i.High-i.Low)/2/unit)
}

// number has three digits, and no exponent.
func number(v float64) string {
	if v >= 1000 || v <= -1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', 3, 64), "-", "−", 1)
}

// Gigabits are what goes over a way in a second, with half of the interval.
func Gigabits(w *prove.Compared) string { return spread(w.Bits, 1e9) }

// Cost is the processor time of both ends for a gigabit in microseconds.
func Cost(w *prove.Compared) string { return spread(w.Cost, 1) }

// Rate is reads a second.
func Rate(w *prove.Compared) string { return give(w.IOPS, 1, "%.0f") }

// Compares says how RDMA and TCP of a pair compare, and what of that is not known, and why.
func Compares(c *prove.Comparison) []string {
	if !c.Both() {
		return costs(c)
	}
	var out []string
	if i, why := c.Ratio(); why == "" {
		out = append(out, fmt.Sprintf("p99 over TCP is %s of that over RDMA%s", Value(prove.Judgement{Unit: string(metric.Times)}, i.Value), between(i, string(metric.Times))))
	} else {
		out = append(out, "how p99 over TCP and over RDMA compare is "+string(prove.NotMeasured)+": "+why)
	}
	if i, why := c.Saved(); why == "" {
		out = append(out, fmt.Sprintf("RDMA saves %s of the processor time of both ends%s", Value(prove.Judgement{Unit: string(metric.Share)}, i.Value), between(i, string(metric.Share))))
	} else {
		out = append(out, "processor time saved by RDMA: "+string(prove.NotMeasured)+": "+why)
	}
	return out
}

// costs says of a pair that has nothing to compare why it is not known what reads cost.
func costs(c *prove.Comparison) (out []string) {
	for _, way := range c.Ways {
		if _, why := way.Cost(); why != "" && way.Why == "" {
			return []string{"processor time is " + string(prove.NotMeasured) + ": " + why}
		}
	}
	return nil
}

// between is an interval in words.
func between(i prove.Interval, unit string) string {
	j := prove.Judgement{Unit: unit}
	return fmt.Sprintf(" (95 %%: %s to %s)", Value(j, i.Low), Value(j, i.High))
}
