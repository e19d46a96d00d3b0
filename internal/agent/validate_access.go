package agent

import (
	"net/netip"
	"slices"
	"strings"
)

// AccessStates are what Access.State may be: the states of asymmetric namespace
// access.
func AccessStates() []string {
	return []string{"optimized", "non-optimized", "inaccessible", "persistent-loss", "change"}
}

func (v *findings) access(t *Target) {
	type where struct {
		portal string
		group  uint32
	}
	seen := map[where]bool{}
	for _, a := range t.Access {
		if !slices.ContainsFunc(t.Portals, func(p Portal) bool { return p.Address == a.Portal }) {
			v.add("ana: there is no portal %q", a.Portal)
		}
		if a.Group == 0 || a.Group > maxGroup {
			v.add("ana at %s: group %d is not from 1 to %d", a.Portal, a.Group, maxGroup)
		}
		if !slices.Contains(AccessStates(), a.State) {
			v.add("ana at %s: unknown state %q; %s are known", a.Portal, a.State, strings.Join(AccessStates(), ", "))
		}
		at := where{a.Portal, a.Group}
		if seen[at] {
			v.add("ana at %s: group %d is there twice", a.Portal, a.Group)
		}
		seen[at] = true
	}
}

func (v *findings) metrics(address string) {
	if address == "" {
		return
	}
	if _, err := netip.ParseAddrPort(address); err != nil {
		v.add("metrics %q is no IP address with a port, like 127.0.0.1:9420", address)
	}
}
