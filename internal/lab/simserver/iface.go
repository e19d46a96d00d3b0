//go:build unix

package simserver

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	bootMTU     = 1500
	plainMaxMTU = 1500
	cardMaxMTU  = 9978
	loopbackMTU = 65536
	minMTU      = 68
)

// An iface is a network interface as it is now.
type iface struct {
	Interface
	index  int
	mtu    int
	up     bool
	addrs  []netip.Prefix
	pfc    [8]bool
	delay  int // allowance of PFC, in the unit dcb takes
	ets    etsState
	dscp   map[int]int // priority of a DSCP
	loop   bool
	maxMTU int

	pause [3]bool // global: autonegotiated, received, sent
	ecn   ecnState

	buffers buffers

	counted nicCounts

	ingress bool // tc has a place for rules about what comes in
	deaf    bool // and a rule that drops all of it
	changes int  // of the carrier since boot
	narrow  bool // PCIe trained to half of the lanes
	unbound bool // the module of its RDMA device is not loaded
	unswept bool // no subnet manager has set its InfiniBand port up
	bond    bonded

	virtuals bool // the card has a virtual function
}

// newInterfaces are the interfaces as they are after boot.
func (s *Server) newInterfaces() []*iface {
	lo := &iface{Interface: Interface{Name: "lo", MAC: "00:00:00:00:00:00"}, index: 1, mtu: loopbackMTU, up: true, loop: true,
		addrs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128")}}
	list := []*iface{lo}
	var slots []string
	for n, spec := range s.spec.Interfaces {
		i := &iface{Interface: spec, index: n + 2, mtu: bootMTU, up: true, changes: 2, maxMTU: cardMaxMTU, ets: etsAtBoot(), pause: [3]bool{false, true, true}, ecn: ecnAtBoot(), buffers: buffersAtBoot()}
		switch {
		case i.Plain:
			i.maxMTU = plainMaxMTU
		case i.infiniBand():
			i.mtu, i.maxMTU = ipoibMTU, ipoibConnectedMTU
		}
		if i.Name == "" {
			i.Name = netdev(i.PCI, i.infiniBand(), &slots)
		}
		if i.MAC == "" {
			sum := sha256.Sum256([]byte("mac " + s.spec.Name + " " + i.PCI))
			i.MAC = fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
		}
		if i.Speed == 0 {
			i.Speed = 100e9
		}
		if i.Address.IsValid() {
			i.addrs = []netip.Prefix{i.Address}
		}
		list = append(list, i)
	}
	return list
}

// netdev names an interface after its slot: cards count up as they are met.
func netdev(pci string, infiniBand bool, slots *[]string) string {
	card, function, _ := strings.Cut(path.Base(pci), ".")
	at := slices.Index(*slots, card)
	if at < 0 {
		at = len(*slots)
		*slots = append(*slots, card)
	}
	if infiniBand {
		return fmt.Sprintf("ibs%df%s", at+1, function)
	}
	return fmt.Sprintf("ens%df%snp%s", at+1, function, function)
}

// interfaces is a copy of the interfaces as they are now.
func (s *Server) interfaces() []iface {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]iface, len(s.ifaces))
	for n, i := range s.ifaces {
		list[n] = *i
		list[n].unbound = s.software.modules[i.rdmaModule()] == nil
		list[n].addrs = slices.Clone(i.addrs)
		list[n].dscp = maps.Clone(i.dscp)
	}
	return list
}

// iface finds an interface by name.
func (s *Server) iface(name string) (iface, bool) {
	for _, i := range s.interfaces() {
		if i.Name == name {
			return i, true
		}
	}
	return iface{}, false
}

// setIface changes an interface; false: there is none of that name.
func (s *Server) setIface(name string, change func(*iface)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.ifaces {
		if i.Name == name {
			change(i)
			return true
		}
	}
	return false
}

// operstate is what the kernel calls the state of the link.
func (i *iface) operstate() string {
	switch {
	case !i.up || i.unswept || i.bond.mode != "" && len(i.bond.ports) == 0:
		return "DOWN"
	case i.loop:
		return "UNKNOWN"
	}
	return "UP"
}

func (i *iface) flags() []string {
	flags := []string{"BROADCAST", "MULTICAST"}
	if i.loop {
		flags = []string{"LOOPBACK"}
	}
	switch {
	case i.bond.mode != "":
		flags = append(flags, "MASTER")
	case i.bond.master != "":
		flags = append(flags, "SLAVE")
	}
	switch {
	case i.up && i.operstate() == "DOWN":
		flags = append([]string{"NO-CARRIER"}, append(flags, "UP")...)
	case i.up:
		flags = append(flags, "UP", "LOWER_UP")
	}
	return flags
}

// render is /sys and /proc as of now. Nobody may change it.
func (s *Server) render() rendered {
	s.askAgain()
	changes := s.mu.changes.Load()
	if d := s.drawn.Load(); d != nil && d.changes == changes {
		return d.rendered
	}
	d := &drawing{changes, s.draw()}
	s.drawn.Store(d)
	return d.rendered
}

// draw renders afresh. It must not lock what changes: that would be a change.
func (s *Server) draw() rendered {
	r := rendered{}
	s.mu.RLock()
	bootID, booted := s.bootID, s.booted
	s.renderSoftware(r)
	s.mu.RUnlock()
	r.dir("/proc")
	r["/proc/uptime"] = node{mode: 0o444, live: func() string {
		up := time.Since(booted).Seconds()
		return fmt.Sprintf("%.2f %.2f\n", up, up) // proc(5): since the boot, and idle
	}}
	r.file("/proc/sys/kernel/random/boot_id", bootID)
	r.file("/proc/sys/kernel/hostname", s.spec.Name)
	r.file("/proc/sys/kernel/ostype", s.kernel)
	r.file("/proc/sys/kernel/osrelease", kernelRelease)
	r["/dev/null"] = node{mode: deviceMode}
	r["/dev/zero"] = node{mode: deviceMode}
	for _, dir := range []string{"/sys/class/net", "/sys/bus/pci/devices", "/sys/kernel"} {
		r.dir(dir)
	}
	s.renderMachine(r)
	for _, i := range s.interfaces() {
		i.render(r)
		s.renderECN(r, &i)
	}
	s.renderSoftRDMA(r)
	s.renderConfig(r)
	s.renderBlocks(r)
	s.renderNVMe(r)
	r.list()
	return r
}

// list tells every directory what is in it.
func (r rendered) list() {
	kids := map[string][]string{}
	for p := range r {
		kids[path.Dir(p)] = append(kids[path.Dir(p)], path.Base(p))
	}
	for dir, names := range kids {
		n, ok := r[dir]
		if !ok { // one that is real
			n.mode = dirMode
		}
		n.kids = names
		r[dir] = n
	}
}

func (i *iface) render(r rendered) {
	base := "/sys/devices/virtual/net/" + i.Name
	if !i.virtual() {
		card := "/sys/devices/pci" + bus(i.PCI) + "/" + i.PCI
		r.card(card, i)
		base = card + "/net/" + i.Name
		r.link(base+"/device", "../../../"+i.PCI)
		i.renderVirtual(r, card)
	}
	r.link("/sys/class/net/"+i.Name, "../.."+strings.TrimPrefix(base, "/sys"))
	flags, kind := 0x1002, "1"
	if i.up {
		flags = 0x1003
		carrier := "1" // of an interface that is off none can be read
		if i.operstate() == "DOWN" {
			carrier = "0"
		}
		r.file(base+"/carrier", carrier)
	}
	switch {
	case i.loop:
		flags, kind = 0x9, "772"
	case !i.virtual():
		if i.up {
			r.file(base+"/speed", strconv.FormatInt(i.Speed/1e6, 10))
		}
		r.file(base+"/duplex", "full")
		_, function, _ := strings.Cut(i.PCI, ".")
		r.file(base+"/dev_port", function)
	}
	if !i.loop {
		r.file(base+"/carrier_changes", strconv.Itoa(i.changes))
		r.file("/proc/sys/net/ipv4/conf/"+i.Name+"/rp_filter", "0")
	}
	r.file(base+"/address", i.hardware())
	r.file(base+"/addr_len", "6")
	r.file(base+"/mtu", strconv.Itoa(i.mtu))
	r.file(base+"/operstate", strings.ToLower(i.operstate()))
	r.file(base+"/ifindex", strconv.Itoa(i.index))
	r.file(base+"/iflink", strconv.Itoa(i.index))
	r.file(base+"/type", kind)
	r.file(base+"/flags", fmt.Sprintf("%#x", flags))
	if i.infiniBand() {
		r.ipoib(base)
	}
	i.renderBond(r, base)
}

// bus is the bus of a PCI address: 0000:41:00.0 → 0000:41.
func bus(pci string) string {
	if at := strings.LastIndex(pci, ":"); at > 0 {
		return pci[:at]
	}
	return pci
}

func (r rendered) file(p, line string) {
	r[p] = node{mode: 0o444, content: line + "\n"}
	r.dir(path.Dir(p))
}

func (r rendered) link(p, target string) {
	r[p] = node{mode: linkMode, content: target}
	r.dir(path.Dir(p))
}

// dir makes a directory and those above it.
func (r rendered) dir(p string) {
	for ; p != "/"; p = path.Dir(p) {
		if _, ok := r[p]; ok {
			return
		}
		r[p] = node{mode: dirMode}
	}
}
