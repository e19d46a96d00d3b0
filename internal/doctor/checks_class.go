package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/slice"
	"weft/internal/traffic"
	"weft/modules/host"
	"weft/switches"
)

// mostApart is by how many points shares of both ends may differ.
const mostApart = 5

// sameShares compares what a lossless priority gets on both ends of a cable.
func sameShares(s *Site, r *ruling) {
	classes := map[*Switch][]switches.Class{}
	for _, sw := range s.Switches {
		classes[sw] = s.classes(sw)
	}
	for _, c := range s.cables {
		for _, class := range classes[c.sw] {
			if !class.PFC || class.Bandwidth == 0 {
				continue
			}
			if !r.knows(c.nic.ETS != nil && c.nic.Classes != nil, c.place(), "its shares could not be read%s", said(c.end, "ets")) {
				continue
			}
			have := c.nic.ETS[c.nic.Classes[class.Priority]]
			r.unless(have >= 0 && max(have-class.Bandwidth, class.Bandwidth-have) > mostApart, c.place(), "priority %d has %d %% here, and %d %% at %s", class.Priority, have, class.Bandwidth, c.portPlace())
		}
	}
}

// cnpDSCP is what NICs mark congestion notifications with, unless told otherwise.
const cnpDSCP = 48

func cnpClass(s *Site, r *ruling) {
	judge := func(p Place, priority int, lossless []int) {
		r.unless(priority == 0 || slices.Contains(lossless, priority), p, "congestion notifications (DSCP %d) have priority %d here, which is %s", cnpDSCP, priority,
			map[bool]string{true: "the priority of all other traffic", false: "lossless"}[priority == 0])
	}
	for _, e := range s.ethernet() {
		if len(e.nic.RDMA) == 0 {
			continue
		}
		if r.knows(e.nic.DSCP != nil && e.nic.PFC != nil, e.place(), "the priority of congestion notifications is unknown%s", said(e, "app")) {
			judge(e.place(), e.nic.DSCP[cnpDSCP], e.nic.PFC)
		}
	}
}

func dcbxOwner(e end, r *ruling) {
	agent := e.nic.Flags["fw-lldp-agent"] == "on"
	switch {
	case e.nic.DCBX == nil:
		r.unknown(e.place(), "its DCBX state could not be read%s", said(e, "dcbx"))
	case agent:
		r.bad(e.place(), "the LLDP agent of the card is on: it changes classes and consumes LLDP packets")
	case !e.nic.DCBX.Host && len(e.nic.PFC) > 0:
		r.bad(e.place(), "its firmware or switch may change classes (dcbx is not host, or willing), and PFC is set manually")
	case e.host.Units["lldpad"] == "active":
		r.bad(e.place(), "lldpad is active and changes classes as well")
	default:
		r.fine()
	}
}

// strayPauses are pauses of priorities that are not lossless, by two readings.
func strayPauses(e end, r *ruling) {
	if len(e.nic.RDMA) == 0 {
		return
	}
	was := r.site.Before.nic(e)
	if r.knows(e.nic.PFC != nil, e.place(), "its PFC priorities are unknown%s", said(e, "pfc")) {
		for p := range traffic.Priorities {
			if slices.Contains(e.nic.PFC, p) {
				continue
			}
			name := "rx_prio" + strconv.Itoa(p) + "_pause"
			now, ok := e.nic.Count[name]
			before, had := was[name]
			if !ok || !had {
				r.unknown(e.place(), "the driver %s does not count %s", e.nic.Driver, name)
				break
			}
			if !continued(r, e.place(), before, now, "%s", name) {
				continue
			}
			r.unless(now > before, e.place(), "it received %d pause frames for priority %d, which is not lossless", now-before, p)
		}
	}
}

// roceGID looks for a RoCE v2 GID of each address.
func roceGID(e end, r *ruling) {
	if len(e.nic.RDMA) == 0 || e.nic.RDMA[0].Protocol != "rocev2" {
		return
	}
	i := slices.IndexFunc(e.host.Netdevs, func(d host.Netdev) bool { return d.Name == e.nic.Interface })
	if r.knows(e.nic.GIDs != nil && i >= 0, e.place(), "its GIDs or its addresses could not be read") {
		for _, a := range e.host.Netdevs[i].Addresses {
			has := slices.ContainsFunc(e.nic.GIDs, func(g host.GID) bool {
				return strings.Contains(g.Type, "v2") && g.Address.Unmap() == a.Addr().Unmap()
			})
			r.unless(!has, e.place(), "it has no RoCE v2 GID for %s", a.Addr())
		}
	}
}

// counted judges a counter that has to be 0 whenever it is read.
func counted(name, text string) func(*Site, *ruling) {
	return func(s *Site, r *ruling) {
		for _, e := range s.ends() {
			if len(e.nic.RDMA) == 0 {
				continue
			}
			n, ok := e.nic.Count[name]
			if r.knows(ok, e.place(), "the driver %s does not count %s", e.nic.Driver, name) {
				r.unless(n > 0, e.place(), "%d %s", n, text)
			}
		}
	}
}

func rate(s *Site, r *ruling) {
	for _, group := range slice.Group(s.ends(), func(e end) string { return e.nic.ID }) {
		rates := func(e end) int {
			if !e.infiniband() {
				return -1
			}
			n, _ := strconv.Atoi(strings.Fields(e.nic.RDMA[0].Rate + " 0")[0])
			return n
		}
		usual, _ := common(group, func(e end) int { return max(rates(e), 0) })
		for _, e := range group {
			switch n := rates(e); {
			case n < 0:
			case n == 0:
				r.unknown(e.place(), "it does not report its rate")
			default:
				r.unless(n < usual, e.place(), "its rate is %s; most have %d", e.nic.RDMA[0].Rate, usual)
			}
		}
	}
}

// words writes a map for comparison.
func words(m map[string]string) string {
	var list []string
	for k, v := range m {
		list = append(list, fmt.Sprintf("%s=%s", k, v))
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}
