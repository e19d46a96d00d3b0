package modules

import "weft/switches"

// NameNeighbours adds to the LLDP neighbours of switches the names of the interfaces that they
// are, by the MAC addresses of servers. An address that two interfaces have names neither.
func NameNeighbours(list []*Facts) {
	interfaces := map[string]string{}
	for _, f := range list {
		if f.Server == nil {
			continue
		}
		for _, n := range f.Server.NICs {
			macs := []string{switches.PlainMAC(n.MAC)}
			if own := switches.PlainMAC(n.Permanent); own != macs[0] {
				macs = append(macs, own)
			}
			for _, mac := range macs {
				if mac == "" || n.Interface == "" {
					continue
				}
				if _, again := interfaces[mac]; again {
					interfaces[mac] = ""
					continue
				}
				interfaces[mac] = n.Interface
			}
		}
	}
	for _, f := range list {
		if f.Switch == nil {
			continue
		}
		for i := range f.Switch.Neighbours {
			n := &f.Switch.Neighbours[i]
			n.Interface = interfaces[switches.PlainMAC(n.PortID)]
		}
	}
}
