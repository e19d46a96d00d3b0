package discover

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"weft/modules/host"
)

// A Recorded is a cable as an inventory has it: from a port of a machine that it lists to
// a port of whatever device.
type Recorded struct {
	Device, Port         string
	PeerDevice, PeerPort string // "": the port has no cable there
}

// Inventory adds the cables that an inventory has, or why they are not known.
func (s *Site) Inventory(l *Listing) {
	s.Recorded = l.Cables
	if l.Unread != nil {
		s.found(Info, "", "cables are read from interfaces of NetBox 3.3 and later", "the cables that the inventory has are not compared: %v", l.Unread)
	}
}

// recorded compares the cables that an inventory has with those that are known. It is
// what somebody has typed: none of it becomes a cable, and each difference is told.
func (d *draft) recorded() {
	if len(d.site.Recorded) == 0 {
		return
	}
	at := map[*host.NICFacts]string{} // where its cable leads
	for _, c := range d.cables {
		if c.NIC != nil {
			at[c.NIC] = Cable{Switch: c.Switch, Port: c.Port}.said()
		}
	}
	for _, w := range d.wires {
		at[w.a.nic], at[w.b.nic] = Cable{Server: w.b.server, NIC: w.b.nic}.said(), Cable{Server: w.a.server, NIC: w.a.nic}.said()
	}
	var written []*host.NICFacts
	for _, n := range d.ordered() {
		for _, k := range n.cards {
			written = append(written, k.nic)
		}
	}
	machines, e := d.listed(), d.site.ends()
	for _, r := range d.site.Recorded {
		m := machines[lower(r.Device)]
		here := port(m, r.Port)
		if here == nil {
			continue // it was not read, or is none of its NICs
		}
		there, known := d.recordedEnd(e, machines, r)
		heard, cabled := at[here]
		switch {
		case r.PeerPort == "" && cabled:
			d.site.found(Info, m.Host, "enter it there", "the inventory has no cable at %s, which leads to %s", here.Interface, heard)
		case r.PeerPort == "" || known && there == heard:
		case known && cabled:
			d.site.found(Warn, m.Host, "one of the two is wrong: discover writes the LLDP data; check the cable", "the inventory has the cable of %s to %s, and it is heard to lead to %s", here.Interface, there, heard)
		case known:
			d.site.found(Warn, m.Host, "see what is plugged there, and whether both ends speak LLDP; where it is right, write the link by hand", "the inventory has the cable of %s to %s, which LLDP does not confirm: it is not written", here.Interface, there)
		case slices.Contains(written, here):
			d.site.found(Info, m.Host, "if it belongs to the fabric, name that device with --seed (a switch) or --hosts (a server)", "the inventory has the cable of %s to port %q of %q, which is none of what was read: it is not compared", here.Interface, r.PeerPort, r.PeerDevice)
		}
	}
}

// listed are the servers by the names that an inventory may have for them; one that two
// have is that of neither.
func (d *draft) listed() map[string]*Server {
	by := map[string]*Server{}
	for _, m := range d.site.Servers {
		for name := range systemNames(m.Name, m.Host, m.Facts.Name) {
			if other, twice := by[name]; twice && other != m {
				by[name] = nil
				continue
			}
			by[name] = m
		}
	}
	return by
}

// port is the NIC of that name; nil: there is none.
func port(m *Server, name string) *host.NICFacts {
	if m == nil {
		return nil
	}
	for i := range m.Facts.NICs {
		if n := &m.Facts.NICs[i]; n.Interface != "" && lower(n.Interface) == lower(name) {
			return n
		}
	}
	return nil
}

// recordedEnd is the other end of a cable of an inventory; false: it is none of what was
// read.
func (d *draft) recordedEnd(e ends, machines map[string]*Server, r Recorded) (string, bool) {
	peer := machines[lower(r.PeerDevice)]
	if n := port(peer, r.PeerPort); n != nil {
		return Cable{Server: peer, NIC: n}.said(), true
	}
	if list := e.sw[lower(r.PeerDevice)]; len(list) == 1 {
		for _, name := range list[0].Reading.PortNames() {
			if samePort(name, r.PeerPort) {
				return Cable{Switch: list[0], Port: name}.said(), true
			}
		}
	}
	return "", false
}

// samePort reports whether a name that a person has typed is that of a port: as the switch
// has it, or with its kind cut short, as in Eth1/11 and HGE1/0/11.
func samePort(name, typed string) bool {
	kind, number := splitPort(name)
	short, same := splitPort(strings.TrimSpace(typed))
	var capitals strings.Builder
	for _, r := range kind {
		if unicode.IsUpper(r) {
			capitals.WriteRune(r)
		}
	}
	return number != "" && number == same && short != "" && (strings.HasPrefix(lower(kind), lower(short)) || strings.EqualFold(capitals.String(), short))
}

func splitPort(name string) (kind, number string) {
	i := strings.IndexFunc(name, unicode.IsDigit)
	if i < 0 {
		return name, ""
	}
	return strings.TrimSpace(name[:i]), name[i:]
}

// bundles tells what several ports are part of. Bundles have no block: a fabric declares
// its ports one by one, and each has an address of its own.
func (d *draft) bundles() {
	const why = "weft declares no bundles: in a fabric each port stands by itself"
	for _, l := range d.switches() {
		by := map[string][]string{}
		for _, p := range l.Reading.Ports {
			if p.Bundle != "" {
				by[p.Bundle] = append(by[p.Bundle], p.Name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(by)) {
			slices.SortFunc(by[name], natural)
			what := name + " of " + strings.Join(by[name], ", ")
			d.site.found(Info, l.Host, why, "it has %s: it is not written", what)
			l.bundles = append(l.bundles, what)
		}
	}
	for _, n := range d.ordered() {
		for _, b := range n.Facts.Bundles {
			what := b.Name + " of " + strings.Join(b.Interfaces, ", ")
			if b.Bond {
				what = "bond " + what
			}
			if len(b.Addresses) > 0 {
				what += fmt.Sprintf(" with %v", b.Addresses)
			}
			d.site.found(Info, n.Host, why, "it has %s: it is not written", what)
			n.seen = append(n.seen, what)
		}
	}
}
