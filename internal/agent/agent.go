// Package agent holds the configuration and status files that weft and its
// agents share.
package agent

import (
	"runtime/debug"
	"slices"
)

// Paths on a server. With --root DIR an agent finds all of them below DIR.
const (
	BinDir      = "/usr/local/lib/weft"              // the agents' executables
	ConfigPath  = "/etc/weft/target.toml"            // of weft-target
	UnitPath    = "/etc/systemd/system/"             // + Unit
	SocketPath  = "/run/weft/target.sock"            // status of weft-target
	Unit        = "weft-target.service"              // runs weft-target
	MirrorState = "/var/lib/weft/%s/mirrors/%s.json" // + owner, name: which half of a mirror is up to date
	TargetBin   = BinDir + "/weft-target"            // executable
	ProbeBin    = BinDir + "/weft-initiator"         // executable
	ModelName   = "weft"                             // Identify Controller MN
)

// Target is the configuration of weft-target (TOML).
type Target struct {
	Owner      string      `toml:"owner"`
	Metrics    string      `toml:"metrics,omitempty"` // where Prometheus reads: "127.0.0.1:9420"; nowhere where empty
	ToS        uint8       `toml:"tos,omitempty"`     // of every portal of TCP without one of its own, in files of before; 0 once it was read
	Portals    []Portal    `toml:"portal"`
	Access     []Access    `toml:"ana,omitempty"`
	Subsystems []Subsystem `toml:"subsystem"`
}

// A Portal is an address that the target listens on.
type Portal struct {
	Transport string `toml:"transport" json:"transport"`                 // "tcp" or "rdma"
	Address   string `toml:"address" json:"address"`                     // "10.40.1.11:4420"
	Instead   bool   `toml:"instead,omitempty" json:"instead,omitempty"` // only where the RDMA portal of this address cannot be opened
	TLS       bool   `toml:"tls,omitempty" json:"tls,omitempty"`         // hosts connect with TLS, or not at all; TCP only
	ToS       uint8  `toml:"tos,omitempty" json:"tos,omitempty"`         // type of service of what is sent: DSCP × 4; 0: the system's; TCP only
}

// Same reports whether two portals are one, whatever the marks of their packets.
func (p Portal) Same(o Portal) bool {
	p.ToS, o.ToS = 0, 0
	return p == o
}

// Access is how well a group of namespaces can be reached at a portal.
type Access struct {
	Portal string `toml:"portal"` // address
	Group  uint32 `toml:"group"`  // 1 to 128
	State  string `toml:"state"`  // see AccessStates
}

// A Subsystem is what initiators connect to.
type Subsystem struct {
	NQN        string      `toml:"nqn"`
	Serial     string      `toml:"serial"`            // at most 20 ASCII characters
	AllowHosts []string    `toml:"allow_hosts"`       // host NQNs; nobody else connects
	Portals    []string    `toml:"portals,omitempty"` // addresses of the portals that serve it; none: all
	Auth       []Auth      `toml:"auth,omitempty"`
	DemandAuth bool        `toml:"demand_auth,omitempty"` // a host that need not authenticate is a mistake
	TLS        []TLS       `toml:"tls,omitempty"`
	Namespaces []Namespace `toml:"namespace"`
}

// ServedAt reports whether hosts reach the subsystem at the portal of an
// address.
func (s Subsystem) ServedAt(address string) bool {
	return len(s.Portals) == 0 || slices.Contains(s.Portals, address)
}

// Auth is how one host authenticates, by DH-HMAC-CHAP. Each key is a secret of
// the form DHHC-1:HH:BASE64:, here or in a file of its own.
type Auth struct {
	Host             string   `toml:"host"`
	Key              string   `toml:"key,omitempty"`
	KeyFile          string   `toml:"key_file,omitempty"`
	SubsystemKey     string   `toml:"subsystem_key,omitempty"` // that the subsystem proves to the host
	SubsystemKeyFile string   `toml:"subsystem_key_file,omitempty"`
	Hashes           []string `toml:"hashes,omitempty"`    // "sha256", "sha384", "sha512"
	DHGroups         []string `toml:"dh_groups,omitempty"` // "null", "ffdhe2048" and up to "ffdhe8192"
}

// TLS is the key by which one host and a subsystem encrypt what they say: of the form
// NVMeTLSkey-1:HH:BASE64:, here or in a file of its own.
type TLS struct {
	Host    string `toml:"host"`
	Key     string `toml:"key,omitempty"`
	KeyFile string `toml:"key_file,omitempty"`
}

// A Namespace is one block device of a subsystem.
type Namespace struct {
	ID        uint32   `toml:"id"`
	UUID      string   `toml:"uuid"`
	NGUID     string   `toml:"nguid,omitempty"`  // a second name for hosts: 32 hexadecimal digits, or LocalNGUID
	Backend   string   `toml:"backend"`          // "memory", "file", "device", "null" or "mirror"
	Path      string   `toml:"path,omitempty"`   // of a file or device
	Mirror    []string `toml:"mirror,omitempty"` // of a mirror: the paths of two files or devices
	Size      int64    `toml:"size"`             // in bytes; 0: all of a device
	BlockSize int      `toml:"block_size"`       // 512 or 4096
	ANAGroup  uint32   `toml:"ana_group,omitempty"`
	ReadOnly  bool     `toml:"read_only,omitempty"`
	IOPS      uint64   `toml:"iops,omitempty"`      // most commands in a second
	Bandwidth uint64   `toml:"bandwidth,omitempty"` // most bytes in a second
}

// A ProbeResult is what one run of weft-initiator measured (JSON).
type ProbeResult struct {
	Transport string `json:"transport"`          // "tcp" or "rdma", or "local" for a file or device on the same host
	Degraded  string `json:"degraded,omitempty"` // why it is not the transport that was preferred
	TLS       string `json:"tls,omitempty"`      // the cipher suite of TLS 1.3 that was spoken; "": all was said in clear
	Mode      string `json:"mode"`               // "event" or "poll": how the initiator waits
	Local     string `json:"local"`              // address of this end, as the fabric names it
	Remote    string `json:"remote"`             // address of the portal, or the path of a local file
	NQN       string `json:"nqn,omitempty"`
	NSID      uint32 `json:"nsid,omitempty"`
	Op        string `json:"op"`      // "read", OpSocket, or an operation of RDMA such as "send"
	Size      int    `json:"size"`    // bytes of one operation
	Depth     int    `json:"depth"`   // queue depth
	Samples   int    `json:"samples"` // operations measured
	Errors    int    `json:"errors"`  // operations refused or timed out
	FirstErr  string `json:"first_error,omitempty"`
	Bytes     uint64 `json:"bytes"` // moved, warm-up included
	Elapsed   int64  `json:"elapsed_ns"`
	Histogram string `json:"histogram"` // latency.Histogram, text form; nanoseconds
}

// OpSocket is the Op of messages to and fro over TCP, without NVMe.
const OpSocket = "socket"

// A Discovered is one record of a target's discovery log (JSON).
type Discovered struct {
	Transport string `json:"transport"` // "tcp" or "rdma"
	Address   string `json:"address"`   // of the portal, as the fabric names it: "10.40.1.11:4420"
	NQN       string `json:"nqn"`
	Kind      string `json:"kind"` // "subsystem", "discovery" (this service) or "referral"
}

// Exit statuses of the agents, besides 0 for done.
const (
	ExitError       = 1   // something went wrong on this machine, or was asked for wrongly
	ExitFailed      = 3   // a target was tried and did not answer as it should
	ExitUsage       = 64  // the command line cannot be understood
	ExitInterrupted = 130 // by SIGINT or SIGTERM, before the work was done
)

// Version is the version of the module that this executable was built from, or "unknown". In
// weft from a checkout it names the commit; agents are built without it, "(devel)", so that
// their sums do not change with each commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
