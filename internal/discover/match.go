package discover

import (
	"net/netip"
	"strings"

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
	sw   map[string][]*Switch
	at   map[string]*Switch // by the address that it was asked at
}

func (s *Site) ends() ends {
	e := ends{map[string][]end{}, map[string][]end{}, map[string][]*Switch{}, map[string]*Switch{}}
	for _, m := range s.Servers {
		names := systemNames(m.Host, m.Facts.Name)
		for i := range m.Facts.NICs {
			n := &m.Facts.NICs[i]
			if mac := switches.PlainMAC(n.MAC); mac != "" {
				e.mac[mac] = append(e.mac[mac], end{m, n})
			}
			for name := range names {
				if n.Interface != "" {
					key := name + " " + strings.ToLower(n.Interface)
					e.name[key] = append(e.name[key], end{m, n})
				}
			}
		}
	}
	for _, sw := range s.Switches {
		if a, err := netip.ParseAddr(sw.Host); err == nil {
			e.at[a.String()] = sw
		}
		for name := range systemNames(sw.Host, sw.Reading.Facts.Hostname) {
			e.sw[name] = append(e.sw[name], sw)
		}
	}
	return e
}

// systemNames are what a device may call itself with LLDP.
func systemNames(texts ...string) map[string]bool {
	names := map[string]bool{}
	for _, t := range texts {
		if t = strings.ToLower(strings.TrimSpace(t)); t != "" {
			names[t], names[short(t)] = true, true
		}
	}
	return names
}

// Cables matches what switches hear with what is there. Each port has one cable at most,
// and each NIC: where two speak, neither is believed.
func (s *Site) Cables() []Cable {
	e := s.ends()
	var list []Cable
	for _, sw := range s.Switches {
		if len(sw.Neighbours) == 0 {
			s.found(Warn, sw.Host, "turn LLDP on there, and an LLDP agent on the servers", "it hears nobody with LLDP: none of its cables is known")
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
			if got := heard[port]; len(got) == 1 {
				list = append(list, got[0])
			} else {
				s.found(Error, sw.Host, "see what is plugged there: a cable has two ends", "port %s hears %d devices that are all known: none of them is taken for its other end", port, len(got))
			}
		}
	}
	return s.paired(s.once(list))
}

func sameEnds(list []Cable, c Cable) bool {
	for _, x := range list {
		if x.NIC == c.NIC && x.Peer == c.Peer && x.PeerPort == c.PeerPort {
			return true
		}
	}
	return false
}

// match finds who is heard: by the MAC address of its port, else by names.
func (s *Site) match(e ends, sw *Switch, n switches.Neighbour) (Cable, bool) {
	c := Cable{Switch: sw, Port: n.Port}
	for _, text := range []string{n.PortID, n.Chassis} {
		got := e.mac[switches.PlainMAC(text)]
		if len(got) > 1 {
			s.found(Error, sw.Host, "see which NIC is which: ip -br link", "port %s hears the MAC address %s, which %d NICs have: the cable is not known", n.Port, text, len(got))
			return c, false
		}
		if len(got) == 1 {
			c.Server, c.NIC, c.By = got[0].server, got[0].nic, "MAC address"
			return c, true
		}
	}
	system := strings.ToLower(strings.TrimSpace(n.System))
	got := e.name[system+" "+strings.ToLower(strings.TrimSpace(n.PortID))]
	switch {
	case system == "":
		s.found(Warn, sw.Host, "name the machine with --hosts, or set its system name", "port %s hears a device without a name: port %q, chassis %q", n.Port, n.PortID, n.Chassis)
		return c, false
	case len(got) > 1:
		s.found(Error, sw.Host, "give each machine a name of its own", "port %s hears %q, port %q: %d NICs are called so, and the cable is not known", n.Port, n.System, n.PortID, len(got))
		return c, false
	case len(got) == 1:
		c.Server, c.NIC, c.By = got[0].server, got[0].nic, "names"
		return c, true
	}
	c.PeerPort = strings.TrimSpace(n.PortID)
	if peer := e.at[strings.TrimSpace(n.Management)]; peer != nil && peer != sw {
		c.Peer, c.By = peer, "management address"
		return c, true
	}
	switch peers := e.sw[system]; len(peers) {
	case 1:
		if c.Peer, c.By = peers[0], "names"; c.Peer == sw {
			s.found(Warn, sw.Host, "take the loop out, or see which port leads where", "port %s hears the switch itself, on its port %q", n.Port, n.PortID)
			return c, false
		}
		return c, true
	case 0:
		s.found(Info, sw.Host, "if it belongs to the fabric, name it with --seed (a switch) or --hosts (a server)", "port %s hears %q, port %q, which was not asked: unknown end", n.Port, n.System, n.PortID)
	default:
		s.found(Error, sw.Host, "give each switch a name of its own", "port %s hears %q, and %d switches are called so: the cable is not known", n.Port, n.System, len(peers))
	}
	return c, false
}

// once leaves out NICs that are heard on several ports.
func (s *Site) once(list []Cable) []Cable {
	count := map[*host.NICFacts]int{}
	for _, c := range list {
		if c.NIC != nil {
			count[c.NIC]++
		}
	}
	var out []Cable
	for _, c := range list {
		if c.NIC != nil && count[c.NIC] > 1 {
			s.found(Error, c.Switch.Host, "a switch in between hands LLDP on, or LLDP is stale: ask again in two minutes", "port %s hears %s of %s, which is heard on %d ports: the cable is not known", c.Port, c.NIC.Interface, c.Server.Host, count[c.NIC])
			continue
		}
		out = append(out, c)
	}
	return out
}
