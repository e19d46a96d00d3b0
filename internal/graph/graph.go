// Package graph shows the planes, links and paths of a model.
package graph

import (
	"net/netip"
	"strconv"

	"weft/inventory"
)

// A Graph is what an inventory joins with what. Its lists stand in the order
// of the model, so equal inventories make equal graphs.
type Graph struct {
	Owner    string    `json:"owner"`
	Planes   []*Plane  `json:"planes"`
	Switches []*Switch `json:"switches"`
	Servers  []*Server `json:"servers"`
	Links    []*Link   `json:"links"`
	Paths    []*Path   `json:"paths"`
}

// A Plane is one independent path of a fabric.
type Plane struct {
	Addr      string `json:"addr"` // fabric.roce.plane.a
	Name      string `json:"name"`
	Fabric    string `json:"fabric"`
	Transport string `json:"transport"`
	Mode      string `json:"mode"`
	Subnet    string `json:"subnet"`
	// Carries are the classes of the transports, where the fabric has classes.
	Carries []Carry `json:"carries,omitempty"`
}

// A Switch is one switch.
type Switch struct {
	Addr      string `json:"addr"`
	OS        string `json:"os"`
	Plane     string `json:"plane,omitempty"` // address; "": it serves none, or several
	Unmanaged bool   `json:"unmanaged,omitempty"`
}

// A Server is one machine.
type Server struct {
	Addr string `json:"addr"`
	Host string `json:"host"`
	NICs []*NIC `json:"rnics"`
}

// A NIC is one port of an RDMA NIC.
type NIC struct {
	Addr    string `json:"addr"` // server.node["st1"].rnic.p0
	Name    string `json:"name"`
	Address string `json:"address,omitempty"` // with the length of its network
	Plane   string `json:"plane,omitempty"`   // address; from its IP address, or else from its cable
}

// A Link is one declared cable.
type Link struct {
	Addr  string `json:"addr"`
	Plane string `json:"plane,omitempty"` // address
	From  End    `json:"from"`
	To    End    `json:"to"`
	Speed int64  `json:"speed,omitempty"` // bit/s
}

// An End of a link is a port of a switch or a NIC.
type End struct {
	Switch string `json:"switch,omitempty"` // address
	Port   string `json:"port,omitempty"`   // of Switch
	NIC    string `json:"rnic,omitempty"`   // address
	Server string `json:"server,omitempty"` // of NIC
	IP     string `json:"ip,omitempty"`     // of NIC, without a length
}

// A Path is how an initiator reaches a portal of a target.
type Path struct {
	Initiator string   `json:"initiator"`
	Target    string   `json:"target"`
	Plane     string   `json:"plane,omitempty"` // address; "": the portal is in none
	Client    string   `json:"client"`          // the initiator's server
	Server    string   `json:"server,omitempty"`
	From      string   `json:"from,omitempty"` // the initiator's address in the plane
	To        string   `json:"to"`             // the portal's address with its port
	Switches  []string `json:"switches"`       // between the two, in order
	Cabled    bool     `json:"cabled"`         // declared links lead from one end to the other
	// Carries are the classes of the target's transports, in the order of its preference.
	Carries []Carry `json:"carries,omitempty"`
}

// Of makes the graph of a model that is free of errors.
func Of(m *inventory.Model) *Graph {
	w := newWires(m)
	g := &Graph{Owner: m.Name, Planes: []*Plane{}, Switches: []*Switch{}, Servers: []*Server{}, Links: []*Link{}, Paths: []*Path{}}
	fabrics := map[*inventory.Plane]*inventory.Fabric{}
	for _, f := range m.Fabrics {
		for _, p := range f.Planes {
			fabrics[p] = f
			g.Planes = append(g.Planes, &Plane{Addr: p.Addr, Name: p.Name, Fabric: f.Addr,
				Transport: f.Transport, Mode: f.Mode, Subnet: p.Subnet.String(), Carries: ofFabric(f)})
		}
	}
	for _, s := range m.Switches {
		g.Switches = append(g.Switches, &Switch{Addr: s.Addr, OS: s.OS, Plane: addrOf(planeOfSwitch(s)), Unmanaged: s.Unmanaged})
	}
	for _, s := range m.Servers {
		server := &Server{Addr: s.Addr, Host: s.Host, NICs: []*NIC{}}
		for _, r := range s.RNICs {
			nic := &NIC{Addr: r.Addr, Name: r.Name, Plane: addrOf(w.planeOfNIC(r))}
			if r.Address.IsValid() {
				nic.Address = r.Address.String()
			}
			server.NICs = append(server.NICs, nic)
		}
		g.Servers = append(g.Servers, server)
	}
	for _, l := range m.Links {
		g.Links = append(g.Links, &Link{Addr: l.Addr, Plane: addrOf(w.planeOfLink(l)), From: end(l.From), To: end(l.To), Speed: l.Speed})
	}
	for _, i := range m.Initiators {
		for _, t := range i.Reaches() {
			for _, p := range t.Portals {
				f := fabrics[w.planeOf(p)]
				path := w.path(i, t, p)
				path.Carries = ofTarget(t, f)
				g.Paths = append(g.Paths, path)
			}
		}
	}
	return g
}

func addrOf(p *inventory.Plane) string {
	if p == nil {
		return ""
	}
	return p.Addr
}

func end(e inventory.LinkEnd) End {
	switch {
	case e.RNIC != nil:
		return End{NIC: e.RNIC.Addr, Server: e.RNIC.Server.Addr, IP: ip(e.RNIC.Address)}
	case e.Switch != nil:
		return End{Switch: e.Switch.Addr, Port: e.Port}
	}
	return End{}
}

func ip(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.Addr().String()
}

// speed shows bits a second as people say them: 100G.
func speed(bits int64) string {
	if bits == 0 {
		return ""
	}
	for _, u := range []struct {
		size   int64
		letter string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "K"}} {
		if bits%u.size == 0 {
			return strconv.FormatInt(bits/u.size, 10) + u.letter
		}
	}
	return strconv.FormatInt(bits, 10)
}
