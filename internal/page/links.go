package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"weft/internal/graph"
	"weft/internal/prove"
	"weft/internal/run"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/plan/rollout"
)

// A link is a cable with what the run does at its ends.
type link struct {
	Plane    string
	From, To string
	Stage    stage
	Broken   string // what was measured there and has failed; "": nothing
	Path     string // what was measured on a path over it and has failed
	a, b     string // the devices at the ends
}

// State says how the link is.
func (l link) State() string {
	switch {
	case l.Broken != "":
		return "fails: " + l.Broken
	case l.Path != "":
		return "a path over it fails: " + l.Path
	case l.Stage == nothing:
		return "nothing to do"
	}
	return l.Stage.String()
}

// Class is its colour.
func (l link) Class() string {
	if l.Broken != "" || l.Path != "" {
		return "failed"
	}
	return l.Stage.Class()
}

// Mark is a sign for those who see no colours.
func (l link) Mark() string {
	switch {
	case l.Broken != "":
		return "✗"
	case l.Path != "":
		return "!"
	}
	return l.Stage.Mark()
}

// linksShown is the topology.
type linksShown struct {
	Why     string // there is none
	Picture template.HTML
	Rows    []link // where there are few enough to read; else those that are not proven
	All     int
	Counts  []linkCount
}

type linkCount struct {
	State string
	N     int
}

// drawable is how many links a picture has; beyond it a table has those that matter.
const (
	drawable        = 160
	mostListedLinks = 300
)

func linksOf(pic *run.Picture, g *graph.Graph, why string) *linksShown {
	if g == nil {
		return &linksShown{Why: why}
	}
	list := linkStates(pic, g)
	out := &linksShown{All: len(list), Rows: list}
	counts := map[string]int{}
	for _, l := range list {
		counts[l.State()]++
	}
	out.Counts = slice.Map(slices.Sorted(maps.Keys(counts)), func(name string) linkCount { return linkCount{name, counts[name]} })
	if len(list) <= drawable {
		out.Picture = wiring(g, list)
		return out
	}
	out.Rows = slices.DeleteFunc(slices.Clone(list), func(l link) bool { return l.Broken == "" && l.Path == "" && (l.Stage == proven || l.Stage == nothing) })
	out.Rows = out.Rows[:min(len(out.Rows), mostListedLinks)]
	return out
}

// linkStates says of each declared cable what the run does at its ends, and what was
// measured there last.
func linkStates(pic *run.Picture, g *graph.Graph) []link {
	steps := stepsByDevice(pic)
	broken := brokenPlaces(pic, g)
	names := map[string]string{} // of planes
	for _, p := range g.Planes {
		names[p.Addr] = p.Name
	}
	nics := map[string]*graph.NIC{}
	for _, s := range g.Servers {
		for _, n := range s.NICs {
			nics[n.Addr] = n
		}
	}
	var list []link
	for _, l := range g.Links {
		one := link{Plane: names[l.Plane]}
		var at stepsAt
		for i, e := range []graph.End{l.From, l.To} {
			device, port := e.Switch, e.Port
			if e.NIC != "" {
				device, port = e.Server, cmp.Or(nicName(nics[e.NIC]), e.NIC)
			}
			at = at.plus(steps.at(device, port))
			one.Broken = cmp.Or(one.Broken, broken.places[device+" "+port])
			if e.NIC != "" {
				one.Path = cmp.Or(one.Path, broken.paths[onPlane{device, one.Plane}])
			}
			if i == 0 {
				one.From, one.a = device+" "+port, device
			} else {
				one.To, one.b = device+" "+port, device
			}
		}
		one.Stage = at.stage()
		list = append(list, one)
	}
	return list
}

func nicName(n *graph.NIC) string {
	if n == nil {
		return ""
	}
	return n.Name
}

func (s stepsAt) stage() stage {
	switch {
	case s.all == 0:
		return nothing
	case s.begun:
		return now
	case slices.Contains(s.phases, rollout.Failed):
		return failed
	case slices.Contains(s.phases, rollout.RolledBack):
		return reverted
	case !slices.ContainsFunc(s.phases, func(p rollout.State) bool { return p != rollout.Passed }):
		return proven
	case s.did == 0:
		return todo
	case s.did < s.all:
		return partly
	}
	return done
}

// deviceSteps are the steps of a plan, by device and by name; "" has those of all ports.
type deviceSteps map[string]map[string]stepsAt

func stepsByDevice(pic *run.Picture) deviceSteps {
	out := deviceSteps{}
	states := map[string]rollout.State{}
	did, begun := map[string]bool{}, map[string]bool{}
	for _, p := range pic.Run.Phases {
		states[p.Name] = p.State
		for _, s := range p.Steps {
			did[s.ID.String()] = true
		}
		for _, s := range p.Begun {
			begun[s.ID.String()] = true
		}
	}
	for _, s := range pic.Plan.Steps {
		state, ok := states[s.Phase]
		if !ok {
			continue
		}
		if out[s.ID.Device] == nil {
			out[s.ID.Device] = map[string]stepsAt{}
		}
		name := s.ID.Name
		if s.ID.Kind == "qos" {
			name = ""
		}
		one := stepsAt{all: 1, begun: begun[s.ID.String()], phases: []rollout.State{state}}
		if did[s.ID.String()] {
			one.did = 1
		}
		out[s.ID.Device][name] = out[s.ID.Device][name].plus(one)
	}
	return out
}

func (d deviceSteps) at(device, port string) stepsAt { return d[device][port].plus(d[device][""]) }

// brokenNow is what the last measurements say does not pass.
type brokenNow struct {
	places map[string]string // by device and port
	paths  map[onPlane]string
}

// An onPlane is a server on a plane.
type onPlane struct{ server, plane string }

// brokenPlaces reads failures of the latest result: those of a port by their place, and
// those of a pair by its servers and its plane.
func brokenPlaces(pic *run.Picture, g *graph.Graph) brokenNow {
	b := brokenNow{map[string]string{}, map[onPlane]string{}}
	servers := map[string]string{} // of targets
	for _, p := range g.Paths {
		servers[p.Target] = p.Server
	}
	var last *prove.Result
	for _, k := range pic.Measured {
		if k.Result != nil && !k.Recorded {
			last = k.Result
		}
	}
	if last == nil {
		return b
	}
	for _, j := range last.Judgements {
		if j.Verdict != prove.Fail {
			continue
		}
		why := j.Validation + "." + j.Metric
		if ends, plane, ok := strings.Cut(j.Pair, " over plane "); ok {
			plane, _, _ = strings.Cut(plane, " at ")
			from, to, _ := strings.Cut(ends, " → ")
			b.paths[onPlane{from, plane}], b.paths[onPlane{servers[to], plane}] = why, why
			continue
		}
		b.places[j.Pair] = why
		if at, ok := strings.CutPrefix(j.Where, "at "); ok {
			b.places[at] = why
		}
	}
	return b
}

// wiring draws switches on the left, servers on the right and the cables between.
func wiring(g *graph.Graph, list []link) template.HTML {
	const row, box, left, right = 30, 22, 250, 500
	y, x := map[string]int{}, map[string]int{}
	switches := slices.Clone(g.Switches)
	slices.SortStableFunc(switches, func(a, b *graph.Switch) int { return cmp.Compare(a.Plane, b.Plane) })
	height := max(len(switches), len(g.Servers)) * row
	var boxes, lines strings.Builder
	place := func(addr string, i, of, at int, class string) {
		y[addr], x[addr] = (2*i+1)*height/(2*of), at
		from := at - 240
		if at == right {
			from = at
		}
		fmt.Fprintf(&boxes, `<rect class="box" x="%d" y="%d" width="240" height="%d" rx="3"/><text class="%s" x="%d" y="%d">%s</text>`,
			from, y[addr]-box/2, box, class, from+8, y[addr]+4, template.HTMLEscapeString(text.Clip(addr, 34)))
	}
	for i, s := range switches {
		place(s.Addr, i, len(switches), left, "node")
	}
	for i, s := range g.Servers {
		place(s.Addr, i, len(g.Servers), right, "node")
	}
	for _, l := range list {
		title := template.HTMLEscapeString(fmt.Sprintf("%s – %s: %s", l.From, l.To, l.State()))
		if x[l.a] == x[l.b] {
			fmt.Fprintf(&lines, `<path class="l-%s" d="M%d %dC%d %d %d %d %d %d"><title>%s</title></path>`, l.Class(),
				x[l.a], y[l.a], x[l.a]+60, y[l.a], x[l.b]+60, y[l.b], x[l.b], y[l.b], title)
			continue
		}
		fmt.Fprintf(&lines, `<path class="l-%s" d="M%d %dL%d %d"><title>%s</title></path>`, l.Class(), x[l.a], y[l.a], x[l.b], y[l.b], title)
	}
	return template.HTML(fmt.Sprintf(`<svg width="750" viewBox="0 0 750 %d" role="img" aria-label="links between switches and servers, each as in the table below">%s%s</svg>`,
		height+4, lines.String(), boxes.String())) // every text in it is escaped
}
