package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weft/internal/lossless"
	"weft/inventory"
	"weft/modules/host"
	"weft/switches"
)

// joined is the rack with files in which the first two machines are joined by cables.
func joined() *Site {
	s := rack()
	f := &inventory.Fabric{Block: inventory.Block{Addr: "fabric.roce"}, Transport: "rocev2", Mode: "lossless", HostMTU: 9000, Classes: []*inventory.TrafficClass{
		{Name: "rdma", DSCP: []int{26}, Priority: 3, PFC: true, Bandwidth: 50, ECN: &inventory.ECN{Min: 1, Max: 2, Probability: 5}},
		{Name: "default", Bandwidth: 50}}}
	m := &inventory.Model{Fabrics: []*inventory.Fabric{f}}
	for i, h := range s.Hosts[:2] {
		h.Server = &inventory.Server{Block: inventory.Block{Addr: h.Name}}
		m.Servers = append(m.Servers, h.Server)
		for n := range h.NICs {
			if i == 0 {
				f.Planes = append(f.Planes, &inventory.Plane{Name: fmt.Sprint(n)})
			}
			h.Server.RNICs = append(h.Server.RNICs, &inventory.RNIC{Block: inventory.Block{Addr: h.Name}, Server: h.Server, Name: fmt.Sprintf("p%d", n), PCI: h.NICs[n].PCI, Fabric: f,
				Plane: f.Planes[n], Address: netip.MustParsePrefix(fmt.Sprintf("10.40.%d.%d/24", n+1, i+11))})
		}
	}
	target := &inventory.Target{Block: inventory.Block{Addr: "target.x"}, Server: m.Servers[0]}
	for n, nic := range m.Servers[0].RNICs {
		target.Portals = append(target.Portals, inventory.Portal{RNIC: nic, Plane: nic.Plane, Address: netip.AddrPortFrom(nic.Address.Addr(), 4420)})
		m.Links = append(m.Links, &inventory.Link{From: inventory.LinkEnd{RNIC: nic}, To: inventory.LinkEnd{RNIC: m.Servers[1].RNICs[n]}})
	}
	m.Targets = []*inventory.Target{target}
	m.Initiators = []*inventory.Initiator{{Server: m.Servers[1], Connects: []*inventory.Connect{{To: m.Targets}}}}
	s.Model = m
	return s
}

// between puts a switch that weft does not read between the machines, and leaves open which
// NIC one of the declared ones is.
func between(s *Site) {
	sw := &inventory.Switch{Block: inventory.Block{Addr: "switch.x"}, Unmanaged: true}
	var links []*inventory.Link
	for _, l := range s.Model.Links {
		for n, nic := range []*inventory.RNIC{l.From.RNIC, l.To.RNIC} {
			links = append(links, &inventory.Link{From: inventory.LinkEnd{RNIC: nic}, To: inventory.LinkEnd{Switch: sw, Port: fmt.Sprint(len(links), n)}})
		}
	}
	s.Model.Links = links
	s.Model.Servers[0].RNICs[0].PCI = ""
}

func hopTrials() map[string]tried {
	return map[string]tried{
		"WD-QOS-27": {joined, nic(func(n *host.NICHealth) { n.ECN = &[8]bool{} }), nic(func(n *host.NICHealth) { n.ECN = nil })},
		"WD-QOS-28": {joined, nic(func(n *host.NICHealth) { n.ETS[3] = 40 }), nic(func(n *host.NICHealth) { n.ETS = nil })},
		"WD-QOS-29": {joined, nic(func(n *host.NICHealth) { n.PCI = "0000:99:00.0" }), between},
	}
}

// Without files a port that differs from most is named, also where no NIC is cabled to it.
func TestPeers(t *testing.T) {
	port := func(change func(*switches.Port)) func(*Site) {
		return onSwitch(func(sw *Switch) { change(&sw.Reading.Ports[1]) })
	}
	for name, c := range map[string]struct {
		change          func(*Site)
		id, place, text string
	}{
		"healthy":          {func(*Site) {}, "", "", ""},
		"a policy":         {port(func(p *switches.Port) { p.Classify = false }), "WD-QOS-03", "leaf-0 Ethernet1/2", "classification is off, on most others by DSCP"},
		"an MTU":           {port(func(p *switches.Port) { p.MTU = 0 }), "WD-MTU-01", "leaf-0 Ethernet1/2", "mtu is the default, on most others 9216"},
		"ECN of a NIC":     {nic(func(n *host.NICHealth) { n.ECN = &[8]bool{} }), "WD-QOS-27", "st2 ens0", "ecn is off, on most others on"},
		"no NIC is cabled": {func(s *Site) { spine(s); s.Switches[0].Reading.Ports[3].PFC = false }, "WD-QOS-01", "leaf-0 Ethernet1/31", "pfc is off, on most others on for priority 3"},
		"marks of a switch": {func(s *Site) {
			spine(s)
			s.Switches[0].Reading.Classes[0].ECN = nil
			s.Switches[0].Reading.Ports = s.Switches[0].Reading.Ports[:1]
		}, "WD-QOS-27", "leaf-0", "ecn is off, on most others on"},
	} {
		s := rack()
		c.change(s)
		r := Examine(s, nil)
		var found []Finding
		for _, f := range r.Findings {
			if slices.Contains(lossless.IDs(), f.Check.ID) {
				found = append(found, f)
			}
		}
		if c.id == "" && len(found) == 0 {
			continue
		}
		if found = by(found, c.id); len(found) != 1 || found[0].Place.String() != c.place || !strings.Contains(found[0].Text, c.text) {
			t.Errorf("%s: %v", name, r.Findings)
		}
	}
}

// spine joins the leaves by a port of each.
func spine(s *Site) {
	for n, sw := range s.Switches {
		sw.Reading.Facts.Hostname = sw.Name
		sw.Reading.Ports = append(sw.Reading.Ports, switches.Port{Name: "Ethernet1/31", MTU: 9216, PFC: true, Classify: true, Exists: true})
		sw.Reading.Running["Ethernet1/31"] = switches.Running{On: true, Priorities: []int{3}}
		sw.Neighbours = append(sw.Neighbours, switches.Neighbour{Port: "Ethernet1/31", PortID: "Ethernet1/31", System: s.Switches[1-n].Name + ".example.net"})
	}
}

// Each finding of a hop has one check, which is an error or worse: it fails gates.
func TestHopIDs(t *testing.T) {
	known := map[string]*Check{}
	for _, c := range Catalogue() {
		known[c.ID] = c
	}
	for _, aspect := range lossless.Aspects() {
		for _, f := range []lossless.Finding{{Aspect: aspect}, {Aspect: aspect, Class: "rdma"}} {
			for _, r := range []lossless.Result{{NIC: true}, {}} {
				id := r.ID(f)
				if c := known[id]; c == nil || c.Severity.Rank() > Error.Rank() || !slices.Contains(lossless.IDs(), id) {
					t.Errorf("%s of %+v is %s, %+v", aspect, r, id, c)
				}
			}
		}
	}
}
