package linux

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/nic"
)

// unswept reports whether it is a subnet manager that the port waits for, and
// not a cable.
func (c *checker) unswept() bool {
	return slices.ContainsFunc(c.have.RDMA, func(p host.RDMAPort) bool {
		return p.Subnet != nil && p.State == "INIT" && p.Subnet.Physical == "LinkUp"
	})
}

// infiniband compares an InfiniBand port with what its fabric asks of it. That
// it has no subnet manager, or speaks another protocol, is said by rdma_link.
func (c *checker) infiniband() {
	f, ip := c.want.Fabric, c.have.IPoIB
	if f == nil || f.Transport != "infiniband" || ip == nil {
		return
	}
	name := c.have.Interface
	if ip.Mode == "datagram" && f.HostMTU > nic.MostDatagram && c.have.MTU < f.HostMTU {
		c.add(false, f.At("host_mtu"), fmt.Sprintf("set host_mtu to 2044, or to %d where the subnet has packets of 4096 bytes; or choose the other mode: echo connected >/sys/class/net/%s/mode", nic.MostDatagram, name),
			"host_mtu of %s is %d bytes, and %s is in datagram mode, whose packets have at most %d", f.Addr, f.HostMTU, name, nic.MostDatagram)
	}
	c.partition(f, ip.PKey)
}

// partition compares the partition that the files ask for, or else that of the
// interface, with the keys that the subnet manager gave the port. A key in the
// files without the bit of full members says that limited ones are meant.
func (c *checker) partition(f *inventory.Fabric, key host.PKey) {
	name, at, want := c.have.Interface, c.want.Range, key|host.FullMember
	of := name + " is in the partition of key " + key.String()
	if f.Partition != 0 {
		at, want = f.At("partition"), host.PKey(f.Partition)
		of = f.Addr + " has partition " + want.String()
		if key != 0 && !key.Same(want) {
			c.add(false, at, fmt.Sprintf("weft takes the interface that has the first key of the port: let the subnet manager give that one first; an interface of its own for a partition (%s.%04x) is described, not yet managed", name, uint16(want|host.FullMember)),
				"%s, and %s is in the partition of key %s", of, name, key)
			return
		}
	}
	for _, p := range c.have.RDMA {
		s := p.Subnet
		if s == nil || s.Manager == 0 || want == host.FullMember || len(s.PKeys) == 0 {
			continue
		}
		switch has, ok := s.Member(want); {
		case !ok:
			c.add(false, at, "put the port into the partition at the subnet manager: partitions.conf of opensm",
				"%s, and the subnet manager gave %s/%d only %s", of, p.Device, p.Port, keys(s.PKeys))
		case want.Full() && !has.Full():
			c.add(false, at, fmt.Sprintf("make it a full member at the subnet manager, =full in partitions.conf of opensm; or say that limited members will do, with partition = \"%s\" in %s", has, f.Addr),
				"%s, of which %s/%d is a limited member (key %s): it reaches no other limited one", of, p.Device, p.Port, has)
		}
	}
}

func keys(list []host.PKey) string {
	words := slice.Map(list, host.PKey.String)
	return strings.Join(words, ", ")
}
