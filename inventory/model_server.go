package inventory

import (
	"iter"
	"net/netip"
	"strconv"
	"strings"

	"weft/internal/slice"
)

// A Server is one machine.
type Server struct {
	Block
	Name       string // label and key: node["st1"], in a module module.x.node["st1"]
	OS         string
	Host       string
	MachineID  string // "": not checked
	Labels     map[string]string
	Credential *Credential // nil: keys, and the user of the connection
	Connection *Connection // nil: the default one
	RNICs      []*RNIC
	FileBlocks []*File
	Settings   []*Setting // of the kinds that declare their own blocks
	SMB        *SMB       // of Windows; nil: none

	KernelModules []*KernelModule
	Packages      []*Package
	Services      []*Service
	Commands      []*Command
}

// RNIC returns the server's RDMA NIC of that label, or nil.
func (s *Server) RNIC(label string) *RNIC {
	return slice.First(s.RNICs, func(r *RNIC) bool { return r.Name == label })
}

// RNICs are those of all servers, each with its server.
func (m *Model) RNICs() iter.Seq2[*Server, *RNIC] {
	return func(yield func(*Server, *RNIC) bool) {
		for _, s := range m.Servers {
			for _, r := range s.RNICs {
				if !yield(s, r) {
					return
				}
			}
		}
	}
}

// An RNIC is one port of an RDMA NIC.
type RNIC struct {
	Block
	Name    string // label: p0
	Server  *Server
	PCI     string       // match.pci, lower case
	Port    string       // match.port: the number of one of several ports of that function; "": it has one
	MAC     string       // match.mac, lower case
	Address netip.Prefix // invalid: none
	Fabric  *Fabric      // nil: none
	Plane   *Plane       // the plane whose subnet holds Address; nil: none

	VLAN     int       // of its frames, which are tagged; 0: they are not
	Software bool      // RDMA is done in software where the card has none
	VMK      *VMK      // of ESXi; nil: none
	DVSwitch *DVSwitch // whose uplink it is; nil: none
}

// Place is where on its server the port is found, as remote.FindPort takes it: by the PCI
// address, with the number of the port where that is declared, or else by the MAC address.
// "": it is not declared.
func (r *RNIC) Place() string {
	switch {
	case r.PCI != "" && r.Port != "":
		return r.PCI + "@" + r.Port
	case r.PCI == "" && r.MAC != "":
		return "@" + r.MAC
	}
	return r.PCI
}

// A VMK is the port of the VMkernel of an ESXi host that has a NIC's address.
type VMK struct {
	Block
	ID        string       // vmk2
	VSwitch   string       // a standard switch, whose only uplink the NIC is; "": it is on PortGroup
	PortGroup *DVPortGroup // of the distributed switch whose uplink the NIC is
	Netstack  string       // the stack of TCP/IP that it is on; "": the default one
	Services  []string     // nvme-rdma, nvme-tcp, vsan, pvrdma
}

// Number is that of its name.
func (v *VMK) Number() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(v.ID, "vmk")) // the language has checked it
	return n
}

// An SMB is file sharing over RDMA, SMB Direct, between Windows hosts.
type SMB struct {
	Block
	DirectPort int // NetworkDirect port, whose traffic has the lossless class of a fabric
}

// A File is a file that weft keeps on a server.
type File struct {
	Block
	Path    string
	Content string
	Mode    uint32
	Secret  bool // Content derives from a sensitive value and is never shown
}

// A Setting is a small block in a server whose words a kind declares for itself.
type Setting struct {
	Block
	Type   string // as the files name it
	Label  string
	Values map[string]string // by attribute; one that is not written and has no default is ""
}

// Declared are the blocks of one type, in the order of the files.
func (s *Server) Declared(blockType string) (out []*Setting) {
	return slice.Filter(s.Settings, func(b *Setting) bool { return b.Type == blockType })
}

// A KernelModule is loaded, now and at boot.
type KernelModule struct {
	Block
	Name    string
	Options map[string]string // parameters of the module
}

// A Package is installed, or absent.
type Package struct {
	Block
	Name    string
	Version string // "": any
	Absent  bool
}

// A Service is a unit of the service manager.
type Service struct {
	Block
	Name    string
	Enabled bool // starts at boot
	Running bool
}

// A Command is run where it has not done its work. Exactly one of Creates and
// Unless says whether it has.
type Command struct {
	Block
	Name    string
	Run     []string // an argument vector, like Unless and Undo
	Creates string   // a file that is there afterwards
	Unless  []string // succeeds where nothing is left to do
	Undo    []string // empty: the command cannot be undone
}

// A BlockType is a small block in a server that a kind of resource declares for
// itself: all of its attributes are texts.
type BlockType struct {
	Name       string
	About      string // what it is for, a sentence
	Label      string // what its label stands for: key
	Named      Form   // what the label must be
	Attributes []Attribute
}

// An Attribute of a BlockType.
type Attribute struct {
	Name    string
	About   string // what it is for, a sentence
	Needed  bool
	Default string // where it is not written; "": there is none
	Form    Form
}

// A Form is what a text must be.
type Form struct {
	Is      string // for people: a text in one line
	Pattern string // regular expression of the whole
}
