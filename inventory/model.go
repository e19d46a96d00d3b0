// Package inventory is the typed model of a fabric, each part with the source
// range it came from. Package language reads HCL files into it, package rules is
// what it must keep to. Nothing here touches a device.
package inventory

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weft/internal/slice"
)

// Version is the version of weft. The language has the same: required_version is compared
// with it.
const Version = "0.1.0"

// A Model is everything the files of one directory describe. Lists stand in
// the order of declaration, instances of for_each in the order of their keys.
type Model struct {
	Name  string               // the owner: weft { name = … }
	Files map[string]*hcl.File // by name, for source snippets

	// Inputs are the resolved values of the variables that are not sensitive,
	// for the plan file.
	Inputs map[string]json.RawMessage

	// Sources are the *.weft.hcl files and those that file() and
	// templatefile() have read, by name, for the plan file: Load finds in them
	// what it found the first time. They hold no secrets.
	Sources map[string][]byte

	Connections []*Connection
	Credentials []*Credential
	Fabrics     []*Fabric
	Switches    []*Switch
	Servers     []*Server
	VCenters    []*VCenter
	DVSwitches  []*DVSwitch
	VMs         []*VM
	Links       []*Link
	Pools       []*Pool
	Volumes     []*Volume
	Targets     []*Target
	Initiators  []*Initiator
	Validations []*Validation
	Rollouts    []*Rollout
	Sites       []*Site // that workers carry their part of a run out at
	Store       *Store  // where runs are kept; nil: in the directory
	Checks      []*Check
	Outputs     []*Output
	Removed     []*Removed
	Moved       []*Moved
	Policies    []*Policy

	Evaluator // of what loaded it; nil where the model was made otherwise
}

// Block is what every instance of a block has.
type Block struct {
	Addr   string    // switch.leaf-a, server.node["st1"]
	Former string    // Addr before a moved block; "": there is none
	Range  hcl.Range // of the block's header

	DependsOn   []string // addresses of instances, from depends_on
	Protect     bool     // nothing of it may be destroyed
	IgnoreDrift []string // attributes and nested blocks that others may change: host, safety.save

	Places     Places // as it is written; nil: not known
	Incomplete bool   // an attribute could not be evaluated, which was reported; what needs it is not judged
}

// Itself is what a thing has of a block.
func (b *Block) Itself() *Block { return b }

// Origin is the address that names on devices follow from: the first that the block
// had, which a moved block keeps.
func (b *Block) Origin() string { return cmp.Or(b.Former, b.Addr) }

// Places says where in the files an attribute or a block within a block stands,
// those in such blocks by dotted names: safety.save.
type Places interface {
	Find(path string) (hcl.Range, bool)
}

// At is the source range of an attribute, or of the block where it is not set.
// Those of nested blocks have dotted names: "safety.save".
func (b *Block) At(attr string) hcl.Range {
	if b.Places != nil {
		if at, ok := b.Places.Find(attr); ok {
			return at
		}
	}
	return b.Range
}

// Writes reports whether an attribute or a nested block is written.
func (b *Block) Writes(attr string) bool {
	if b.Places == nil {
		return false
	}
	_, ok := b.Places.Find(attr)
	return ok
}

// Becomes are the ways to become root on a server: for everything, or to read only.
func Becomes() []string { return []string{"sudo", "weft-read"} }

// A Connection says how devices are reached; what is not set comes from
// ~/.ssh/config.
type Connection struct {
	Block
	User           string
	Port           int    // 0: not set
	Become         string // one of Becomes, or ""
	ConnectTimeout time.Duration
	CommandTimeout time.Duration
}

// A Credential is a login whose secret is read when connecting.
type Credential struct {
	Block
	User     string
	Password *Secret // nil: keys only
}

// A Secret is a value that is computed when it is needed and never shown.
type Secret struct {
	From string // how it is read, for messages: env("WEFT_SWITCH_PASSWORD")
	read func() (string, error)
}

// Read computes the secret.
func (s *Secret) Read() (string, error) { return s.read() }

// String never shows the secret.
func (s *Secret) String() string { return "(sensitive)" }

// GoString never shows the secret.
func (s *Secret) GoString() string { return s.String() }

// NewSecret returns a secret that is read by calling read.
func NewSecret(from string, read func() (string, error)) *Secret {
	return &Secret{From: from, read: read}
}

// A Fabric is one statement of intent for switches and NICs.
type Fabric struct {
	Block
	Name        string
	Transport   string // rocev2, infiniband, iwarp or tcp
	Mode        string // lossless or lossy
	MTU         int    // of switch ports, at least
	HostMTU     int
	Partition   uint16 // key of the InfiniBand partition that ports are to be in; 0: none is declared
	Planes      []*Plane
	Classes     []*TrafficClass
	PFCWatchdog *PFCWatchdog
}

// OnDevices is the name that the classes of the fabric have on switches: that of the
// block, or the one it had before a moved block.
func (f *Fabric) OnDevices() string {
	if f.Former == "" {
		return f.Name
	}
	_, name, _ := strings.Cut(f.Former[strings.LastIndex(f.Former, "fabric."):], ".")
	name, _, _ = strings.Cut(name, "[")
	return name
}

// Lossless reports whether some class of the fabric is under PFC.
func (f *Fabric) Lossless() bool {
	return f.Mode != "lossy" && slices.ContainsFunc(f.Classes, func(c *TrafficClass) bool { return c.PFC })
}

// Plane returns the plane of that name, or nil.
func (f *Fabric) Plane(name string) *Plane {
	return slice.First(f.Planes, func(p *Plane) bool { return p.Name == name })
}

// A Plane is one independent path: a subnet.
type Plane struct {
	Block
	Name   string
	Subnet netip.Prefix
}

// PFCWatchdog ends pause storms.
type PFCWatchdog struct {
	Block
	Action  string        // drop or forward
	Detect  time.Duration // 0: the platform's default
	Restore time.Duration
}

// A Switch is one switch.
type Switch struct {
	Block
	Name       string // label: leaf-a, in a module module.x.leaf-a
	OS         string // that has a row in the catalogue; "": not said of an unmanaged one
	Host       string // management name or address; "" as OS
	Serial     string
	Credential *Credential
	Connection *Connection // nil: the default one
	Fabric     *Fabric
	Plane      string
	Unmanaged  bool
	Adopt      bool
	Safety     Safety
}

// Safety says how changes of a switch are guarded.
type Safety struct {
	ConfirmNone bool          // commit_confirm = "none"
	Confirm     time.Duration // the switch reverts by itself after this; 0: not set
	Save        string        // after-soak, now or never
	Method      string        // commit_method; "": the first that the device has
}

// A Link is one declared cable.
type Link struct {
	Block
	From, To LinkEnd
	Speed    int64 // bit/s; 0: not checked
}

// A LinkEnd is an RNIC or a switch port; exactly one of the two is set.
type LinkEnd struct {
	RNIC   *RNIC
	Switch *Switch
	Port   string // of Switch
}

// PlaneOf returns the first plane whose subnet holds the address, or nil.
func (f *Fabric) PlaneOf(a netip.Addr) *Plane {
	return slice.First(f.Planes, func(p *Plane) bool { return p.Subnet.IsValid() && p.Subnet.Contains(a) })
}

// DefaultConnection is connection "default", or one that sets only timeouts
// where it is not declared.
func (m *Model) DefaultConnection() *Connection {
	for _, c := range m.Connections {
		if c.Addr == "connection.default" {
			return c
		}
	}
	return &Connection{ConnectTimeout: DefaultConnectTimeout, CommandTimeout: DefaultCommandTimeout}
}

// Timeouts of a connection that sets none.
const (
	DefaultConnectTimeout = 10 * time.Second
	DefaultCommandTimeout = 60 * time.Second
)

// An Evaluator computes expressions of a model that use observed values. It must
// not be called concurrently.
type Evaluator interface {
	// Evaluate computes an expression of a Check or an Output. Observed attributes
	// come from observed.
	Evaluate(x hcl.Expression, observed Observed) (cty.Value, hcl.Diagnostics)

	// Judge computes an expression of a Policy for one change of a plan.
	Judge(x hcl.Expression, c PolicyChange) (cty.Value, hcl.Diagnostics)

	// Limit is what LimitOf is for a metric whose Limit is set.
	Limit(x *Metric, observed Observed) (float64, error)
}

// A Store is where runs are kept: store "nats" { … }.
type Store struct {
	Kind     string // nats or directory
	URL      string // of nats
	Creds    string // the file with the credential; ~ is the home directory
	Path     string // of a directory
	Replicas int    // 0: as the credential's hub has them
	Lease    time.Duration
	Range    hcl.Range
}
