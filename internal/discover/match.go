package discover

import (
	"net/netip"
	"slices"
	"strings"

	"weft/internal/text"
	"weft/modules/host"
	"weft/switches"
)

// A Cable leads from a port of a switch to a NIC of a server, or to another switch.
type Cable struct {
	Switch *Switch
	Port   string

	Server   *Server
	NIC      *host.NICFacts
	Peer     *Switch // exactly one of Server and Peer is set
	PeerPort string  // of the peer
	By       string  // what proves it: its MAC address, names, or the address to manage it at
}

// An end is a port of a NIC.
type end struct {
	server *Server
	nic    *host.NICFacts
}

// ends are all ends that LLDP may speak of. What two have is an end of neither.
type ends struct {
	mac  map[string][]end
	name map[string][]end // by "system interface", in lower case
	told map[string]bool  // MAC addresses of ports that are heard
	sw   map[string][]*Switch
	at   map[string]*Switch // by the address that it was asked at
}

func (s *Site) ends() ends {
	e := ends{map[string][]end{}, map[string][]end{}, map[string]bool{}, map[string][]*Switch{}, map[string]*Switch{}}
	for _, m := range s.Servers {
		names := systemNames(m.Host, m.Facts.Name)
		for i := range m.Facts.NICs {
			n := &m.Facts.NICs[i]
			mac, own := switches.PlainMAC(n.MAC), switches.PlainMAC(n.Permanent)
			if mac != "" {
				e.mac[mac] = append(e.mac[mac], end{m, n})
			}
			if own != "" && own != mac {
				e.mac[own] = append(e.mac[own], end{m, n})
			}
			for _, of := range n.Sends {
				e.mac[switches.PlainMAC(of)] = append(e.mac[switches.PlainMAC(of)], end{m, n})
			}
			for name := range names {
				if n.Interface != "" {
					key := name + " " + lower(n.Interface)
					e.name[key] = append(e.name[key], end{m, n})
				}
			}
		}
	}
	for _, sw := range s.Switches {
		for _, n := range sw.Neighbours {
			e.told[switches.PlainMAC(n.PortID)] = true
		}
		if a, err := netip.ParseAddr(sw.Host); err == nil {
			e.at[a.String()] = sw
		}
		for name := range systemNames(sw.Host, sw.Reading.Facts.Hostname) {
			e.sw[name] = append(e.sw[name], sw)
		}
	}
	return e
}

// called are those of some ends whose interface is the port that is heard. Servers say
// its name as the id of the port or in its description.
func called(list []end, n switches.Neighbour) (out []end) {
	for _, x := range list {
		if name := lower(x.nic.Interface); name != "" && (name == lower(n.PortID) || name == lower(n.Describes)) {
			out = append(out, x)
		}
	}
	return out
}

// byMAC are the NICs with the address of the port that is heard. Those below a bond have
// one, which was that of the first of them, and are told apart by name; or by their own:
// where that of another part is heard, its machine tells each by its own.
func (e ends) byMAC(n switches.Neighbour) []end {
	mac := switches.PlainMAC(n.PortID)
	list := e.mac[mac]
	if len(list) < 2 {
		return list
	}
	if named := called(list, n); len(named) == 1 {
		return named
	}
	var first []end
	own := false
	for _, x := range list {
		switch p := switches.PlainMAC(x.nic.Permanent); {
		case p == "" || x.server != list[0].server:
			return list
		case p == mac:
			first = append(first, x)
		case e.told[p]:
			own = true
		}
	}
	if own && len(first) == 1 {
		return first
	}
	return list
}

// byChassis are the NICs so called of the machine that has the address of the chassis:
// it is that of any of its NICs, and by itself says nothing of the port.
func (e ends) byChassis(n switches.Neighbour) (out []end) {
	owners := e.mac[switches.PlainMAC(n.Chassis)]
	for i, x := range owners {
		if slices.ContainsFunc(owners[:i], func(o end) bool { return o.server == x.server }) {
			continue
		}
		for i := range x.server.Facts.NICs {
			out = append(out, called([]end{{x.server, &x.server.Facts.NICs[i]}}, n)...)
		}
	}
	return out
}

// byName are the NICs that are called as the port, of machines that are called as the system.
func (e ends) byName(n switches.Neighbour) []end {
	if lower(n.System) == "" {
		return nil
	}
	if got := e.name[lower(n.System)+" "+lower(n.PortID)]; got != nil {
		return got
	}
	return e.name[lower(n.System)+" "+lower(n.Describes)]
}

func lower(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// systemNames are what a device may call itself with LLDP.
func systemNames(texts ...string) map[string]bool {
	names := map[string]bool{}
	for _, t := range texts {
		if t = lower(t); t != "" {
			names[t], names[short(t)] = true, true
		}
	}
	return names
}

// Cables matches what switches hear with what is there. Each port has one cable at most,
// and each NIC: where two speak, neither is believed.
func (s *Site) Cables() []Cable {
	e := s.ends()
	var all [][]Cable // by port
	for _, sw := range s.Switches {
		s.lines(sw)
		s.idle(sw)
		switch {
		case sw.Strange != nil:
			s.found(Error, sw.Host, "look at what it answers, and report it if it is as it should be: of its other cables only those are known that servers hear", "%s", sw.Strange.Error())
		case len(sw.Neighbours) == 0:
			s.found(Warn, sw.Host, "turn LLDP on there, and an LLDP agent on the servers", "it has no LLDP neighbours: only cables reported by servers or its MAC table are known")
		}
		if sw.Unlearned != nil {
			s.found(Warn, sw.Host, "permit that line for the login (weft doctor --privileges lists all), or check its output: cables of ports without LLDP may be missing", "%s", sw.Unlearned.Error())
		}
		heard := map[string][]Cable{}
		var ports []string
		for _, n := range sw.Neighbours {
			c, ok := s.match(e, sw, n)
			if !ok {
				continue
			}
			if heard[n.Port] == nil {
				ports = append(ports, n.Port)
			}
			if !sameEnds(heard[n.Port], c) {
				heard[n.Port] = append(heard[n.Port], c)
			}
		}
		for _, port := range ports {
			all = append(all, heard[port])
		}
	}
	s.tellStrangers()
	return s.paired(s.once(append(all, s.learned(e, all)...)))
}

// A stranger is somebody whom a switch hears and who was not asked.
type stranger struct {
	sw     *Switch
	system string
}

// mostStrange is how many ports to one stranger are told one by one.
const mostStrange = 4

// tellStrangers tells the ports that lead to whoever was not asked.
func (s *Site) tellStrangers() {
	lost := map[string]bool{}
	for _, l := range s.Lost {
		for name := range systemNames(l.Host) {
			lost[name] = true
		}
	}
	for _, who := range s.strangers {
		why, advice := "was not asked", "if it belongs to the fabric, name it with --seed (a switch) or --hosts (a server)"
		if lost[lower(who.system)] {
			why, advice = "could not be read", "discover again when it can be"
		}
		ports := s.strange[who]
		if len(ports) <= mostStrange {
			for _, n := range ports {
				s.found(Info, who.sw.Host, advice, "port %s hears %q, port %q, which %s: unknown end", n.Port, n.System, n.PortID, why)
			}
			continue
		}
		var names []string
		for _, n := range ports {
			names = append(names, n.Port)
		}
		s.found(Info, who.sw.Host, advice, "ports %s hear %q, which %s: unknown ends", text.Few(names, ", "), who.system, why)
	}
	s.strangers, s.strange = nil, nil
}

func sameEnds(list []Cable, c Cable) bool {
	return slices.ContainsFunc(list, func(x Cable) bool { return x.NIC == c.NIC && x.Peer == c.Peer && x.PeerPort == c.PeerPort })
}

// match finds who is heard: by the MAC address of its port, by that of its machine with
// the name of the port, else by names.
func (s *Site) match(e ends, sw *Switch, n switches.Neighbour) (Cable, bool) {
	c := Cable{Switch: sw, Port: n.Port}
	for _, by := range []struct {
		what string
		find func(switches.Neighbour) []end
	}{{"MAC address", e.byMAC}, {"MAC address of its machine", e.byChassis}, {"names", e.byName}} {
		got := by.find(n)
		if len(got) > 1 {
			s.found(Error, sw.Host, "give each machine its own name, and each NIC its own address: ip -br link shows them", "port %s hears %q, port %q: %d NICs answer to its %s, and the cable is not known", n.Port, n.System, n.PortID, len(got), by.what)
			return c, false
		}
		if len(got) == 1 {
			c.Server, c.NIC, c.By = got[0].server, got[0].nic, by.what
			return c, true
		}
	}
	return s.matchSwitch(e, c, n)
}

// matchSwitch finds the switch that is heard.
func (s *Site) matchSwitch(e ends, c Cable, n switches.Neighbour) (Cable, bool) {
	sw, system := c.Switch, lower(n.System)
	c.PeerPort = strings.TrimSpace(n.PortID)
	if peer := e.at[strings.TrimSpace(n.Management)]; peer != nil && peer != sw {
		c.Peer, c.By = peer, "management address"
		return c, true
	}
	switch peers := e.sw[system]; {
	case system == "":
		s.found(Warn, sw.Host, "name the machine with --hosts, or set its system name", "port %s hears a device without a name: port %q, chassis %q", n.Port, n.PortID, n.Chassis)
	case len(peers) > 1:
		s.found(Error, sw.Host, "give each switch a unique name", "port %s hears %q, and %d switches are called so: the cable is not known", n.Port, n.System, len(peers))
	case len(peers) == 0:
		who := stranger{sw, n.System}
		if s.strange[who] == nil {
			s.strangers = append(s.strangers, who)
		}
		if s.strange == nil {
			s.strange = map[stranger][]switches.Neighbour{}
		}
		s.strange[who] = append(s.strange[who], n)
	case peers[0] == sw:
		s.found(Warn, sw.Host, "take the loop out, or see which port leads where", "port %s hears the switch itself, on its port %q", n.Port, n.PortID)
	default:
		c.Peer, c.By = peers[0], "names"
		return c, true
	}
	return c, false
}

// once leaves out ports that hear several, and NICs that are heard on several.
func (s *Site) once(ports [][]Cable) []Cable {
	count := map[*host.NICFacts]int{}
	for _, heard := range ports {
		for _, c := range heard {
			if c.NIC != nil {
				count[c.NIC]++
			}
		}
	}
	var out []Cable
	for _, heard := range ports {
		switch c := heard[0]; {
		case len(heard) > 1:
			s.found(Error, c.Switch.Host, "see what is plugged there: a cable has two ends", "port %s hears %d devices that are all known: none of them is taken for its other end", c.Port, len(heard))
		case c.NIC != nil && count[c.NIC] > 1:
			s.found(Error, c.Switch.Host, "a switch in between hands frames on, or what was heard is stale: ask again in two minutes", "port %s hears %s of %s, which is heard on %d ports: the cable is not known", c.Port, c.NIC.Interface, c.Server.Host, count[c.NIC])
		default:
			out = append(out, c)
		}
	}
	return out
}
