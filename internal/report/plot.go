package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"weft/internal/prove"
	"weft/internal/view"
)

// The size of a plot and of what stands around it, in its own units.
const (
	plotWidth, plotHeight = 920.0, 300.0
	plotLeft, plotBottom  = 48.0, 34.0
	plotTop, plotRight    = 10.0, 12.0
)

// A canvas collects the elements of an SVG picture. Colours are classes, so
// that a page may change them with its scheme.
type canvas struct{ strings.Builder }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.Builder, format, args...) }

func (c *canvas) text(x, y float64, class, text string) {
	c.add(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, html.EscapeString(text))
}

// picture wraps the elements; label says what the picture shows.
func (c *canvas) picture(width, height float64, label string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg width="%.0f" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">%s</svg>`, // every text in it is escaped
		width, width, height, html.EscapeString(label), c.String()))
}

// logarithmic maps [low, high] to [0, 1].
func logarithmic(low, high float64) func(float64) float64 {
	low = max(low, 1)
	high = max(high, low*1.0001)
	return func(v float64) float64 {
		return min(max(math.Log(max(v, 1)/low)/math.Log(high/low), 0), 1)
	}
}

// farthest is by how much a limit may be beyond what was measured and still stretch the
// scale; one that is farther stands at the edge.
const farthest = 100

// curves draws what share of the reads was done within a time, with p50 and p99 marked, and
// the limits.
func curves(groups []group, limits []bound, label string) template.HTML {
	if len(groups) == 0 {
		return ""
	}
	low, high := math.Inf(1), 0.0
	for _, g := range groups {
		low, high = min(low, float64(g.Hist.Min())), max(high, float64(g.Hist.Max()))
	}
	low, high = max(low, 1), max(high, 2)
	least, most := low/farthest, high*farthest
	for _, b := range limits {
		low, high = min(low, max(b.at, least, 1)), max(high, min(b.at, most))
	}
	scale := logarithmic(low, high)
	x := func(v float64) float64 { return plotLeft + scale(v)*(plotWidth-plotLeft-plotRight) }
	y := func(share float64) float64 { return plotTop + (1-share)*(plotHeight-plotTop-plotBottom) }
	c := new(canvas)
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 0.99} {
		c.add(`<path class="rule" d="M%.1f %.1fH%.1f"/>`, plotLeft, y(share), plotWidth-plotRight)
		c.text(plotLeft-6, y(share)+4, "tick end", fmt.Sprintf("%.0f %%", share*100))
	}
	for decade := math.Pow(10, math.Ceil(math.Log10(low))); decade <= high; decade *= 10 {
		c.add(`<path class="rule" d="M%.1f %.1fV%.1f"/>`, x(decade), y(0), y(1))
		at, anchor := x(decade), "tick middle"
		if most := plotWidth - plotRight - 12; at > most { // else it is cut off
			at, anchor = plotWidth-2, "tick end"
		}
		c.text(at, plotHeight-plotBottom+16, anchor, view.Duration(time.Duration(decade)))
	}
	for i, g := range groups {
		var d strings.Builder
		for n, q := range curve() {
			fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[n == 0], x(float64(g.Hist.Quantile(q))), y(q))
		}
		c.add(`<path class="curve s%d" d="%s"><title>%s</title></path>`, i%series, d.String(), html.EscapeString(g.Name))
	}
	for i, g := range groups {
		for _, q := range []float64{0.5, 0.99} {
			at := g.Hist.Quantile(q)
			c.add(`<circle class="mark s%d" cx="%.1f" cy="%.1f" r="3"><title>%s</title></circle>`, i%series, x(float64(at)), y(q), html.EscapeString(fmt.Sprintf("%s: p%.0f %s", g.Name, q*100, view.Duration(at))))
		}
	}
	for i, b := range limits {
		c.add(`<path class="limit" d="M%.1f %.1fV%.1f"/>`, x(b.at), y(0), y(1))
		anchor, at := "limit", x(b.at)+4
		if at > plotWidth/2 {
			anchor, at = "limit end", x(b.at)-4
		}
		c.text(at, y(0)-6-14*float64(i), anchor, b.name)
	}
	return c.picture(plotWidth, plotHeight, label)
}

// series is how many curves can be told apart by their colour and dashes.
const series = 8

// curve are the quantiles that a curve goes through.
func curve() []float64 {
	out := []float64{0}
	for q := 0.02; q < 0.97; q += 0.02 {
		out = append(out, q)
	}
	return append(out, 0.98, 0.99, 0.995, 0.999, 1)
}

// levels is how many shades a heat map has.
const levels = 7

// smallGrid is how many cells may say their value.
const smallGrid = 64

// heat draws a grid: the darker, the longer; what failed is crossed out, and
// what is not known is left open.
func heat(g grid) template.HTML {
	low, high := math.Inf(1), 0.0
	cells := 0
	for _, line := range g.Cells {
		for _, row := range line {
			if cells++; row != nil && known(row) {
				low, high = min(low, float64(row.P99)), max(high, float64(row.P99))
			}
		}
	}
	scale := logarithmic(low, high)
	side, left, top := 14.0, 120.0, 16.0
	if cells <= smallGrid {
		side = 64
	}
	c := new(canvas)
	var shade [levels]strings.Builder
	var crossed, open strings.Builder
	for r, line := range g.Cells {
		for k := range g.Cols {
			var row *prove.Row
			if k < len(line) {
				row = line[k]
			}
			px, py := left+float64(k)*side, top+float64(r)*side*heatAspect
			square := fmt.Sprintf("M%.0f %.0fh%.0fv%.0fh-%.0fz", px, py, side-1, side*heatAspect-1, side-1)
			switch {
			case row == nil || row.Why != "":
				open.WriteString(square)
			case row.Errors > 0 || row.Samples == 0:
				crossed.WriteString(square)
				fmt.Fprintf(&crossed, "M%.0f %.0fl%.0f %.0f", px, py, side-1, side*heatAspect-1)
			default:
				shade[min(int(scale(float64(row.P99))*levels), levels-1)].WriteString(square)
			}
		}
	}
	for n := range shade {
		if shade[n].Len() > 0 {
			c.add(`<path class="h%d" d="%s"/>`, n, shade[n].String())
		}
	}
	c.add(`<path class="crossed" d="%s"/><path class="open" d="%s"/>`, crossed.String(), open.String())
	if cells <= smallGrid {
		labels(c, g, side, left, top, scale)
	} else {
		c.text(left, top-4, "tick", fmt.Sprintf("%d targets →", len(g.Cols)))
		c.text(0, top+12, "tick", fmt.Sprintf("%d initiators ↓", len(g.Rows)))
	}
	return c.picture(left+float64(len(g.Cols))*side+8, top+float64(len(g.Rows))*side*heatAspect+4, "p99 of "+g.Title)
}

// heatAspect is the height of a cell by its width.
const heatAspect = 0.5

// labels writes names and values where there is room.
func labels(c *canvas, g grid, side, left, top float64, scale func(float64) float64) {
	for k, name := range g.Cols {
		c.text(left+float64(k)*side+2, top-4, "tick", short(name))
	}
	for r, name := range g.Rows {
		py := top + float64(r)*side*heatAspect + side*heatAspect/2 + 4
		c.text(left-6, py, "tick end", short(name))
		for k, row := range g.Cells[r] {
			class, text := "cell", "?"
			switch {
			case row == nil:
			case known(row) && row.Errors == 0:
				text = view.Duration(row.P99)
				if scale(float64(row.P99)) > 0.5 {
					class = "cell on"
				}
			case row.Errors > 0:
				text = "✗"
			}
			c.text(left+float64(k)*side+side/2, py, class, text)
		}
	}
}

// short is the last part of an address: server.node["st1"] → st1.
func short(addr string) string {
	if _, name, ok := strings.Cut(addr, `["`); ok {
		return strings.TrimSuffix(name, `"]`)
	}
	_, name, ok := strings.Cut(addr, ".")
	if !ok {
		return addr
	}
	return name
}

// bars draws p99 before and after.
func bars(list []change) template.HTML {
	high := 1.0
	for _, c := range list {
		high = max(high, c.from, c.to)
	}
	const row, left, width = 34.0, 250.0, 640.0
	c := new(canvas)
	for i, x := range list {
		y := float64(i) * row
		c.text(left-8, y+19, "tick end", x.Size+", "+x.Name)
		c.add(`<path class="before" d="M%.0f %.1fh%.1fv9h-%.1fz"/>`, left, y+5, max(x.from/high*(width-left-90), 1), max(x.from/high*(width-left-90), 1))
		c.add(`<path class="after" d="M%.0f %.1fh%.1fv9h-%.1fz"/>`, left, y+17, max(x.to/high*(width-left-90), 1), max(x.to/high*(width-left-90), 1))
		c.text(left+x.from/high*(width-left-90)+4, y+13, "tick", "before "+x.Before)
		c.text(left+x.to/high*(width-left-90)+4, y+26, "tick", "after "+x.After)
	}
	return c.picture(width, float64(len(list))*row+4, "p99 before and after")
}

// nearest is how many times the worst value a limit may be and still be drawn where it is:
// else the values were a flat line, and it is drawn above them.
const nearest = 4

// timeline draws the worst value of a metric at every look, its limits,
// and where it was not let through.
func timeline(samples []prove.Look, metric string, value func(float64) string, limits []bound) template.HTML {
	var at []prove.Look
	high := 0.0
	for _, s := range samples {
		if v, ok := s.Worst[metric]; ok {
			at = append(at, s)
			high = max(high, v)
		}
	}
	if len(at) < 2 {
		return ""
	}
	for _, b := range limits {
		if b.at <= nearest*high {
			high = max(high, b.at)
		}
	}
	begin, took := at[0].Time, max(at[len(at)-1].Time.Sub(at[0].Time), time.Millisecond)
	const width, height, left, top = plotWidth, 84.0, 10.0, 26.0
	c := new(canvas)
	c.add(`<path class="rule" d="M%.0f %.0fH%.0f"/>`, left, height-18, width-left)
	level := func(v float64) float64 {
		if high > 0 {
			return height - 18 - v/high*(height-18-top)
		}
		return height - 18
	}
	limitLines(c, limits, high, left, level)
	falls := len(limits) > 0 && !slices.ContainsFunc(limits, func(b bound) bool { return !b.least })
	worst := at[0].Worst[metric]
	var d strings.Builder
	for i, s := range at {
		x := left + float64(s.Time.Sub(begin))/float64(took)*(width-2*left)
		y := level(s.Worst[metric])
		if v := s.Worst[metric]; v > worst != falls {
			worst = v
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], x, y)
		switch verdict := of(s, metric); verdict {
		case prove.Pass:
			c.add(`<circle class="dot" cx="%.1f" cy="%.1f" r="2"/>`, x, y)
		default:
			c.text(x, y-3, "bad middle", verdict.Mark())
		}
	}
	c.add(`<path class="curve s0" d="%s"/>`, d.String())
	c.text(left, height-4, "tick", at[0].Time.UTC().Format(stamp))
	c.text(width/2, height-4, "tick middle", fmt.Sprintf("%d looks, worst %s", len(at), value(worst)))
	c.text(width-left, height-4, "tick end", at[len(at)-1].Time.UTC().Format(stamp))
	return c.picture(width, height, metric+" over time")
}

// limitLines draws limits across a timeline, those beyond what it shows above it, and says them.
func limitLines(c *canvas, limits []bound, high, left float64, level func(float64) float64) {
	beyond := ""
	for _, b := range limits {
		y := level(min(b.at, high))
		if b.at > high {
			y, beyond = 14, ", which is above what is drawn"
		}
		c.add(`<path class="limit" d="M%.0f %.1fH%.0f"/>`, left, y, plotWidth-left)
	}
	if len(limits) > 0 {
		c.text(plotWidth-left, 9, "limit end", words(limits)+beyond)
	}
}
