package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/text"
	"weft/modules/host"
)

// drops judges what a firewall does to storage. Hardware that does RDMA passes it by, so
// that only TCP and RDMA in software count.
func drops(h *Host, r *ruling) {
	var want []string
	for _, l := range h.Listens {
		if transport, port, ok := strings.Cut(l, " "); ok && transport == "tcp" {
			want = append(want, "tcp "+port)
		}
	}
	if slices.ContainsFunc(r.site.of[h], func(e end) bool { return soft(e.nic, "rxe") }) {
		want = append(want, "udp 4791")
	}
	for _, w := range want {
		protocol, text, _ := strings.Cut(w, " ")
		port, err := strconv.Atoi(text)
		if !r.knows(h.Firewall != nil && err == nil, h.part(w), "the firewall rules for it could not be read with nft") {
			continue
		}
		opens, dropped, refused := h.meets(protocol, port)
		switch {
		case refused:
			r.bad(h.part(w), "the firewall drops its packets%s", dropped)
		case h.Firewall.Closed && !opens && h.Firewall.Vague:
			r.unknown(h.part(w), "the firewall drops packets by default, no rule names this port, and rules without a port accept some packets")
		default:
			r.unless(h.Firewall.Closed && !opens, h.part(w), "the firewall drops packets by default, and no rule accepts this port")
		}
	}
}

func soft(n *host.NICHealth, prefix string) bool {
	return slices.ContainsFunc(n.RDMA, func(p host.RDMAPort) bool { return strings.HasPrefix(p.Device, prefix) })
}

// meets is what the rules about a port do: one lets it in, or one drops it that nobody has
// been let in before.
func (h *Host) meets(protocol string, port int) (opens bool, dropped string, refused bool) {
	for _, rule := range h.Firewall.Rules {
		if rule.Protocol != protocol && rule.Protocol != "th" || port < rule.Low || port > rule.High {
			continue
		}
		if rule.Accepts {
			opens = true
			continue
		}
		if rule.Packets > 0 {
			dropped = fmt.Sprintf(": %d packets so far", rule.Packets)
		}
		if !opens || rule.Packets > 0 {
			refused = true
		}
	}
	return opens, dropped, refused
}

// keeps judges whether addresses stay where a link is lost.
func keeps(e end, r *ruling) {
	if !r.knows(e.host.Keepers != nil && e.nic.Interface != "", e.place(), "the network manager of it could not be read") {
		return
	}
	k, managed := e.host.Keepers[e.nic.Interface]
	r.unless(managed && !k.Keeps, e.place(), "%s manages it and removes its addresses on link loss", k.Name)
}

// met compares whom machines have met at an address with the machine that has it: another
// MAC address is somebody else's.
func (s *Site) met(r *ruling) {
	owner := map[string]*Host{}
	for _, h := range s.Hosts {
		for _, d := range h.Netdevs {
			for _, a := range d.Addresses {
				owner[a.Addr().String()] = h
			}
		}
	}
	for _, h := range s.Hosts {
		if !r.knows(h.Met != nil, h.place(), "its neighbour table could not be read") {
			continue
		}
		for _, address := range slices.Sorted(maps.Keys(h.Met)) {
			if o := owner[address]; o != nil && !o.answersWith(h.Met[address]) {
				r.bad(h.place(), "its neighbour table has %s for %s, which is an address of %s with other MAC addresses", h.Met[address], address, o.Name)
			}
		}
		r.fine()
	}
}

// answersWith reports whether a MAC address is one of the machine's.
func (h *Host) answersWith(mac string) bool {
	return slices.ContainsFunc(h.NICs, func(n host.NICHealth) bool { return digits(n.MAC) == digits(mac) }) ||
		slices.ContainsFunc(h.Netdevs, func(d host.Netdev) bool { return digits(d.MAC) == digits(mac) })
}

// nobodyConnects looks for hosts that a subsystem lets in and that are not there.
func nobodyConnects(h *Host, r *ruling) {
	for _, e := range h.Exports {
		switch {
		case len(e.Allowed) == 0:
		case !h.Sessions:
			r.unknown(h.part(e.NQN), "its connected hosts could not be read: the kernel reports them in debugfs since 6.11")
		default:
			missing := slices.DeleteFunc(slices.Clone(e.Allowed), func(nqn string) bool { return slices.Contains(e.Connected, nqn) })
			r.unless(len(missing) > 0, h.part(e.NQN), "it admits %s, which is not connected", text.List(missing, mostPlaces))
		}
	}
}

// thinPools judges how full pools of lvm2 are.
func thinPools(h *Host, r *ruling) {
	switch {
	case h.Modules == nil:
		r.unknown(h.place(), "its thin pools could not be read")
	case h.Modules["dm_thin_pool"] == 0:
	case h.Thin == nil:
		r.unknown(h.place(), "the usage of its thin pools could not be read with lvs")
	}
	for _, p := range h.Thin {
		r.unless(p.Data > 80 || p.Metadata > 90, h.part(p.Name), "%g %% of its data space and %g %% of its metadata space is used", p.Data, p.Metadata)
	}
}

// gpuHooks looks for hooks of nvidia-fs in the transport that a machine uses.
func gpuHooks(h *Host, r *ruling) {
	if h.GPUs.FS == "" || h.Modules["nvme_rdma"] == 0 {
		return
	}
	if r.knows(h.GPUs.Hooks != nil, h.place(), "the symbols of the kernel could not be read") {
		r.unless(!slices.ContainsFunc(h.GPUs.Hooks, func(x string) bool { return strings.HasPrefix(x, "nvme_rdma_") }), h.place(),
			"nvme_rdma has no hook of nvidia-fs: GPU reads go through system memory")
	}
}

// gpuACS looks for bridges above GPUs and NICs that send what passes between them up to
// the root.
func gpuACS(h *Host, r *ruling) {
	if !r.knows(h.GPUs.ACS != nil, h.place(), "ACS of its bridges could not be read with setpci") {
		return
	}
	var on []string
	for _, bridge := range slices.Sorted(maps.Keys(h.GPUs.ACS)) {
		if v := h.GPUs.ACS[bridge]; v != "" && v != "0000" {
			on = append(on, bridge+" ("+v+")")
		}
	}
	r.unless(len(on) > 0, h.place(), "ACS is on at %s: traffic between GPUs and NICs passes through the CPU", text.List(on, mostPlaces))
}

// nfsMarks judges the default marking of RoCE where NFS uses RDMA, which has none of its own.
func nfsMarks(s *Site, r *ruling) {
	marked := s.marked()
	for _, h := range s.Hosts {
		serves := slices.ContainsFunc(h.NFSPorts, func(p string) bool { return strings.HasPrefix(p, "rdma ") })
		if !serves && len(h.NFSRDMA) == 0 || len(marked) == 0 {
			continue
		}
		for _, e := range s.of[h] {
			for _, p := range e.nic.RDMA {
				if p.Protocol != "rocev2" {
					continue
				}
				tos, err := strconv.Atoi(h.RoCEToS[p.Device])
				if !r.knows(err == nil, e.place(), "default_roce_tos of %s could not be read", p.Device) {
					continue
				}
				_, lossless := marked[tos/4]
				r.unless(!lossless, e.place(), "NFS over RDMA has DSCP %d (default_roce_tos is %d), which is in no lossless class", tos/4, tos)
			}
		}
	}
}
