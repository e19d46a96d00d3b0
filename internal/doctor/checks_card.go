package doctor

import (
	"slices"
	"strings"

	"weft/internal/slice"
)

// need is what the port of an end wants to carry, in bit/s; 0: not known.
func (s *Site) need(e end) float64 {
	need := float64(max(e.nic.Speed, 0))
	if l := s.link(e); l != nil {
		need = max(need, float64(l.Speed))
	}
	return need
}

func pcieWidth(e end, r *ruling) {
	now, most := e.nic.PCIe, e.nic.PCIeMax
	need := r.site.need(e)
	switch {
	case now.Width == 0 || most.Width == 0:
		r.unknown(e.place(), "it does not report its lanes")
	case now.Width >= most.Width:
		r.fine()
	case need == 0:
		r.unknown(e.place(), "it uses %d of %d lanes; the speed of its port is unknown", now.Width, most.Width)
	default:
		r.unless(now.Bandwidth() < need, e.place(), "PCIe runs at %s of %s: at most %.0f Gbit/s for a %.0fG port",
			now, most, now.Bandwidth()/1e9, need/1e9)
	}
}

func pcieSpeed(e end, r *ruling) {
	now, most := e.nic.PCIe, e.nic.PCIeMax
	if !r.knows(now.Speed != 0 && most.Speed != 0, e.place(), "it does not report the speed of its lanes") {
		return
	}
	narrow := now.Width < most.Width && now.Bandwidth() >= r.site.need(e) // else WD-PCI-01 tells it
	r.unless(now.Speed < most.Speed || narrow, e.place(), "PCIe runs at %s and supports %s", now, most)
}

func pcieErrors(e end, r *ruling) {
	if !r.knows(e.nic.AER != nil, e.place(), "it has no aer_dev_fatal: the machine does not report errors of PCIe") {
		return
	}
	fatal, other := e.nic.AER["fatal"], e.nic.AER["nonfatal"]
	r.unless(fatal+other > 0, e.place(), "%d fatal and %d other uncorrected PCIe errors", fatal, other)
}

func iommu(h *Host, r *ruling) {
	if !r.knows(h.Cmdline != nil, h.place(), "/proc/cmdline could not be read") {
		return
	}
	words := strings.Fields(*h.Cmdline)
	on := slices.Contains(words, "intel_iommu=on") || slices.Contains(words, "amd_iommu=on")
	r.unless(on && !slices.Contains(words, "iommu=pt"), h.place(), "the kernel was booted with a translating IOMMU: %s", *h.Cmdline)
}

// numa compares each drive with the NICs of its machine.
func numa(h *Host, r *ruling) {
	nodes := map[string]bool{}
	unsure := false
	for _, e := range r.site.of[h] {
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
			r.unknown(p, "its NUMA node is unknown")
		case nodes[node]:
			r.fine()
		case unsure || len(nodes) == 0:
			r.unknown(p, "it is on NUMA node %s; the node of a NIC is unknown", node)
		default:
			r.bad(p, "the drive is on NUMA node %s, which has no NIC", node)
		}
	}
}

func recovery(h *Host, r *ruling) {
	for i := range h.NICs {
		e := end{h, &h.NICs[i], h.declared(h.NICs[i].NICFacts)}
		if r.knows(e.nic.ID != "", e.place(), "its PCI id could not be read") {
			r.unless(strings.HasPrefix(e.nic.ID, "15b3:02"), e.place(), "the firmware of the card is corrupt: it started as %s", e.nic.ID)
		}
	}
}

func firmware(s *Site, r *ruling) {
	for _, group := range slice.Group(s.ends(), func(e end) string { return e.nic.ID }) {
		usual, alone := common(group, func(e end) string { return e.nic.Firmware })
		for _, e := range group {
			switch {
			case e.nic.Firmware == "":
				r.unknown(e.place(), "its firmware could not be read")
			case alone:
				r.unless(e.nic.Firmware != usual, e.place(), "firmware %s; most cards of this model (%s) have %s", e.nic.Firmware, e.nic.ID, usual)
			default:
				r.bad(e.place(), "firmware %s; as many cards of this model (%s) have another", e.nic.Firmware, e.nic.ID)
			}
		}
	}
}

func linkType(e end, r *ruling) {
	f := e.fabric()
	if f == nil || f.Transport == "tcp" || e.rnic.Software {
		return
	}
	if !r.knows(len(e.nic.RDMA) > 0 && e.nic.RDMA[0].Protocol != "", e.place(), "it has no RDMA port that reports its link type") {
		return
	}
	is := e.infiniband()
	r.unless(is != (f.Transport == "infiniband"), e.place(), "the link type of the port is %s, but %s is %s", e.nic.RDMA[0].Protocol, f.Addr, f.Transport)
}

func hasRDMA(s *Site, r *ruling) {
	for _, group := range slice.Group(s.ends(), func(e end) string { return e.nic.ID }) {
		peers := slices.ContainsFunc(group, func(e end) bool { return len(e.nic.RDMA) > 0 })
		for _, e := range group {
			f := e.fabric()
			switch {
			case e.nic.Driver == "" && len(e.nic.RDMA) == 0:
				r.unknown(e.place(), "it reports no driver")
			case f == nil && !peers || f != nil && f.Transport == "tcp":
			default:
				r.unless(len(e.nic.RDMA) == 0, e.place(), "it has no RDMA device (driver %s)", e.nic.Driver)
			}
		}
	}
}

func sameRDMA(s *Site, r *ruling) {
	for _, group := range slice.Group(s.ends(), func(e end) string { return e.fabricName() }) {
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
				r.unknown(e.place(), "its RDMA port does not report its protocol")
			default:
				r.unless(e.nic.RDMA[0].Protocol != usual, e.place(), "it uses %s; most others use %s", e.nic.RDMA[0].Protocol, usual)
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

func softRDMA(e end, r *ruling) {
	if len(e.nic.RDMA) == 0 {
		if e.fabric() != nil && e.fabric().Transport != "tcp" {
			r.unknown(e.place(), "it has no RDMA device")
		}
		return
	}
	soft := software(e.nic.RDMA)
	r.unless(soft && (e.rnic == nil || !e.rnic.Software), e.place(), "its RDMA device is %s", e.nic.RDMA[0].Device)
}

func subnetManager(e end, r *ruling) {
	for _, p := range e.nic.RDMA {
		if p.Protocol != "infiniband" {
			continue
		}
		if r.knows(p.Subnet != nil, e.place(), "%s does not report its subnet manager", p.Device) {
			r.unless(p.Subnet.Manager == 0, e.place(), "no subnet manager has configured %s", p.Device)
		}
	}
}

func cnp(e end, r *ruling) {
	if len(e.nic.RDMA) == 0 {
		return
	}
	n, ok := e.nic.Count["rp_cnp_ignored"]
	if r.knows(ok, e.place(), "the driver %s does not count rp_cnp_ignored", e.nic.Driver) {
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
				if before, had := was[name]; r.knows(ok && had, e.place(), "the driver %s does not count %s", e.nic.Driver, name) && continued(r, e.place(), before, now, "%s", name) {
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
