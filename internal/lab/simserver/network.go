//go:build unix

package simserver

import (
	"net/netip"
	"slices"
	"sync"
)

// A Network is what the servers of one lab have in common: who reaches whom,
// and where portals really listen.
type Network struct {
	// Way is the smallest MTU of the switch ports between two interfaces; ok is
	// false when no way leads from one to the other. nil: every port takes
	// every frame. It is set before the first server is made.
	Way func(from, to End) (mtu int, ok bool)

	// Moved is told what an agent has moved, when it has ended. It is set before
	// the first server is made; nil: nobody wants to know.
	Moved func(Transfer)

	start   *starter
	tools   map[string]tool // that every server has, or could be given
	scripts scripts
	sums    sums

	mu      sync.Mutex
	servers []*Server
	heard   map[string]string // where agents listen for probes, by the address as the fabric names it
	news    chan struct{}     // closed and replaced when heard changes
}

// An End is an interface of a server in the network.
type End struct{ Server, PCI string }

// NewNetwork makes an empty network.
func NewNetwork() *Network { return &Network{start: newStarter(), tools: tools()} }

// Close ends the network. Its servers must have been closed.
func (n *Network) Close() { n.start.close() }

func (n *Network) join(s *Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers = append(n.servers, s)
}

func (n *Network) leave(s *Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers = slices.DeleteFunc(n.servers, func(o *Server) bool { return o == s })
}

func (n *Network) all() []*Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.servers)
}

// A reach is how one address is seen from one server.
type reach struct {
	local     bool // an address of the server itself
	routed    bool // in the subnet of one of its interfaces
	answers   bool // a server has the address and can be reached
	via       string
	source    netip.Addr
	localMTU  int // of the sending interface
	remoteMTU int // the smallest beyond it; 0: no limit
}

// reach finds the way from a server to an address.
func (n *Network) reach(from *Server, dst netip.Addr) reach {
	for _, i := range from.interfaces() {
		for _, a := range i.addrs {
			if a.Addr() == dst {
				return reach{local: true, routed: true, answers: true, via: "lo", source: dst, localMTU: loopbackMTU}
			}
		}
	}
	for _, i := range from.interfaces() {
		for _, a := range i.addrs {
			if !i.up || !a.Masked().Contains(dst) {
				continue
			}
			r := reach{routed: true, via: i.Name, source: a.Addr(), localMTU: i.mtu}
			if i.deaf {
				return r
			}
			n.answer(&r, End{from.spec.Name, i.PCI}, dst)
			return r
		}
	}
	return reach{}
}

// answer looks for the interface that has the address.
func (n *Network) answer(r *reach, from End, dst netip.Addr) {
	for _, s := range n.all() {
		for _, i := range s.interfaces() {
			if !i.up || i.deaf || !slices.ContainsFunc(i.addrs, func(a netip.Prefix) bool { return a.Addr() == dst }) {
				continue
			}
			mtu := i.mtu
			if n.Way != nil {
				way, ok := n.Way(from, End{s.spec.Name, i.PCI})
				if !ok {
					continue
				}
				mtu = min(mtu, way)
			}
			r.answers, r.remoteMTU = true, mtu
			return
		}
	}
}
