package doctor

import (
	"cmp"
	"slices"
	"strings"

	"weft/inventory/catalogue"
	"weft/modules/host"
)

// known is the row of a card in the catalogue of hardware; nil: it has none.
func (s *Site) known(e end) *catalogue.NIC {
	if s.Hardware == nil {
		return nil
	}
	return s.Hardware.NIC(e.nic.ID)
}

// driver compares the driver of a card with that of the catalogue.
func driver(e end, r *ruling) {
	row := r.site.known(e)
	switch {
	case row == nil || !row.Driver.Known:
	case e.host.Bare || e.nic.Driver == "":
		r.unknown(e.place(), "it does not report its Linux driver")
	default:
		r.unless(e.nic.Driver != row.Driver.Value, e.place(), "its driver is %s, but %s %s uses %s (%s)", e.nic.Driver, row.Vendor, row.Model, row.Driver.Value, row.Driver.From())
	}
}

// partitions asks whether a port of InfiniBand is in a partition, and reaches whom it
// shares it with: two limited members do not reach each other.
func partitions(s *Site, r *ruling) {
	type port struct {
		end
		*host.SubnetPort
	}
	var ports []port
	for _, e := range s.ends() {
		for _, p := range e.nic.RDMA {
			switch {
			case p.Protocol != "infiniband":
			case p.Subnet == nil || len(p.Subnet.PKeys) == 0 && p.Subnet.Manager == 0:
				r.unknown(e.place(), "%s does not report its partitions", p.Device)
			case len(p.Subnet.PKeys) == 0:
				r.bad(e.place(), "the subnet manager assigned %s to no partition", p.Device)
			default:
				ports = append(ports, port{e, p.Subnet})
			}
		}
	}
	for i, a := range ports {
		shares, reaches := false, false
		for j, b := range ports {
			for _, k := range a.PKeys {
				if other, ok := b.Member(k); ok && i != j {
					shares, reaches = true, reaches || k.Full() || other.Full()
				}
			}
		}
		r.unless(shares && !reaches, a.place(), "all members of its partitions are limited members: they cannot reach each other")
	}
}

// oneMember looks for servers whose links all end at one member of switches that are stacked
// to one, or at one card of a switch: HundredGigE1/0/7 and HundredGigE2/0/7 are ports of two.
func oneMember(sw *Switch, r *ruling) {
	all := map[string]bool{}
	for _, name := range sw.Reading.PortNames() {
		all[memberOf(name)] = true
	}
	for _, p := range sw.Reading.Ports {
		all[memberOf(p.Name)] = true
	}
	delete(all, "") // management, aggregations
	if len(all) < 2 {
		return
	}
	if !r.knows(sw.Heard, sw.place(""), "%s", cmp.Or(sw.Deaf, "its LLDP neighbours could not be read")) {
		return
	}
	at := map[*Host][]string{}
	for _, c := range r.site.wires[sw] {
		at[c.host] = append(at[c.host], memberOf(c.port.Name))
	}
	for _, h := range r.site.Hosts {
		if members := at[h]; len(members) > 1 {
			r.unless(len(slices.Compact(slices.Sorted(slices.Values(members)))) == 1, h.place(), "all of its %d links lead to member %s of %s", len(members), members[0], sw.Name)
		}
	}
}

// memberOf is the number of the member or card that a port is of, which is the first of
// three or more; "": it has none.
func memberOf(port string) string {
	at := strings.IndexFunc(port, func(r rune) bool { return r >= '0' && r <= '9' })
	if at < 0 || strings.Count(port, "/") < 2 {
		return ""
	}
	number, _, _ := strings.Cut(port[at:], "/")
	return number
}
