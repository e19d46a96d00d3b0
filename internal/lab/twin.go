//go:build unix

package lab

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weft/internal/lab/simesxi"
	"weft/internal/lab/simserver"
	"weft/internal/lab/simswitch"
	"weft/internal/lab/simwindows"
	"weft/inventory"
)

// A twin is what the devices of a lab are made of.
type twin struct {
	servers  []serverSpec
	switches []switchSpec
	esxi     []esxiSpec
	windows  []windowsSpec
	vcenters []*vcenterSpec

	plugs   map[simserver.End]plug   // which switch port an interface is plugged into
	cables  map[plug]plug            // between switches, both ways
	os      map[string]string        // of a switch, by name; unmanaged ones are missing
	running map[string]func() string // the running configuration of a switch, by name
	forward map[string]forward       // what counts on a switch, by name
}

type serverSpec struct {
	addr  string
	login string // as whom the files log in; "": they do not say
	of    *inventory.Server
	spec  simserver.Spec
}

type esxiSpec struct {
	addr, user string
	spec       simesxi.Spec
}

type switchSpec struct {
	name, host, addr string
	user             string
	spec             simswitch.Spec
}

// A plug is a port of a switch.
type plug struct{ sw, port string }

// hostName is what a device may be called in the lab: it names files and an
// entry of an ssh_config.
var hostName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*$`)

// aggregate reports whether a port of a switch is made of others.
func aggregate(port string) bool {
	return slices.Contains([]string{"port-channel", "po", "bridge-aggregation", "bagg", "route-aggregation", "ragg"}, strings.ToLower(strings.TrimRight(port, "0123456789/.: ")))
}

// newTwin derives the lab's devices from a model.
func newTwin(m *inventory.Model) (*twin, error) {
	t := &twin{plugs: map[simserver.End]plug{}, cables: map[plug]plug{}, os: map[string]string{}, running: map[string]func() string{}, forward: map[string]forward{}}
	cards := map[*inventory.RNIC]simserver.Interface{}
	for n, s := range m.Servers {
		if s.OS == simesxi.System {
			t.esxi = append(t.esxi, newESXi(m, s, cards))
		}
		if s.OS == simwindows.System {
			t.windows = append(t.windows, newWindows(m, s, cards))
		}
		if s.OS != simserver.System {
			continue // described, but nothing that the lab could stand in for
		}
		t.servers = append(t.servers, newServer(m, s, n, cards))
	}
	for _, v := range m.VCenters {
		spec, err := newVCenter(m, v, cards)
		if err != nil {
			return nil, err
		}
		t.vcenters = append(t.vcenters, spec)
	}
	ends := map[*inventory.Switch]*switchSpec{}
	for _, sw := range m.Switches {
		if sw.Unmanaged {
			continue
		}
		t.switches = append(t.switches, newSwitch(sw))
		t.os[sw.Name] = sw.OS
	}
	for i := range t.switches {
		for _, sw := range m.Switches {
			if sw.Addr == t.switches[i].addr {
				ends[sw] = &t.switches[i]
			}
		}
	}
	for _, link := range m.Links {
		for _, end := range []inventory.LinkEnd{link.From, link.To} {
			if end.Switch != nil && aggregate(simswitch.PortName(end.Switch.OS, end.Port)) {
				return nil, fmt.Errorf("%s: %s %s is made of other ports, and no cable ends there: declare a link for each of its ports", link.Addr, end.Switch.Addr, end.Port)
			}
		}
		t.cable(link, link.From, link.To, cards, ends)
		t.cable(link, link.To, link.From, cards, ends)
		t.hears(link.From, link.To, cards)
		t.hears(link.To, link.From, cards)
	}
	for i := range t.switches {
		t.switches[i].spec.Ports = allPorts(t.switches[i].spec.Ports)
	}
	return t, t.check()
}

// check refuses names that are taken twice or cannot be written down.
func (t *twin) check() error {
	seen := map[string]string{}
	note := func(host, addr string) error {
		if !hostName.MatchString(host) {
			return fmt.Errorf("%s: host %q cannot be simulated: it is not a host name", addr, host)
		}
		if other, taken := seen[host]; taken {
			return fmt.Errorf("%s and %s have the same host %s: the lab cannot tell them apart", other, addr, host)
		}
		seen[host] = addr
		return nil
	}
	for _, s := range t.servers {
		if err := note(s.spec.Name, s.addr); err != nil {
			return err
		}
	}
	for _, s := range t.esxi {
		if err := note(s.spec.Name, s.addr); err != nil {
			return err
		}
	}
	for _, s := range t.windows {
		if err := note(s.spec.Name, s.addr); err != nil {
			return err
		}
	}
	for _, v := range t.vcenters {
		if err := note(v.host, v.addr); err != nil {
			return err
		}
	}
	for _, s := range t.switches {
		if err := note(s.host, s.addr); err != nil {
			return err
		}
		if !slices.Contains(simswitch.Systems(), s.spec.OS) {
			return fmt.Errorf("%s: os %q is not simulated", s.addr, s.spec.OS)
		}
	}
	return nil
}

// newServer derives a server; n tells it from the others.
func newServer(m *inventory.Model, s *inventory.Server, n int, cards map[*inventory.RNIC]simserver.Interface) serverSpec {
	spec := simserver.Spec{Name: s.Host, MachineID: s.MachineID}
	spec.Interfaces = []simserver.Interface{{Name: "eno1", PCI: "0000:01:00.0", Speed: 1e9, Plain: true, Address: management(n)}}
	for i, r := range s.RNICs {
		card := newCard(m, s, r, i)
		cards[r] = card
		spec.Interfaces = append(spec.Interfaces, card)
	}
	for _, p := range m.Pools {
		if p.Server != s {
			continue
		}
		for _, id := range p.Drives {
			spec.Drives = append(spec.Drives, simserver.Drive{ID: id, Size: driveSize(m, p)})
		}
	}
	for _, d := range formerDrives(m, s) {
		if !slices.ContainsFunc(spec.Drives, func(o simserver.Drive) bool { return o.ID == d.ID }) {
			spec.Drives = append(spec.Drives, d)
		}
	}
	for _, target := range m.Targets {
		if target.Server != s {
			continue
		}
		for _, portal := range target.Portals {
			spec.Portals = append(spec.Portals, portal.Address)
		}
	}
	return serverSpec{addr: s.Addr, login: loginOf(m, s), of: s, spec: spec}
}

// loginOf is as whom files log in to a server; "": they do not say.
func loginOf(m *inventory.Model, s *inventory.Server) string {
	if s.Credential != nil && s.Credential.User != "" {
		return s.Credential.User
	}
	return cmp.Or(s.Connection, m.DefaultConnection()).User
}

// newCard derives a port of a network card; i tells it from the others of its server.
func newCard(m *inventory.Model, s *inventory.Server, r *inventory.RNIC, i int) simserver.Interface {
	card := simserver.Interface{PCI: r.PCI, MAC: r.MAC, NoRDMA: r.Software}
	card.PCI = cmp.Or(card.PCI, fmt.Sprintf("0000:c1:00.%d", i))
	if card.MAC == "" {
		card.MAC = localMAC(sha256.Sum256([]byte("mac " + s.Host + " " + card.PCI)))
	}
	for _, l := range m.Links {
		if (l.From.RNIC == r || l.To.RNIC == r) && l.Speed > 0 {
			card.Speed = l.Speed
		}
	}
	if r.Fabric != nil {
		card.Fabric = r.Fabric.Transport
	}
	return card
}

// management is an address of the block for benchmarks, which nobody routes.
func management(n int) netip.Prefix {
	n++
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18 + byte(n>>16&1), byte(n >> 8), byte(n)}), 15)
}

// driveSize is the size of a common drive, or what the pool's volumes need.
func driveSize(m *inventory.Model, p *inventory.Pool) int64 {
	const common = 3_840_755_982_336
	var sum int64
	for _, v := range m.Volumes {
		if v.Pool == p {
			sum += v.Size
		}
	}
	return max(common, sum+sum/64) // lvm2 keeps some of each drive
}

// formerDrives are the devices that validations compare with, which are there before weft.
// What is named otherwise than in /dev/disk/by-id the lab does not have.
func formerDrives(m *inventory.Model, s *inventory.Server) (drives []simserver.Drive) {
	const size = 64 << 20
	for _, v := range m.Validations {
		if v.Before == nil || v.Before.Server != s {
			continue
		}
		id, named := strings.CutPrefix(v.Before.Device, "/dev/disk/by-id/")
		if named {
			drives = append(drives, simserver.Drive{ID: id, Size: size})
		}
	}
	return drives
}

func newSwitch(sw *inventory.Switch) switchSpec {
	s := switchSpec{name: sw.Name, host: sw.Host, addr: sw.Addr, spec: simswitch.Spec{OS: sw.OS, Hostname: hostname(sw.Host), Serial: sw.Serial}}
	if sw.Credential != nil {
		s.user = sw.Credential.User
	}
	return s
}

// cable notes one end of a link as the other end sees it.
func (t *twin) cable(l *inventory.Link, a, b inventory.LinkEnd, cards map[*inventory.RNIC]simserver.Interface, ends map[*inventory.Switch]*switchSpec) {
	if a.Switch == nil {
		return
	}
	at := plug{a.Switch.Name, simswitch.PortName(a.Switch.OS, a.Port)}
	neighbour, heard := simswitch.Neighbour{Port: at.port}, true
	switch {
	case b.Switch != nil:
		far := plug{b.Switch.Name, simswitch.PortName(b.Switch.OS, b.Port)}
		t.cables[at] = far
		neighbour.SystemName, neighbour.PortID, neighbour.Bridge = cmp.Or(hostname(b.Switch.Host), far.sw), far.port, true
		if a, err := netip.ParseAddr(b.Switch.Host); err == nil {
			neighbour.Management = a.String()
		}
	case b.RNIC != nil:
		card, simulated := cards[b.RNIC]
		if !simulated {
			return
		}
		t.plugs[simserver.End{Server: b.RNIC.Server.Host, PCI: card.PCI}] = at
		neighbour.SystemName, neighbour.PortID = b.RNIC.Server.Host, card.MAC
		// Standard switches of ESXi speak CDP only, and Windows speaks neither.
		heard = b.RNIC.Server.OS != simesxi.System && b.RNIC.Server.OS != simwindows.System
	default:
		return
	}
	end, managed := ends[a.Switch]
	if !managed {
		return
	}
	if heard {
		end.spec.Neighbours = append(end.spec.Neighbours, neighbour)
	} else {
		end.spec.Quiet = append(end.spec.Quiet, at.port)
	}
	end.spec.Ports = append(end.spec.Ports, at.port)
	if b.RNIC != nil && b.RNIC.VLAN != 0 {
		if end.spec.Tagged == nil {
			end.spec.Tagged = map[string]int{}
		}
		end.spec.Tagged[at.port] = b.RNIC.VLAN
	}
	if l.Speed > 0 {
		end.spec.Speed = fmt.Sprintf("%dG", l.Speed/1e9)
	}
}

// hears lets a NIC of a Linux server know the other end of its cable, for the day on which
// somebody installs what asks: lldpd, or the diagnostics of InfiniBand.
func (t *twin) hears(a, b inventory.LinkEnd, cards map[*inventory.RNIC]simserver.Interface) {
	if a.RNIC == nil {
		return
	}
	var peer simserver.Peer
	switch ib := cards[a.RNIC].Fabric == "infiniband"; {
	case ib && b.Switch != nil:
		sum := sha256.Sum256([]byte("guid " + b.Switch.Addr))
		peer = simserver.Peer{System: b.Switch.Name, Chassis: fmt.Sprintf("0x%x", sum[:8]), Port: b.Port}
	case ib:
		return
	case b.Switch != nil && !b.Switch.Unmanaged:
		sum := sha256.Sum256([]byte("chassis " + b.Switch.Host))
		peer = simserver.Peer{System: hostname(b.Switch.Host), Chassis: localMAC(sum), Port: simswitch.PortName(b.Switch.OS, b.Port)}
	case b.RNIC != nil && b.RNIC.Server.OS == simserver.System:
		peer = simserver.Peer{System: b.RNIC.Server.Host, Chassis: cards[b.RNIC].MAC, Port: cards[b.RNIC].MAC}
	default:
		return
	}
	for i := range t.servers {
		if t.servers[i].of != a.RNIC.Server {
			continue
		}
		for n := range t.servers[i].spec.Interfaces {
			if one := &t.servers[i].spec.Interfaces[n]; one.PCI == cards[a.RNIC].PCI {
				one.Hears = &peer
			}
		}
	}
}

// localMAC is an address that nobody sells, of a sum.
func localMAC(sum [sha256.Size]byte) string {
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
}

// commonPorts is how many ports a switch has at least of each kind.
const commonPorts = 32

// allPorts fills up the ports that cables need to those of a whole switch.
func allPorts(cabled []string) []string {
	var all []string
	seen := map[string]bool{}
	add := func(port string) {
		if !seen[port] {
			seen[port] = true
			all = append(all, port)
		}
	}
	for _, port := range cabled {
		at := strings.LastIndex(port, "/") + 1
		highest, err := strconv.Atoi(port[at:])
		if err == nil && highest <= 512 {
			for n := range max(highest, commonPorts) {
				add(port[:at] + strconv.Itoa(n+1))
			}
		}
		add(port)
	}
	return all
}

// hostname is what a switch calls itself: the first label of the name it is
// managed by, or the whole of an address.
func hostname(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return strings.NewReplacer(".", "-", ":", "-").Replace(host)
	}
	name, _, _ := strings.Cut(host, ".")
	return name
}
