package inventory

// A VCenter is a vCenter Server, through whose API distributed switches are changed.
type VCenter struct {
	Block
	Name       string
	Host       string
	Port       int
	SHA256     string // of its certificate, 64 hexadecimal digits; "": authorities vouch for it
	Credential *Credential
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
	Name string // label: its name in vCenter begins with that of the switch
	VLAN int    // 0: frames are not tagged
}
