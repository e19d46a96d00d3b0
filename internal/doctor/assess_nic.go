package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/modules/host"
)

// candidates are the ports that a fabric could rest on: the ends, and those of cards
// that the catalogue has as RDMA cards.
func (s *Site) candidates(h *Host) []end {
	list := slices.Clone(s.of[h])
	for i := range h.NICs {
		e := end{h, &h.NICs[i], h.declared(h.NICs[i].NICFacts)}
		row := s.Hardware.NIC(e.nic.ID)
		if e.nic.VirtualOf == "" && row != nil && row.Transports.Known && !slices.ContainsFunc(list, func(x end) bool { return x.nic == e.nic }) {
			list = append(list, e)
		}
	}
	return list
}

// beside reports whether a port is beside the fabrics: the files declare other ports of its
// machine, and not this one. It is listed, and decides nothing.
func (h *Host) beside(e end) bool {
	return e.rnic == nil && h.Server != nil && len(h.Server.RNICs) > 0
}

// slot compares the lanes of a card with the speed of its port.
func (s *Site) slot(x *Subject, e end) {
	lanes := e.host.Origins.Lanes
	now, most, need, of := e.nic.PCIe, e.nic.PCIeMax, s.need(e), "its link"
	row := s.Hardware.NIC(e.nic.ID)
	if need == 0 && row != nil && row.Speed.Known {
		need, of = float64(row.Speed.Value)*1e9, "the fastest card of its family ("+row.Speed.From()+")"
	}
	switch {
	case lanes == "":
		x.say("pcie", Unknown, e.host.Origins.System, "weft does not read PCIe lanes on this system")
	case now.Width == 0 || now.Speed == 0:
		x.say("pcie", Unknown, lanes, "the machine does not report its lanes")
	case need == 0:
		x.say("pcie", Unknown, lanes, "PCIe %s; the speed of its port is unknown", now)
	case now.Bandwidth() >= need:
		x.say("pcie", Ready, lanes, "PCIe %s carries %.0f Gbit/s, the port %s", now, now.Bandwidth()/1e9, gigabit(int64(need)))
	default:
		text := "a slot with more lanes: PCIe %s carries %.0f Gbit/s, and %s %s"
		if most.Bandwidth() < need {
			text = "a card with more lanes, or a slower port: PCIe %s carries %.0f Gbit/s, and %s %s"
		}
		x.say("pcie", Needs, lanes, text, now, now.Bandwidth()/1e9, of, gigabit(int64(need)))
	}
}

// rdma reports which RDMA a port does, and which its card can do.
func (s *Site) rdma(x *Subject, e end) {
	from, row := e.host.Origins, s.Hardware.NIC(e.nic.ID)
	card := cmp.Or(e.nic.ID, e.nic.Model, "the card")
	if row != nil {
		card = row.Vendor + " " + row.Model
	}
	runs, devices := e.protocols(), e.devices()
	able := row != nil && row.Transports.Known
	switch {
	case e.nic.OmniPath():
		x.say("rdma", Needs, from.RDMA, "a card of RoCE, InfiniBand or iWARP: %s is Omni-Path (driver %s), which weft does not manage", e.nic.RDMA[0].Device, e.nic.Driver)
	case software(e.nic.RDMA) && e.rnic != nil && e.rnic.Software:
		x.say("rdma", Ready, from.RDMA, "%s in software (%s), as declared", strings.Join(runs, ", "), e.nic.RDMA[0].Device)
		x.can(runs...)
	case software(e.nic.RDMA):
		x.say("rdma", Needs, from.RDMA, "a card with hardware RDMA: %s is software", e.nic.RDMA[0].Device)
	case able && len(e.nic.RDMA) == 0:
		x.say("rdma", Needs, row.Transports.From()+"; "+from.RDMA, "%s: %s supports %s, but has no RDMA device", enable(from, row.RDMADriver.Value), card, strings.Join(row.Transports.Value, ", "))
		x.can(row.Transports.Value...)
	case able && len(runs) == 0:
		x.say("rdma", Ready, row.Transports.From()+"; "+from.RDMA, "%s supports %s; the system does not report the protocol of %s", card, strings.Join(row.Transports.Value, ", "), devices)
		x.can(row.Transports.Value...)
	case able:
		x.say("rdma", Ready, row.Transports.From()+"; "+from.RDMA, "%s supports %s and uses %s", card, strings.Join(row.Transports.Value, ", "), strings.Join(runs, ", "))
		x.can(append(slices.Clone(row.Transports.Value), runs...)...)
	case len(runs) > 0:
		x.say("rdma", Ready, from.RDMA, "%s uses %s; it is not in the catalogue", card, strings.Join(runs, ", "))
		x.can(runs...)
	case len(e.nic.RDMA) > 0:
		state := Unknown
		if e.active() {
			state = Ready
		}
		x.say("rdma", state, from.RDMA, "%s has RDMA (%s); the system does not report its protocol", card, devices)
		x.Unsure = true
	case row != nil:
		x.say("rdma", Unknown, "the catalogue", "the RDMA protocols of %s are unknown", card)
		x.Unsure = true
	default:
		x.say("rdma", Unknown, from.RDMA, "%s is not in the catalogue and has no RDMA device", card)
		x.Unsure = true
	}
}

// enable says what gives a capable card its RDMA device. module is that of the catalogue,
// which is of Linux.
func enable(from host.Origins, module string) string {
	switch {
	case !strings.Contains(from.Enable, "%s"):
		return cmp.Or(from.Enable, "an RDMA device")
	case module == "":
		return "its RDMA driver"
	}
	return fmt.Sprintf(from.Enable, module)
}

// protocols are those that a port does, as its RDMA devices or its driver report them.
func (e end) protocols() (list []string) {
	for _, p := range e.nic.RDMA {
		if p.Protocol != "" && !slices.Contains(list, p.Protocol) {
			list = append(list, p.Protocol)
		}
	}
	if d := e.nic.Direct; d != nil && len(list) == 0 && len(e.nic.RDMA) > 0 {
		if name := strings.ToLower(technologies()[d.Technology]); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// devices names the RDMA devices of a port with their states.
func (e end) devices() string {
	var list []string
	for _, p := range e.nic.RDMA {
		text := p.Device
		if p.State != "" {
			text += " (" + p.State + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

func (e end) active() bool {
	return slices.ContainsFunc(e.nic.RDMA, func(p host.RDMAPort) bool { return p.State == "ACTIVE" })
}

func software(ports []host.RDMAPort) bool {
	return slices.ContainsFunc(ports, func(p host.RDMAPort) bool {
		return strings.HasPrefix(p.Device, "rxe") || strings.HasPrefix(p.Device, "siw")
	})
}

// can adds flavours that the device can do.
func (x *Subject) can(list ...string) {
	for _, f := range flavours() {
		if slices.Contains(list, f) && !slices.Contains(x.Flavours, f) {
			x.Flavours = append(x.Flavours, f)
		}
	}
}
