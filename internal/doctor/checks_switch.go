package doctor

import (
	"slices"

	"weft/switches"
)

// told judges what a switch says of itself about one thing; where takes the parts that
// count.
func (r *ruling) told(sw *Switch, what string, where func(part string) bool) {
	c := sw.Conditions
	switch {
	case c == nil || !c.Told[what] && c.Gaps[what] == "" && !c.Absent[what]:
		r.unknown(sw.place(""), "weft does not read this on %s yet", sw.OS)
		return
	case c.Absent[what]:
		return
	case !c.Told[what]:
		r.unknown(sw.place(""), "%s", c.Gaps[what])
		return
	}
	well := true
	for _, t := range c.Troubles {
		if t.What == what && where(t.Part) {
			well = false
			r.bad(sw.place(t.Part), "%s", t.Text)
		}
	}
	if well {
		r.fine()
	}
}

// hasLink reports whether a port has a link, as LLDP or the switch tells: of one without
// there is nothing to say.
func (sw *Switch) hasLink(port string) bool {
	return sw.Conditions != nil && sw.Conditions.Ports[port].Up || slices.ContainsFunc(sw.Neighbours, func(n switches.Neighbour) bool { return n.Port == port })
}

func anywhere(string) bool { return true }

// tells judges what all switches say of themselves about one thing.
func tells(what string) func(*Site, *ruling) {
	return func(s *Site, r *ruling) {
		for _, sw := range s.Switches {
			r.told(sw, what, anywhere)
		}
	}
}

// ports hands the ports with an LLDP neighbour to a judge, as they were in the earlier
// reading and are.
func (s *Site) ports(r *ruling, judge func(p Place, was, now switches.PortCount)) {
	for _, sw := range s.used() {
		var before *Switch
		for _, x := range s.Before.Switches {
			if x.Name == sw.Name {
				before = x
			}
		}
		switch c := sw.Conditions; {
		case c == nil || before == nil || before.Conditions == nil:
			r.unknown(sw.place(""), "the counters of its ports were not read twice")
			continue
		case !c.Told[switches.OfLinks]:
			r.told(sw, switches.OfLinks, anywhere)
			continue
		}
		for _, n := range sw.Neighbours {
			now, told := sw.Conditions.Ports[n.Port]
			was, knew := before.Conditions.Ports[n.Port]
			if r.knows(told && knew, sw.place(n.Port), "the switch does not report its counters") {
				judge(sw.place(n.Port), was, now)
			}
		}
	}
}

// brokenFrames are those that NICs and ports of switches count, by two readings.
func brokenFrames(s *Site, r *ruling) {
	growing("rx_crc_errors_phy", "rx_symbol_err_phy")(s, r)
	s.ports(r, func(p Place, was, now switches.PortCount) {
		if r.knows(was.Broken != nil && now.Broken != nil, p, "the port does not count frames with a wrong checksum") && continued(r, p, *was.Broken, *now.Broken, "the counter of frames with a wrong checksum") {
			r.unless(*now.Broken > *was.Broken, p, "frames with a wrong checksum grew by %d between two readings, to %d", *now.Broken-*was.Broken, *now.Broken)
		}
	})
}

// wentDown are links that were down between two readings, as NICs and switches tell.
func wentDown(s *Site, r *ruling) {
	growing("link_downed")(s, r)
	s.ports(r, func(p Place, was, now switches.PortCount) {
		if r.knows(was.Steady != nil && now.Steady != nil, p, "the port does not report the time of its last link change") {
			r.unless(*now.Steady < *was.Steady, p, "its link changed between two readings: the last change was %s ago", *now.Steady)
		}
	})
}
