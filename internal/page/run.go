package page

import (
	"slices"
	"time"

	"weft/internal/graph"
	"weft/internal/prove"
	"weft/internal/report"
	"weft/internal/run"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/view"
	"weft/inventory"
	"weft/plan/rollout"
)

// picture makes the page of a run.
func (p *Pages) picture(pic *run.Picture) (*sheet, error) {
	s := &sheet{Title: "run " + pic.ID}
	m, err := p.model.get(pic.Plan)
	why := ""
	if err != nil {
		m, why = nil, err.Error()
	}
	rep := &report.Report{Soak: thinned(pic.Soak), Run: pic.Run}
	for _, k := range pic.Measured {
		if k.Result != nil {
			rep.Measured = append(rep.Measured, report.Measured{Phase: k.Phase, Recorded: k.Recorded, After: k.After, Validations: k.Validations, Time: k.Time, Files: k.Files, Result: k.Result})
		}
	}
	moved, quiet := rep.Timelines()
	var g *graph.Graph
	if m != nil {
		g = graph.Of(m)
	}
	parts := []struct {
		name string
		data any
	}{
		{"state", map[string]any{"Pic": pic, "Underway": pic.State.Underway(), "Says": view.State(pic.Run, pic.AtWork), "Verdict": lastVerdict(pic)}},
		{"phases", phasesOf(pic, m)},
		{"gates", gatesOf(pic, m)},
		{"soak", map[string]any{"Moved": moved, "Quiet": quiet, "Looks": len(pic.Soak), "Points": len(rep.Soak)}},
		{"links", linksOf(pic, g, why)},
		{"devices", devicesOf(pic)},
		{"journal", map[string]any{"Entries": backwards(pic.Journal), "All": pic.Journaled}},
	}
	for _, part := range parts {
		if err := s.add(part.name, part.data); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func backwards(list []run.JournalEntry) []run.JournalEntry {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// lastVerdict is what was found last; "": nothing was.
func lastVerdict(pic *run.Picture) prove.Verdict {
	if n := len(pic.Soak); n > 0 {
		return pic.Soak[n-1].Verdict
	}
	return ""
}

// A phaseLine is a phase as it is listed.
type phaseLine struct {
	*rollout.PhaseRun
	All, Devices int // steps of the plan, and on how many devices
	Soak         time.Duration
	Approve      string // what lets it begin
	Signed       int
	Samples      []rollout.Stretch
}

func phasesOf(pic *run.Picture, m *inventory.Model) []phaseLine {
	all, devices := map[string]int{}, map[string]map[string]bool{}
	for _, s := range pic.Plan.Steps {
		if all[s.Phase]++; devices[s.Phase] == nil {
			devices[s.Phase] = map[string]bool{}
		}
		devices[s.Phase][s.ID.Device] = true
	}
	var list []phaseLine
	for i := range pic.Run.Phases {
		p := &pic.Run.Phases[i]
		l := phaseLine{PhaseRun: p, All: all[p.Name], Devices: len(devices[p.Name]), Signed: pic.Signed[p.Name], Samples: samplesOf(p)}
		if d := declared(m, p.Name); d != nil {
			l.Soak = d.Soak
			switch {
			case d.Approvals > 0:
				l.Approve = text.Count(d.Approvals, "signature", "signatures")
			case d.Approve != "" && d.Approve != "none":
				l.Approve = d.Approve
			}
		}
		list = append(list, l)
	}
	return list
}

// mostSamples is how many of what a gate said stand with its phase; the soak has all.
const mostSamples = 12

func samplesOf(p *rollout.PhaseRun) []rollout.Stretch {
	out := p.Stretches()
	return out[max(0, len(out)-mostSamples):]
}

// declared is a phase as the files say it; nil: it is not known.
func declared(m *inventory.Model, name string) *inventory.Phase {
	if m == nil || len(m.Rollouts) == 0 {
		return nil
	}
	return slice.First(m.Rollouts[0].Phases, func(p *inventory.Phase) bool { return p.Name == name })
}

// A gate is what a phase was, or will be, held against.
type gate struct {
	Phase    string
	Recorded bool // measured before the phase began, to compare with
	Time     time.Time
	Verdict  prove.Verdict // "": nothing was measured yet
	Lines    []report.Line
	Limits   []prove.Threshold // of metrics that were not measured yet
}

func gatesOf(pic *run.Picture, m *inventory.Model) []gate {
	var list []gate
	for _, p := range pic.Run.Phases {
		proven := false
		for _, k := range pic.Measured {
			if k.Phase == p.Name && k.Result != nil {
				list = append(list, gate{Phase: p.Name, Recorded: k.Recorded, Time: k.Time, Verdict: k.Result.Verdict, Lines: report.Lines(k.Result)})
				proven = proven || !k.Recorded
			}
		}
		if d := declared(m, p.Name); d != nil && !proven && len(d.Gate) > 0 {
			g := gate{Phase: p.Name}
			for _, t := range run.Thresholds(m) {
				if slices.ContainsFunc(d.Gate, func(v *inventory.Validation) bool { return v.Name == t.Validation }) {
					g.Limits = append(g.Limits, t)
				}
			}
			list = append(list, g)
		}
	}
	return list
}

// mostLooks is how many looks a picture shows.
const mostLooks = 400

// thinned merges looks that follow each other until they can be shown: of each metric
// the worst value stays, and what has failed has failed.
func thinned(list []prove.Look) []prove.Look {
	if len(list) <= mostLooks {
		return list
	}
	var out []prove.Look
	for some := range slices.Chunk(list, (len(list)+mostLooks-1)/mostLooks) {
		one := prove.Look{Phase: some[0].Phase, Time: some[0].Time, Recorded: some[0].Recorded, Verdict: prove.Pass, Worst: map[string]float64{}, Verdicts: map[string]prove.Verdict{}}
		for _, l := range some {
			one.Verdict = prove.Worse(one.Verdict, l.Verdict)
			for name, v := range l.Worst {
				if was, ok := one.Worst[name]; !ok || v > was {
					one.Worst[name] = v
				}
			}
			for name, v := range l.Verdicts {
				one.Verdicts[name] = prove.Worse(one.Verdicts[name], v)
			}
		}
		out = append(out, one)
	}
	return out
}
