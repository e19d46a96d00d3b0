package doctor

import (
	"cmp"
	"slices"
	"strconv"

	"weft/internal/slice"
	"weft/internal/tally"
	"weft/internal/traffic"
	"weft/inventory"
	"weft/switches"
)

// samePFC compares all ends with what the fabric wishes, or with most of them.
func samePFC(s *Site, r *ruling) {
	var votes []string
	for _, e := range s.ethernet() {
		if e.nic.PFC != nil {
			votes = append(votes, cmp.Or(traffic.Ranges(e.nic.PFC), "none"))
		}
	}
	for _, c := range s.cables {
		votes = append(votes, cmp.Or(traffic.Ranges(c.lossless()), "none"))
	}
	usual, alone := most(votes)
	judge := func(p Place, have []int, f *inventory.Fabric, far string) {
		want, from := usual, "most ends have it on"
		if f != nil {
			want, from = cmp.Or(traffic.Ranges(wished(f)), "none"), f.Addr+" wants"
		}
		switch {
		case f == nil && !alone:
			r.bad(p, "it has PFC on %s, and as many ends on other priorities%s", cmp.Or(traffic.Ranges(have), "none"), far)
		default:
			r.unless(cmp.Or(traffic.Ranges(have), "none") != want, p, "it has PFC on priorities %s, %s %s%s", cmp.Or(traffic.Ranges(have), "none"), from, want, far)
		}
	}
	for _, e := range s.ethernet() {
		if f := e.fabric(); f != nil && f.Transport == "tcp" {
			continue
		}
		if r.knows(e.nic.PFC != nil, e.place(), "its PFC priorities are unknown%s", said(e, "pfc")) {
			judge(e.place(), e.nic.PFC, e.fabric(), "")
		}
	}
	for _, c := range s.cables {
		if !c.infiniband() {
			judge(c.portPlace(), c.lossless(), c.fabric(), "; "+c.place().String()+" is cabled to it")
		}
	}
}

// runsPFC looks at ports that are configured for PFC and have a link.
func runsPFC(sw *Switch, r *ruling) {
	if !r.knows(sw.Reading.Mute == "", sw.place(""), "%s", sw.Reading.Mute) {
		return
	}
	told := false
	for _, p := range sw.Reading.Ports {
		if !p.PFC || len(sw.Reading.LosslessOn(p)) == 0 || !sw.hasLink(p.Name) {
			continue
		}
		why, known := sw.Reading.Idle(p)
		if told = true; r.knows(known, sw.place(p.Name), "PFC is on, but the switch does not show its operational state") {
			r.unless(why != "", sw.place(p.Name), "%s", why)
		}
	}
	if !told {
		r.fine()
	}
}

// sameDSCP compares the priority that each DSCP of a lossless class gets at each hop.
func sameDSCP(s *Site, r *ruling) {
	for dscp, want := range s.marked() {
		for _, e := range s.ethernet() {
			switch {
			case e.fabric() != nil && e.fabric().Transport == "tcp":
			case e.nic.DSCP == nil:
				r.unknown(e.place(), "the priority of DSCP %d is unknown%s", dscp, said(e, "app"))
			default:
				r.unless(e.nic.DSCP[dscp] != want, e.place(), "DSCP %d has priority %d here, and %d elsewhere", dscp, e.nic.DSCP[dscp], want)
			}
		}
		for _, sw := range s.used() {
			is := sw.priority(dscp)
			r.unless(is != want, sw.place(""), "DSCP %d has priority %d here, and %d elsewhere", dscp, is, want)
		}
	}
}

// used are the switches that carry the fabric: those with a cable of it.
func (s *Site) used() (list []*Switch) {
	return slice.Filter(s.Switches, func(sw *Switch) bool { return sw.fabric() != nil || len(s.wires[sw]) > 0 })
}

// marked are the DSCPs of lossless classes with the priorities that they are to have:
// by the files, else as most ends have it that give them one at all.
func (s *Site) marked() map[int]int {
	want := map[int]int{}
	if s.Model != nil {
		for _, f := range s.Model.Fabrics {
			for _, c := range f.Classes {
				if c.PFC && f.Mode != "lossy" {
					for _, d := range c.DSCP {
						want[d] = c.Priority
					}
				}
			}
		}
		return want
	}
	votes := map[int][]int{}
	for _, e := range s.ethernet() {
		for d, p := range e.nic.DSCP {
			if slices.Contains(e.nic.PFC, p) {
				votes[d] = append(votes[d], p)
			}
		}
	}
	for _, sw := range s.used() {
		for _, c := range s.classes(sw) {
			for _, d := range c.DSCP {
				if c.PFC {
					votes[d] = append(votes[d], c.Priority)
				}
			}
		}
	}
	ends := len(s.ethernet()) + len(s.used())
	for d, list := range votes {
		if p, alone := most(list); alone && 2*len(list) > ends { // a map of the card's own says nothing
			want[d] = p
		}
	}
	return want
}

func marks(sw *Switch, r *ruling) {
	classes := r.site.classes(sw)
	if r.knows(classes != nil, sw.place(""), "weft does not understand its classes") {
		for _, c := range classes {
			if c.PFC && !declaresECN(sw.fabric(), c.Priority) { // else it is compared with that
				r.unless(c.ECN == nil, sw.place(c.Name), "priority %d is lossless without ECN marking", c.Priority)
			}
		}
	}
}

func declaresECN(f *inventory.Fabric, priority int) bool {
	return f != nil && slices.ContainsFunc(f.Classes, func(c *inventory.TrafficClass) bool { return c.Priority == priority && c.ECN != nil })
}

func thresholds(sw *Switch, r *ruling) {
	classes := r.site.classes(sw)
	if r.knows(classes != nil, sw.place(""), "weft does not understand its classes") {
		for _, c := range classes {
			if c.ECN != nil {
				r.unless(c.ECN.Min >= c.ECN.Max, sw.place(c.Name), "it marks from %d to %d bytes", c.ECN.Min, c.ECN.Max)
			}
		}
	}
}

func pausesFirst(sw *Switch, r *ruling) {
	classes := r.site.classes(sw)
	if r.knows(classes != nil, sw.place(""), "weft does not understand its classes") {
		for _, c := range classes {
			if c.ECN != nil && c.Headroom != nil && c.Headroom.Xoff > 0 {
				r.unless(c.ECN.Max >= c.Headroom.Xoff, sw.place(c.Name), "it marks all packets from %d bytes, and pauses from %d", c.ECN.Max, c.Headroom.Xoff)
			}
		}
	}
}

func shares(e end, r *ruling) {
	if !r.knows(e.nic.ETS != nil, e.place(), "its shares could not be read%s", said(e, "ets")) {
		return
	}
	sum, any := 0, false
	for _, share := range e.nic.ETS {
		if share >= 0 {
			sum, any = sum+share, true
		}
	}
	r.unless(any && sum != 100, e.place(), "its shares sum to %d", sum)
}

func globalPause(e end, r *ruling) {
	if !r.knows(e.nic.Pause != nil && e.nic.PFC != nil, e.place(), "its global pause setting is unknown%s", said(e, "pause")) {
		return
	}
	p := *e.nic.Pause
	r.unless((p.RX || p.TX) && len(e.nic.PFC) > 0, e.place(), "global pause is on (rx %t, tx %t) together with PFC", p.RX, p.TX)
}

func watchdog(sw *Switch, r *ruling) {
	if !slices.ContainsFunc(sw.Reading.Ports, func(p portOf) bool { return p.PFC }) {
		return
	}
	if r.knows(sw.Watches, sw.place(""), "weft does not read the watchdog of %s", sw.OS) {
		r.unless(sw.Reading.Watchdog == "" && !slices.ContainsFunc(sw.Reading.Ports, func(p portOf) bool { return p.PFC && p.Watchdog }),
			sw.place(""), "PFC is on without a watchdog for stuck queues")
	}
}

func shut(sw *Switch, r *ruling) {
	if !r.knows(sw.Counters != nil, sw.place(""), "its counters were not read") {
		return
	}
	found := false
	for _, c := range sw.Counters.Counts {
		if c.Name == tally.WatchdogEvents && c.Off == "" {
			found = true
			r.unless(c.Value > 0, sw.place(c.Port), "its watchdog shut queue %d %d times", c.Priority, c.Value)
		}
	}
	if !found {
		r.unknown(sw.place(""), "%s shows no watchdog counters", sw.OS)
	}
}

func losslessDrops(sw *Switch, r *ruling) {
	before := r.site.Before.counters(sw.Name)
	if r.knows(sw.Counters != nil && before != nil, sw.place(""), "its counters were not read") {
		for _, class := range r.site.classes(sw) {
			for _, c := range sw.Counters.Counts {
				if !class.PFC || c.Name != tally.Drops || c.Priority != class.Priority {
					continue
				}
				was, ok, _ := before.Find(c.Port, c.Priority, c.Name)
				if r.knows(ok, sw.place(c.Port), "drops of queue %d were not read twice", c.Priority) && continued(r, sw.place(c.Port), was.Value, c.Value, "the drop counter of queue %d", c.Priority) {
					r.unless(c.Value > was.Value, sw.place(c.Port), "%d packets of queue %d were dropped between two readings", c.Value-was.Value, c.Priority)
				}
			}
		}
	}
}

func (s *Site) counters(name string) *tally.Ports {
	for _, sw := range s.Switches {
		if sw.Name == name {
			return sw.Counters
		}
	}
	return nil
}

// mostPaused is the part of the time for which a NIC may be paused.
const mostPaused = 0.10

func paused(e end, r *ruling) {
	was := r.site.Before.nic(e)
	seconds := e.host.Uptime.Seconds() - r.site.Before.uptime(e.host.Name)
	for _, p := range e.nic.PFC {
		name := "rx_prio" + strconv.Itoa(p) + "_pause_duration"
		now, ok := e.nic.Count[name]
		before, had := was[name]
		if !r.knows(ok && had && seconds > 0, e.place(), "the pause time of priority %d is unknown", p) || !continued(r, e.place(), before, now, "%s", name) {
			continue
		}
		part := float64(now-before) / 1e6 / seconds
		r.unless(part >= mostPaused, e.place(), "priority %d was paused for %.0f %% of %.0f s", p, part*100, seconds)
	}
}

func (s *Site) uptime(name string) float64 {
	if h := s.host(name); h != nil {
		return h.Uptime.Seconds()
	}
	return 0
}

func sameClasses(s *Site, r *ruling) {
	lossless := func(sw *Switch) string {
		list := switches.Lossless(s.classes(sw))
		return cmp.Or(traffic.Ranges(slices.Compact(list)), "none")
	}
	used := s.used()
	var votes []string
	for _, sw := range used {
		if s.classes(sw) != nil {
			votes = append(votes, lossless(sw))
		}
	}
	usual, alone := most(votes)
	for _, sw := range used {
		want, from, firm := usual, "most others have", alone
		if f := sw.fabric(); f != nil {
			want, from, firm = cmp.Or(traffic.Ranges(wished(f)), "none"), f.Addr+" wants", true
		}
		if r.knows(s.classes(sw) != nil, sw.place(""), "weft does not understand its classes") {
			r.unless(lossless(sw) != want || !firm, sw.place(""), "its lossless priorities are %s, %s %s", lossless(sw), from, want)
		}
	}
}
