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
	Bond      string         `json:"bond,omitempty"`  // that it is part of
	Kind      string         `json:"kind,omitempty"`  // vlan, bond
	MAC       string         `json:"mac,omitempty"`
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
	Allowed    []string          `json:"allowed,omitempty"`   // hosts that it lets in, by NQN
	Connected  []string          `json:"connected,omitempty"` // hosts that have a controller of it, where Health.Sessions is
}

// A Keeper is what manages an interface. One that does not keep takes addresses away when
// the link is lost.
type Keeper struct {
	Name  string `json:"name"`
	Keeps bool   `json:"keeps"`
}

// A Firewall is what nftables do with what comes in.
type Firewall struct {
	Closed bool           `json:"closed"` // what no rule accepts is dropped
	Vague  bool           `json:"vague"`  // rules that are not about ports accept something
	Rules  []FirewallRule `json:"rules,omitempty"`
}

// A FirewallRule is one about ports.
type FirewallRule struct {
	Protocol string `json:"protocol"` // tcp, udp
	Low      int    `json:"low"`
	High     int    `json:"high"`
	Accepts  bool   `json:"accepts"`
	Packets  uint64 `json:"packets,omitempty"` // that met it; 0 where it does not count
}

// A ThinPool is one of lvm2, with the percent of it that is used.
type ThinPool struct {
	Name     string  `json:"name"`
	Data     float64 `json:"data"`
	Metadata float64 `json:"metadata"`
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
	Hooks   []string            `json:"hooks,omitempty"`  // of nvidia-fs in loaded modules, by symbol; nil: not known
	ACS     map[string]string   `json:"acs,omitempty"`    // ACS control of bridges above GPUs, NICs and drives, in hex; "": it has none. nil: not known
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

// A Direct is what Windows says of RDMA on a port, which it calls NetworkDirect.
type Direct struct {
	On         *bool   `json:"on,omitempty"`         // of the port and of its machine; nil: not known
	Technology string  `json:"technology,omitempty"` // as drivers number it: 1 iWARP, 2 InfiniBand, 3 RoCE, 4 RoCEv2; "": not known
	VLAN       *int    `json:"vlan,omitempty"`       // whose tag it sends; 0: none; nil: not known
	Bridging   *bool   `json:"bridging,omitempty"`   // data-centre bridging is on; nil: not known
	Taken      *string `json:"taken,omitempty"`      // what has taken it: a team, a virtual switch; "": nothing; nil: not known
	Version    string  `json:"driver,omitempty"`     // of its driver; "": not known
}

// Vectors are the interrupts of a card, and those that run off its NUMA node.
type Vectors struct {
	All, Off int
	Node     string // CPUs of its node
}

// AgentLimits are what a process of weft's agents may do.
type AgentLimits struct {
	Name string `json:"name"`           // weft-target
	Lock string `json:"lock,omitempty"` // bytes of memory, or unlimited; "": not known
	Free bool   `json:"free,omitempty"` // the limit is none for it
}
