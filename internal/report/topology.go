package report

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"time"

	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/view"
)

// A Wiring is what the files join with what.
type Wiring struct {
	Planes   []string          `json:"planes"` // names
	Switches []Switch          `json:"switches"`
	Servers  []string          `json:"servers"`           // HCL addresses
	Cables   []Cable           `json:"cables"`            // declared
	Targets  map[string]string `json:"targets,omitempty"` // the server of each target
}

// A Switch is one switch.
type Switch struct {
	Name  string `json:"name"`            // HCL address
	Plane string `json:"plane,omitempty"` // "": it serves none, or several
}

// A Cable is one declared link.
type Cable struct {
	Plane string  `json:"plane,omitempty"`
	Ends  [2]Plug `json:"ends"`
	Speed int64   `json:"speed,omitempty"` // bit/s
}

// A Plug is one end of a cable.
type Plug struct {
	Device string `json:"device"` // HCL address
	Port   string `json:"port"`   // of a switch, or the name of the rnic block
	Server bool   `json:"server,omitempty"`
}

// A lineState is what was measured last over a cable.
type lineState struct {
	class string // pass, fail or open
	mark  string // for those who see no colours
	says  string
	p99   time.Duration // of the slowest pair; 0: nothing was measured
}

// measuredOver says what a result has of a cable: what was measured over its plane from or
// to the servers at its ends, and what failed at its ports.
func measuredOver(res *prove.Result, w *Wiring, c Cable) lineState {
	if res == nil {
		return lineState{class: "open", mark: "?", says: "nothing was measured"}
	}
	of := func(row *prove.Row) bool {
		return row.Plane == c.Plane && slices.ContainsFunc(c.Ends[:], func(p Plug) bool {
			return p.Server && (row.Initiator == p.Device || w.Targets[row.Target] == p.Device)
		})
	}
	s := lineState{class: "open", mark: "?", says: "not measured"}
	for _, row := range res.Rows {
		switch {
		case !of(row):
		case row.Errors > 0:
			return lineState{class: "fail", mark: "✗", says: row.Pair() + ": " + row.FirstErr}
		case known(row) && row.Probe == "":
			s.class, s.mark, s.p99 = "pass", "✓", max(s.p99, row.P99)
			s.says = "p99 of the slowest pair " + view.Duration(s.p99)
		}
	}
	for _, j := range res.Judgements {
		if j.Verdict == prove.Fail && slices.ContainsFunc(c.Ends[:], func(p Plug) bool {
			place := p.Device + " " + p.Port
			return j.Where == "at "+place || j.Pair == place || strings.HasPrefix(j.Pair, place+" ")
		}) {
			return lineState{class: "fail", mark: "✗", says: view.Judged(j), p99: s.p99}
		}
	}
	return s
}

// A box is one or more devices that are wired alike.
type box struct {
	names []string
	side  int // -1: left, 0: in the middle, 1: right
	y     float64
	lines []strand
}

// A strand is one or more cables between two boxes.
type strand struct {
	to    *box
	side  int
	plane string
	speed int64
	state lineState
	n     int
}

// The size of the picture, in its own units.
const (
	wiringWidth          = 720.0
	boxHeight, boxApart  = 24.0, 34.0
	switchWide, hostWide = 170.0, 180.0
	mostBoxes            = 18 // of a column: what fits on a page beside what else belongs there
)

// topology draws switches at the sides, by plane, and servers between them. Servers that are
// wired alike and were measured alike stand together. Where too much is left to be read,
// it says so instead.
func topology(w *Wiring, res *prove.Result) (picture template.HTML, why string) {
	if w == nil || len(w.Cables) == 0 {
		return "", "the files declare no cable"
	}
	boxes := arrange(w, res)
	rows := map[int]int{}
	for _, b := range boxes {
		rows[b.side]++
	}
	most := max(rows[-1], rows[0], rows[1])
	if most > mostBoxes {
		return "", fmt.Sprintf("%d servers and %d switches that differ in how they are wired, or in what was measured: too many to be read on a page", len(w.Servers), len(w.Switches))
	}
	const top = 22.0
	height := top + float64(most)*boxApart
	next := map[int]int{}
	for _, b := range boxes {
		b.y = top + (float64(next[b.side])+0.5)*(height-top)/float64(rows[b.side])
		next[b.side]++
	}
	c, labels := new(canvas), new(canvas) // no wire lies over a label
	headings(c, w)
	for _, b := range boxes {
		for _, side := range []int{-1, 1} {
			own := slice.Filter(b.lines, func(s strand) bool { return s.side == side && s.to != nil })
			for i, s := range own {
				drawStrand(c, labels, b, s, b.y+12*(float64(i)-float64(len(own)-1)/2))
			}
		}
	}
	c.WriteString(labels.String())
	for _, b := range boxes {
		drawBox(c, b)
	}
	return c.picture(wiringWidth, height+4, "planes, switches, servers and the cables between them, with what was measured over each"), ""
}

// headings name the planes above their sides.
func headings(c *canvas, w *Wiring) {
	speeds := map[string][]int64{}
	for _, l := range w.Cables {
		if !slices.Contains(speeds[l.Plane], l.Speed) && l.Speed > 0 {
			speeds[l.Plane] = append(speeds[l.Plane], l.Speed)
		}
	}
	var sides [2][]string
	for i, p := range w.Planes {
		text := "plane " + p
		for _, s := range speeds[p] {
			text += " " + rate(s)
		}
		sides[i%2] = append(sides[i%2], text)
	}
	c.text(0, 12, "tick", fitted(strings.Join(sides[0], ", "), 340))
	c.text(wiringWidth, 12, "tick end", fitted(strings.Join(sides[1], ", "), 340))
}

// arrange puts what is joined into boxes.
func arrange(w *Wiring, res *prove.Result) []*box {
	side := func(plane string) int {
		if slices.Index(w.Planes, plane)%2 == 1 {
			return 1
		}
		return -1
	}
	var boxes []*box
	at := map[string]*box{}
	for _, s := range w.Switches {
		b := &box{names: []string{s.Name}, side: side(s.Plane)}
		boxes, at[s.Name] = append(boxes, b), b
	}
	// Cables of each server, to a switch; those between two servers keep both apart.
	alike := map[string]*box{}
	lines := map[string][]strand{}
	direct, targets := map[string]bool{}, map[string]bool{}
	for _, s := range w.Targets {
		targets[s] = true
	}
	for _, l := range w.Cables {
		a, b := l.Ends[0], l.Ends[1]
		if !a.Server && b.Server {
			a, b = b, a
		}
		s := strand{side: side(l.Plane), plane: l.Plane, speed: l.Speed, state: measuredOver(res, w, l), n: 1, to: at[b.Device]}
		if b.Server {
			direct[a.Device], direct[b.Device] = true, true
		}
		if a.Server {
			lines[a.Device] = bundled(lines[a.Device], s)
		}
	}
	for _, name := range w.Servers {
		key := name
		if !direct[name] {
			key = fmt.Sprint(targets[name], " ", fingerprint(lines[name]))
		}
		b := alike[key]
		if b == nil {
			b = &box{lines: lines[name]}
			alike[key] = b
			boxes = append(boxes, b)
		} else {
			for _, l := range lines[name] {
				b.lines = bundled(b.lines, l)
			}
		}
		b.names = append(b.names, name)
		at[name] = b
	}
	meet(w.Cables, at)
	return boxes
}

// meet gives strands between two servers their other ends, which are known now.
func meet(cables []Cable, at map[string]*box) {
	for _, l := range cables {
		a, b := l.Ends[0], l.Ends[1]
		if !a.Server || !b.Server {
			continue
		}
		for i := range at[a.Device].lines {
			if s := &at[a.Device].lines[i]; s.to == nil && s.plane == l.Plane {
				s.to = at[b.Device]
				break
			}
		}
	}
}

// bundled adds a cable to those of a box; those that lead to the same device and were
// measured alike are one strand.
func bundled(all []strand, more strand) []strand {
	i := slices.IndexFunc(all, func(s strand) bool {
		return s.to != nil && s.to == more.to && s.plane == more.plane && s.speed == more.speed && s.state.class == more.state.class
	})
	if i < 0 {
		return append(all, more)
	}
	all[i].n += more.n
	if more.state.p99 > all[i].state.p99 {
		all[i].state = more.state
	}
	return all
}

// fingerprint is the same for servers that are wired alike and were measured alike.
func fingerprint(lines []strand) string {
	var parts []string
	for _, s := range lines {
		to := ""
		if s.to != nil {
			to = s.to.names[0]
		}
		parts = append(parts, fmt.Sprint(to, "|", s.plane, "|", s.speed, "|", s.state.class))
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

// edges are the horizontal edges of a box.
func (b *box) edges() (left, right float64) {
	switch b.side {
	case -1:
		return 0, switchWide
	case 1:
		return wiringWidth - switchWide, wiringWidth
	}
	return (wiringWidth - hostWide) / 2, (wiringWidth + hostWide) / 2
}

func drawBox(c *canvas, b *box) {
	left, right := b.edges()
	c.add(`<rect class="device" x="%.0f" y="%.1f" width="%.0f" height="%.0f" rx="3"/>`, left, b.y-boxHeight/2, right-left, boxHeight)
	c.text(left+8, b.y+4, "cell name", fitted(b.label(), right-left-16))
}

// label is the name of a box.
func (b *box) label() string {
	if n := len(b.names); n > 1 {
		return fmt.Sprintf("%s … %s (%d)", short(b.names[0]), short(b.names[n-1]), n)
	}
	_, name, _ := strings.Cut(b.names[0], ".")
	return name
}

// drawStrand draws cables of a box from a height, and writes what was measured over them
// beside the box.
func drawStrand(c, labels *canvas, b *box, s strand, y float64) {
	left, right := b.edges()
	from, anchor, away := left, "tick end halo", -6.0
	if s.side > 0 {
		from, anchor, away = right, "tick halo", 6.0
	}
	title := html.EscapeString(fmt.Sprintf("%s – %s, plane %s%s: %s", b.label(), s.to.label(), s.plane, strings.TrimRight(" "+rate(s.speed), " "), s.state.says))
	toLeft, toRight := s.to.edges()
	to := toRight
	if s.to.side > 0 {
		to = toLeft
	}
	path := fmt.Sprintf("M%.1f %.1fL%.1f %.1f", from, y, to, s.to.y)
	if s.to.side == 0 { // from server to server: round the side of the plane
		to = from
		bow := from + away*12
		path = fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", from, y, bow, y, bow, s.to.y, to, s.to.y)
	}
	c.add(`<path class="wire %s" d="%s"><title>%s</title></path>`, s.state.class, path, title)
	text := s.state.mark
	if s.state.p99 > 0 {
		text += " " + view.Duration(s.state.p99)
	}
	if s.n > 1 {
		text = fmt.Sprintf("%d × %s", s.n, text)
	}
	labels.text(from+away, y-3, anchor, text)
}

// fitted is a text that is about as wide as there is room: a letter of it takes 6 units.
func fitted(label string, room float64) string {
	most := int(room / 6.2)
	return text.Clip(label, most)
}

// rate is bits a second as people say them.
func rate(bits int64) string {
	switch {
	case bits <= 0:
		return ""
	case bits%1e12 == 0:
		return fmt.Sprintf("%dT", bits/1e12)
	}
	return fmt.Sprintf("%gG", float64(bits)/1e9)
}
