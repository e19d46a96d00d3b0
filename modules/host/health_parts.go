package host

import "net/netip"

// An IdleState is one that CPUs sleep in.
type IdleState struct {
	Name    string `json:"name"`
	Latency int    `json:"latency_us"` // microseconds until it is awake
	Off     bool   `json:"off"`
}

// Ticks are those of all CPUs since the start; of them some were stolen by the machine
// below.
type Ticks struct{ Stolen, All uint64 }

// A Netdev is a network interface of any kind.
type Netdev struct {
	Name      string         `json:"name"`
	Below     string         `json:"below,omitempty"` // the interface that it stands on
	Kind      string         `json:"kind,omitempty"`  // vlan, bond
	MTU       int            `json:"mtu"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
}

// An Export is a subsystem of the kernel's target.
type Export struct {
	NQN        string            `json:"nqn"`
	AnyHost    string            `json:"allow_any_host,omitempty"` // 1: whoever comes
	CntlidMin  string            `json:"cntlid_min,omitempty"`
	CntlidMax  string            `json:"cntlid_max,omitempty"`
	Namespaces []ExportNamespace `json:"namespaces,omitempty"`
}

// An ExportNamespace is one of its devices.
type ExportNamespace struct {
	ID     string            `json:"id"`
	Values map[string]string `json:"values"` // device_path, device_uuid, device_nguid, enable
}

// A Mount is a file system that matters to storage.
type Mount struct {
	Device, Dir, Type, Options string
}

// GPUs are what a machine says of NVIDIA's.
type GPUs struct {
	Driver  string              `json:"driver"`           // the line of its version
	Paths   map[string]string   `json:"paths,omitempty"`  // in the tree of PCI, by address
	FS      string              `json:"nvfs,omitempty"`   // version of nvidia-fs; "": it is not loaded
	Config  map[string]string   `json:"cufile,omitempty"` // of cufile.json; nil: there is none
	Lists   map[string][]string `json:"lists,omitempty"`  // of it
	Peering *bool               `json:"p2pdma,omitempty"` // the kernel was built with it
	Counts  string              `json:"counts,omitempty"` // rw_stats_enabled
}

// An LNet is what a machine says of Lustre's network.
type LNet struct {
	Down string   `json:"down,omitempty"` // why it is
	NIs  []LNetNI `json:"nis,omitempty"`
}

// An LNetNI is one of its interfaces.
type LNetNI struct {
	Net, NID, Status  string
	Health            int // 1000 is all of it; -1: not told
	Credits, Timeouts int // -1: not told
}

// A GID is an address of an RDMA port.
type GID struct {
	Address netip.Addr `json:"address"`
	Type    string     `json:"type,omitempty"` // RoCE v2
}

// A DCBX is who decides on the classes of a port.
type DCBX struct{ Host, IEEE bool }

// Vectors are the interrupts of a card, and those that run off its NUMA node.
type Vectors struct {
	All, Off int
	Node     string // CPUs of its node
}
