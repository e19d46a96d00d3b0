package doctor

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/slice"
	"weft/modules/host"
)

func lnetUp(h *Host, r *ruling) {
	switch {
	case h.Modules["lnet"] == 0:
	case h.LNet == nil:
		r.unknown(h.place(), "lnet is loaded, but the output of lnetctl is not understood")
	case h.LNet.Down != "":
		r.bad(h.place(), "LNet is down: %s", h.LNet.Down)
	default:
		for _, n := range h.LNet.NIs {
			r.unless(n.Status != "up", h.part(n.NID), "it is %s", n.Status)
		}
	}
}

// wholeHealth is what LNet gives an interface that never failed.
const wholeHealth = 1000

func lnetHealth(s *Site, r *ruling) {
	for _, n := range s.lnets() {
		if r.knows(n.Health >= 0, n.place, "lnetctl does not report its health") {
			r.unless(n.Health < wholeHealth, n.place, "its health is %d of %d, with %d timeouts", n.Health, wholeHealth, n.Timeouts)
		}
	}
}

// lnets are the interfaces of LNet over the fabric, with their places.
func (s *Site) lnets() (out []placedNI) {
	for _, h := range s.Hosts {
		if h.LNet == nil {
			continue
		}
		for _, n := range h.LNet.NIs {
			if strings.HasPrefix(n.Net, "o2ib") {
				out = append(out, placedNI{n, h.part(n.NID)})
			}
		}
	}
	return out
}

type placedNI struct {
	host.LNetNI
	place Place
}

func lnetMarks(s *Site, r *ruling) {
	marked := s.marked()
	for _, h := range s.Hosts {
		if h.Modules["ko2iblnd"] == 0 || len(marked) == 0 {
			continue
		}
		if r.knows(h.LNetToS != "", h.place(), "tos of ko2iblnd could not be read") {
			r.unless(h.LNetToS == "-1" || h.LNetToS == "0", h.place(), "LNet sets no DSCP (tos of ko2iblnd is %s) and is not in the lossless class, unless default_roce_tos sets one", h.LNetToS)
		}
	}
}

func lnetCredits(s *Site, r *ruling) {
	list := s.lnets()
	var votes []int
	for _, n := range list {
		if n.Credits >= 0 {
			votes = append(votes, n.Credits)
		}
	}
	usual, alone := most(votes)
	kinds := distinct(strs(votes))
	for _, n := range list {
		if r.knows(n.Credits >= 0, n.place, "lnetctl does not report its peer_credits") {
			r.unless(n.Credits != usual || !alone, n.place, "peer_credits is %d; other machines have %s", n.Credits, another(kinds, strconv.Itoa(n.Credits)))
		}
	}
}

func strs(list []int) (out []string) {
	return slice.Map(list, strconv.Itoa)
}

func lustreTargets(h *Host, r *ruling) {
	if h.Modules["lustre"] == 0 {
		return
	}
	if r.knows(h.Lustre != nil, h.place(), "the output of lfs check servers is not understood") {
		for name, state := range h.Lustre {
			r.unless(state != "active", h.part(name), "it is %s", state)
		}
	}
}

func lnetPlanes(h *Host, r *ruling) {
	if h.Modules["ko2iblnd"] == 0 || len(r.site.of[h]) < 2 {
		return
	}
	if !r.knows(h.LNet != nil, h.place(), "the output of lnetctl is not understood") {
		return
	}
	n := 0
	for _, ni := range h.LNet.NIs {
		if strings.HasPrefix(ni.Net, "o2ib") {
			n++
		}
	}
	r.unless(n == 1, h.place(), "LNet uses one of %d NICs", len(r.site.of[h]))
}

func wekaState(h *Host, r *ruling) {
	if h.Weka == nil {
		return
	}
	status, io := h.Weka["status"], h.Weka["io_status"]
	if r.knows(status != "" && io != "", h.place(), "the output of weka status --json is not understood") {
		r.unless(status != "OK" && status != "REDISTRIBUTING" || io != "STARTED", h.place(), "WEKA is %s, its I/O %s", status, io)
	}
}

func wekaClock(s *Site, r *ruling) {
	usual := s.usual()
	for _, h := range s.Hosts {
		if h.Weka == nil {
			continue
		}
		most, err := strconv.ParseFloat(h.Weka["skew"], 64)
		if !r.knows(err == nil && h.Clock != nil, h.place(), "its clock, or the limit of WEKA, could not be read") {
			continue
		}
		off := h.apart(usual)
		r.unless(off.Seconds() > most/2, h.place(), "its clock differs by at least %s from most others; WEKA allows %.0f s", off, most)
	}
}

// wekaJumbo is the MTU from which WEKA uses packets of 4 KiB.
const wekaJumbo = 4076

func wekaMTU(h *Host, r *ruling) {
	if h.Weka == nil {
		return
	}
	big, small := 0, 0
	for _, e := range r.site.of[h] {
		switch {
		case e.nic.MTU == 0:
			r.unknown(e.place(), "its MTU could not be read")
		case e.nic.MTU >= wekaJumbo:
			big++
		default:
			small++
		}
	}
	if big+small > 0 {
		r.unless(big > 0 && small > 0, h.place(), "%d of its NICs have an MTU of at least %d bytes, and %d do not", big, wekaJumbo, small)
	}
}

func option(m host.Mount, key string) string {
	for _, o := range strings.Split(m.Options, ",") {
		if v, ok := strings.CutPrefix(o, key+"="); ok {
			return v
		}
	}
	return ""
}

// nfsFallback looks for mounts over TCP of a server that listens on RDMA.
func nfsFallback(s *Site, r *ruling) {
	listens := map[string]bool{}
	for _, h := range s.Hosts {
		if !slices.ContainsFunc(h.NFSPorts, func(p string) bool { return strings.HasPrefix(p, "rdma ") }) {
			continue
		}
		for _, d := range h.Netdevs {
			for _, a := range d.Addresses {
				listens[a.Addr().String()] = true
			}
		}
	}
	for _, h := range s.Hosts {
		for _, m := range h.Mounts {
			server, _, ok := strings.Cut(m.Device, ":/")
			if !strings.HasPrefix(m.Type, "nfs") || !ok {
				continue
			}
			proto := option(m, "proto")
			if r.knows(proto != "", h.part(m.Dir), "the transport of the mount is not reported") {
				r.unless(proto == "tcp" && (listens[server] || listens[option(m, "addr")]), h.part(m.Dir), "%s is mounted over TCP, but its server listens on RDMA", m.Device)
			}
		}
	}
}

func nfsListens(h *Host, r *ruling) {
	if h.Modules["nfsd"] == 0 || !slices.ContainsFunc(r.site.of[h], func(e end) bool { return len(e.nic.RDMA) > 0 }) {
		return
	}
	if r.knows(h.NFSPorts != nil, h.place(), "nfsd is loaded, but its listeners could not be read") {
		r.unless(!slices.Contains(h.NFSPorts, "rdma 20049"), h.place(), "nfsd listens on %s, but not on rdma 20049", strings.Join(h.NFSPorts, ", "))
	}
}

func nfsReconnects(h *Host, r *ruling) {
	if h.NFSRDMA == nil {
		return
	}
	before := r.site.Before.host(h.Name)
	if r.knows(before != nil && len(before.NFSRDMA) == len(h.NFSRDMA), h.place(), "its mounts over RDMA were not read twice") {
		for i, n := range h.NFSRDMA {
			if !continued(r, h.place(), before.NFSRDMA[i], n, "the connection counter of an RDMA mount") {
				continue
			}
			r.unless(n > before.NFSRDMA[i], h.place(), "an RDMA mount reconnected %d times between two readings", n-before.NFSRDMA[i])
		}
	}
}
