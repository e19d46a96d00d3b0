//go:build unix

// Package simesxi is a SIMULATED VMware ESXi host: a shell with the few tools that
// weft's scripts use, and those esxcli commands that a document has. It keeps state,
// and refuses all else.
package simesxi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"sync"
	"time"
)

// System is the host system of simulated hosts, as in the files.
const System = "esxi"

// A Spec says what a host is made of.
type Spec struct {
	Name      string
	Root      string // its file system: a real directory, made if it is missing
	MachineID string // 32 hexadecimal digits; "": derived from Name
	NICs      []NIC
	Scratch   string   // where /scratch is; "": on a disk
	Stacks    []string // of TCP/IP, besides the default one
}

// A NIC is one port of a network card.
type NIC struct {
	PCI   string
	MAC   string // "": derived from the host's name and PCI
	Speed int64  // bit/s; 0: 100 Gbit/s
	RDMA  bool

	Lossless []int // priorities for which its switch gives PFC by DCBX
}

// A Host is one simulated host. It is an sshd.Machine.
type Host struct {
	spec Spec
	uuid string
	root *os.Root

	stop    context.CancelFunc // ends what sleeps
	alive   context.Context
	asleep  sync.WaitGroup
	running sync.Mutex // held while a command runs: hostd does one after the other

	mu        sync.Mutex
	nics      []*nic
	now       config
	saved     config            // what a start reads
	loaded    map[string]string // parameters that modules were loaded with
	processes map[int]string    // command lines of what sleeps
	next      int
	wake      chan struct{} // closed when whoever sleeps is to wake
	fault     string        // what esxcli answers to changes; "": nothing is wrong
	slow      time.Duration
	upkeep    upkeep
	clustered bool           // it is in a cluster of vSAN
	dcb       string         // what NICs say of DCB
	longest   int            // packets that come through, bytes; 0: all
	sizes     map[string]int // blocks of the namespaces of a subsystem, bytes; none: 512
}

type nic struct {
	NIC
	name string
}

// A config is what a host keeps.
type config struct {
	switches    map[string]vswitch
	groups      map[string]portgroup
	vmks        map[string]vmk
	modules     map[string]map[string]string
	options     map[string]string
	rulesets    map[string]bool
	pauses      map[string]pause // by name of a NIC
	adapters    []adapter
	controllers []controller
}

type vswitch struct {
	mtu     int
	uplinks []string
}

type portgroup struct {
	on             string
	vlan           int
	override       bool
	active, stands []string
}

type vmk struct {
	group, stack, address, mask, kind string
	mtu                               int
	tags                              []string
	vsan                              bool   // it carries vSAN
	dvs, nic                          string // the distributed switch that it is on, and the NIC of that; "": it is on a port group
}

type adapter struct{ name, transport, device string }

type controller struct {
	number                     int
	nqn, adapter, address, dev string
	extent                     string // name of the datastore on its namespace; "": none
	offline                    bool
	blocks                     int // bytes; 0: 512
}

// clone is a copy that shares nothing which changes.
func (c config) clone() config {
	c.switches, c.groups, c.vmks = maps.Clone(c.switches), maps.Clone(c.groups), maps.Clone(c.vmks)
	c.options, c.rulesets, c.pauses = maps.Clone(c.options), maps.Clone(c.rulesets), maps.Clone(c.pauses)
	modules := map[string]map[string]string{}
	for m, p := range c.modules {
		modules[m] = maps.Clone(p)
	}
	c.modules, c.adapters, c.controllers = modules, slices.Clone(c.adapters), slices.Clone(c.controllers)
	return c
}

// New makes a host that is up, as it is after its installation: a switch with the
// management NIC, its port group and vmk0.
func New(spec Spec) (*Host, error) {
	h := &Host{spec: spec, processes: map[int]string{}, wake: make(chan struct{}), loaded: map[string]string{}, sizes: map[string]int{}, dcb: dcbIEEE, upkeep: upkeep{since: time.Now()}}
	h.alive, h.stop = context.WithCancel(context.Background())
	if h.uuid = spec.MachineID; h.uuid == "" {
		sum := sha256.Sum256([]byte("machine " + spec.Name))
		h.uuid = hex.EncodeToString(sum[:16])
	}
	if len(h.uuid) != 32 {
		return nil, fmt.Errorf("simulated host %s: %q is no UUID of 32 digits", spec.Name, h.uuid)
	}
	h.nics = []*nic{{NIC{PCI: "0000:01:00.0", Speed: 1e9}, "vmnic0"}}
	for i, n := range spec.NICs {
		h.nics = append(h.nics, &nic{n, fmt.Sprintf("vmnic%d", i+1)})
	}
	for _, n := range h.nics {
		if n.MAC == "" {
			sum := sha256.Sum256([]byte("mac " + spec.Name + " " + n.PCI))
			n.MAC = fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
		}
		n.Speed = cmp.Or(n.Speed, 100e9)
	}
	scratch := spec.Scratch
	if scratch == "" {
		scratch = "/vmfs/volumes/SIMULATED-scratch"
	}
	h.now = config{
		switches: map[string]vswitch{"vSwitch0": {1500, []string{"vmnic0"}}},
		groups:   map[string]portgroup{"Management Network": {on: "vSwitch0"}, "VM Network": {on: "vSwitch0"}},
		vmks: map[string]vmk{"vmk0": {group: "Management Network", stack: "defaultTcpipStack", address: "192.0.2.10", mask: "255.255.255.0",
			kind: "STATIC", mtu: 1500, tags: []string{"Management"}}},
		modules:  map[string]map[string]string{"nmlx5_core": {"max_vfs": "", "pfcrx": "", "pfctx": "", "trust_state": ""}, "nmlx5_rdma": {"dscp_force": ""}},
		options:  map[string]string{"/Net/PVRDMAVmknic": "", "/ScratchConfig/CurrentScratchLocation": scratch},
		rulesets: map[string]bool{"pvrdma": false, "sshServer": true, "nvmetcp": false},
		pauses:   map[string]pause{},
	}
	for _, n := range h.nics {
		h.now.pauses[n.name] = pause{true, true}
	}
	h.saved = h.now.clone()
	if err := os.MkdirAll(spec.Root, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of simulated host %s: %w", spec.Name, err)
	}
	root, err := os.OpenRoot(spec.Root)
	if err != nil {
		return nil, fmt.Errorf("simulated host %s: %w", spec.Name, err)
	}
	h.root = root
	for _, dir := range []string{"scratch", "tmp", path.Dir(vobLog)} {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("simulated host %s: %w", spec.Name, err)
		}
	}
	return h, nil
}

// Name is its host name.
func (h *Host) Name() string { return h.spec.Name }

// Close ends what sleeps on it. The sessions must have ended.
func (h *Host) Close() error {
	h.stop()
	h.asleep.Wait()
	return h.root.Close()
}

// Slow delays every command.
func (h *Host) Slow(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slow = d
}

// Licence has the host refuse every change as one whose evaluation has expired, or take
// changes again.
func (h *Host) Licence(expired bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fault = ""; expired {
		h.fault = "Unable to complete the operation: RestrictedVersion"
	}
}

// Wake has whoever sleeps go on at once.
func (h *Host) Wake() {
	h.mu.Lock()
	close(h.wake)
	h.wake = make(chan struct{})
	h.mu.Unlock()
}

// Datastore puts one on the namespaces of a subsystem; "" takes it away.
func (h *Host) Datastore(nqn, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.now.controllers {
		if h.now.controllers[i].nqn == nqn {
			h.now.controllers[i].extent = name
		}
	}
}

// Online takes the controllers of a subsystem off, or back.
func (h *Host) Online(nqn string, online bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.now.controllers {
		if h.now.controllers[i].nqn == nqn {
			h.now.controllers[i].offline = !online
		}
	}
}

// Blocks has the namespaces of a subsystem in blocks of a size, bytes, also where the host
// connects to it later.
func (h *Host) Blocks(nqn string, size int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sizes[nqn] = size
	for i := range h.now.controllers {
		if h.now.controllers[i].nqn == nqn {
			h.now.controllers[i].blocks = size
		}
	}
}

// Reboot is a hard reset: what was not saved is lost, and so is all in RAM. Modules are
// loaded with the parameters that were set.
func (h *Host) Reboot() error {
	h.stop()
	h.asleep.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alive, h.stop = context.WithCancel(context.Background())
	h.now = h.saved.clone()
	h.upkeep.since = time.Now()
	for m, p := range h.now.modules {
		h.loaded[m] = paramText(p)
	}
	for _, dir := range []string{"tmp"} {
		if err := h.root.RemoveAll(dir); err != nil {
			return err
		}
		if err := h.root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

func paramText(p map[string]string) (text string) {
	for _, k := range slices.Sorted(maps.Keys(p)) {
		if p[k] != "" {
			text += k + "=" + p[k] + " "
		}
	}
	return text
}

// Stands is all that the host holds beside its files: what is set, what a start would read,
// and what runs later.
func (h *Host) Stands() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return fmt.Sprintf("now %+v\nsaved %+v\nmodules %v\nlater %v\nempty %t\n", h.now, h.saved, h.loaded, h.processes, h.upkeep.empty)
}
