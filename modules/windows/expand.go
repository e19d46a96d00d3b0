package windows

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	naming "weft/internal/owned"
	"weft/inventory"
	"weft/modules/host"
)

// portOf makes what a NIC of a fabric is to have, each after the one before it.
func portOf(d *host.Machine, r *inventory.RNIC) (list []host.Wanted, err error) {
	switch {
	case r.Fabric == nil || r.Fabric.Transport != "tcp" && r.Fabric.Transport != "rocev2":
		return nil, errors.New("a NIC of Windows needs a fabric that is rocev2 or tcp")
	case r.VMK != nil:
		return nil, errors.New("a vmk is of ESXi")
	case r.Software:
		return nil, errors.New("there is no RDMA in software on Windows")
	case r.Address.IsValid() && !r.Address.Addr().Is4():
		return nil, errors.New("an address of a NIC of Windows is one of IPv4")
	}
	add := func(kind, name string, r host.Thing) {
		list = append(list, host.Wanted{Kind: kind, Name: name, Resource: r})
	}
	nic := &Adapter{PCI: r.PCI, Values: map[string]string{kwJumbo: frame(r.Fabric.HostMTU)}}
	if r.VLAN != 0 {
		nic.Values[kwVLAN] = strconv.Itoa(r.VLAN)
	}
	if r.Fabric.Transport == "tcp" {
		add("adapter", r.Name, AdapterKind().Want(d, nic))
	} else if list, err = roce(d, r, nic); err != nil {
		return nil, err
	}
	if r.Address.IsValid() {
		add("ip_address", r.Name, AddressKind().Want(d, &Address{PCI: r.PCI, CIDR: r.Address}))
	}
	return list, nil
}

// roce makes what RDMA over Ethernet needs. The first NIC of the fabric brings along what
// is of the whole host.
func roce(d *host.Machine, r *inventory.RNIC, nic *Adapter) (list []host.Wanted, err error) {
	class, err := marked(r)
	if err != nil {
		return nil, err
	}
	add := func(kind, name string, r host.Thing) {
		list = append(list, host.Wanted{Kind: kind, Name: name, Resource: r})
	}
	maps.Copy(nic.Values, map[string]string{kwPause: "0", kwTag: "3", kwRSS: "1", kwTechnology: "4", kwRDMA: "1"})
	f, own := r.Fabric, r.Server
	first := own.RNICs[slices.IndexFunc(own.RNICs, func(o *inventory.RNIC) bool { return o.Fabric == f })] == r
	prefix := naming.Object(d.Owner(), f.OnDevices()) + "-"
	want := &DCB{Prefix: prefix}
	qos := &AdapterQoS{PCI: r.PCI, Enabled: true, Shares: map[int]string{}, Port: own.SMB.DirectPort, Priority: class.Priority}
	for _, c := range f.Classes {
		if c.PFC {
			want.Lossless = append(want.Lossless, c.Priority)
		}
		if c.Priority != 0 {
			want.Classes = append(want.Classes, Class{prefix + c.Name, c.Priority, c.Bandwidth})
			qos.Shares[c.Priority] = share(c.Bandwidth)
		}
	}
	slices.Sort(want.Lossless)
	slices.SortFunc(want.Classes, func(a, b Class) int { return strings.Compare(a.Name, b.Name) })
	qos.Lossless = want.Lossless
	const feature = "Data-Center-Bridging"
	declared := slices.ContainsFunc(own.Declared("windows_feature"), func(s *inventory.Setting) bool { return s.Label == feature })
	if first && !declared {
		add("windows_feature", feature, FeatureKind().Want(d, &Feature{Name: feature}))
	}
	add("adapter", r.Name, AdapterKind().Want(d, nic))
	if first {
		add("dcb", f.Name, DCBKind().Want(d, want))
		add("qos_policy", "smb-direct", PolicyKind().Want(d, &Policy{Name: prefix + "smb", Port: own.SMB.DirectPort, Priority: class.Priority}))
	}
	add("adapter_qos", r.Name, AdapterQoSKind().Want(d, qos))
	return list, nil
}

// marked is the class that RDMA belongs to. Its error says what a fabric lacks, or asks
// for, that Windows cannot do.
func marked(r *inventory.RNIC) (*inventory.TrafficClass, error) {
	f := r.Fabric
	class := f.ClassOf(inventory.RDMA)
	shares := 0
	for _, c := range f.Classes {
		if c.Priority != 0 {
			shares += c.Bandwidth
		}
	}
	switch {
	case r.VLAN == 0:
		return nil, errors.New("it needs vlan = …: Windows marks RDMA by its 802.1p priority only, which stands in the tag of a VLAN, and gives it no DSCP")
	case r.Server.SMB == nil:
		return nil, fmt.Errorf("%s needs smb {}: it names the port whose RDMA is marked", r.Server.Addr)
	case !f.Lossless():
		return nil, fmt.Errorf("%s is lossy, and rests on congestion control: no cmdlet of Windows sets that of a NIC", f.Addr)
	case class == nil || class.Priority == 0 || !class.PFC:
		return nil, fmt.Errorf("RDMA has no lossless class with its own priority in %s", f.Addr)
	case shares > 99:
		return nil, fmt.Errorf("the classes of %s have %d%% of the bandwidth, and Windows keeps 1%% for the rest", f.Addr, shares)
	}
	for _, other := range r.Server.RNICs {
		if other.Fabric != nil && other.Fabric != f && other.Fabric.Transport != "tcp" {
			return nil, fmt.Errorf("%s is in %s, too: data-centre bridging of Windows is one for all NICs of a host", other.Addr, other.Fabric.Addr)
		}
	}
	return class, nil
}
