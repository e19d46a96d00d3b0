package topology

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"weft/inventory"
)

// clos is a fabric of one plane: leaves, each cabled to all spines, with servers at each
// leaf of which the first quarter are targets of all others.
func clos(leaves, spines, servers int) *inventory.Model {
	m := &inventory.Model{}
	f := &inventory.Fabric{Mode: "lossless", Classes: []*inventory.TrafficClass{{Name: "rdma", PFC: true, Priority: 3}}}
	plane := &inventory.Plane{Name: "a"}
	var top []*inventory.Switch
	for i := range spines {
		top = append(top, &inventory.Switch{Block: inventory.Block{Addr: fmt.Sprintf("switch.spine%d", i)}, Fabric: f})
	}
	for i := range leaves {
		leaf := &inventory.Switch{Block: inventory.Block{Addr: fmt.Sprintf("switch.leaf%d", i)}, Fabric: f, Plane: "a"}
		m.Switches = append(m.Switches, leaf)
		for k, s := range top {
			m.Links = append(m.Links, &inventory.Link{From: inventory.LinkEnd{Switch: leaf, Port: fmt.Sprintf("up%d", k)}, To: inventory.LinkEnd{Switch: s, Port: fmt.Sprintf("down%d", i)}})
		}
		for n := range servers {
			s := &inventory.Server{Block: inventory.Block{Addr: fmt.Sprintf("server.l%d-%d", i, n)}}
			nic := &inventory.RNIC{Name: "p0", Server: s, Fabric: f, Plane: plane, Address: netip.MustParsePrefix("10.0.0.1/8")}
			s.RNICs = []*inventory.RNIC{nic}
			m.Servers = append(m.Servers, s)
			m.Links = append(m.Links, &inventory.Link{From: inventory.LinkEnd{RNIC: nic}, To: inventory.LinkEnd{Switch: leaf, Port: fmt.Sprintf("port%d", n)}})
			if n < servers/4 {
				m.Targets = append(m.Targets, &inventory.Target{Server: s, Portals: []inventory.Portal{{RNIC: nic, Plane: plane}}})
			}
		}
	}
	for i, s := range m.Servers {
		if i%servers >= servers/4 {
			m.Initiators = append(m.Initiators, &inventory.Initiator{Server: s, Connects: []*inventory.Connect{{To: m.Targets}}})
		}
	}
	return m
}

func TestWays(t *testing.T) {
	m := clos(2, 2, 4)
	g := Of(m)
	a, b := m.Switches[0], m.Switches[1]
	w := g.Ways(a, b, "a")
	if !w.Known || w.Cost != 2 || len(w.Ports) != 8 || len(w.Hops) != 2 {
		t.Fatalf("%+v", w)
	}
	if h := w.Hops[0]; h.Switch.Addr != "switch.spine0" || h.In != "down0" || h.Out != "down1" {
		t.Errorf("%+v", h)
	}
	if g.Ways(a, b, "a") != w {
		t.Error("ways are computed twice")
	}
	if same := g.Ways(a, a, "a"); !same.Known || same.Cost != 0 || len(same.Ports) > 0 {
		t.Errorf("%+v", same)
	}
	for _, l := range m.Links { // the spines become of another plane
		if l.To.Switch != nil && l.To.Switch != a && l.To.Switch != b {
			l.To.Switch.Plane = "b"
		}
	}
	if w := Of(m).Ways(a, b, "a"); w.Known {
		t.Errorf("a way leaves its plane: %+v", w)
	}
}

func TestCover(t *testing.T) {
	m := clos(2, 2, 4) // a target and three initiators at each leaf
	c := Cover(m, Of(m), nil)
	paths := map[string]int{}
	for _, p := range c.Places {
		paths[p.String()] = p.Paths
	}
	// six initiators reach two targets: each target has six paths, three of them from the other leaf
	for place, want := range map[string]int{"server.l0-0 p0": 6, "server.l0-1 p0": 2, "switch.leaf0 port0": 6, "switch.leaf0 port1": 2, "switch.leaf0 up0": 6, "switch.spine0 down0": 6} {
		if paths[place] != want {
			t.Errorf("%s: %d paths, want %d", place, paths[place], want)
		}
	}
	if len(c.Places) != 8+8+8 || len(c.Gaps) > 0 {
		t.Errorf("%d places, %v", len(c.Places), c.Gaps)
	}
	m.Links = slices.DeleteFunc(m.Links, func(l *inventory.Link) bool { return l.From.RNIC == nil })
	if c := Cover(m, Of(m), nil); len(c.Gaps) != 2 {
		t.Errorf("leaves that nothing joins: %v", c.Gaps)
	}
	m.Switches[0].Unmanaged = true
	if list := Cover(m, Of(m), nil).Unmanaged(); len(list) != 1 || list[0] != m.Switches[0] {
		t.Errorf("%v", list)
	}
}

// Hosts of a plane that use it for SMB Direct, vSAN or PVRDMA are on declared paths, each use
// by itself, without an initiator and a target.
func TestCoverPeers(t *testing.T) {
	m := clos(2, 2, 4)
	m.Initiators, m.Targets = nil, nil
	for i, s := range m.Servers {
		switch i {
		case 0, 1, 4: // two at one leaf, one at the other
			s.SMB = &inventory.SMB{}
		case 2, 6:
			s.RNICs[0].VMK = &inventory.VMK{Services: []string{"nvme-rdma", "vsan"}}
		case 3: // alone
			s.RNICs[0].VMK = &inventory.VMK{Services: []string{"pvrdma"}}
		case 5, 7: // nothing goes between these two
			s.RNICs[0].VMK = &inventory.VMK{Services: []string{"nvme-tcp"}}
		}
	}
	paths := map[string]int{}
	for _, p := range Cover(m, Of(m), nil).Places {
		paths[p.String()] = p.Paths
	}
	want := map[string]int{"server.l0-0 p0": 2, "server.l0-1 p0": 2, "server.l1-0 p0": 2, "server.l0-2 p0": 1, "server.l1-2 p0": 1,
		"switch.leaf0 port0": 2, "switch.leaf0 port1": 2, "switch.leaf1 port0": 2, "switch.leaf0 port2": 1, "switch.leaf1 port2": 1,
		"switch.leaf0 up0": 3, "switch.leaf0 up1": 3, "switch.leaf1 up0": 3, "switch.leaf1 up1": 3,
		"switch.spine0 down0": 3, "switch.spine0 down1": 3, "switch.spine1 down0": 3, "switch.spine1 down1": 3}
	if !maps.Equal(paths, want) {
		t.Errorf("%v", paths)
	}
	m.Links = slices.DeleteFunc(m.Links, func(l *inventory.Link) bool { return l.From.RNIC == nil })
	if c := Cover(m, Of(m), nil); len(c.Gaps) != 1 {
		t.Errorf("leaves that nothing joins: %v", c.Gaps)
	}
}

// The cost grows with links and servers: four times the servers take about four times as
// long, and not sixteen times.
func BenchmarkCover(b *testing.B) {
	for _, servers := range []int{16, 64, 256} {
		b.Run(fmt.Sprintf("servers=%d", 16*servers), func(b *testing.B) {
			m := clos(16, 4, servers)
			m.Targets = m.Targets[:min(len(m.Targets), 64)]
			for _, i := range m.Initiators {
				i.Connects[0].To = m.Targets
			}
			for b.Loop() {
				Cover(m, Of(m), nil)
			}
		})
	}
}
