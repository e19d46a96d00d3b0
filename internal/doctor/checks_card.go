package doctor

import (
	"slices"
	"strings"
)

// need is what the port of an end wants to carry, in bit/s; 0: not known.
func (s *Site) need(e end) float64 {
	need := float64(max(e.nic.Speed, 0))
	if l := s.link(e); l != nil {
		need = max(need, float64(l.Speed))
	}
	return need
}

func pcieWidth(s *Site, r *ruling) {
	for _, e := range s.ends() {
		now, most := e.nic.PCIe, e.nic.PCIeMax
		need := s.need(e)
		switch {
		case now.Width == 0 || most.Width == 0:
			r.unknown(e.place(), "it does not say how many lanes it has")
		case now.Width >= most.Width:
			r.fine()
		case need == 0:
			r.unknown(e.place(), "it runs with %d of %d lanes, and how fast its port is is not known", now.Width, most.Width)
		default:
			r.unless(now.Bandwidth() < need, e.place(), "PCIe runs at %s of %s: at most %.0f Gbit/s for a port of %.0fG",
				now, most, now.Bandwidth()/1e9, need/1e9)
		}
	}
}

func pcieSpeed(s *Site, r *ruling) {
	for _, e := range s.ends() {
		now, most := e.nic.PCIe, e.nic.PCIeMax
		if now.Speed == 0 || most.Speed == 0 {
			r.unknown(e.place(), "it does not say how fast its lanes are")
			continue
		}
		narrow := now.Width < most.Width && now.Bandwidth() >= s.need(e) // else WD-PCI-01 tells it
		r.unless(now.Speed < most.Speed || narrow, e.place(), "PCIe runs at %s and could at %s", now, most)
	}
}

func pcieErrors(s *Site, r *ruling) {
	for _, e := range s.ends() {
		if e.nic.AER == nil {
			r.unknown(e.place(), "it has no aer_dev_fatal: the machine does not report errors of PCIe")
			continue
		}
		fatal, other := e.nic.AER["fatal"], e.nic.AER["nonfatal"]
		r.unless(fatal+other > 0, e.place(), "%d fatal and %d other errors of PCIe that were not corrected", fatal, other)
	}
}

func iommu(s *Site, r *ruling) {
	for _, h := range s.Hosts {
		if h.Cmdline == nil {
			r.unknown(h.place(), "/proc/cmdline could not be read")
			continue
		}
		words := strings.Fields(*h.Cmdline)
		on := slices.Contains(words, "intel_iommu=on") || slices.Contains(words, "amd_iommu=on")
		r.unless(on && !slices.Contains(words, "iommu=pt"), h.place(), "the kernel was started with an IOMMU that translates: %s", *h.Cmdline)
	}
}

// numa compares each drive with the NICs of its machine.
func numa(s *Site, r *ruling) {
	for _, h := range s.Hosts {
		nodes := map[string]bool{}
		unsure := false
		for _, e := range s.of[h] {
			if e.nic.Node < 0 {
				unsure = true
			} else {
				nodes[itoa(e.nic.Node)] = true
			}
		}
		for _, c := range h.Controllers {
			if c.Transport != "pcie" {
				continue
			}
			p := h.place()
			p.Part = c.Name
			node, ok := c.Values["device/numa_node"]
			if !ok {
				node, ok = c.Values["numa_node"]
			}
			switch {
			case !ok || strings.HasPrefix(node, "-"):
				r.unknown(p, "its NUMA node is not known")
			case nodes[node]:
				r.fine()
			case unsure || len(nodes) == 0:
				r.unknown(p, "it is on NUMA node %s, and that of a NIC is not known", node)
			default:
				r.bad(p, "the drive is on NUMA node %s, where no NIC of its machine is", node)
			}
		}
	}
}

func recovery(s *Site, r *ruling) {
	for _, h := range s.Hosts {
		for i := range h.NICs {
			e := end{h, &h.NICs[i], h.declared(h.NICs[i].PCI)}
			if e.nic.ID == "" {
				r.unknown(e.place(), "its PCI id could not be read")
				continue
			}
			r.unless(strings.HasPrefix(e.nic.ID, "15b3:02"), e.place(), "the firmware of the card is broken: it has started as %s", e.nic.ID)
		}
	}
}

func firmware(s *Site, r *ruling) {
	for _, group := range alike(s.ends(), func(e end) string { return e.nic.ID }) {
		var versions []string
		for _, e := range group {
			if e.nic.Firmware != "" {
				versions = append(versions, e.nic.Firmware)
			}
		}
		usual, alone := most(versions)
		for _, e := range group {
			switch {
			case e.nic.Firmware == "":
				r.unknown(e.place(), "its firmware could not be read")
			case alone:
				r.unless(e.nic.Firmware != usual, e.place(), "firmware %s, and most of the same card (%s) have %s", e.nic.Firmware, e.nic.ID, usual)
			default:
				r.bad(e.place(), "firmware %s, and as many of the same card (%s) have another", e.nic.Firmware, e.nic.ID)
			}
		}
	}
}

func linkType(s *Site, r *ruling) {
	for _, e := range s.ends() {
		f := e.fabric()
		if f == nil || f.Transport == "tcp" || e.rnic.Software {
			continue
		}
		if len(e.nic.RDMA) == 0 || e.nic.RDMA[0].Protocol == "" {
			r.unknown(e.place(), "it has no RDMA port that says what it speaks")
			continue
		}
		is := e.infiniband()
		r.unless(is != (f.Transport == "infiniband"), e.place(), "the port speaks %s, and %s is %s", e.nic.RDMA[0].Protocol, f.Addr, f.Transport)
	}
}

func hasRDMA(s *Site, r *ruling) {
	for _, group := range alike(s.ends(), func(e end) string { return e.nic.ID }) {
		peers := slices.ContainsFunc(group, func(e end) bool { return len(e.nic.RDMA) > 0 })
		for _, e := range group {
			f := e.fabric()
			switch {
			case e.nic.Driver == "" && len(e.nic.RDMA) == 0:
				r.unknown(e.place(), "it says of no driver")
			case f == nil && !peers || f != nil && f.Transport == "tcp":
			default:
				r.unless(len(e.nic.RDMA) == 0, e.place(), "no RDMA device stands on it (driver %s)", e.nic.Driver)
			}
		}
	}
}

func sameRDMA(s *Site, r *ruling) {
	for _, group := range alike(s.ends(), func(e end) string { return e.fabricName() }) {
		var kinds []string
		for _, e := range group {
			if len(e.nic.RDMA) > 0 && e.nic.RDMA[0].Protocol != "" {
				kinds = append(kinds, e.nic.RDMA[0].Protocol)
			}
		}
		usual, _ := most(kinds)
		for _, e := range group {
			switch {
			case len(e.nic.RDMA) == 0: // WD-RDM-01
			case e.nic.RDMA[0].Protocol == "":
				r.unknown(e.place(), "its RDMA port does not say what it speaks")
			default:
				r.unless(e.nic.RDMA[0].Protocol != usual, e.place(), "it speaks %s, and most others %s", e.nic.RDMA[0].Protocol, usual)
			}
		}
	}
}

func (e end) fabricName() string {
	if f := e.fabric(); f != nil {
		return f.Addr
	}
	return ""
}

func softRDMA(s *Site, r *ruling) {
	for _, e := range s.ends() {
		if len(e.nic.RDMA) == 0 {
			if e.fabric() != nil && e.fabric().Transport != "tcp" {
				r.unknown(e.place(), "it has no RDMA device")
			}
			continue
		}
		soft := software(e.nic.RDMA)
		r.unless(soft && (e.rnic == nil || !e.rnic.Software), e.place(), "its RDMA device is %s", e.nic.RDMA[0].Device)
	}
}

func subnetManager(s *Site, r *ruling) {
	for _, e := range s.ends() {
		for _, p := range e.nic.RDMA {
			if p.Protocol != "infiniband" {
				continue
			}
			if p.Subnet == nil {
				r.unknown(e.place(), "%s does not say who manages its subnet", p.Device)
				continue
			}
			r.unless(p.Subnet.Manager == 0, e.place(), "no subnet manager has come by %s", p.Device)
		}
	}
}

func cnp(s *Site, r *ruling) {
	for _, e := range s.ethernet() {
		if len(e.nic.RDMA) == 0 {
			continue
		}
		n, ok := e.nic.Count["rp_cnp_ignored"]
		if !ok {
			r.unknown(e.place(), "the driver %s does not count rp_cnp_ignored", e.nic.Driver)
			continue
		}
		r.unless(n > 0, e.place(), "%d congestion notifications were ignored", n)
	}
}

// growing judges counters of NICs by two readings.
func growing(names ...string) func(*Site, *ruling) {
	return func(s *Site, r *ruling) {
		for _, e := range s.ends() {
			if len(e.nic.RDMA) == 0 {
				continue
			}
			was := s.Before.nic(e)
			for _, name := range names {
				now, ok := e.nic.Count[name]
				switch before, had := was[name]; {
				case !ok || !had:
					r.unknown(e.place(), "the driver %s does not count %s", e.nic.Driver, name)
				default:
					r.unless(now > before, e.place(), "%s grew by %d between two readings, to %d", name, now-before, now)
				}
			}
		}
	}
}

// nic are the counters that an end had in this reading.
func (s *Site) nic(e end) map[string]uint64 {
	if n := s.port(e); n != nil {
		return n.Count
	}
	return nil
}

// alike puts together what has the same key, in the order of the first of each.
func alike[T any](list []T, key func(T) string) [][]T {
	var out [][]T
	at := map[string]int{}
	for _, v := range list {
		i, ok := at[key(v)]
		if !ok {
			i = len(out)
			at[key(v)] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], v)
	}
	return out
}
