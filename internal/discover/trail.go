package discover

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// A trail leads from the switches that are named to those that they hear.
type trail struct {
	reach *Reach
	asked map[string]bool
	known map[*Switch]bool // whose neighbours were looked at
	depth int
	full  bool // that it ends was told
}

// A stop is a switch to ask.
type stop struct {
	host string
	from string // who announces it, and where; "": it was named
}

func newTrail(r *Reach) *trail {
	return &trail{reach: r, asked: map[string]bool{}, known: map[*Switch]bool{}}
}

// first are the switches that were named, each once.
func (t *trail) first(seeds []string) (list []stop) {
	for _, host := range seeds {
		if !t.asked[host] {
			t.asked[host] = true
			list = append(list, stop{host: host})
		}
	}
	return list
}

// on are the switches that those hear which were read last: what says that it forwards
// frames, at the address that it wants to be managed at, within the networks to stay in.
func (t *trail) on(s *Site) (list []stop) {
	t.depth++
	for _, sw := range s.Switches {
		if t.known[sw] {
			continue
		}
		t.known[sw] = true
		for _, n := range sw.Neighbours {
			at, err := netip.ParseAddr(strings.TrimSpace(n.Management))
			if !n.Bridge || err != nil || t.depth > t.reach.Depth || t.asked[at.String()] {
				continue
			}
			if !slices.ContainsFunc(t.reach.Within, func(p netip.Prefix) bool { return p.Contains(at.Unmap()) }) {
				if len(t.reach.Within) > 0 {
					s.found(Info, sw.Host, "name it with --seed, or its network with --stay-in", "port %s hears %q, which wants to be managed at %s: outside of the networks to stay in, so it is not asked", n.Port, n.System, at)
				}
				continue
			}
			if len(t.asked) >= mostSwitches {
				if !t.full {
					t.full = true
					s.found(Warn, sw.Host, "discover the rest in another run, with other seeds", "%d switches were asked, and no more are followed", mostSwitches)
				}
				continue
			}
			t.asked[at.String()] = true
			list = append(list, stop{at.String(), fmt.Sprintf("%q, heard by %s on port %s,", n.System, sw.Host, n.Port)})
		}
	}
	return list
}
