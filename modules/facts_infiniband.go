package modules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/inventory"
)

// A SubnetPort is what a port of InfiniBand has of its subnet: all of it but
// the physical state comes from the subnet manager.
type SubnetPort struct {
	Physical string `json:"physical_state,omitempty"` // LinkUp, Polling, Disabled
	LID      int    `json:"lid"`                      // its address in the subnet; 0: none was given
	Manager  int    `json:"sm_lid"`                   // LID of the subnet manager; 0: none has come by
	GID      string `json:"gid,omitempty"`            // of index 0: subnet prefix and GUID
	PKeys    []PKey `json:"pkeys,omitempty"`          // its table, without empty entries

	table map[int]PKey // PKeys by index
}

// IPoIB is what the IP interface of an InfiniBand port has beside others.
type IPoIB struct {
	Mode string `json:"mode,omitempty"` // datagram or connected
	PKey PKey   `json:"pkey"`           // of its partition; 0: not known
}

// String is how facts show it: datagram 0xffff.
func (i *IPoIB) String() string {
	if i.PKey == 0 {
		return i.Mode
	}
	return strings.TrimSpace(i.Mode + " " + i.PKey.String())
}

// A PKey is a partition key of InfiniBand: the number of a partition, and in
// the highest bit whether the member is a full one. Two limited members of a
// partition do not reach each other.
type PKey uint16

const fullMember PKey = 0x8000

// Full reports whether the key makes a full member.
func (k PKey) Full() bool { return k&fullMember != 0 }

// Same reports whether both keys are of one partition.
func (k PKey) Same(other PKey) bool { return k|fullMember == other|fullMember }

func (k PKey) String() string { return fmt.Sprintf("0x%04x", uint16(k)) }

// MarshalText writes the key as sysfs and the files of opensm do: 0xffff.
func (k PKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// parsePKey reads 0x8001; 0 is none.
func parsePKey(s string) PKey {
	n, err := strconv.ParseUint(s, 0, 16)
	if err != nil {
		return 0
	}
	return PKey(n)
}

// parseLID reads 0x11. What is no address of a port is 0, as of those that have
// none yet: 0xffff.
func parseLID(s string) int {
	n, err := strconv.ParseUint(s, 0, 16)
	if err != nil || n >= 0xc000 { // those are for multicast
		return 0
	}
	return int(n)
}

// subnet takes an attribute that only means something on InfiniBand; ports of
// Ethernet show the same files.
func (p *RDMAPort) subnet(attr, value string) {
	s := p.Subnet
	if s == nil {
		s = &SubnetPort{table: map[int]PKey{}}
		p.Subnet = s
	}
	index, isKey := strings.CutPrefix(attr, "pkeys/")
	switch {
	case attr == "phys_state": // 5: LinkUp
		_, state, _ := strings.Cut(value, ":")
		s.Physical = strings.TrimSpace(state)
	case attr == "lid":
		s.LID = parseLID(value)
	case attr == "sm_lid":
		s.Manager = parseLID(value)
	case attr == "gids/0":
		s.GID = value
	case isKey:
		if n, err := strconv.Atoi(index); err == nil && parsePKey(value) != 0 {
			s.table[n] = parsePKey(value)
		}
	}
}

// ipoib takes an attribute of an IP interface of InfiniBand.
func (n *NICFacts) ipoib(attr, value string) {
	if n.IPoIB == nil {
		n.IPoIB = new(IPoIB)
	}
	switch attr {
	case "mode":
		n.IPoIB.Mode = value
	case "pkey":
		n.IPoIB.PKey = parsePKey(value)
	}
}

// onlyInfiniBand takes off what ports of another protocol show of a subnet,
// and puts the partition keys of the others in their order.
func (n *NICFacts) onlyInfiniBand() {
	for i := range n.RDMA {
		p := &n.RDMA[i]
		if p.Protocol != "infiniband" {
			p.Subnet = nil
		}
		if p.Subnet == nil {
			continue
		}
		p.Subnet.PKeys = nil
		for _, index := range slices.Sorted(maps.Keys(p.Subnet.table)) {
			p.Subnet.PKeys = append(p.Subnet.PKeys, p.Subnet.table[index])
		}
	}
}

// member is the key with which the port is in the partition of k; ok: it is.
// A table may have both, and then the full one counts.
func (s *SubnetPort) member(k PKey) (has PKey, ok bool) {
	for _, have := range s.PKeys {
		if have.Same(k) {
			has, ok = max(has, have), true
		}
	}
	return has, ok
}

// unswept reports whether it is a subnet manager that the port waits for, and
// not a cable.
func (c *checker) unswept() bool {
	return slices.ContainsFunc(c.have.RDMA, func(p RDMAPort) bool {
		return p.Subnet != nil && p.State == "INIT" && p.Subnet.Physical == "LinkUp"
	})
}

// Datagrams of IPoIB are at most the largest packet of InfiniBand, less a
// header of its own: kernel.org, infiniband/ipoib.
const mostDatagram = 4096 - 4

// infiniband compares an InfiniBand port with what its fabric asks of it. That
// it has no subnet manager, or speaks another protocol, is said by rdma_link.
func (c *checker) infiniband() {
	f, ip := c.want.Fabric, c.have.IPoIB
	if f == nil || f.Transport != "infiniband" || ip == nil {
		return
	}
	name := c.have.Interface
	if ip.Mode == "datagram" && f.HostMTU > mostDatagram {
		c.add(false, f.At("host_mtu"), fmt.Sprintf("set host_mtu to 2044, or to %d where the subnet has packets of 4096 bytes; or choose the other mode: echo connected >/sys/class/net/%s/mode", mostDatagram, name),
			"host_mtu of %s is %d bytes, and %s is in datagram mode, whose packets have at most %d", f.Addr, f.HostMTU, name, mostDatagram)
	}
	c.partition(f, ip.PKey)
}

// partition compares the partition that the files ask for, or else that of the
// interface, with the keys that the subnet manager gave the port. A key in the
// files without the bit of full members says that limited ones are meant.
func (c *checker) partition(f *inventory.Fabric, key PKey) {
	name, at, want := c.have.Interface, c.want.Range, key|fullMember
	of := name + " is in the partition of key " + key.String()
	if f.Partition != 0 {
		at, want = f.At("partition"), PKey(f.Partition)
		of = f.Addr + " has partition " + want.String()
		if key != 0 && !key.Same(want) {
			c.add(false, at, fmt.Sprintf("weft takes the interface that has the first key of the port: let the subnet manager give that one first; an interface of its own for a partition (%s.%04x) is described, not yet managed", name, uint16(want|fullMember)),
				"%s, and %s is in the partition of key %s", of, name, key)
			return
		}
	}
	for _, p := range c.have.RDMA {
		s := p.Subnet
		if s == nil || s.Manager == 0 || want == fullMember || len(s.PKeys) == 0 {
			continue
		}
		switch has, ok := s.member(want); {
		case !ok:
			c.add(false, at, "put the port into the partition at the subnet manager: partitions.conf of opensm",
				"%s, and the subnet manager gave %s/%d only %s", of, p.Device, p.Port, keys(s.PKeys))
		case want.Full() && !has.Full():
			c.add(false, at, fmt.Sprintf("make it a full member at the subnet manager, =full in partitions.conf of opensm; or say that limited members will do, with partition = \"%s\" in %s", has, f.Addr),
				"%s, of which %s/%d is a limited member (key %s): it reaches no other limited one", of, p.Device, p.Port, has)
		}
	}
}

func keys(list []PKey) string {
	words := make([]string, len(list))
	for i, k := range list {
		words[i] = k.String()
	}
	return strings.Join(words, ", ")
}
