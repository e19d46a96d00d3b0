package guest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"weft/internal/pattern"
)

// A Spec describes one guest.
type Spec struct {
	Name      string   // its host name, which is also how it is found
	MachineID string   // 32 hexadecimal digits; "": made from the name
	Memory    int      // MiB; 0: enough for storage over a fabric
	Users     []string // who may log in besides root, and use sudo
	NICs      []NIC
	Drives    []Drive
}

// A NIC is a card for a plane. The card for management is not one of them.
type NIC struct {
	Plane string // cards that name the same plane see each other's frames
	PCI   string // 0000:BB:SS.F; "": chosen
	MAC   string // "": made from the guest's name and the card's number
	DCB   bool   // the STAND-IN for data centre bridging answers on it
	RDMA  string // what stands in for an RDMA device of its own: "rxe" or "siw"; "": it has none
}

// A Drive is an empty disk of a guest.
type Drive struct {
	ID   string // its name in /dev/disk/by-id
	Size int64  // bytes; the file on this machine is sparse
}

const (
	commonMemory = 1024 // MiB
	smp          = 1    // virtual processors: two cost more than they give under emulation
	maxDrives    = 32
)

var (
	specName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	specID   = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._:+-]*$`)
	specMAC  = pattern.New(`^[0-9a-f]{2}(:[0-9a-f]{2}){5}$`)
	specUser = pattern.New(`^[a-z_][a-z0-9_-]*$`)
	hex128   = pattern.New(`^[0-9a-f]{32}$`)
)

// rdmaModule is the module of the kernel that does RDMA in software, by what rdma calls it;
// "": there is none.
func rdmaModule(kind string) string {
	return map[string]string{"rxe": "rdma_rxe", "siw": "siw"}[kind]
}

// whole checks a spec and fills in what it leaves open.
func (s Spec) whole() (Spec, error) {
	bad := func(format string, args ...any) (Spec, error) {
		return Spec{}, fmt.Errorf("guest %s: "+format, append([]any{s.Name}, args...)...)
	}
	if !specName.MatchString(s.Name) {
		return bad("%q is no host name", s.Name)
	}
	if s.MachineID == "" {
		sum := sha256.Sum256([]byte("machine " + s.Name))
		s.MachineID = hex.EncodeToString(sum[:16])
	}
	if !hex128.MatchString(s.MachineID) {
		return bad("machine id %q has not 32 hexadecimal digits", s.MachineID)
	}
	s.Memory = cmp.Or(s.Memory, commonMemory)
	for _, user := range s.Users {
		if !specUser.MatchString(user) {
			return bad("user %q cannot be created", user)
		}
	}
	if len(s.Drives) > maxDrives {
		return bad("%d drives are more than the %d that a guest can have", len(s.Drives), maxDrives)
	}
	for _, d := range s.Drives {
		if !specID.MatchString(d.ID) || d.Size < 512 {
			return bad("drive %q of %d bytes cannot be made", d.ID, d.Size)
		}
	}
	s.NICs = slices.Clone(s.NICs)
	taken := map[string]bool{}
	for i := range s.NICs {
		n := &s.NICs[i]
		n.PCI = cmp.Or(n.PCI, fmt.Sprintf("0000:c1:%02x.0", i))
		if n.RDMA != "" && rdmaModule(n.RDMA) == "" {
			return bad("no simulation for RDMA protocol %q", n.RDMA)
		}
		if n.MAC == "" {
			sum := sha256.Sum256([]byte("mac " + s.Name + " " + n.PCI))
			n.MAC = fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
		}
		n.PCI, n.MAC = strings.ToLower(n.PCI), strings.ToLower(n.MAC)
		if _, err := parsePCI(n.PCI); err != nil {
			return bad("%w", err)
		}
		if !specMAC.MatchString(n.MAC) {
			return bad("%q is no MAC", n.MAC)
		}
		if taken[n.PCI] || taken[n.MAC] {
			return bad("two cards at %s with MAC %s", n.PCI, n.MAC)
		}
		taken[n.PCI], taken[n.MAC] = true, true
	}
	return s, nil
}

// seedFiles are what makes one guest different from another.
func (s Spec) seedFiles(hostKey, authorized []byte) []seedFile {
	label, _, _ := strings.Cut(s.Name, ".")
	var rules, start strings.Builder
	for n, d := range s.Drives {
		fmt.Fprintf(&rules, "SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", ATTR{serial}==\"%s\", SYMLINK+=\"disk/by-id/%s\"\n", driveSerial(n), d.ID)
	}
	var bridged []string
	for _, n := range s.NICs {
		if n.DCB {
			bridged = append(bridged, n.PCI)
		}
	}
	start.WriteString("set -eu\n")
	if bridged != nil {
		fmt.Fprintf(&start, "names=\nfor pci in %s; do names=$names,$(ls /sys/bus/pci/devices/$pci/virtio*/net); done\nmodprobe weft_dcb devices=${names#,}\n",
			strings.Join(bridged, " "))
	}
	for i, n := range s.NICs {
		if n.RDMA != "" {
			fmt.Fprintf(&start, "modprobe %s\nrdma link add lab%d type %s netdev \"$(ls /sys/bus/pci/devices/%s/virtio*/net)\"\n",
				rdmaModule(n.RDMA), i, n.RDMA, n.PCI)
		}
	}
	var users strings.Builder
	users.WriteString("set -eu\n")
	for _, user := range s.Users {
		if user != "root" {
			fmt.Fprintf(&users, "id %[1]s >/dev/null 2>&1 || useradd -m -s /bin/bash %[1]s\n", user)
		}
	}
	return []seedFile{
		{"/etc/hostname", 0o644, []byte(label + "\n")},
		{"/etc/hosts", 0o644, []byte("127.0.0.1 localhost\n127.0.1.1 " + s.Name + " " + label + "\n")},
		{"/etc/machine-id", 0o444, []byte(s.MachineID + "\n")},
		{"/etc/ssh/ssh_host_ed25519_key", 0o600, hostKey},
		{"/etc/ssh/authorized_keys", 0o644, authorized},
		{"/etc/udev/rules.d/90-lab.rules", 0o644, []byte(rules.String())},
		{"/lab/seed.sh", 0o755, []byte(users.String())},
		{"/lab/start.sh", 0o755, []byte(start.String())},
	}
}

// driveSerial tells a guest's drives apart.
func driveSerial(n int) string { return fmt.Sprintf("weft-lab-%d", n) }
