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
		{ID: "WD-QOS-23", Title: "a line puts PFC out of effect", Severity: Error, Reads: reads, Limit: "no line that pauses the whole link, or disables PFC whatever the ports say", Source: "IEEE 802.1Qbb: not beside PAUSE; the switch's own manual",
			Remedy: "Remove the line by hand: weft leaves it as it is.", judge: each((*Site).used, breakingLines)},
		{ID: "WD-QOS-24", Title: "a line beside the fabric's changes what it does", Severity: Warn, Reads: reads, Limit: "none on ports of the fabric, and none of the system, where classes are lossless", Source: "the manuals that the page of the switch system lists",
			Remedy: "Read what the line does; remove it by hand where it is not wanted.", judge: each((*Site).used, besideLines)},
		{ID: "WD-QOS-25", Title: "a line of a switch is not understood", Severity: Warn, Reads: reads, Limit: "every line is known", Source: own,
			Remedy: "See what the line does, and remove it where it changes what the fabric's traffic gets; report it otherwise.", judge: each((*Site).used, unknownLines)},
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
