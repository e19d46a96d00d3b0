package main

import (
	"os"

	"weft/internal/prove"
	"weft/internal/view"
	"weft/inventory"
)

// boardFor is the board of a fabric, where stdout is a terminal that can be wiped; nil: it is
// none, and looks are shown one after another.
func (wat *watchCommand) boardFor(m *inventory.Model, wanted bool) *view.Board {
	if !wanted || !onTerminal(wat.out.stdout) || os.Getenv("TERM") == "dumb" || wat.opts.json {
		return nil
	}
	var names []string
	for _, f := range m.Fabrics {
		for _, p := range f.Planes {
			names = append(names, p.Name)
		}
	}
	places := planesOf(m)
	return view.NewBoard(names, func(c prove.Counter) string {
		if plane, ok := places[[2]string{c.Device, c.Port}]; ok {
			return plane
		}
		return places[[2]string{c.Device, ""}]
	})
}

// planesOf are the planes of NICs, by server and name, and of switches.
func planesOf(m *inventory.Model) map[[2]string]string {
	out := map[[2]string]string{}
	for _, s := range m.Switches {
		if s.Plane != "" {
			out[[2]string{s.Addr, ""}] = s.Plane
		}
	}
	for s, r := range m.RNICs() {
		if r.Plane != nil {
			out[[2]string{s.Addr, r.Name}] = r.Plane.Name
		}
	}
	return out
}
