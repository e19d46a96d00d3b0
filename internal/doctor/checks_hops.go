package doctor

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/lossless"
	"weft/internal/topology"
	"weft/modules/host"
	"weft/switches"
)

// hopChecks report what hops do to lossless classes and no other check looks at. The rest of
// what package lossless finds is reported by the checks of those settings, see Catalogue.
func hopChecks() []*Check {
	return []*Check{
		{ID: "WD-QOS-27", Title: "ECN of a lossless class differs from the declared value", Severity: Error, Reads: "classes and ports of switches; /sys/class/net/IF/ecn", Limit: "ecn of the traffic_class; without files the majority of ports and NICs", Source: "DCQCN (SIGCOMM 2015): switches mark, and NICs on both ends react",
			Remedy: "Apply the fabric block: weft plan shows the line.", Mends: []string{"ecn", "port", "qos"}},
		{ID: "WD-QOS-28", Title: "the scheduling of a lossless class differs from the declared value", Severity: Error, Reads: "shares, queuing policies and watchdogs of switches and ports; dcb -j ets show dev IF", Limit: "bandwidth of the traffic_class and pfc_watchdog of the fabric; without files the majority of ports", Source: "IEEE 802.1Qaz; for watchdogs Microsoft, SIGCOMM 2016",
			Remedy: "Apply the fabric block: weft plan shows the line.", Mends: []string{"ets", "port", "qos"}},
		{ID: "WD-QOS-29", Title: "a hop of a declared path does not exist", Severity: Error, Reads: "NICs of servers, ports of switches", Limit: "every hop of the declared paths; hops on unread switches are unknown", Source: "the files",
			Remedy: "Correct match or the link block, or add the switch in between."},
	}
}

// judgeHops judges each hop of declared paths as weft verify does; without files the ports that
// carry the fabric are compared with each other, and so are NICs.
func (s *Site) judgeHops() []lossless.Result {
	if s.Model == nil {
		longest := 0
		for _, e := range s.ethernet() {
			if len(e.nic.RDMA) > 0 {
				longest = max(longest, e.nic.MTU)
			}
		}
		return slices.Concat(lossless.JudgePeers(s.peers(), longest), s.nicPeers())
	}
	read := &lossless.Readings{Switches: map[string]*switches.Reading{}, Servers: map[string]*host.Reading{}, Unread: map[string]string{}}
	asked := map[string]bool{}
	for _, sw := range s.Switches {
		if asked[sw.Name] = true; sw.Reading.Text() != nil {
			read.Switches[sw.Name] = &sw.Reading
		}
	}
	for _, h := range s.Hosts {
		switch asked[h.Name] = true; {
		case h.Bare:
			read.Unread[h.Name] = "the settings of its NICs are not read"
		case h.Server != nil:
			read.Servers[h.Name] = s.settings(h)
		}
	}
	places := topology.Cover(s.Model, topology.Of(s.Model), nil).Places
	whole := !slices.ContainsFunc(places, func(p topology.Place) bool { return p.RNIC == nil && !p.Port.Switch.Unmanaged && !asked[p.Device()] })
	places = slices.DeleteFunc(places, func(p topology.Place) bool {
		return !asked[p.Device()] && !(whole && p.RNIC == nil && p.Port.Switch.Unmanaged)
	})
	return lossless.Judge(s.Model.Name, places, read)
}

// settings are those of the declared NICs of a server.
func (s *Site) settings(h *Host) *host.Reading {
	out := &host.Reading{}
	for _, nic := range h.Server.RNICs {
		i := slices.IndexFunc(s.of[h], func(e end) bool { return e.rnic == nic })
		if i < 0 {
			out.NICs = append(out.NICs, host.NICReading{Name: nic.Name, PCI: nic.PCI, Absent: true})
			continue
		}
		out.NICs = append(out.NICs, s.of[h][i].nic.Reading(nic.Name))
	}
	return out
}

// peers are the ports that carry the fabric: with a part of what weft sets on such ports, at an
// RDMA NIC, or between two switches that have such ports.
func (s *Site) peers() (out []lossless.Peer) {
	at := map[*Switch][]string{}
	for _, c := range s.cables {
		if len(c.nic.RDMA) > 0 && !c.infiniband() {
			at[c.sw] = append(at[c.sw], c.port.Name)
		}
	}
	named := map[string]*Switch{}
	for _, sw := range s.Switches {
		named[firstLabel(sw.Reading.Facts.Hostname)] = sw
	}
	carries := func(sw *Switch) bool {
		return sw != nil && (len(at[sw]) > 0 || slices.ContainsFunc(sw.Reading.Ports, func(p portOf) bool { return p.PFC }))
	}
	for _, sw := range s.Switches {
		ports := slices.Clone(at[sw])
		for _, n := range sw.Neighbours {
			if far := named[firstLabel(n.System)]; n.System != "" && carries(sw) && carries(far) {
				ports = append(ports, n.Port)
			}
		}
		for _, p := range sw.Reading.Ports {
			peer := lossless.Peer{Switch: sw.Name, System: sw.OS, Reading: &sw.Reading, Port: p}
			if p.PFC || p.Watchdog || p.Classify && !peer.PerPort() || slices.Contains(ports, p.Name) {
				out = append(out, peer)
			}
		}
	}
	return out
}

// firstLabel is a name without its domain.
func firstLabel(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return strings.ToLower(first)
}

// nicPeers compares whether NICs answer marks for lossless priorities, where drivers show it.
func (s *Site) nicPeers() (out []lossless.Result) {
	answers := func(e end) string {
		for _, p := range e.nic.PFC {
			if !e.nic.ECN[p] {
				return "off"
			}
		}
		return "on"
	}
	shown := slices.DeleteFunc(s.ethernet(), func(e end) bool { return e.nic.ECN == nil || len(e.nic.PFC) == 0 })
	var votes []string
	for _, e := range shown {
		votes = append(votes, answers(e))
	}
	usual, alone := most(votes)
	for _, e := range shown {
		r := lossless.Result{Device: e.place().Device, Part: e.place().Part, System: e.host.System, NIC: true}
		if answers(e) == "off" && usual == "on" && alone {
			r.Findings = []lossless.Finding{{Aspect: lossless.ECN, Is: "off", Most: usual}}
		}
		out = append(out, r)
	}
	return out
}

// A hop is what package lossless found at a place.
type hop struct {
	place Place
	lossless.Result
}

// hops reports what package lossless found and is of this check, where the check has not said
// it of the same place already.
func hops(s *Site, r *ruling) {
	type part struct{ device, name string }
	bad, unknown := map[part]bool{}, map[part]bool{}
	for list, at := range map[*[]Finding]map[part]bool{&r.out.Findings: bad, &r.out.Unknown: unknown} {
		for _, f := range *list {
			if f.Check == r.check {
				at[part{f.Place.Device, f.Place.Part}] = true
			}
		}
	}
	for _, x := range s.hops {
		well, at := true, part{x.place.Device, x.place.Part}
		for _, f := range x.Findings {
			if x.ID(f) != r.check.ID {
				continue
			}
			switch well = false; {
			case bad[at] || f.Why != "" && unknown[at]:
			case f.Why != "":
				r.unknown(x.place, "%s", f)
			default:
				r.out.Unknown = slices.DeleteFunc(r.out.Unknown, func(o Finding) bool {
					return o.Check == r.check && o.Place.Device == at.device && o.Place.Part == at.name
				})
				r.bad(x.place, "%s", f)
			}
		}
		if well && r.check.hopsOnly {
			r.fine()
		}
	}
}

// placed gives results their places, with their lines in the files.
func (s *Site) placed(list []lossless.Result) (out []hop) {
	lines := map[Place]hcl.Range{}
	for _, sw := range s.Switches {
		lines[Place{Device: sw.Name}] = sw.place("").Range
	}
	for _, h := range s.Hosts {
		if h.Server != nil {
			for _, nic := range h.Server.RNICs {
				lines[Place{Device: h.Name, Part: nic.Name}] = nic.Range
			}
		}
	}
	for _, x := range list {
		p := Place{Device: x.Device, Part: x.Part}
		if r, ok := lines[p]; ok {
			p.Range = r
		} else {
			p.Range = lines[Place{Device: x.Device}]
		}
		out = append(out, hop{p, x})
	}
	return out
}
