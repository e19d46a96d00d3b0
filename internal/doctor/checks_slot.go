package doctor

import (
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/modules/host"
)

// bridges looks for one above a card that is narrower than the card.
func bridges(e end, r *ruling) {
	if r.knows(e.nic.Above != nil && e.nic.PCIe.Bandwidth() != 0, e.place(), "the PCIe bridges above it could not be read") {
		i := slices.IndexFunc(e.nic.Above, func(b host.Bridge) bool { return b.Now.Bandwidth() > 0 && b.Now.Bandwidth() < e.nic.PCIe.Bandwidth() })
		if i < 0 {
			r.fine()
			return
		}
		r.bad(e.place(), "bridge %d above it runs at %s, the card at %s", i+1, e.nic.Above[i].Now, e.nic.PCIe)
	}
}

// leastRead is how many bytes a read request of a fast card should take.
const leastRead = 4096

func readRequest(e end, r *ruling) {
	if r.knows(e.nic.Read != 0, e.place(), "its configuration space could not be read (needs od and root)") {
		r.unless(e.nic.Read < leastRead, e.place(), "its maximum read request size is %d bytes", e.nic.Read)
	}
}

func sleepingLink(e end, r *ruling) {
	if r.knows(e.nic.ASPM != "", e.place(), "it has no link/l1_aspm: the kernel or the machine does not report it") {
		r.unless(e.nic.ASPM == "1", e.place(), "its PCIe link may enter power saving (L1)")
	}
}

// stacks compares whose driver it is: the kernel's, whose modules have no version, or one
// of its vendor's.
func stacks(s *Site, r *ruling) {
	for _, group := range slice.Group(s.ends(), func(e end) string { return e.nic.Driver }) {
		if group[0].nic.Driver == "" {
			for _, e := range group {
				r.unknown(e.place(), "its driver is unknown")
			}
			continue
		}
		stack := func(e end) string {
			if v := e.host.Versions[e.nic.Driver]; v != "" {
				return v
			}
			return "the kernel's own"
		}
		votes := slice.Map(group, stack)
		usual, alone := most(votes)
		kinds := distinct(votes)
		for _, e := range group {
			r.unless(stack(e) != usual || !alone, e.place(), "its driver %s is %s; others have %s", e.nic.Driver, stack(e), another(kinds, stack(e)))
		}
	}
}

// distinct are the values, each once.
func distinct(votes []string) []string {
	list := slices.Clone(votes)
	slices.Sort(list)
	return slices.Compact(list)
}

// another is a value that is not this one.
func another(votes []string, own string) string {
	for _, v := range votes {
		if v != own {
			return v
		}
	}
	return own
}

// alarms are the words of optics that a check is about, on NICs and, as what, on switches.
func alarms(what string, words ...string) func(*Site, *ruling) {
	return func(s *Site, r *ruling) {
		for _, sw := range s.Switches {
			r.told(sw, what, sw.hasLink)
		}
		for _, e := range s.ethernet() {
			switch {
			case e.nic.Optics != nil:
				var list []string
				for _, a := range e.nic.Optics.Alarms {
					if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(a), w) }) {
						list = append(list, a)
					}
				}
				r.unless(len(list) > 0, e.place(), "the optic reports: %s", strings.Join(list, ", "))
			case strings.Contains(e.nic.Silent["optics"], "Operation not supported"): // it has none that could be read
			default:
				r.unknown(e.place(), "its optic was not read%s", said(e, "optics"))
			}
		}
	}
}

// lostBlocks are those that FEC could not mend, by two readings.
func lostBlocks(e end, r *ruling) {
	before := r.site.Before.port(e)
	if r.knows(e.nic.Lost != nil && before != nil && before.Lost != nil, e.place(), "it does not count uncorrectable FEC blocks") && continued(r, e.place(), *before.Lost, *e.nic.Lost, "the counter of uncorrectable FEC blocks") {
		r.unless(*e.nic.Lost > *before.Lost, e.place(), "FEC could not correct %d blocks between two readings", *e.nic.Lost-*before.Lost)
	}
}
