package inventory

// A VCenter is a vCenter Server, through whose API distributed switches are changed.
type VCenter struct {
	Block
	Name       string
	Host       string
	Port       int
	SHA256     string // of its certificate, 64 hexadecimal digits; "": authorities vouch for it
	Credential *Credential
	Clusters   []*Cluster
}

// A Cluster is one of hosts, which somebody else has made in vCenter.
type Cluster struct {
	Block
	Path     string // label, in the inventory of vCenter: dc1/host/c1
	VSANRDMA bool
}

// A DVSwitch is a distributed switch of vCenter.
type DVSwitch struct {
	Block
	Name       string
	VCenter    *VCenter
	Path       string  // in the inventory of vCenter: dc1/network/weft-rdma
	Uplinks    []*RNIC // of hosts, one each
	PortGroups []*DVPortGroup
}

// MTU is what the fabrics of its uplinks have hosts send, bytes; 0: it has none.
func (d *DVSwitch) MTU() (most int) {
	for _, r := range d.Uplinks {
		if r.Fabric != nil {
			most = max(most, r.Fabric.HostMTU)
		}
	}
	return most
}

// A DVPortGroup is one of a distributed switch.
type DVPortGroup struct {
	Block
	Name   string // label: its name in vCenter begins with that of the switch
	Switch *DVSwitch
	VLAN   int // 0: frames are not tagged
}

// A VM is a virtual machine of vCenter, which somebody else has made.
type VM struct {
	Block
	Name            string
	Path            string // in the inventory of vCenter: dc1/vm/hpc1
	HardwareVersion int    // at least; 0: as it is
	Adapters        []*PVRDMA
}

// A PVRDMA is a paravirtual RDMA adapter of a virtual machine.
type PVRDMA struct {
	Block
	Name          string // label
	PortGroup     *DVPortGroup
	Protocol      string // rocev1 or rocev2
	AllowDegraded bool   // to reach others by memory or TCP, without adapters of RDMA in the hosts
}
