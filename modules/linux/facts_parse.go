package linux

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/see"
)

// factsScript prints what is known of the places of NIC ports in $2 and on, and the
// model of the server; with "all" in $1 also what nothing is compared with, and with
// "every" of all PCI devices that have an interface or are RDMA, as it does where a place is
// a MAC address. One
// grep prints all the files, each line after its path; what is not there, or may
// not be read, is left out. A second one prints partition keys, whose tables are
// nearly empty. Only the firmware of a NIC without RDMA device needs a tool: the
// line before its output says whose it is.
const factsScript = `all=$1; shift; i=/sys/class/dmi/id; n="$i/sys_vendor $i/product_name"; v="/sys/devices/virtual/infiniband/*"; k=
m=; for b; do case $b in @*) m=yes ;; esac; done
if [ "$all" = every ]; then all=all m=yes; fi
if [ -n "$m" ]; then for d in /sys/bus/pci/devices/*; do
for f in $d/net/* $d/virtio*/net/* $d/infiniband/*; do if [ -e "$f" ]; then set -- "$@" "${d##*/}"; break; fi; done
done; fi
if [ "$all" = all ]; then k=/sys/devices/system
n="$n $i/product_serial $i/bios_version /proc/sys/kernel/osrelease $k/cpu/online $k/node/online"; fi
for b; do d=/sys/bus/pci/devices/${b%%@*}; v="$v $d/infiniband/* ${d%.*}.0/infiniband/*"
n="$n $d/uevent $d/physfn/uevent $d/vendor $d/device $d/subsystem_vendor $d/subsystem_device $d/numa_node"
n="$n $d/current_link_speed $d/current_link_width $d/max_link_speed $d/max_link_width"
for f in $d/net/* $d/virtio*/net/*; do n="$n $f/address $f/bonding_slave/perm_hwaddr $f/mtu $f/operstate $f/carrier $f/speed $f/mode $f/pkey"
n="$n $f/phys_port_name $f/phys_switch_id $f/dev_port $f/ifindex $f/iflink $f/master/uevent"; done
done
for r in $v; do n="$n $r/fw_ver $r/node_type"
for f in $r/ports/*; do n="$n $f/state $f/rate $f/link_layer $f/phys_state $f/lid $f/sm_lid $f/gids/0"; k="$k $f/pkeys/*"; done
done
grep -sH "" $n /sys/class/infiniband/*/ports/*/gid_attrs/ndevs/0
grep -sHv "^0x0000" $k
if [ "$all" != all ]; then exit 0; fi
grep -sHm1 -e "^PRETTY_NAME=" -e "^MemTotal:" -e "^model name" /etc/os-release /proc/meminfo /proc/cpuinfo
for b; do b=${b%%@*} d=/sys/bus/pci/devices/${b%%@*}
for r in $d/infiniband/*/fw_ver; do if [ -e "$r" ]; then continue 2; fi; done
for f in $d/net/* $d/virtio*/net/*; do if [ -e "$f" ]; then echo "ethtool $b"; ethtool -i "${f##*/}" 2>/dev/null; break; fi; done
done
exit 0`

// factsLook runs it.
func factsLook(all bool, nics []host.NIC) remote.Look {
	what := "nics"
	if all {
		what = "all"
	}
	args := []string{"sh", "-c", factsScript, "sh", what}
	for _, n := range nics {
		args = append(args, n.PCI)
	}
	return remote.Look{Args: args, Root: true, Own: true}
}

func factsLooks(all bool, nics []host.NIC) []remote.Look {
	return []remote.Look{factsLook(all, nics)}
}

func tellFacts(s remote.Seen, all bool, nics []host.NIC) (*host.ServerFacts, error) {
	text, err := see.Output(s, factsLook(all, nics))
	if err != nil {
		return nil, err
	}
	f := parseFacts(text)
	f.server.NICs = make([]host.NICFacts, len(nics))
	for i, n := range nics {
		f.server.NICs[i] = f.nic(n.Name, n.PCI)
	}
	return &f.server, nil
}

// seenFacts are the lines of factsScript, sorted out.
type seenFacts struct {
	server   host.ServerFacts
	devices  map[string][]fact // files below a PCI device, by its address
	virtual  []fact            // files of RDMA devices that belong to no PCI device
	owners   map[string]string // network interface by "device/port" of RDMA
	firmware map[string]string // as ethtool prints it, by PCI address
}

// A fact is the content of a file.
type fact struct{ path, value string }

const (
	pciDevices  = "/sys/bus/pci/devices/"
	rdmaDevices = "/sys/class/infiniband/"
	rdmaVirtual = "/sys/devices/virtual/infiniband/"
)

// parseFacts reads what factsScript printed. Lines that it does not know are
// left out.
func parseFacts(text []byte) *seenFacts {
	f := &seenFacts{devices: map[string][]fact{}, owners: map[string]string{}, firmware: map[string]string{}}
	ethtool := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "/") {
			f.file(line)
		} else if pci, ok := strings.CutPrefix(line, "ethtool "); ok {
			ethtool = pci
		} else if version, ok := strings.CutPrefix(line, "firmware-version:"); ok && ethtool != "" {
			f.firmware[ethtool] = printable(version)
		}
	}
	return f
}

// file takes one line of a file, "path:content".
func (f *seenFacts) file(line string) {
	if rest, ok := strings.CutPrefix(line, pciDevices); ok {
		pci, rest, _ := strings.Cut(rest, "/")
		if name, value, ok := strings.Cut(rest, ":"); ok {
			f.devices[pci] = append(f.devices[pci], fact{name, printable(value)})
		}
		return
	}
	name, value, _ := strings.Cut(line, ":")
	value = printable(value)
	if rest, ok := strings.CutPrefix(name, rdmaVirtual); ok {
		f.virtual = append(f.virtual, fact{rest, value})
		return
	}
	if rest, ok := strings.CutPrefix(name, rdmaDevices); ok {
		if p := strings.Split(rest, "/"); len(p) > 2 {
			f.owners[p[0]+"/"+p[2]] = value
		}
		return
	}
	s := &f.server
	switch name {
	case "/sys/class/dmi/id/sys_vendor":
		s.Vendor = value
	case "/sys/class/dmi/id/product_name":
		s.Model = value
	case "/sys/class/dmi/id/product_serial":
		s.Serial = value
	case "/sys/class/dmi/id/bios_version":
		s.BIOS = value
	case "/proc/sys/kernel/osrelease":
		s.Kernel = value
	case "/sys/devices/system/cpu/online":
		s.CPUs = countList(value)
	case "/sys/devices/system/node/online":
		s.Nodes = countList(value)
	case "/etc/os-release":
		s.System = strings.Trim(strings.TrimPrefix(value, "PRETTY_NAME="), `"'`)
	case "/proc/meminfo":
		s.Memory = memory(value)
	case "/proc/cpuinfo":
		_, model, _ := strings.Cut(value, ":")
		s.CPU = strings.TrimSpace(model)
	}
}

// nic puts together what was read of the NIC port at a place.
func (f *seenFacts) nic(name, place string) host.NICFacts {
	pci := f.function(place)
	n := &seenNIC{NICFacts: host.NICFacts{Name: name, PCI: pci, Node: -1, Firmware: f.firmware[pci], Absent: f.devices[pci] == nil}}
	var vendor, device, subVendor, subDevice string
	for _, file := range f.devices[pci] {
		v := file.value
		switch file.path {
		case "uevent":
			if driver, ok := strings.CutPrefix(v, "DRIVER="); ok {
				n.Driver = driver
			}
		case "vendor":
			vendor = hexID(v)
		case "device":
			device = hexID(v)
		case "subsystem_vendor":
			subVendor = hexID(v)
		case "subsystem_device":
			subDevice = hexID(v)
		case "numa_node":
			if node, err := strconv.Atoi(v); err == nil {
				n.Node = max(node, -1)
			}
		case "current_link_speed":
			n.PCIe.Speed = transfers(v)
		case "current_link_width":
			n.PCIe.Width = width(v)
		case "max_link_speed":
			n.PCIeMax.Speed = transfers(v)
		case "max_link_width":
			n.PCIeMax.Width = width(v)
		default:
			n.below(file)
		}
	}
	f.attach(n, place)
	if vendor != "" && device != "" {
		n.ID = vendor + ":" + device
	}
	if subVendor != "" && subDevice != "" {
		n.Subsystem = subVendor + ":" + subDevice
	}
	for _, file := range f.virtual {
		p := strings.SplitN(file.path, "/", 4)
		if len(p) == 4 && n.Interface != "" && f.owners[p[0]+"/"+p[2]] == n.Interface {
			n.port(p[0], p[2], p[3], file.value)
		}
	}
	for _, file := range slices.Concat(f.devices[pci], f.virtual) {
		p := strings.Split(strings.TrimPrefix(file.path, "infiniband/"), "/")
		if len(p) == 2 && p[1] == "node_type" {
			n.iwarp(p[0], file.value)
		}
	}
	f.ownRDMA(n)
	n.onlyInfiniBand()
	return n.NICFacts
}

// A seenNIC is one while it is put together.
type seenNIC struct {
	host.NICFacts
	keys    []seenKey
	several bool // its PCI function has several ports
}

// A seenKey is a partition key at its place in the table of a port.
type seenKey struct {
	port, index int
	key         host.PKey
}

// below takes a file of the RDMA device.
func (n *seenNIC) below(file fact) {
	p := strings.SplitN(file.path, "/", 5)
	switch {
	case len(p) == 3 && p[0] == "infiniband" && p[2] == "fw_ver":
		n.Firmware = file.value
	case len(p) == 5 && p[0] == "infiniband" && p[2] == "ports":
		n.port(p[1], p[3], p[4], file.value)
	}
}

func (n *seenNIC) netdev(attr, value string) {
	switch attr {
	case "address":
		n.MAC = value
	case "mtu":
		n.MTU, _ = strconv.Atoi(value) // 0: not known
	case "operstate":
		n.State = value
	case "carrier":
		on := value == "1"
		n.Carrier = &on
	case "speed": // -1 while there is no carrier
		if mbit, err := strconv.ParseInt(value, 10, 32); err == nil && mbit > 0 {
			n.Speed = mbit * 1e6
		}
	case "mode", "pkey": // only IPoIB has them
		n.ipoib(attr, value)
	}
}

// port takes an attribute of a port of an RDMA device.
func (n *seenNIC) port(device, port, attr, value string) {
	number, err := strconv.Atoi(port)
	if err != nil {
		return
	}
	i := slices.IndexFunc(n.RDMA, func(p host.RDMAPort) bool { return p.Device == device && p.Port == number })
	if i < 0 {
		i = len(n.RDMA)
		n.RDMA = append(n.RDMA, host.RDMAPort{Device: device, Port: number})
	}
	switch attr {
	case "state": // 4: ACTIVE
		_, state, _ := strings.Cut(value, ":")
		n.RDMA[i].State = strings.TrimSpace(state)
	case "rate":
		n.RDMA[i].Rate = value
	case "link_layer":
		n.RDMA[i].Protocol = map[string]string{"InfiniBand": "infiniband", "Ethernet": "rocev2"}[value]
	default:
		n.subnet(i, attr, value)
	}
}

// iwarp corrects the protocol of a device's ports: what speaks iWARP is no CA.
func (n *seenNIC) iwarp(device, nodeType string) {
	for i := range n.RDMA {
		if n.RDMA[i].Device == device && strings.HasSuffix(nodeType, "RNIC") {
			n.RDMA[i].Protocol = "iwarp"
		}
	}
}

// printable is what firmware wrote, without padding and what would move a
// cursor.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r == 0xfffd || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, s))
}

// hexID makes 0x15b3 15b3.
func hexID(s string) string { return strings.ToLower(strings.TrimPrefix(s, "0x")) }

// transfers reads the speed of a lane: "16.0 GT/s PCIe", "8 GT/s", "Unknown".
func transfers(s string) float64 {
	number, unit, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !strings.HasPrefix(unit, "GT/s") || !(v > 0 && v < 1000) {
		return 0
	}
	return v
}

// width reads a number of lanes; 255 is a device that has gone.
func width(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 32 {
		return 0
	}
	return n
}

// countList counts the members of a list such as 0-31,64; 0: it is none.
func countList(s string) int {
	total := 0
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		a, err := strconv.ParseUint(lo, 10, 16)
		b := a
		if err == nil && isRange {
			b, err = strconv.ParseUint(hi, 10, 16)
		}
		if err != nil || b < a {
			return 0
		}
		total += int(b-a) + 1
	}
	return total
}

// memory reads "MemTotal: 263856248 kB", in bytes.
func memory(s string) int64 {
	f := strings.Fields(s)
	if len(f) != 3 || f[2] != "kB" {
		return 0
	}
	kib, err := strconv.ParseInt(f[1], 10, 48)
	if err != nil || kib < 0 {
		return 0
	}
	return kib << 10
}
