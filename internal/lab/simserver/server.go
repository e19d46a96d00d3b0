//go:build unix

package simserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// System is the host system of simulated servers, as in the files.
const System = "linux"

// A Spec says what a server is made of.
type Spec struct {
	Name       string // host name
	Root       string // its file system: a real directory, made if it is missing
	Journal    string // directory for the output of its services, made when there is some
	MachineID  string // "": derived from Name
	Interfaces []Interface
	Drives     []Drive
	Portals    []netip.AddrPort // that agents of this server may listen on
	Password   bool             // sudo asks for a password
	Restart    func()           // systemd was asked for a restart: it comes after this has returned; nil: refused
}

// An Interface is one port of a network card at boot.
type Interface struct {
	PCI     string // "0000:41:00.0"
	Name    string // "": derived from PCI as systemd does
	MAC     string // "": derived from the server's name and PCI
	Speed   int64  // bit/s; 0: 100 Gbit/s
	Address netip.Prefix
	Plain   bool   // a plain management port: no data center bridging, MTU at most 1500
	Fabric  string // transport of the fabric the card is made for: rocev2, infiniband or iwarp; others: as rocev2
	NoRDMA  bool   // the card has no RDMA, but all else
	Hears   *Peer  // at the other end of its cable; nil: nobody
}

// A Peer is a device at the other end of a cable that says what it is, with LLDP or in the
// subnet of InfiniBand.
type Peer struct {
	System  string
	Chassis string // MAC address, or GUID
	Port    string // MAC address of a NIC, name of a switch's port, or number of one of InfiniBand
}

// A Drive is a block device, simulated by a sparse file.
type Drive struct {
	ID   string // name in /dev/disk/by-id
	Size int64  // bytes
}

// A Server is one simulated Linux server. It is an sshd.Machine with files.
type Server struct {
	spec   Spec
	net    *Network
	tree   *tree
	kernel string // as uname says
	arch   string

	background sync.WaitGroup // copies input of sessions, watches services
	jobs       sync.Mutex     // held while services are started and stopped

	drawn atomic.Pointer[drawing]
	asked atomic.Int64 // when the targets of connections were asked last, in nanoseconds

	mu       stateMutex
	bootID   string
	booted   time.Time
	ifaces   []*iface // the loopback first
	softRDMA []rdmaDevice
	cm       map[string]*cmDevice // by name of the RDMA device
	nvmet    *nvmet

	controllers []*controller
	policies    map[string]string // of I/O, by subsystem of the host

	raids    map[string]*raid // by UUID
	groups   map[string]*volumeGroup
	blocks   map[string]int // of drives, bytes; not there: 512
	mounts   [][2]string    // a device, and where it is mounted
	units    map[string]*unit
	software software
	timers   map[string]*timer
	password bool // sudo asks for a password
	slow     time.Duration
	closed   bool

	hostile     *regexp.Regexp // command lines that are answered so
	hostileText string
}

// A stateMutex guards the state of a server, and counts how often that may have
// changed: what was rendered of it holds until then.
type stateMutex struct {
	sync.RWMutex
	changes atomic.Uint64
}

// Lock locks the state for a change.
func (m *stateMutex) Lock() {
	m.RWMutex.Lock()
	m.changes.Add(1)
}

// A drawing is what was rendered of a state.
type drawing struct {
	changes uint64 // as counted before
	rendered
}

// New makes a server that is up and stands in the network.
func New(n *Network, spec Spec) (*Server, error) {
	s := &Server{spec: spec, net: n, units: map[string]*unit{}, timers: map[string]*timer{}, groups: map[string]*volumeGroup{}, raids: map[string]*raid{}, password: spec.Password}
	s.kernel, s.arch = uname()
	if s.spec.MachineID == "" {
		sum := sha256.Sum256([]byte("machine " + spec.Name))
		s.spec.MachineID = hex.EncodeToString(sum[:16])
	}
	if err := os.MkdirAll(spec.Root, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of simulated server %s: %w", spec.Name, err)
	}
	abs, err := filepath.Abs(spec.Root)
	if err != nil {
		return nil, fmt.Errorf("simulated server %s: %w", spec.Name, err)
	}
	s.spec.Root = abs
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("simulated server %s: %w", spec.Name, err)
	}
	s.tree = &tree{root: root, render: s.render, mkdir: s.configMkdir, rmdir: s.configRmdir, symlink: s.configLink}
	s.boot()
	s.bootSoftware()
	if err := s.install(); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("making the files of simulated server %s: %w", spec.Name, err)
	}
	n.join(s)
	return s, nil
}

// install puts the files of a fresh system into the root.
func (s *Server) install() error {
	v := view{s.tree, user{"root", true}}
	dirs := []string{"/etc/systemd/system", "/etc/security/limits.d", "/usr/local/lib", "/var/lib", "/run", "/tmp", "/dev/disk/by-id", "/lib/modules/" + kernelRelease}
	for _, dir := range dirs {
		if err := v.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for path, content := range map[string]string{
		"/etc/machine-id": s.spec.MachineID + "\n",
		"/etc/hostname":   s.spec.Name + "\n",
		"/lib/modules/" + kernelRelease + "/modules.builtin": builtinList(),
		"/etc/os-release": "PRETTY_NAME=\"weft lab (SIMULATED)\"\nNAME=\"weft lab\"\nID=weft-lab\nID_LIKE=debian\nVERSION_ID=\"0\"\n",
	} {
		if err := v.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, d := range s.spec.Drives {
		if err := s.drive(d); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) drive(d Drive) error {
	if d.ID == "" || strings.ContainsAny(d.ID, "/\x00") {
		return fmt.Errorf("%q is not the name of a drive", d.ID)
	}
	f, err := s.tree.root.OpenFile("dev/disk/by-id/"+d.ID, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(d.Size)
}

// boot sets everything that a reboot loses.
func (s *Server) boot() {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	h := hex.EncodeToString(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bootID = strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
	s.booted = time.Now()
	s.ifaces = s.newInterfaces()
	s.softRDMA, s.cm, s.nvmet, s.mounts = nil, map[string]*cmDevice{}, newNVMeT(), nil
	s.controllers, s.policies = nil, map[string]string{}
	for _, r := range s.raids {
		r.device = ""
	}
}

// uname is the system and the machine of the real host: agents are built for
// it.
func uname() (kernel, arch string) {
	kernel, arch = runtime.GOOS, runtime.GOARCH
	switch kernel {
	case "linux":
		kernel = "Linux"
	case "darwin":
		kernel = "Darwin"
	case "freebsd":
		kernel = "FreeBSD"
	}
	switch {
	case arch == "amd64":
		arch = "x86_64"
	case arch == "arm64" && kernel == "Linux":
		arch = "aarch64"
	}
	return kernel, arch
}

// Name is the host name.
func (s *Server) Name() string { return s.spec.Name }

// Root is the real directory that holds the server's files.
func (s *Server) Root() string { return s.spec.Root }

// asRoot runs a simulated command as the service manager does.
func (s *Server) asRoot(args []string, log io.Writer) int {
	in, err := os.Open(os.DevNull)
	if err != nil {
		fmt.Fprintln(log, err)
		return 1
	}
	defer in.Close()
	root := user{"root", true}
	sess := &session{server: s, umask: 0o022, login: root.name}
	sh := &shell{session: sess, user: root, dir: "/", env: loginEnv(root), in: in, out: lock(log), err: lock(log)}
	return sh.run(context.Background(), "sh", quote(args...), nil)
}

// Close stops the server's services and waits for everything it started. The
// sessions must have ended.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.net.leave(s)
	s.stopTimers()
	s.stopAll()
	s.background.Wait()
	return s.tree.root.Close()
}
