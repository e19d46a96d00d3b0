package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/modules/host"
	"weft/switches"
)

// A wire leads from a NIC to a NIC, with no switch between.
type wire struct{ a, b end }

// hearing adds what the agents for LLDP of servers hear to the cables that switches told:
// the ends at switches that hear nobody on that port, and wires from server to server.
// Where a switch says otherwise neither is believed.
func (s *Site) hearing(cables []Cable) (all []Cable, wires []wire) {
	e := s.ends()
	at := map[*host.NICFacts]Cable{}
	port := map[*Switch]map[string]bool{}
	for _, c := range cables {
		if c.NIC != nil {
			at[c.NIC] = c
		}
	}
	for _, sw := range s.Switches {
		port[sw] = map[string]bool{}
		for _, n := range sw.Neighbours {
			port[sw][n.Port] = true
		}
	}
	ways := map[end]end{} // between servers, as each end hears the other
	lies := map[*host.NICFacts]bool{}
	var found []Cable
	for _, m := range s.Servers {
		if m.Facts.Deaf != "" {
			s.found(Error, m.Host, "look at what lldpcli -f json0 show neighbors says there, and discover again", "%s", m.Facts.Deaf)
		}
		for i := range m.Facts.NICs {
			here := end{m, &m.Facts.NICs[i]}
			c, known := at[here.nic]
			peer, ok := s.hears(e, here, known)
			if !ok {
				continue
			}
			switch {
			case peer.Switch == nil && known, known && (peer.Switch != c.Switch || !strings.EqualFold(peer.Port, c.Port)):
				lies[here.nic] = true
				s.found(Error, m.Host, "the LLDP data of one of them is stale, or there is a device in between: run discover again in two minutes", "%s hears %s, and %s hears it on its port %s: the cable is not known", here.nic.Interface, peer.said(), c.Switch.Host, c.Port)
			case known: // both say so
			case peer.Switch == nil:
				ways[here] = end{peer.Server, peer.NIC}
			case port[peer.Switch][peer.Port]:
				s.found(Warn, m.Host, "see what is plugged there: a cable has two ends", "%s hears %s, which hears another device there: the cable is unknown", here.nic.Interface, peer.said())
			default:
				found = append(found, Cable{Switch: peer.Switch, Port: peer.Port, Server: m, NIC: here.nic, By: "the LLDP neighbours of the server"})
			}
		}
	}
	cables = slices.DeleteFunc(cables, func(c Cable) bool { return c.NIC != nil && lies[c.NIC] })
	return append(cables, s.alone(found)...), s.wired(ways, at)
}

// hearsAny reports whether any server knows the other end of a cable.
func (s *Site) hearsAny() bool {
	return slices.ContainsFunc(s.Servers, func(m *Server) bool {
		return slices.ContainsFunc(m.Facts.NICs, func(n host.NICFacts) bool { return len(n.Heard) > 0 })
	})
}

// said is who is at an end that a server hears.
func (c Cable) said() string {
	if c.Switch != nil {
		return "port " + c.Port + " of " + c.Switch.Host
	}
	return c.NIC.Interface + " of " + c.Server.Host
}

// oneDevice reports whether all that was heard is one device, with several ports.
func oneDevice(list []host.Heard) bool {
	return !slices.ContainsFunc(list, func(h host.Heard) bool {
		return cmp.Or(h.Chassis, h.System) == "" || h.Chassis != list[0].Chassis || h.System != list[0].System
	})
}

// hears is who the agent of a server hears on a NIC: a port of a switch, or another NIC.
// Of several none is believed. Where a switch knows the cable, nobody is told that this end
// does not say enough.
func (s *Site) hears(e ends, here end, known bool) (peer Cable, ok bool) {
	tell := s.found
	if known {
		tell = func(Severity, string, string, string, ...any) {}
	}
	if len(here.nic.Heard) > 1 {
		if n := here.nic; oneDevice(n.Heard) {
			where := "its switch has a port that several cables share, or sends for several ports"
			if n.Bond != "" {
				where = "the ports of " + n.Bond + ", below which it is, hear each other's frames"
			}
			tell(Error, here.server.Host, "ask the switch, or install a newer lldpd: of a bond, older ones hear each frame on every port", "%s hears %d ports of one device, %q, with LLDP: %s; which of them is the other end of its cable is not known", n.Interface, len(n.Heard), cmp.Or(n.Heard[0].System, n.Heard[0].Chassis), where)
			return peer, false
		}
		tell(Error, here.server.Host, "a switch in between hands frames on, or what was heard is stale: ask again in two minutes", "%s hears %d devices with LLDP: none of them is taken for the other end of its cable", here.nic.Interface, len(here.nic.Heard))
		return peer, false
	}
	if len(here.nic.Heard) == 0 || infiniBand(here.nic) {
		return peer, false
	}
	h := here.nic.Heard[0]
	n := switches.Neighbour{System: h.System, Chassis: h.Chassis, PortID: h.Port, Describes: h.Describes}
	for _, find := range []func(switches.Neighbour) []end{e.byMAC, e.byChassis, e.byName} {
		switch got := find(n); {
		case len(got) > 1:
			tell(Error, here.server.Host, "give each machine its own name, and each NIC its own address: ip -br link shows them", "%s hears %q, port %q: %d NICs answer to that, and the cable is not known", here.nic.Interface, h.System, h.Port, len(got))
			return peer, false
		case len(got) == 1 && got[0].server == here.server:
			tell(Warn, here.server.Host, "take the loop out, or declare the link by hand", "%s hears %s of the same machine: the cable is not written", here.nic.Interface, got[0].nic.Interface)
			return peer, false
		case len(got) == 1:
			return Cable{Server: got[0].server, NIC: got[0].nic}, true
		}
	}
	switch list := e.sw[lower(h.System)]; {
	case lower(h.System) != "" && len(list) == 1:
		described, _, _ := strings.Cut(strings.TrimSpace(h.Describes), " ") // HundredGigE1/0/1 Interface
		for _, id := range []string{strings.TrimSpace(h.Port), described} {
			for _, port := range list[0].Reading.PortNames() {
				if strings.EqualFold(port, id) {
					return Cable{Switch: list[0], Port: port}, true
				}
			}
		}
		tell(Warn, here.server.Host, "write the link by hand", "%s hears port %q of %s, which has no port of that name: the cable is not known", here.nic.Interface, h.Port, list[0].Host)
	default:
		tell(Info, here.server.Host, "if it belongs to the fabric, name it with --seed (a switch) or --hosts (a server)", "%s hears %q, port %q, which was not asked: unknown end", here.nic.Interface, h.System, h.Port)
	}
	return peer, false
}

// alone are the cables to ports that one NIC only says it is plugged into.
func (s *Site) alone(list []Cable) (out []Cable) {
	type place struct {
		sw   *Switch
		port string
	}
	count := map[place]int{}
	for _, c := range list {
		count[place{c.Switch, c.Port}]++
	}
	for _, c := range list {
		if n := count[place{c.Switch, c.Port}]; n > 1 {
			s.found(Error, c.Switch.Host, "see what is plugged there: a cable has two ends", "%d NICs hear its port %s: none of them is taken for its other end", n, c.Port)
			continue
		}
		out = append(out, c)
	}
	return out
}

// wired makes one wire of what two NICs hear of each other. One end will do where the
// other hears nobody: it may have no agent.
func (s *Site) wired(ways map[end]end, at map[*host.NICFacts]Cable) (out []wire) {
	claims := map[end]int{}
	for a, b := range ways {
		if back, hears := ways[b]; !hears || back != a {
			claims[b]++
		}
	}
	for _, m := range s.Servers {
		for i := range m.Facts.NICs {
			a := end{m, &m.Facts.NICs[i]}
			b, ok := ways[a]
			if !ok {
				continue
			}
			back, hears := ways[b]
			_, cabled := at[b.nic]
			switch {
			case cabled || hears && back != a || !hears && claims[b] > 1:
				s.found(Error, m.Host, "the LLDP data of one of them is stale, or there is a device in between: run discover again in two minutes", "%s hears %s of %s, which is heard or hears elsewhere: the cable is not known", a.nic.Interface, b.nic.Interface, b.server.Host)
			case hears && m != s.first(a, b).server:
				// the other end has it
			default:
				out = append(out, wire{a, b})
			}
		}
	}
	return out
}

// first is the end that comes first in the order of machines.
func (s *Site) first(a, b end) end {
	if slices.Index(s.Servers, b.server) < slices.Index(s.Servers, a.server) {
		return b
	}
	return a
}

// direct writes the cables from server to server.
func (d *draft) direct() (list []instance) {
	labels := d.linkLabels()
	for _, w := range d.wires {
		a, b := d.cardOf(w.a), d.cardOf(w.b)
		if a == nil || b == nil {
			continue
		}
		na, nb := d.nodes[w.a.server], d.nodes[w.b.server]
		switch {
		case na.hand || nb.hand || d.standsCabled(fmt.Sprintf("%s is cabled to %s of %s", w.a.nic.Interface, w.b.nic.Interface, w.b.server.Host), place{na.Host, a.label}, place{nb.Host, b.label}):
			continue
		case a.fabric != b.fabric || a.fabric != nil && a.cidr.Masked() != b.cidr.Masked():
			d.site.found(Warn, w.a.server.Host, "both ends of a cable are in one plane: see which of the two is wrong", "%s: its cable leads to %s of %s, which is not in its plane: the link is not written", w.a.nic.Interface, w.b.nic.Interface, w.b.server.Host)
			continue
		}
		one := newInstance(address{kind: "link", label: labels.dashed(label(short(w.a.server.Host)+"-"+a.label, "link"))})
		one.set("from", to(na.address, ".rnic."+a.label))
		one.set("to", to(nb.address, ".rnic."+b.label))
		list = append(list, one)
	}
	return list
}

// cardOf is the rnic of an end; nil: none is written.
func (d *draft) cardOf(e end) *card {
	_, k := d.end(Cable{Server: e.server, NIC: e.nic})
	return k
}
