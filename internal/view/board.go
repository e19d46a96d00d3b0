package view

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"weft/internal/prove"
	"weft/internal/tally"
	"weft/internal/text"
)

// How much a board shows.
const (
	boardLooks  = 40 // of the past, one character each
	boardPlanes = 8
	boardPairs  = 5
	boardBad    = 8
)

// A Board is what watch shows live: how each plane went at the last looks, which pairs took
// longest, and what does not pass.
type Board struct {
	planes []string
	of     func(prove.Counter) string // the plane of a port or NIC; "": none
	looks  []boardLook
	all    int
	begun  time.Time
	counts map[prove.Counter]prove.Sample // of the look before
}

// boardLook is one look. What was not measured at it is not there.
type boardLook struct {
	planes map[string]planeLook
	pairs  map[string]float64 // p99 of reads, nanoseconds
}

// planeLook is what a look has of a plane; NaN is not known.
type planeLook struct{ p99, gbit, pauses, drops float64 }

// NewBoard makes a board of the planes of a fabric.
func NewBoard(planes []string, of func(prove.Counter) string) *Board {
	return &Board{planes: planes, of: of, counts: map[prove.Counter]prove.Sample{}}
}

// Add notes a look.
func (b *Board) Add(r *prove.Result, at time.Time) {
	if b.all++; b.begun.IsZero() {
		b.begun = at
	}
	look := boardLook{planes: map[string]planeLook{}, pairs: map[string]float64{}}
	plane := func(name string) planeLook {
		if p, ok := look.planes[name]; ok {
			return p
		}
		return unknown()
	}
	for _, row := range r.Rows {
		if row.Why != "" || row.Samples == 0 || row.Probe != "" || row.Plane == "" {
			continue
		}
		took := float64(row.P99)
		p := plane(row.Plane)
		p.p99 = most(p.p99, took)
		look.planes[row.Plane] = p
		look.pairs[row.Pair()] = most(look.pairs[row.Pair()], took)
	}
	for name, rate := range b.rates(r.After) {
		p := plane(name)
		p.gbit, p.pauses, p.drops = rate.gbit, rate.pauses, rate.drops
		look.planes[name] = p
	}
	b.looks = append(b.looks, look)
	b.looks = b.looks[max(0, len(b.looks)-boardLooks):]
}

// unknown is a plane of which nothing is known.
func unknown() planeLook { return planeLook{math.NaN(), math.NaN(), math.NaN(), math.NaN()} }

func known(v float64) bool { return !math.IsNaN(v) }

// most and sum are those of what is known.
func most(a, b float64) float64 {
	if !known(a) {
		return b
	}
	return max(a, b)
}

func sum(a, b float64) float64 {
	if !known(a) {
		return b
	}
	return a + b
}

// rates are what counters of each plane have grown by in a second, since the look before:
// bytes by switches where they count them, else by NICs. What nobody counts is not known.
func (b *Board) rates(now *prove.Snapshot) map[string]planeLook {
	if now == nil {
		return nil
	}
	out, byNICs := map[string]planeLook{}, map[string]float64{}
	for _, s := range now.Samples {
		was, seen := b.counts[s.Counter]
		b.counts[s.Counter] = s
		name, took := b.of(s.Counter), s.Time.Sub(was.Time).Seconds()
		if !seen || name == "" || s.Off != "" || s.Value < was.Value || took <= 0 {
			continue
		}
		p, there := out[name]
		if !there {
			p = unknown()
		}
		rate := float64(s.Value-was.Value) / took
		switch {
		case s.Name == tally.TxBytes && strings.HasPrefix(s.Device, "switch."):
			p.gbit = sum(p.gbit, rate*8e-9)
		case s.Name == tally.TxBytes:
			byNICs[name] += rate * 8e-9
		case s.Name == tally.PFCRx:
			p.pauses = sum(p.pauses, rate)
		case s.Name == tally.Drops || s.Name == tally.IngressDrops:
			p.drops = sum(p.drops, rate)
		}
		out[name] = p
	}
	for name, rate := range byNICs {
		if p := out[name]; !known(p.gbit) {
			p.gbit = rate
			out[name] = p
		}
	}
	return out
}

// Show writes the board in place of what is on the terminal; r is the last look.
func (b *Board) Show(w io.Writer, r *prove.Result, at time.Time, s Style) {
	fmt.Fprint(w, s.order("[H"), s.order("[2J"))
	fmt.Fprintf(w, "%s  %s since %s  %s\n", s.dress(bold, at.Format(time.TimeOnly)), text.Count(b.all, "look", "looks"), b.begun.Format(time.TimeOnly), s.dress(bold, "verdict: "+Conclusion(r)))
	for _, name := range b.planes[:min(len(b.planes), boardPlanes)] {
		b.plane(w, s, name)
	}
	if n := len(b.planes) - boardPlanes; n > 0 {
		fmt.Fprintf(w, "%s\n", s.dress(faint, text.Count(n, "plane more", "planes more")))
	}
	b.worst(w, s)
	b.bad(w, r, s)
	fmt.Fprintln(w)
}

// plane shows a plane; what was never measured is not shown as a line of nothing.
func (b *Board) plane(w io.Writer, s Style, name string) {
	fmt.Fprintf(w, "%s\n", s.dress(bold, "plane "+name))
	shown := false
	for _, line := range []struct {
		title string
		of    func(planeLook) float64
		told  func(float64) string
	}{
		{"p99", func(p planeLook) float64 { return p.p99 }, func(v float64) string { return Duration(time.Duration(v)) }},
		{"moved", func(p planeLook) float64 { return p.gbit }, func(v float64) string { return digits(v) + " Gbit/s" }},
		{"pauses", func(p planeLook) float64 { return p.pauses }, func(v float64) string { return digits(v) + " a second" }},
		{"drops", func(p planeLook) float64 { return p.drops }, func(v float64) string { return digits(v) + " a second" }},
	} {
		var values []float64
		for _, look := range b.looks {
			v := math.NaN()
			if p, ok := look.planes[name]; ok {
				v = line.of(p)
			}
			values = append(values, v)
		}
		if !slices.ContainsFunc(values, known) {
			continue
		}
		shown = true
		last := string(prove.NotMeasured)
		if v := values[len(values)-1]; known(v) {
			last = line.told(v)
		}
		fmt.Fprintf(w, "  %s %s %s\n", text.Pad(line.title, 7), text.Pad(trend(values), boardLooks), last)
	}
	if !shown {
		fmt.Fprintf(w, "  %s\n", s.dress(faint, string(prove.NotMeasured)))
	}
}

// worst shows the pairs that took longest at the last look.
func (b *Board) worst(w io.Writer, s Style) {
	pairs := b.looks[len(b.looks)-1].pairs
	names := slices.SortedFunc(maps.Keys(pairs), func(x, y string) int { return cmp.Or(cmp.Compare(pairs[y], pairs[x]), strings.Compare(x, y)) })
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(w, "%s\n", s.dress(bold, "Slowest pairs, p99"))
	for _, name := range names[:min(len(names), boardPairs)] {
		var values []float64
		for _, look := range b.looks {
			v, ok := look.pairs[name]
			if !ok {
				v = math.NaN()
			}
			values = append(values, v)
		}
		fmt.Fprintf(w, "  %s %s %s\n", text.Pad(trend(values), boardLooks), text.PadLeft(Duration(time.Duration(pairs[name])), 8), name)
	}
}

// bad shows what does not pass, what fails first.
func (b *Board) bad(w io.Writer, r *prove.Result, s Style) {
	list := slices.DeleteFunc(slices.Clone(r.Judgements), func(j prove.Judgement) bool { return j.Weight() == prove.Pass })
	slices.SortStableFunc(list, func(x, y prove.Judgement) int { return y.Weight().Severity() - x.Weight().Severity() })
	if len(list) > 0 {
		fmt.Fprintf(w, "%s\n", s.dress(bold, "Does not pass"))
	}
	for _, j := range list[:min(len(list), boardBad)] {
		fmt.Fprintf(w, "  %s %s\n", verdict(s, []prove.Judgement{j}), Judged(j))
	}
	if n := len(list) - boardBad; n > 0 {
		fmt.Fprintf(w, "  %s\n", s.dress(faint, fmt.Sprintf("%d more", n)))
	}
}

// trend is a line of values from nothing to the most of them; a dot where one is not known.
func trend(values []float64) string {
	high := 0.0
	for _, v := range values {
		if known(v) {
			high = max(high, v)
		}
	}
	marks := []rune("▁▂▃▄▅▆▇█")
	var out strings.Builder
	for _, v := range values {
		switch {
		case !known(v):
			out.WriteRune('·')
		case high == 0:
			out.WriteRune(marks[0])
		default:
			out.WriteRune(marks[min(int(v/high*float64(len(marks))), len(marks)-1)])
		}
	}
	return out.String()
}
