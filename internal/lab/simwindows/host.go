//go:build unix

// Package simwindows is a SIMULATED Windows Server: a shell that takes one command line,
// a parser and interpreter of that part of PowerShell 5.1 which weft's scripts use, and
// those cmdlets that a page of Microsoft's reference has. It keeps state, answers JSON as
// 5.1 does, and refuses all else. No script of weft's has run on a real one.
package simwindows

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// System is the host system of simulated hosts, as in the files.
const System = "windows"

// A Spec says what a host is made of.
type Spec struct {
	Name      string
	MachineID string // 32 hexadecimal digits; "": derived from Name
	NICs      []NIC
	Peers     []string // addresses of hosts whose shares it uses
	// Probe runs what stands for weft-initiator, whose executable is exe, on this machine.
	// Its error says why it is not run. nil: it is not.
	Probe func(ctx context.Context, exe []byte, args []string, input []byte) (stdout, stderr []byte, code int, err error)
}

// A NIC is one port of a network card.
type NIC struct {
	PCI   string
	MAC   string // "": derived from the host's name and PCI
	Name  string // of the adapter; "": Ethernet and a number
	Speed int64  // bit/s; 0: 100 Gbit/s
	RDMA  bool   // it can do it
}

// A Host is one simulated host. It is an sshd.Machine.
type Host struct {
	spec Spec
	guid string

	stop  context.CancelFunc // ends the clock
	alive context.Context
	clock sync.WaitGroup
	moved chan struct{} // tasks were scheduled

	mu         sync.Mutex
	disk       *disk
	adapters   []*adapter
	dcb        bool // the feature is installed
	qos        qos
	room       int             // for traffic classes on an adapter
	noRDMA     bool            // on the whole host
	copying    bool            // files are copied to its peers
	breaking   bool            // connections of RDMA break
	midway     bool            // it goes down after the next change
	oneChannel map[string]bool // SMB of an end has no more
	addresses  []address
	tasks      map[string]scheduled
	booted     time.Time
	ahead      time.Duration // of the real clock

	shell    string // of logins, as shells has them
	language string // mode of PowerShell; "": FullLanguage
	german   bool
	plain    bool   // accounts are not elevated
	loose    bool   // others may write the file with the keys of administrators
	intent   string // of Network ATC; "": there is no such feature
	noSFTP   bool   // the subsystem does not answer
	noInput  bool   // standard input does not reach programs
	signed   bool   // a policy lets no script run from a file that is not signed
	slow     time.Duration
}

type adapter struct {
	NIC
	name, description, mac string
	up, rdma, taken, qos   bool

	values, force map[string]string // of keywords: as they are set, and as they are in force
	rdmaSet       bool              // as rdma is to be, once the adapter has started again
	restarts      int

	carried, broken int64 // bytes each way and connections with an error, of RDMA
}

// mtu is without the header of Ethernet.
func (a *adapter) mtu() int64 {
	n, _ := strconv.ParseInt(a.force["*JumboPacket"], 10, 64) // a number, says the driver
	return n - 14
}

// place is where an adapter is, in numbers.
func (a *adapter) place() (n [4]int64) {
	for i, word := range strings.FieldsFunc(a.PCI, func(r rune) bool { return r == ':' || r == '.' }) {
		n[i], _ = strconv.ParseInt(word, 16, 64)
	}
	return n
}

// scheduled is a task that runs a script once.
type scheduled struct {
	at   time.Time
	file string
	late bool // also where the machine was off at that time
}

// New makes a host that is up, as it is after its installation.
func New(spec Spec) (*Host, error) {
	h := &Host{spec: spec, disk: newDisk(), qos: newQoS(), room: 8, oneChannel: map[string]bool{}, tasks: map[string]scheduled{}, booted: time.Now(), addresses: []address{{"127.0.0.1", "Loopback Pseudo-Interface 1", "WellKnown", 8}, {"192.0.2.10", "Ethernet", "Dhcp", 24}}, moved: make(chan struct{}, 1)}
	h.alive, h.stop = context.WithCancel(context.Background())
	if h.guid = spec.MachineID; h.guid == "" {
		sum := sha256.Sum256([]byte("machine " + spec.Name))
		h.guid = hex.EncodeToString(sum[:16])
	}
	if len(h.guid) != 32 {
		return nil, fmt.Errorf("simulated host %s: %q is no GUID of 32 digits", spec.Name, h.guid)
	}
	for i, n := range append([]NIC{{PCI: "0000:01:00.0", Speed: 1e9, Name: "Ethernet"}}, spec.NICs...) {
		sum := sha256.Sum256([]byte("mac " + spec.Name + " " + n.PCI))
		a := &adapter{NIC: n, name: n.Name, up: true, rdmaSet: n.RDMA, values: map[string]string{}}
		for _, k := range keywords() {
			a.values[k.name] = k.usual
		}
		a.restart()
		a.restarts = 0
		a.name = cmp.Or(a.name, fmt.Sprintf("Ethernet %d", i+1))
		if a.mac = strings.ToUpper(strings.ReplaceAll(n.MAC, ":", "-")); a.mac == "" {
			a.mac = fmt.Sprintf("02-%02X-%02X-%02X-%02X-%02X", sum[0], sum[1], sum[2], sum[3], sum[4])
		}
		a.Speed = cmp.Or(a.Speed, 100e9)
		if len(strings.FieldsFunc(n.PCI, func(r rune) bool { return r == ':' || r == '.' })) != 4 {
			return nil, fmt.Errorf("simulated host %s: %q is no PCI address", spec.Name, n.PCI)
		}
		h.adapters = append(h.adapters, a)
	}
	h.describe(false)
	h.disk.mkdir(`C:\Windows\system32`, inherited)
	if err := h.disk.write(`C:\Windows\system32\nvmeofutil.exe`, nil); err != nil {
		return nil, err
	}
	h.clock.Go(h.wait)
	return h, nil
}

// Name is its host name.
func (h *Host) Name() string { return h.spec.Name }

// Close ends its clock. The sessions must have ended.
func (h *Host) Close() error {
	h.stop()
	h.clock.Wait()
	return nil
}

func (h *Host) now() time.Time { return time.Now().Add(h.ahead) }

// reschedule wakes the clock.
func (h *Host) reschedule() {
	select {
	case h.moved <- struct{}{}:
	default:
	}
}

// wait runs tasks when their time has come.
func (h *Host) wait() {
	for {
		h.due(false)
		h.mu.Lock()
		next := time.Hour
		for _, t := range h.tasks {
			next = min(next, max(t.at.Sub(h.now()), 10*time.Millisecond))
		}
		h.mu.Unlock()
		timer := time.NewTimer(next)
		select {
		case <-h.alive.Done():
			timer.Stop()
			return
		case <-h.moved:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// due runs the tasks whose time has come, or all.
func (h *Host) due(all bool) {
	h.mu.Lock()
	var files []string
	for name, t := range h.tasks {
		if all || !t.at.After(h.now()) {
			files = append(files, t.file)
			t.at = h.now().Add(365 * 24 * time.Hour) // once
			h.tasks[name] = t
		}
	}
	var scripts []string
	for _, f := range files {
		data, err := h.disk.read(f)
		if err == nil {
			scripts = append(scripts, strings.TrimPrefix(string(data), "\uFEFF"))
		}
	}
	h.mu.Unlock()
	for _, s := range scripts {
		_, _ = h.script(h.alive, "SYSTEM", true, s, "") // what went wrong nobody sees, as on a real one
	}
}

// Fire runs at once what tasks are to run later.
func (h *Host) Fire() { h.due(true) }

// Slow delays every command.
func (h *Host) Slow(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slow = d
}

// Reboot starts the host again: what is on its disk stays, and a task whose time came
// while it was off runs late.
func (h *Host) Reboot() {
	h.mu.Lock()
	h.booted = h.now()
	for _, a := range h.adapters {
		a.restart()
	}
	h.mu.Unlock()
	h.reschedule()
}

// Faults are what Fault knows, for help texts.
func Faults() []string {
	return []string{"constrained", "german", "no-admin", "keys-acl", "no-powershell", "pwsh", "greeting", "atc", "hyper-v", "few-classes", "group-policy", "no-rdma", "one-channel", "twins", "smb-copy", "rdma-errors", "reboot-midway", "no-sftp", "no-stdin", "all-signed", "mended"}
}

// Fault has a host be as some are; mended is as they should be.
func (h *Host) Fault(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch name {
	case "constrained":
		h.language = "ConstrainedLanguage"
	case "german":
		h.german = true
	case "no-admin":
		h.plain = true
	case "keys-acl":
		h.loose = true
	case "no-powershell", "pwsh", "greeting": // logins have another shell
		h.shell = name
	case "atc":
		h.intent = "storage"
	case "hyper-v":
		h.taken(true)
	case "few-classes": // its cards have room for two
		h.room = 2
	case "group-policy": // of the domain
		h.qos.domain = []policy{{"Domain SMB", 445, 5}}
	case "no-rdma":
		h.noRDMA = true
	case "one-channel":
		h.oneChannel["Client"] = true
	case "twins":
		h.describe(true)
	case "smb-copy":
		h.copying = true
	case "rdma-errors":
		h.breaking = true
	case "reboot-midway":
		h.midway = true
	case "no-sftp":
		h.noSFTP = true
	case "no-stdin":
		h.noInput = true
	case "all-signed": // a group policy, which -ExecutionPolicy does not change
		h.signed = true
	case "mended":
		h.noSFTP, h.noInput, h.signed, h.loose = false, false, false, false
		h.language, h.german, h.plain, h.shell, h.intent = "", false, false, "", ""
		h.room, h.noRDMA, h.qos.domain = 8, false, nil
		h.copying, h.breaking, h.midway = false, false, false
		clear(h.oneChannel)
		h.taken(false)
		h.describe(false)
	default:
		return fmt.Errorf("fault %s: not one that a simulated Windows host has", name)
	}
	return nil
}

// KeysPassedOver reports whether OpenSSH takes no key, as others may write the file that has
// them. It says nothing of that to who logs in.
func (h *Host) KeysPassedOver() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.loose
}

// taken has a Hyper-V switch have all adapters but the first, or none.
func (h *Host) taken(by bool) {
	for _, a := range h.adapters[1:] {
		a.taken = by
	}
}

// Plant makes a folder, or a file, as somebody else than weft would.
func (h *Host) Plant(name, content string, folder bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if folder {
		h.disk.mkdir(name, inherited)
		return
	}
	h.disk.mkdir(parent(name), "")
	_ = h.disk.write(name, []byte(content))
}

// Contents are the files of the disk that are not the system's, by name.
func (h *Host) Contents() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]string{}
	for _, i := range h.disk.items {
		if !i.dir && !strings.HasPrefix(key(i.name), key(`C:\Windows`)) {
			all[i.name] = string(i.data)
		}
	}
	return all
}

// Holds is where the adapter is that has an address; false: none has.
func (h *Host) Holds(ip string) (pci string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, have := range h.addresses {
		for _, a := range h.adapters {
			if have.ip == ip && have.on == a.name && a.up {
				return a.PCI, true
			}
		}
	}
	return "", false
}

// MAC is the address of the adapter at a PCI address; "": there is none.
func (h *Host) MAC(pci string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.adapters {
		if a.PCI == pci {
			return strings.ToLower(strings.ReplaceAll(a.mac, "-", ":"))
		}
	}
	return ""
}

// Restarts is how often the adapter at a PCI address has started again.
func (h *Host) Restarts(pci string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.adapters {
		if a.PCI == pci {
			return a.restarts
		}
	}
	return 0
}
