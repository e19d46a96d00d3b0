package doctor

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/traffic"
	"weft/modules/host"
)

// failsFast judges connections that a mirror of md rests on: it waits for a half that is gone
// until the connection fails its I/O.
func failsFast(h *Host, r *ruling) {
	if h.Mirrored == nil && len(h.paths()) > 0 {
		r.unknown(h.place(), "the devices below a mirror are unknown")
	}
	for _, c := range h.paths() {
		if !slices.Contains(h.Mirrored, c.NQN) {
			continue
		}
		tmo, ok := c.Values["fast_io_fail_tmo"]
		if r.knows(ok && tmo != "", h.part(c.Name), "its fast_io_fail_tmo could not be read") {
			r.unless(tmo == "off", h.part(c.Name), "it carries half of a mirror, and its fast_io_fail_tmo is off: the mirror blocks while that half is lost")
		}
	}
}

// listening looks for ports of the kernel's target that serve a subsystem by RDMA and at which
// nobody listens: it loses a listener with the address, and does not say so.
func listening(h *Host, r *ruling) {
	for _, port := range h.Exported {
		at, rdma := strings.CutPrefix(port, "rdma ")
		switch {
		case !rdma:
		case h.CMListens == nil:
			r.unknown(h.part(at), "its listeners are unknown: rdma resource show cm_id gave no answer")
		default:
			r.unless(!slices.ContainsFunc(h.CMListens, func(l string) bool { return covers(l, at) }), h.part(at), "the kernel's target exports a subsystem over RDMA there, but does not listen")
		}
	}
}

// covers reports whether who listens at one address hears another: it is the same, or any.
func covers(listens, at string) bool {
	l, err := netip.ParseAddrPort(listens)
	a, err2 := netip.ParseAddrPort(at)
	return err == nil && err2 == nil && l.Port() == a.Port() && (l.Addr() == a.Addr() || l.Addr().IsUnspecified())
}

// locks judges what weft's agents may lock of memory on machines that do RDMA: each region that
// is registered with a card is locked.
func locks(h *Host, r *ruling) {
	if !slices.ContainsFunc(h.NICs, func(n host.NICHealth) bool { return len(n.RDMA) > 0 }) {
		return
	}
	for _, a := range h.Agents {
		switch {
		case a.Free || a.Lock == "unlimited":
			r.fine()
		case a.Lock == "":
			r.unknown(h.part(a.Name), "its locked-memory limit could not be read")
		default:
			r.bad(h.part(a.Name), "its locked-memory limit is %s bytes, without CAP_IPC_LOCK", a.Lock)
		}
	}
}

// trusts judges by what ports classify where PFC is on: over routers and between untagged ports
// only the DSCP is left of a priority.
func trusts(s *Site, r *ruling) {
	for _, e := range s.ethernet() {
		if f := e.fabric(); f != nil && f.Transport == "tcp" || len(e.nic.PFC) == 0 {
			continue
		}
		if r.knows(e.nic.DSCP != nil, e.place(), "its trust setting is unknown%s", said(e, "app")) {
			r.unless(len(e.nic.DSCP) == 0, e.place(), "no DSCP has a priority there, so it trusts VLAN tags; it has PFC on priorities %s", cmp.Or(traffic.Ranges(e.nic.PFC), "none"))
		}
	}
	for _, c := range s.cables {
		switch {
		case c.infiniband() || len(c.lossless()) == 0:
		case c.port.ByTag:
			r.bad(c.portPlace(), "it trusts VLAN tags and has PFC on priorities %s; %s is cabled to it", cmp.Or(traffic.Ranges(c.lossless()), "none"), c.place())
		case c.port.Classify || len(c.port.Classes) == 0: // where policies classify, they go by what they match
			r.fine()
		default:
			r.unknown(c.portPlace(), "no line sets the trust mode, and the default of its model is unknown")
		}
	}
}
