package rules

import (
	"weft/inventory"
	"weft/inventory/problem"
)

// frameOverhead is what Ethernet adds to a packet: addresses and type, a VLAN
// tag and the checksum.
const frameOverhead = 14 + 4 + 4

// What InfiniBand's transport adds to its payload, as the Linux kernel
// reserves it (iboe_get_mtu), and the payloads there are.
const (
	roceOverhead = 96
	roceLargest  = 4096
)

// mtu checks that what hosts send passes the switches, and is not cut small
// for RoCE.
func (c *checker) mtu(f *inventory.Fabric) {
	if f.Incomplete || f.Transport == "infiniband" {
		return
	}
	switch {
	case f.HostMTU > f.MTU:
		c.refuse(problem.MTU, &f.Block, mtuAttr(f), "MTU too small on switches", "Hosts send packets of %d bytes, but switch ports accept %d (mtu, %s).", f.HostMTU, f.MTU, problem.Where(f.At("mtu")))
	case f.HostMTU+frameOverhead > f.MTU:
		c.warn(problem.MTU, &f.Block, mtuAttr(f), "MTU may be too small on switches", "A packet of %d bytes is a frame of up to %d bytes with its Ethernet header, VLAN tag and checksum; a switch that includes them in its mtu of %d drops it (mtu, %s).",
			f.HostMTU, f.HostMTU+frameOverhead, f.MTU, problem.Where(f.At("mtu")))
	}
	if payload := rocePayload(f.HostMTU); f.Transport == "rocev2" && payload < roceLargest {
		c.warn(problem.SmallMTU, &f.Block, "host_mtu", "small RoCE packets", "With host_mtu = %d, a RoCE packet carries %d bytes; with %d or more, it carries %d (Linux kernel, iboe_get_mtu).",
			f.HostMTU, payload, roceLargest+roceOverhead, roceLargest)
	}
}

// mtuAttr is the attribute to blame: the one that is written.
func mtuAttr(f *inventory.Fabric) string {
	if ok := f.Writes("host_mtu"); ok {
		return "host_mtu"
	}
	return "mtu"
}

// rocePayload is what a RoCE packet carries on an interface of that MTU, bytes.
func rocePayload(mtu int) int {
	size := roceLargest
	for size > 256 && size+roceOverhead > mtu {
		size /= 2
	}
	return size
}
