package main

import (
	"cmp"

	"weft/internal/graph"
	"weft/internal/report"
	"weft/internal/run"
	"weft/internal/slice"
)

// wiringOf is what the files join with what, for the picture of the report.
func wiringOf(g *graph.Graph) *report.Wiring {
	planes := map[string]string{} // names, by address
	w := &report.Wiring{Targets: map[string]string{}}
	for _, p := range g.Planes {
		planes[p.Addr] = p.Name
		w.Planes = append(w.Planes, p.Name)
	}
	w.Switches = slice.Map(g.Switches, func(s *graph.Switch) report.Switch { return report.Switch{Name: s.Addr, Plane: planes[s.Plane]} })
	nics := map[string]string{}
	for _, s := range g.Servers {
		w.Servers = append(w.Servers, s.Addr)
		for _, n := range s.NICs {
			nics[n.Addr] = n.Name
		}
	}
	for _, l := range g.Links {
		c := report.Cable{Plane: planes[l.Plane], Speed: l.Speed}
		for i, e := range []graph.End{l.From, l.To} {
			c.Ends[i] = report.Plug{Device: cmp.Or(e.Server, e.Switch), Port: cmp.Or(nics[e.NIC], e.Port), Server: e.Server != ""}
		}
		w.Cables = append(w.Cables, c)
	}
	for _, p := range g.Paths {
		if p.Server != "" {
			w.Targets[p.Target] = p.Server
		}
	}
	return w
}

// carriedOf is by whom a run was carried out, and what it was.
func carriedOf(rec *run.Record) *report.Carried {
	return &report.Carried{By: rec.By, Who: rec.Who, Begun: rec.Begun, Commit: rec.Commit, Digest: string(rec.Head.Plan)}
}
