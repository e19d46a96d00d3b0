//go:build unix

package simserver

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"weft/internal/slice"
)

// Who uses an RDMA device is shown as rdma/res-pd.c and rdma/res-cmid.c of
// iproute2 6.1 print it. No process of a simulated server opens one; of what
// the kernel has, the number of users counts the queue pairs only.

// showDomains prints the protection domains on a device: one of each module
// that works with it.
func (x *call) showDomains(name string) int {
	d, ok := x.server.rdmaDevice(name)
	if !ok {
		return x.fail(1, "Wrong device name - %s", name)
	}
	mine, s := x.server.addressesOf(d), x.server
	hosts, targets := 0, 0
	for _, c := range s.overRDMA() {
		if slices.Contains(mine, c.from) {
			hosts += c.queues
		}
	}
	for _, other := range s.net.all() {
		for _, c := range other.overRDMA() {
			if slices.Contains(mine, c.to) {
				targets += c.queues
			}
		}
	}
	management := 1 // the queue pair for management datagrams, which iWARP has not
	if d.rnic {
		management = 0
	}
	n := 0
	for _, user := range []struct {
		module string
		pairs  int
	}{{"ib_core", management}, {"nvme_rdma", hosts}, {"nvmet_rdma", targets}} {
		if user.pairs == 0 {
			continue
		}
		key := "" // not for everybody
		if x.user.root {
			key = "local_dma_lkey 0x0 "
		}
		fmt.Fprintf(x.stdout, "dev %s pdn %d %susers %d comm [%s] \n", d.name, n, key, user.pairs, user.module)
		n++
	}
	return 0
}

// showListeners prints who listens at the addresses of a device.
func (x *call) showListeners(name string) int {
	d, ok := x.server.rdmaDevice(name)
	if !ok {
		return x.fail(1, "Wrong device name")
	}
	s, mine := x.server, x.server.addressesOf(d)
	s.mu.RLock()
	defer s.mu.RUnlock()
	var at []string
	for _, p := range s.nvmet.ports {
		addr, err := netip.ParseAddr(p.address)
		if err == nil && p.transport == "rdma" && len(p.exports) > 0 && slices.Contains(mine, addr) {
			at = append(at, p.address+":"+p.service)
		}
	}
	slices.Sort(at)
	for n, addr := range at {
		fmt.Fprintf(x.stdout, "link %s/1 cm-idn %d state LISTEN ps TCP comm [nvmet_rdma] src-addr %s dst-addr 0.0.0.0:0 \n", d.name, n, addr)
	}
	return 0
}

func (s *Server) rdmaDevice(name string) (rdmaDevice, bool) {
	list := s.rdmaDevices()
	n := slices.IndexFunc(list, func(d rdmaDevice) bool { return d.name == name })
	if n < 0 {
		return rdmaDevice{}, false
	}
	return list[n], true
}

// addressesOf are those of a device's interface.
func (s *Server) addressesOf(d rdmaDevice) []netip.Addr {
	var list []netip.Addr
	if i, ok := s.iface(d.netdev); ok {
		list = slice.Map(i.addrs, netip.Prefix.Addr)
	}
	return list
}

// A pathRDMA is a connection that has queues.
type pathRDMA struct {
	from, to netip.Addr
	queues   int
}

// overRDMA are the connections that a server's kernel has over RDMA. The caller
// holds the state of no server.
func (s *Server) overRDMA() []pathRDMA {
	options := map[*controller]map[string]string{}
	s.mu.RLock()
	for _, c := range s.controllers {
		options[c] = maps.Clone(c.options)
	}
	s.mu.RUnlock()
	var list []pathRDMA
	for c, o := range options {
		to, err := netip.ParseAddr(o["traddr"])
		if err != nil || o["transport"] != "rdma" || !s.live(c) {
			continue // one that is down has no queues
		}
		from := s.net.reach(s, to).source
		if given, err := netip.ParseAddr(o["host_traddr"]); err == nil {
			from = given
		}
		queues, _ := strconv.Atoi(o["nr_io_queues"])
		list = append(list, pathRDMA{from, to, queues + 1})
	}
	return list
}
