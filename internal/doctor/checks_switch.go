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
		r.unknown(sw.place(""), "of %s weft does not read it yet", sw.OS)
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

// heardOn reports whether somebody is heard on a port: of one without a link there is
// nothing to say.
func (sw *Switch) heardOn(port string) bool {
	return slices.ContainsFunc(sw.Neighbours, func(n switches.Neighbour) bool { return n.Port == port })
}

func anywhere(string) bool { return true }

func parts(s *Site, r *ruling) {
	for _, sw := range s.Switches {
		r.told(sw, switches.OfHardware, anywhere)
	}
}

func pairs(s *Site, r *ruling) {
	for _, sw := range s.Switches {
		r.told(sw, switches.OfPair, anywhere)
	}
}
