package doctor

import (
	"slices"
	"strings"

	"weft/inventory"
	"weft/switches"
)

// lineChecks judge configuration that weft does not manage, as weft plan reports it.
func lineChecks() []*Check {
	const reads = "the running configuration: lines of QoS, PFC, ECN, buffers, watchdog, MTU and LLDP, and all lines of ports of the fabric"
	return []*Check{
		{ID: "WD-QOS-23", Title: "a configuration line disables PFC", Severity: Error, Reads: reads, Limit: "no line that enables global pause, or disables PFC for all ports", Source: "IEEE 802.1Qbb: PFC excludes global pause; the manual of the switch",
			Remedy: "Remove the line by hand; weft does not change it.", judge: each((*Site).used, breakingLines)},
		{ID: "WD-QOS-24", Title: "an unmanaged configuration line affects the fabric", Severity: Warn, Reads: reads, Limit: "no such line on ports of the fabric or for the whole switch, if classes are lossless", Source: "the manuals that the page of the switch system lists",
			Remedy: "Check the effect of the line; remove it by hand if it is not intended.", judge: each((*Site).used, besideLines)},
		{ID: "WD-QOS-25", Title: "weft does not understand a configuration line", Severity: Warn, Reads: reads, Limit: "every line is known", Source: own,
			Remedy: "Check the effect of the line. Remove it if it affects traffic of the fabric; otherwise report it to weft's maintainers.", judge: each((*Site).used, unknownLines)},
	}
}

// fabricPorts are the ports of a switch that carry the fabric, as far as is known: those
// with PFC, with a cable to a NIC, or with a declared link.
func (s *Site) fabricPorts(sw *Switch) (ports []string) {
	for _, p := range sw.Reading.Ports {
		if p.PFC {
			ports = append(ports, p.Name)
		}
	}
	for _, c := range s.wires[sw] {
		ports = append(ports, c.port.Name)
	}
	if s.Model != nil && sw.Switch != nil {
		for _, l := range s.Model.Links {
			for _, end := range []inventory.LinkEnd{l.From, l.To} {
				if end.Switch == sw.Switch {
					ports = append(ports, end.Port)
				}
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// lines hands those lines of a switch to judge that concern the fabric, with the ports of
// the fabric that they are on.
func (r *ruling) lines(sw *Switch, which func(switches.UnmanagedLine) bool, judge func(l switches.UnmanagedLine, on []string)) {
	if !r.knows(sw.Reading.Text() != nil, sw.place(""), "its configuration was not read") {
		return
	}
	ports, well := r.site.fabricPorts(sw), true
	for _, l := range sw.Reading.UnmanagedLines() {
		on := l.On(ports)
		switch {
		case !which(l), len(l.Ports) > 0 && len(on) == 0 && (l.Says != "" || !l.Subject):
			continue // of ports that carry something else
		case len(l.Ports) == 0:
			on = nil
		case len(on) == 0:
			on = l.Ports
		}
		well = false
		judge(l, on)
	}
	if well {
		r.fine()
	}
}

// report is one finding for each line, at the switch, or at the port where it is the only one.
func (r *ruling) report(sw *Switch, l switches.UnmanagedLine, on []string, says string) {
	text := l.Text
	if says != "" {
		text += ": " + says
	}
	switch len(on) {
	case 0:
		r.bad(sw.place(""), "%s", text)
	case 1:
		r.bad(sw.place(on[0]), "%s", text)
	default:
		r.bad(sw.place(""), "%s (%s)", text, strings.Join(on, ", "))
	}
}

func breakingLines(sw *Switch, r *ruling) {
	r.lines(sw, func(l switches.UnmanagedLine) bool { return l.Breaks }, func(l switches.UnmanagedLine, on []string) { r.report(sw, l, on, l.Says) })
}

func besideLines(sw *Switch, r *ruling) {
	lossless := slices.ContainsFunc(sw.Reading.Ports, func(p portOf) bool { return p.PFC })
	r.lines(sw, func(l switches.UnmanagedLine) bool { return l.Says != "" && !l.Breaks && lossless }, func(l switches.UnmanagedLine, on []string) { r.report(sw, l, on, l.Says) })
}

func unknownLines(sw *Switch, r *ruling) {
	r.lines(sw, func(l switches.UnmanagedLine) bool { return l.Says == "" }, func(l switches.UnmanagedLine, on []string) { r.report(sw, l, on, "") })
}
