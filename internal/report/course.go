package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"weft/internal/prove"
	"weft/plan/rollout"
)

// A Happening is something that was decided about a run, that it came to, or that went wrong
// on a device.
type Happening struct {
	Time  time.Time `json:"time"`
	Phase string    `json:"phase,omitempty"`
	What  string    `json:"what"`
	By    string    `json:"by,omitempty"`
	Text  string    `json:"text,omitempty"`
}

// A Span is when devices were changed for a phase: from the first step to the last.
type Span struct {
	Phase string    `json:"phase"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
}

// A Course is how a run went, as far as it was kept.
type Course struct {
	Changed []Span      `json:"changed,omitempty"`
	Happens []Happening `json:"happens,omitempty"`
}

// Wrote notes that a device was changed for a phase at a time.
func (c *Course) Wrote(phase string, at time.Time) {
	for i := range c.Changed {
		if s := &c.Changed[i]; s.Phase == phase {
			s.From, s.To = earlier(s.From, at), later(s.To, at)
			return
		}
	}
	c.Changed = append(c.Changed, Span{phase, at, at})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A lane is a phase on the picture of the course.
type lane struct {
	name    string
	changed []Span
	looked  [2]time.Time // first and last look; zero: none
	gates   []rollout.Sample
}

// lanes are the phases that something is known of, in their order, and the times between
// which all of it lies.
func (r *Report) lanes() (out []lane, from, to time.Time) {
	from, to = r.Run.Begun, r.Run.Begun
	within := func(t time.Time) { from, to = earlier(from, t), later(to, t) }
	for _, p := range r.Run.Phases {
		l := lane{name: p.Name, gates: p.Verdicts}
		if r.Course != nil {
			for _, s := range r.Course.Changed {
				if s.Phase == p.Name {
					l.changed = append(l.changed, s)
					within(s.From)
					within(s.To)
				}
			}
		}
		for _, s := range r.Soak {
			if s.Phase != p.Name {
				continue
			}
			if l.looked[0].IsZero() {
				l.looked[0] = s.Time
			}
			l.looked[1] = s.Time
			within(s.Time)
		}
		for _, v := range p.Verdicts {
			within(v.Time)
		}
		if len(l.changed)+len(l.gates) > 0 || !l.looked[0].IsZero() {
			out = append(out, l)
		}
	}
	if r.Course != nil {
		for _, h := range r.Course.Happens {
			within(h.Time)
		}
	}
	return out, from, to
}

// The size of the picture of the course, in its own units.
const (
	laneHeight, laneLeft = 24.0, 170.0
	mostLanes            = 24 // more are not drawn, and counted
)

// course draws when each phase changed devices, when it was looked at, and what its gate said.
func (r *Report) course() template.HTML {
	if r.Run == nil {
		return ""
	}
	all, from, to := r.lanes()
	if len(all) == 0 {
		return ""
	}
	took := max(to.Sub(from), time.Second)
	x := func(t time.Time) float64 {
		return laneLeft + float64(t.Sub(from))/float64(took)*(plotWidth-laneLeft-plotRight)
	}
	some := all[:min(len(all), mostLanes)]
	c := new(canvas)
	bottom := float64(len(some))*laneHeight + 8
	for i, l := range some {
		y := float64(i)*laneHeight + 14
		c.text(laneLeft-10, y+4, "tick end", fitted(l.name, laneLeft-16))
		c.add(`<path class="rule" d="M%.0f %.1fH%.0f"/>`, laneLeft, y, plotWidth-plotRight)
		if !l.looked[0].IsZero() {
			c.add(`<rect class="looked" x="%.1f" y="%.1f" width="%.1f" height="6"><title>looked at</title></rect>`, x(l.looked[0]), y-3, max(x(l.looked[1])-x(l.looked[0]), 1))
		}
		for _, s := range l.changed {
			c.add(`<rect class="after" x="%.1f" y="%.1f" width="%.1f" height="12"><title>devices were changed</title></rect>`, x(s.From), y-6, max(x(s.To)-x(s.From), 2))
		}
		for _, v := range marked(l.gates, x) {
			c.text(x(v.Time), y+4, "middle halo gate "+string(v.Verdict), prove.Verdict(v.Verdict).Mark())
		}
	}
	c.text(laneLeft, bottom+12, "tick", from.UTC().Format(stamp))
	c.text(plotWidth-plotRight, bottom+12, "tick end", to.UTC().Format(stamp))
	c.text((laneLeft+plotWidth-plotRight)/2, bottom+12, "tick middle", took.Round(time.Second).String()+moreLanes(len(all)-len(some)))
	return c.picture(plotWidth, bottom+18, "phases over time")
}

// marked are the verdicts of a gate that are drawn. Those that would lie over one another are
// one: what failed, then what is not known, then the last one, goes before the others.
func marked(gates []rollout.Sample, x func(time.Time) float64) (some []rollout.Sample) {
	const apart = 11.0
	draw := func(which func(n int, v rollout.Verdict) bool) {
		for n, v := range gates {
			near := func(o rollout.Sample) bool { return math.Abs(x(o.Time)-x(v.Time)) < apart }
			if which(n, v.Verdict) && !slices.ContainsFunc(some, near) {
				some = append(some, v)
			}
		}
	}
	draw(func(_ int, v rollout.Verdict) bool { return v == rollout.Fail })
	draw(func(_ int, v rollout.Verdict) bool { return v.Open() })
	draw(func(n int, _ rollout.Verdict) bool { return n == len(gates)-1 })
	draw(func(int, rollout.Verdict) bool { return true })
	return some
}

func moreLanes(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(", %d more phases not drawn", n)
}

// mostHappenings is how many the page has; the JSON has all.
const mostHappenings = 60

// happened is what happened, in the order of time, and how much more of it there is.
func (r *Report) happened() (list []Happening, more int) {
	if r.Course == nil {
		return nil, 0
	}
	list = slices.Clone(r.Course.Happens)
	for _, m := range r.Measured {
		if m.Phase != "" && m.Result.Verdict != prove.Pass {
			list = append(list, Happening{Time: m.Time, Phase: m.Phase, What: "gate: " + string(m.Result.Verdict)})
		}
	}
	slices.SortStableFunc(list, func(a, b Happening) int { return a.Time.Compare(b.Time) })
	n := min(len(list), mostHappenings)
	return list[:n], len(list) - n
}
