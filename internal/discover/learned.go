package discover

import (
	"slices"

	"weft/switches"
)

// learned are cables that LLDP does not tell, of which a MAC table does: to a port that
// hears nobody, and that has learned one address only, which is that of one NIC. What is
// heard elsewhere counts more. A switch without LLDP between both would be seen no
// better, so that each is told.
func (s *Site) learned(e ends, heard [][]Cable) (list [][]Cable) {
	known := map[end]bool{}
	for _, port := range heard {
		for _, c := range port {
			known[end{c.Server, c.NIC}] = true
		}
	}
	for _, sw := range s.Switches {
		if sw.Strange != nil || sw.Unlearned != nil {
			continue // who else is at a port is not known
		}
		macs := map[string][]string{} // by port
		var ports []string
		for _, st := range sw.Stations {
			if macs[st.Port] == nil {
				ports = append(ports, st.Port)
			}
			if !slices.Contains(macs[st.Port], st.MAC) { // it is there once for each VLAN
				macs[st.Port] = append(macs[st.Port], st.MAC)
			}
		}
		slices.SortFunc(ports, natural)
		for _, port := range ports {
			if slices.ContainsFunc(sw.Neighbours, func(n switches.Neighbour) bool { return n.Port == port }) {
				continue
			}
			var here []end
			for _, mac := range macs[port] {
				here = append(here, e.mac[mac]...)
			}
			one := len(here) == len(macs[port]) && !slices.ContainsFunc(here, func(x end) bool { return x != here[0] })
			switch {
			case len(here) == 0:
			case !one:
				s.found(Info, sw.Host, "turn LLDP on, on the switch or bridge that is between, and discover again", "port %s hears nobody, and has learned %d MAC addresses, of which %d are those of NICs here: unknown end", port, len(macs[port]), len(here))
			case len(here[0].nic.Heard) > 0: // its server says where it is plugged in
			case !known[here[0]]:
				c := Cable{Switch: sw, Port: port, Server: here[0].server, NIC: here[0].nic, By: "MAC table"}
				s.found(Warn, sw.Host, "see that no switch is between, or turn LLDP on and discover again", "port %s: its cable leads to %s of %s by the MAC table of the switch only", port, c.NIC.Interface, c.Server.Host)
				list = append(list, []Cable{c})
			}
		}
	}
	return list
}
