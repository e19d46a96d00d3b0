package doctor

import (
	"cmp"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/inventory"
	"weft/modules/host"
	"weft/switches"
)

// An end is a port of a NIC.
type end struct {
	host *Host
	nic  *host.NICHealth
	rnic *inventory.RNIC // nil: it is not declared
}

// A cable leads from a NIC to the port of a switch that hears it, or is declared to.
type cable struct {
	end
	sw   *Switch
	port *switches.Port
}

func (e end) place() Place {
	p := Place{Device: e.host.Name, Part: e.nic.Interface}
	p.Part = cmp.Or(p.Part, e.nic.PCI)
	switch {
	case e.rnic != nil:
		p.Part, p.Range = e.rnic.Name, e.rnic.Range
	case e.host.Server != nil:
		p.Range = e.host.Server.Range
	}
	return p
}

func (h *Host) place() Place {
	p := Place{Device: h.Name}
	if h.Server != nil {
		p.Range = h.Server.Range
	}
	return p
}

func (s *Switch) place(part string) Place {
	p := Place{Device: s.Name, Part: part}
	if s.Switch != nil {
		p.Range = s.Switch.Range
	}
	return p
}

func (c cable) portPlace() Place { return c.sw.place(c.port.Name) }

// ends are the NICs that matter: those declared, with an RDMA device, or heard by a
// switch. What manages a machine is none of them.
func (s *Site) ends() []end { return s.all }

// ethernet are the ends that do Ethernet.
func (s *Site) ethernet() []end { return onEthernet(s.all) }

func onEthernet(list []end) []end {
	return slices.DeleteFunc(slices.Clone(list), func(e end) bool { return e.nic.IPoIB != nil || e.infiniband() })
}

func (e end) infiniband() bool {
	return slices.ContainsFunc(e.nic.RDMA, func(p host.RDMAPort) bool { return p.Protocol == "infiniband" })
}

func (h *Host) declared(n host.NICFacts) *inventory.RNIC {
	if h.Server == nil {
		return nil
	}
	return slice.First(h.Server.RNICs, n.Is)
}

// hears finds the switch port that hears a NIC: by its MAC address, or by the names
// that a daemon on its machine sends. The parts of a bond have one address: where that is
// heard, it is of the part that the port is told the name of.
func (s *Site) hears(e end) *heard {
	mac, own := digits(e.nic.MAC), digits(e.nic.Permanent)
	own = cmp.Or(own, mac)
	shared := e.nic.Permanent != "" && own == mac
	if h, ok := s.ears[own]; ok && own != "" && (!shared || h.of(e.nic.Interface)) {
		return &h
	}
	if e.nic.Interface == "" {
		return nil
	}
	machines := []string{e.host.Health.Name}
	for _, n := range e.host.NICs {
		machines = append(machines, digits(n.MAC), digits(n.Permanent))
	}
	for _, m := range machines {
		if h, ok := s.ears[m+" "+e.nic.Interface]; ok && m != "" {
			return &h
		}
	}
	return nil
}

// of reports whether the port hears an interface of that name, as far as it is told.
func (h heard) of(name string) bool {
	return !h.twice && (h.Describes == "" || strings.EqualFold(strings.TrimSpace(h.Describes), name))
}

// A heard is who hears a NIC.
type heard struct {
	sw *Switch
	switches.Neighbour
	twice bool // another port hears the same
}

// listen notes whom switches hear: by MAC address, else by names.
func (s *Site) listen() {
	s.ears = map[string]heard{}
	for _, sw := range s.Switches {
		for _, n := range sw.Neighbours {
			for _, key := range keysOf(n) {
				first, again := s.ears[key]
				if !again {
					first = heard{sw: sw, Neighbour: n}
				}
				first.twice = first.twice || first.sw != sw || first.Port != n.Port
				s.ears[key] = first
			}
		}
	}
}

// keysOf are what a NIC that a switch hears is found by: the id of its port; without one, what
// describes the port together with the name or the address of its machine. None: which NIC it
// is, is not known.
func keysOf(n switches.Neighbour) (keys []string) {
	if key := digits(n.PortID); key != "" {
		return []string{key}
	}
	port := n.PortID
	if port == "" {
		port = strings.TrimSpace(n.Describes)
	}
	if port == "" {
		return nil
	}
	for _, machine := range []string{n.System, digits(n.Chassis)} {
		if machine != "" {
			keys = append(keys, machine+" "+port)
		}
	}
	return keys
}

// unnamed returns the port at which a switch hears a device of which NIC is not known; "": none.
// Where port is not "", only that one counts.
func (sw *Switch) unnamed(port string) string {
	for _, n := range sw.Neighbours {
		if len(keysOf(n)) == 0 && (port == "" || strings.EqualFold(port, n.Port)) {
			return n.Port
		}
	}
	return ""
}

// onlyManagement reports whether there are neighbours, and none of them at one of the ports that
// may carry a fabric: whether the switch listens there is not known.
func onlyManagement(list []switches.Neighbour, names []string) bool {
	return len(list) > 0 && len(names) > 0 && !slices.ContainsFunc(list, func(n switches.Neighbour) bool {
		return slices.ContainsFunc(names, func(p string) bool { return strings.EqualFold(p, n.Port) })
	})
}

// collect finds the ends, and the links that the files have them at.
func (s *Site) collect() {
	s.all, s.of, s.links = nil, map[*Host][]end{}, map[*inventory.RNIC]*inventory.Link{}
	if s.Model != nil {
		for _, l := range s.Model.Links {
			for _, r := range []*inventory.RNIC{l.From.RNIC, l.To.RNIC} {
				if r != nil && s.links[r] == nil {
					s.links[r] = l
				}
			}
		}
	}
	for _, h := range s.Hosts {
		for i := range h.NICs {
			e := end{h, &h.NICs[i], h.declared(h.NICs[i].NICFacts)}
			if e.rnic == nil && e.nic.VirtualOf != "" {
				continue // a virtual function is no port
			}
			if e.rnic != nil || len(e.nic.RDMA) > 0 || s.hears(e) != nil {
				s.all, s.of[h] = append(s.all, e), append(s.of[h], e)
			}
		}
	}
}

// digits are those of a MAC address, however it is written; "": it is none.
func digits(text string) string {
	plain := make([]byte, 0, 12)
	for _, c := range []byte(text) {
		switch {
		case c == ':' || c == '.' || c == '-':
			continue
		case c >= 'A' && c <= 'F':
			c += 'a' - 'A'
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return ""
		}
		if len(plain) == cap(plain) {
			return ""
		}
		plain = append(plain, c)
	}
	if len(plain) != 12 {
		return ""
	}
	return string(plain)
}

// match finds the cables: as they are heard, else as they are declared.
func (s *Site) match() {
	s.named = make(map[string]*Host, len(s.Hosts))
	for _, h := range s.Hosts {
		s.named[h.Name] = h
	}
	s.listen()
	s.collect()
	s.cables, s.wires = nil, map[*Switch][]cable{}
	for _, e := range s.ends() {
		sw, port := s.wired(e)
		if h := s.hears(e); h != nil {
			sw, port = h.sw, h.Port
		}
		if sw == nil {
			continue
		}
		if p, ok := sw.Reading.Port(port); ok {
			c := cable{e, sw, &p}
			s.cables, s.wires[sw] = append(s.cables, c), append(s.wires[sw], c)
		}
	}
	if s.Before != nil {
		s.Before.match()
	}
}

// wired is the switch port that the files have a NIC at.
func (s *Site) wired(e end) (*Switch, string) {
	l := s.link(e)
	if l == nil {
		return nil, ""
	}
	far := l.From
	if far.RNIC == e.rnic {
		far = l.To
	}
	for _, sw := range s.Switches {
		if far.Switch != nil && sw.Switch == far.Switch {
			return sw, far.Port
		}
	}
	return nil, ""
}

// link is the declared cable of a NIC; nil: none is.
func (s *Site) link(e end) *inventory.Link { return s.links[e.rnic] }

// fabric is that of a NIC or of a switch; nil: none is declared.
func (e end) fabric() *inventory.Fabric {
	if e.rnic == nil {
		return nil
	}
	return e.rnic.Fabric
}

func (s *Switch) fabric() *inventory.Fabric {
	if s.Switch == nil {
		return nil
	}
	return s.Switch.Fabric
}

// wished are the lossless priorities of a fabric.
func wished(f *inventory.Fabric) []int {
	list := []int{}
	for _, c := range f.Classes {
		if c.PFC && f.Mode != "lossy" {
			list = append(list, c.Priority)
		}
	}
	slices.Sort(list)
	return list
}

// lossless are the priorities that a switch port pauses for.
func (c cable) lossless() []int {
	if !c.port.PFC {
		return []int{}
	}
	classes := c.port.Classes // where queueing is the port's
	if len(classes) == 0 {
		classes = c.sw.Reading.Classes
	}
	if list := switches.Lossless(classes); list != nil {
		return list
	}
	return []int{}
}

// classes are those of a switch; where queueing is per port, as its cabled ports do it.
func (s *Site) classes(sw *Switch) []switches.Class {
	list := slices.Clone(sw.Reading.Classes)
	for _, c := range s.wires[sw] {
		for _, of := range c.port.Classes {
			i := slices.IndexFunc(list, func(x switches.Class) bool { return x.Priority == of.Priority })
			if i < 0 {
				list = append(list, of)
				continue
			}
			list[i].PFC = list[i].PFC || of.PFC
			if list[i].ECN == nil {
				list[i].ECN = of.ECN
			}
		}
	}
	return list
}

// priority is what a switch gives a DSCP.
func (s *Switch) priority(dscp int) int {
	for _, c := range s.Reading.Classes {
		if slices.Contains(c.DSCP, dscp) {
			return c.Priority
		}
	}
	return 0
}

// most is the value that most have; alone: no other has as many.
func most[T comparable](values []T) (value T, alone bool) {
	count := map[T]int{}
	for _, v := range values {
		count[v]++
	}
	best := 0
	for _, v := range values {
		switch {
		case count[v] > best:
			value, best, alone = v, count[v], true
		case count[v] == best && v != value:
			alone = false
		}
	}
	return value, alone
}

// common is what most things of a list have. One that has the zero value does not say what
// it has, and does not count.
func common[T any, V comparable](list []T, of func(T) V) (value V, alone bool) {
	var none V
	return most(slice.Filter(slice.Map(list, of), func(v V) bool { return v != none }))
}
