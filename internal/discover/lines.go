package discover

import (
	"slices"
	"strings"

	"weft/switches"
)

// lines reports configuration of a switch that weft does not manage, as weft plan does: on
// ports with a neighbour or with PFC, and of the system.
func (s *Site) lines(sw *Switch) {
	var ports []string
	lossless := false
	for _, p := range sw.Reading.Ports {
		lossless = lossless || p.PFC
		if p.PFC || slices.ContainsFunc(sw.Neighbours, func(n switches.Neighbour) bool { return n.Port == p.Name }) {
			ports = append(ports, p.Name)
		}
	}
	for _, l := range sw.Reading.UnmanagedLines() {
		on := l.On(ports)
		switch {
		case len(l.Ports) == 0:
			on = nil
		case len(on) == 0 && (l.Says != "" || !l.Subject):
			continue // of a port that carries something else
		case len(on) == 0:
			on = l.Ports
		}
		text := l.Text
		if len(on) > 0 {
			text += " (" + strings.Join(on, ", ") + ")"
		}
		switch {
		case l.Breaks:
			s.found(Error, sw.Host, "remove the line by hand: weft leaves it as it is", "%s: %s", text, l.Says)
		case l.Says == "":
			s.found(Warn, sw.Host, "see what the line does: weft leaves it as it is", "not understood: %s", text)
		case lossless:
			s.found(Warn, sw.Host, "see whether that is wanted: weft leaves it as it is", "%s: %s", text, l.Says)
		}
	}
}

// idle reports ports with a neighbour on which PFC is configured and does not run as configured.
func (s *Site) idle(sw *Switch) {
	for _, p := range sw.Reading.Ports {
		if !p.PFC || !slices.ContainsFunc(sw.Neighbours, func(n switches.Neighbour) bool { return n.Port == p.Name }) {
			continue
		}
		if why, known := sw.Reading.Idle(p); known && why != "" {
			s.found(Error, sw.Host, "see what the other end says with DCBX; mode on does not wait for that", "port %s: %s", p.Name, why)
		}
	}
}
