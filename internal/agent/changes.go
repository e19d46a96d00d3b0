package agent

import (
	"fmt"
	"slices"
)

// Reloads reports whether a running weft-target can go over to another
// configuration without starting anew.
func (t *Target) Reloads(to *Target) bool {
	if t.Metrics != to.Metrics {
		return false
	}
	for _, p := range to.Portals {
		p.TLS = !p.TLS
		if slices.ContainsFunc(t.Portals, p.Same) {
			return false // its socket stays, and with it how it greets hosts
		}
	}
	served := map[string]string{}
	for _, s := range t.Subsystems {
		for _, n := range s.Namespaces {
			for _, place := range n.places() {
				served[place] = n.shape()
			}
		}
	}
	for _, s := range to.Subsystems {
		for _, n := range s.Namespaces {
			for _, place := range n.places() {
				if is, ok := served[place]; ok && is != n.shape() {
					return false // hosts would see the blocks change under their feet
				}
			}
		}
	}
	return true
}

// places are where the blocks of a namespace are kept.
func (n Namespace) places() []string {
	switch {
	case len(n.Mirror) > 0:
		return n.Mirror
	case n.Path != "":
		return []string{n.Path}
	}
	return []string{n.UUID}
}

// shape is what must stay while a namespace is served.
func (n Namespace) shape() string {
	return fmt.Sprintf("%s %q %d %d", n.Backend, n.places(), n.Size, n.BlockSize)
}

// Keeps reports whether another configuration leaves hosts everything that they
// can reach by this one.
func (t *Target) Keeps(to *Target) bool {
	for _, p := range t.Portals {
		if !slices.ContainsFunc(to.Portals, p.Same) {
			return false
		}
	}
	for _, s := range t.Subsystems {
		at := slices.IndexFunc(to.Subsystems, func(o Subsystem) bool { return o.NQN == s.NQN && o.Serial == s.Serial })
		if at < 0 || !s.keeps(to.Subsystems[at], t.Portals) {
			return false
		}
	}
	return true
}

func (s Subsystem) keeps(to Subsystem, portals []Portal) bool {
	for _, p := range portals {
		if s.ServedAt(p.Address) && !to.ServedAt(p.Address) {
			return false
		}
	}
	for _, host := range s.AllowHosts {
		if !slices.Contains(to.AllowHosts, host) {
			return false
		}
	}
	for _, n := range s.Namespaces {
		if !slices.ContainsFunc(to.Namespaces, func(o Namespace) bool {
			return o.ID == n.ID && o.UUID == n.UUID && o.NGUID == n.NGUID && o.shape() == n.shape()
		}) {
			return false
		}
	}
	return true
}
