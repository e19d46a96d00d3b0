package doctor

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/internal/slice"
)

func itoa(n int) string { return strconv.Itoa(n) }

func linkUp(e end, r *ruling) {
	switch {
	case e.nic.Carrier == nil && e.nic.State == "":
		r.unknown(e.place(), "it does not report its link state")
	case e.nic.Carrier != nil && *e.nic.Carrier && e.nic.State != "down":
		r.fine()
	case e.rnic == nil && r.site.hears(e) == nil: // a port that nobody uses
	case e.nic.Carrier == nil:
		r.bad(e.place(), "%s is down (%s)", e.nic.Interface, e.nic.State)
	default:
		r.bad(e.place(), "%s has no carrier", e.nic.Interface)
	}
}

func linkSpeed(s *Site, r *ruling) {
	for _, group := range slice.Group(s.ends(), func(e end) string { return e.nic.ID }) {
		usual, alone := common(group, func(e end) int64 { return max(e.nic.Speed, 0) })
		for _, e := range group {
			l := s.link(e)
			switch {
			case e.nic.Speed <= 0:
				r.unknown(e.place(), "it does not report its link speed")
			case l != nil && l.Speed > 0:
				p := e.place()
				p.Range = l.At("speed")
				r.unless(e.nic.Speed < l.Speed, p, "%s runs at %s, declared %s", e.nic.Interface, gigabit(e.nic.Speed), gigabit(l.Speed))
			case alone:
				r.unless(e.nic.Speed < usual, e.place(), "%s runs at %s; most ports of the same card at %s", e.nic.Interface, gigabit(e.nic.Speed), gigabit(usual))
			default:
				r.fine()
			}
		}
	}
}

func gigabit(bits int64) string { return strconv.FormatFloat(float64(bits)/1e9, 'g', 4, 64) + "G" }

func fec(s *Site, r *ruling) {
	for _, group := range slice.Group(s.ethernet(), func(e end) string { return gigabit(e.nic.Speed) }) {
		usual, _ := common(group, func(e end) string { return strings.ToLower(e.nic.FEC) })
		for _, e := range group {
			is := strings.ToLower(e.nic.FEC)
			switch {
			case is == "":
				r.unknown(e.place(), "it does not report its FEC%s", said(e, "fec"))
			case is == "off" || is == "none":
				r.unless(e.nic.Speed >= 25e9, e.place(), "FEC is off at %s", gigabit(e.nic.Speed))
			default:
				r.unless(is != usual, e.place(), "FEC is %s; most ports with %s have %s", is, gigabit(e.nic.Speed), usual)
			}
		}
	}
}

// A quote is the answer of a device that did not tell what was asked, for a message.
type quote string

// said is what was answered instead.
func said(e end, what string) quote {
	if text := e.nic.Silent[what]; text != "" {
		return quote(": " + short(text))
	}
	return ""
}

func short(text string) string {
	if len(text) > 120 {
		return text[:120] + "…"
	}
	return text
}

// flapsADay is how often a link may change in a day, as Azure's health checks have it;
// each coming up is two.
const flapsADay, comingUp = 5, 2

func flaps(e end, r *ruling) {
	if !r.knows(e.nic.Flaps != nil && e.host.Uptime != 0, e.place(), "the number of its link changes is unknown") {
		return
	}
	n := *e.nic.Flaps - comingUp
	days := max(e.host.Uptime.Hours()/24, 1)
	r.unless(float64(n)/days > flapsADay, e.place(), "its link changed %d times in %s since boot", *e.nic.Flaps, e.host.Uptime.Round(time.Minute))
}

func wrongCable(e end, r *ruling) {
	l := r.site.link(e)
	if l == nil {
		return
	}
	sw, port := r.site.wired(e)
	if sw == nil {
		return // from NIC to NIC, or to a switch that was not read
	}
	p := e.place()
	p.Range = l.Range
	if h := r.site.hears(e); r.knows(h != nil, p, "no switch reports it as LLDP neighbour, so the end of its cable is unknown") {
		r.unless(h.sw != sw || h.Port != port, p, "it is a neighbour of %s %s, but %s leads to %s %s", h.sw.Name, h.Port, l.Addr, sw.Name, port)
	}
}

func oneSwitch(s *Site, r *ruling) {
	if len(s.Switches) < 2 {
		return
	}
	for _, h := range s.Hosts {
		at := map[string]int{}
		ends, heard := 0, 0
		for _, e := range onEthernet(s.of[h]) {
			ends++
			if x := s.hears(e); x != nil {
				at[x.sw.Name]++
				heard++
			}
		}
		switch {
		case ends < 2:
		case heard < ends && len(at) < 2:
			r.unknown(h.place(), "switches report %d of its %d NICs as LLDP neighbours", heard, ends)
		default:
			r.unless(len(at) == 1, h.place(), "all of its %d NICs are cabled to one switch", ends)
		}
	}
}

func silent(s *Site, r *ruling) {
	if len(s.Switches) == 0 {
		return
	}
	deaf := false
	for _, sw := range s.Switches {
		if !sw.Heard {
			deaf = true
			r.unknown(sw.place(""), "%s", cmp.Or(sw.Deaf, "it does not report its LLDP neighbours"))
		}
	}
	for _, e := range s.ethernet() {
		sw, port := s.wired(e)
		if s.Model != nil && sw == nil || e.nic.Carrier == nil || !*e.nic.Carrier {
			continue // at no switch, or off, which is said elsewhere
		}
		if s.hears(e) == nil && deaf {
			continue
		}
		if s.hears(e) == nil {
			if why := s.unsaid(sw, port); why != "" {
				r.unknown(e.place(), "%s", why)
				continue
			}
		}
		r.unless(s.hears(e) == nil, e.place(), "no switch reports %s as LLDP neighbour (%s)", e.nic.Interface, e.nic.MAC)
	}
}

// unsaid is why it is not known whether a switch hears a NIC at a port, which both may be
// unknown; "": none of them does.
func (s *Site) unsaid(at *Switch, port string) string {
	for _, sw := range s.Switches {
		if at != nil && sw != at {
			continue
		}
		if heard := sw.unnamed(port); heard != "" {
			return fmt.Sprintf("%s has a neighbour on %s that does not report its port", sw.Name, heard)
		}
		if onlyManagement(sw.Neighbours, sw.Reading.PortNames()) {
			return fmt.Sprintf("%s has LLDP neighbours on its management port only", sw.Name)
		}
	}
	return ""
}

func portMTU(s *Site, r *ruling) {
	for _, c := range s.cables {
		takes := max(c.port.MTU, c.port.Frame)
		if r.knows(takes != 0 && c.nic.MTU != 0, c.portPlace(), "its MTU, or the MTU of %s, is unknown", c.place()) {
			r.unless(takes < c.nic.MTU, c.portPlace(), "the MTU of the port is %d bytes, but %s sends %d", takes, c.place(), c.nic.MTU)
		}
	}
}

func hostMTU(s *Site, r *ruling) {
	for _, group := range slice.Group(s.ends(), func(e end) string { return e.fabricName() }) {
		usual, alone := common(group, func(e end) int { return max(e.nic.MTU, 0) })
		from := fmt.Sprintf("most others have %d", usual)
		if f := group[0].fabric(); f != nil {
			usual, alone, from = f.HostMTU, true, fmt.Sprintf("%s declares %d", f.Addr, f.HostMTU)
		} else if !alone {
			from = "and as many others have a different one"
		}
		for _, e := range group {
			switch {
			case e.nic.MTU == 0:
				r.unknown(e.place(), "its MTU could not be read")
			case e.nic.IPoIB != nil && e.fabric() != nil: // limited by its mode, which facts tells
			default:
				r.unless(e.nic.MTU != usual || !alone, e.place(), "its MTU is %d bytes, %s", e.nic.MTU, from)
			}
		}
	}
}

func pathFilter(e end, r *ruling) {
	all, ok := e.host.Sysctls["net/ipv4/conf/all/rp_filter"]
	own, has := e.host.Sysctls["net/ipv4/conf/"+e.nic.Interface+"/rp_filter"]
	if r.knows(ok && has, e.place(), "its rp_filter could not be read") {
		r.unless(max(all, own) == 1, e.place(), "rp_filter is 1: packets that arrive at the other NIC are dropped")
	}
}
