package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"weft/internal/findings"
	"weft/internal/metric"
	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/text"
)

const (
	mostRows  = 40 // of one table; of a longer one the slowest rows and sums are shown
	mostSlow  = 8  // rows of a longer table
	pairWidth = 43 // of both ends of a row
)

// measurements shows the rows of one table. Of a long one it shows those that could not be
// measured by their causes, the slowest, and the worst of each plane.
func measurements(w io.Writer, s Style, r *prove.Result, rows []*prove.Row, low, high time.Duration) {
	if s.Verbose || len(rows) <= mostRows {
		for _, row := range rows {
			line(w, s, r, row, low, high)
		}
		return
	}
	unmeasured(w, s, slice.Filter(rows, func(row *prove.Row) bool { return !told(row) }))
	rows = slice.Filter(rows, told)
	slowest := slices.Clone(rows)
	slices.SortStableFunc(slowest, func(a, b *prove.Row) int { return cmp.Compare(b.P99, a.P99) })
	for _, row := range slowest[:min(mostSlow, len(slowest))] {
		line(w, s, r, row, low, high)
	}
	if len(rows) <= mostSlow {
		return
	}
	fmt.Fprintf(w, "  %s\n", s.dress(faint, fmt.Sprintf("these are the slowest of %d; --verbose lists all; the worst of each plane:", len(rows))))
	for over, same := range slice.Group(rows, func(row *prove.Row) [2]string { return [2]string{planeOf(row), row.Over()} }) {
		worst(w, s, r, over, same)
	}
}

// told reports whether a row has a latency.
func told(row *prove.Row) bool { return !row.Unprobed && row.Why == "" && row.Samples > 0 }

// unmeasured shows rows without a latency: those with one cause are one entry.
func unmeasured(w io.Writer, s Style, rows []*prove.Row) {
	of := func(row *prove.Row) findings.Finding {
		what := row.Why + row.FirstErr
		if row.Unprobed {
			what = string(prove.NotMeasured) + ": " + row.Why
		}
		where := short(row.Initiator)
		if row.Plane != "" {
			where += " → " + short(row.Target)
		}
		return findings.Finding{Cause: fmt.Sprint(row.Unprobed, planeOf(row)), Text: what, Place: findings.Place{Device: where}}
	}
	for _, e := range findings.Group(rows, s.Names, of) {
		for i, v := range e.Variants {
			color := red
			if v.All[0].Unprobed {
				color = faint
			}
			what := s.dress(color, v.Text)
			if i == mostVariants {
				v, what = e.Rest(i), "of another kind each, see --verbose"
			}
			fmt.Fprintf(w, "  %s, %s: %s\n    %s\n", planeOf(v.All[0]), text.Count(len(v.All), "pair", "pairs"), what,
				findings.Wrap(v.Where(mostPlaces/2), screenWidth-4, "    "))
			if i == mostVariants {
				break
			}
		}
	}
}

func planeOf(row *prove.Row) string {
	if row.Plane == "" {
		return "local"
	}
	return "plane " + row.Plane
}

// worst shows the worst of each figure of some rows, in the columns of line.
func worst(w io.Writer, s Style, r *prove.Result, of [2]string, rows []*prove.Row) {
	var slowest metric.Quantiles
	added, samples := "–", rows[0].Samples
	var most time.Duration
	for _, row := range rows {
		slowest, samples = slowest.Max(row.Quantiles), min(samples, row.Samples)
		if d, ok := r.Added(row); ok && row.Plane != "" && (added == "–" || d > most) {
			most, added = d, Duration(d)
		}
	}
	fmt.Fprintf(w, "  %s %s %s %s %s %s\n", text.Pad(fmt.Sprintf("worst of %d", len(rows)), pairWidth), text.Pad(strings.TrimPrefix(of[0], "plane "), 5), text.Pad(of[1], 9),
		quantiles(slowest), text.PadLeft(added, 8), text.PadLeft(fmt.Sprint(samples), 8))
}
