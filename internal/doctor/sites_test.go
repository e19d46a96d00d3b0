package doctor

import (
	"fmt"
	"maps"
	"net/netip"
	"testing"
	"time"

	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/modules/host"
	"weft/switches"
)

// growingCounters are what a NIC counts that should stand still.
func growingCounters() []string {
	list := []string{"outbound_pci_stalled_wr_events", "outbound_pci_buffer_overflow", "link_downed", "symbol_error", "link_error_recovery", "req_transport_retries_exceeded",
		"rnr_nak_retry_err", "roce_adp_retrans", "roce_slow_restart", "rx_icrc_encapsulated"}
	for p := range 8 {
		list = append(list, fmt.Sprintf("rx_prio%d_pause", p))
	}
	return list
}

// equip gives a machine what else is read of it, all of it well.
func equip(h *Host) {
	h.Idle = []host.IdleState{{Name: "C1", Latency: 2}, {Name: "C6", Latency: 133, Off: true}}
	h.Flaws = map[string]string{"meltdown": "Not affected", "active": "1"}
	h.Ticks = &host.Ticks{Stolen: 0, All: 1000}
	h.Memory["HugePages_Total"] = 512
	h.Units = map[string]string{"lldpad": "inactive", "nvmet": "inactive"}
	h.Full = map[string]int{"/": 40}
	h.Mirrored, h.Exported, h.CMListens = []string{"nqn.x:a"}, []string{"rdma 10.40.1.11:4420", "tcp 10.40.1.11:4420"}, []string{"10.40.1.11:4420"}
	h.Agents = []host.AgentLimits{{Name: "weft-target", Lock: "unlimited"}, {Name: "weft-initiator", Lock: "8388608", Free: true}}
	h.Lockdown = "[none] integrity confidentiality"
	h.Rules = ptr(3)
	h.Listens, h.Firewall = []string{"tcp 4420"}, &host.Firewall{Closed: true, Rules: []host.FirewallRule{{Protocol: "tcp", Low: 4420, High: 4420, Accepts: true}}}
	h.Keepers = map[string]host.Keeper{"ens0": {Name: "NetworkManager", Keeps: true}}
	h.Met, h.RoCEToS = map[string]string{}, map[string]string{"mlx5_0": "104"}
	h.Modules["dm_thin_pool"], h.Thin = 1, []host.ThinPool{{Name: "vg/pool", Data: 80, Metadata: 10}}
	h.Sysctls["net/ipv4/conf/all/arp_ignore"] = 0
}

// equipNIC gives a NIC what else is read of it.
func equipNIC(h *Host, m, n int) {
	x := &h.NICs[n]
	x.Above = []host.Bridge{{Now: x.PCIe, Max: x.PCIeMax}}
	x.Read, x.ASPM, x.Vector, x.DCBX, x.Lost = 4096, "0", &host.Vectors{All: 8, Node: "0-31"}, &host.DCBX{Host: true, IEEE: true}, ptr(uint64(0))
	x.Path = fmt.Sprintf("/sys/devices/pci0000:%d0/0000:%d0:01.0/%s", n+1, n+1, x.PCI)
	x.Classes, x.ECN = &[8]int{3: 3}, &[8]bool{3: true}
	a := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 40, byte(n + 1), byte(11 + m)}), 24)
	x.GIDs = []host.GID{{Address: a.Addr(), Type: "RoCE v2"}}
	h.Netdevs = append(h.Netdevs, host.Netdev{Name: x.Interface, MTU: x.MTU, Addresses: []netip.Prefix{a}})
}

// exports is the rack whose machines export.
func exports() *Site {
	s := rack()
	for m, h := range s.Hosts {
		h.Sessions = true
		h.Exports = []host.Export{{NQN: fmt.Sprintf("nqn.t:%d", m), Allowed: []string{"nqn.host:7"}, Connected: []string{"nqn.host:7"}, AnyHost: "0", CntlidMin: "1", CntlidMax: "65519",
			Namespaces: []host.ExportNamespace{{ID: "1", Values: map[string]string{"device_path": "/dev/nvme8n1", "device_uuid": fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", m+1), "enable": "1"}}}}}
	}
	return s
}

// pooled is the rack with files that name drives.
func pooled() *Site {
	s := filed()
	for _, h := range s.Hosts {
		h.Disks = []string{"nvme-a"}
		s.Model.Pools = append(s.Model.Pools, &inventory.Pool{Server: h.Server, Drives: []string{"nvme-a"}})
	}
	return s
}

// carded is the rack with a catalogue that knows how many queues its card takes.
func carded() *Site {
	s := rack()
	c, err := catalogue.Load()
	if err != nil {
		panic(err)
	}
	s.Hardware = c
	for _, h := range s.Hosts {
		for i := range h.NICs {
			h.NICs[i].ID = "15b3:1017"
		}
	}
	return s
}

// members is the rack whose two switches are members of one.
func members() *Site {
	s := rack()
	for i, sw := range s.Switches {
		for p := range sw.Reading.Ports {
			name := fmt.Sprintf("HundredGigE%d/0/%d", i+1, p+1)
			sw.Reading.Ports[p].Name, sw.Neighbours[p].Port = name, name
		}
	}
	one, two := s.Switches[0], s.Switches[1]
	one.Reading.Ports, one.Neighbours = append(one.Reading.Ports, two.Reading.Ports...), append(one.Neighbours, two.Neighbours...)
	s.Switches = s.Switches[:1]
	return s
}

// subnet is the rack whose machines have both NICs in one subnet, with rules.
func subnet() *Site {
	s := rack()
	for m, h := range s.Hosts {
		h.Rules = ptr(5)
		h.Sysctls["net/ipv4/conf/all/arp_ignore"] = 1
		for n := range h.Netdevs {
			h.Netdevs[n].Addresses = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 40, 1, byte(11 + 2*m + n)}), 24)}
		}
	}
	return s
}

// vlans is the rack with a VLAN on a NIC.
func vlans() *Site {
	s := rack()
	for _, h := range s.Hosts {
		h.Netdevs = append(h.Netdevs, host.Netdev{Name: "ens0.10", Below: "ens0", Kind: "vlan", MTU: 9000})
	}
	return s
}

// gpus is the rack with a GPU in each machine.
func gpus() *Site {
	s := rack()
	for _, h := range s.Hosts {
		h.Modules["nvidia_peermem"] = 1
		h.GPUs = &host.GPUs{Hooks: []string{"nvme_rdma_v1_register_nvfs_dma_ops"}, ACS: map[string]string{"0000:10:02.0": "0000", "0000:10:01.0": ""}, Driver: "NVIDIA UNIX Open Kernel Module 570", FS: "2.24", Counts: "1", Peering: ptr(true),
			Paths:  map[string]string{"0000:11:00.0": "/sys/devices/pci0000:10/0000:10:02.0/0000:11:00.0"},
			Config: map[string]string{"allow_compat_mode": "false", "use_pci_p2pdma": "true"}, Lists: map[string][]string{"rdma_dev_addr_list": {h.Netdevs[0].Addresses[0].Addr().String()}}}
		h.Multipath = "N"
	}
	return s
}

// files is the rack with Lustre, WEKA and NFS.
func files() *Site {
	s := rack()
	for m, h := range s.Hosts {
		for _, name := range []string{"lnet", "ko2iblnd", "lustre", "nfsd"} {
			h.Modules[name] = 1
		}
		h.LNet, h.LNetToS = &host.LNet{}, "104"
		for n := range 2 {
			h.LNet.NIs = append(h.LNet.NIs, host.LNetNI{Net: "o2ib", NID: fmt.Sprintf("10.40.%d.%d@o2ib", n+1, m+11), Status: "up", Health: 1000, Credits: 32})
		}
		h.Lustre = map[string]string{"x-OST0001": "active"}
		h.Weka = map[string]string{"status": "OK", "io_status": "STARTED", "skew": "60"}
		h.NFSPorts = []string{"rdma 20049", "tcp 2049"}
		h.NFSRDMA = []int{1}
		h.Mounts = []host.Mount{{Device: "10.40.1.11:/srv", Dir: "/mnt", Type: "nfs4", Options: "rw,proto=rdma,addr=10.40.1.11"}}
	}
	return s
}

// filesTwice are the files, read twice.
func filesTwice() *Site {
	s := files()
	s.Before = files()
	return s
}

// ticking is the rack read twice, with time that has passed on its CPUs.
func ticking() *Site {
	s := twice()
	for _, h := range s.Hosts {
		h.Ticks = &host.Ticks{All: 2000}
	}
	return s
}

func export(change func(*host.Export)) func(*Site) {
	return func(s *Site) { change(&s.Hosts[1].Exports[0]) }
}

func drive(change func(*host.Controller)) func(*Site) {
	return func(s *Site) { change(&s.Hosts[1].Controllers[2]) }
}

func value(key, text string) func(*host.Controller) {
	return func(c *host.Controller) {
		if text == "" {
			delete(c.Values, key)
			return
		}
		c.Values[key] = text
	}
}

// trouble has a switch say that something is not well.
func trouble(what, part, text string) func(*Site) {
	return onSwitch(func(sw *Switch) { sw.Conditions.Troubles = []switches.Trouble{{What: what, Part: part, Text: text}} })
}

// well is a switch that says of itself that all is well.
func well() *switches.Conditions {
	c := &switches.Conditions{Told: map[string]bool{}, Ports: map[string]switches.PortCount{}}
	for _, what := range []string{switches.OfOptics, switches.OfHeat, switches.OfHardware, switches.OfPair, switches.OfPower, switches.OfFans, switches.OfWarmth, switches.OfLog, switches.OfLinks, switches.OfSaved, switches.OfAges} {
		c.Told[what] = true
	}
	return c
}

// unseen has a switch refuse to say one thing of itself.
func unseen(what string) func(*Site) {
	return onSwitch(func(sw *Switch) {
		delete(sw.Conditions.Told, what)
		sw.Conditions.Gaps = map[string]string{what: "refused"}
	})
}

// What ports of switches count is compared, of those with an LLDP neighbour; what is not
// told twice is not known.
func TestPortsOfSwitches(t *testing.T) {
	for name, c := range map[string]struct {
		id          string
		port        string
		change      func(*switches.PortCount)
		bad, unsure int
	}{
		"broken frames":               {"WD-LNK-16", "Ethernet1/1", func(p *switches.PortCount) { p.Broken = ptr(uint64(5)) }, 1, 0},
		"broken frames, nobody heard": {"WD-LNK-16", "Ethernet1/48", func(p *switches.PortCount) { p.Broken = ptr(uint64(5)) }, 0, 0},
		"frames not counted":          {"WD-LNK-16", "Ethernet1/1", func(p *switches.PortCount) { p.Broken = nil }, 0, 1},
		"counters cleared":            {"WD-LNK-16", "Ethernet1/1", func(p *switches.PortCount) { p.Broken = ptr(uint64(0)) }, 0, 1},
		"a link went":                 {"WD-LNK-09", "Ethernet1/1", func(p *switches.PortCount) { p.Steady = ptr(time.Second) }, 1, 0},
		"since when is not told":      {"WD-LNK-09", "Ethernet1/1", func(p *switches.PortCount) { p.Steady = nil }, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := twice()
			sw := s.Switches[0]
			p := sw.Conditions.Ports[c.port]
			c.change(&p)
			sw.Conditions.Ports[c.port] = p
			r := Examine(s, nil)
			if f, u := by(r.Findings, c.id), by(r.Unknown, c.id); len(f) != c.bad || len(u) != c.unsure {
				t.Errorf("%v %v", f, u)
			}
		})
	}
	for name, change := range map[string]func(*Site){"refused": unseen(switches.OfLinks), "not asked": onSwitch(func(sw *Switch) { sw.Conditions = nil }),
		"a port is missing": onSwitch(func(sw *Switch) { delete(sw.Conditions.Ports, "Ethernet1/1") })} {
		s := twice()
		change(s)
		if u := by(Examine(s, nil).Unknown, "WD-LNK-09"); len(u) != 1 {
			t.Errorf("%s: %v", name, u)
		}
	}
}

// What a firewall does with storage follows from its rules in their order.
func TestFirewall(t *testing.T) {
	accept := host.FirewallRule{Protocol: "tcp", Low: 4420, High: 4430, Accepts: true}
	drop := host.FirewallRule{Protocol: "tcp", Low: 4000, High: 5000}
	counted := drop
	counted.Packets = 7
	for name, c := range map[string]struct {
		wall        host.Firewall
		bad, unsure int
	}{
		"open":                             {host.Firewall{}, 0, 0},
		"closed":                           {host.Firewall{Closed: true}, 1, 0},
		"closed, others let some in":       {host.Firewall{Closed: true, Vague: true}, 0, 1},
		"a range lets it in":               {host.Firewall{Closed: true, Rules: []host.FirewallRule{accept}}, 0, 0},
		"let in, then the rest dropped":    {host.Firewall{Rules: []host.FirewallRule{accept, drop}}, 0, 0},
		"dropped before it is let in":      {host.Firewall{Rules: []host.FirewallRule{drop, accept}}, 1, 0},
		"dropped, and it counts":           {host.Firewall{Rules: []host.FirewallRule{accept, counted}}, 1, 0},
		"another protocol is dropped":      {host.Firewall{Rules: []host.FirewallRule{{Protocol: "udp", Low: 4420, High: 4420}}}, 0, 0},
		"both protocols are dropped there": {host.Firewall{Rules: []host.FirewallRule{{Protocol: "th", Low: 4420, High: 4420}}}, 1, 0},
	} {
		s := rack()
		s.Hosts[1].Firewall = &c.wall
		r := Examine(s, nil)
		if f, u := by(r.Findings, "WD-ADR-05"), by(r.Unknown, "WD-ADR-05"); len(f) != c.bad || len(u) != c.unsure {
			t.Errorf("%s: %v %v", name, f, u)
		}
	}
}

// Who is met at the address of a machine is that machine, with any of its MAC addresses.
func TestMet(t *testing.T) {
	for mac, want := range map[string]int{"02:00:00:00:00:01": 0, "02:00:00:00:00:00": 0, "aa:bb:cc:dd:ee:ff": 1} {
		s := rack()
		s.Hosts[1].Met = map[string]string{"10.40.1.11": mac, "192.0.2.1": "aa:bb:cc:dd:ee:ff"}
		if f := by(Examine(s, nil).Findings, "WD-LNK-15"); len(f) != want {
			t.Errorf("%s: %v", mac, f)
		}
	}
	s := rack()
	s.Hosts[1].Met = nil
	if u := by(Examine(s, nil).Unknown, "WD-LNK-15"); len(u) != 1 {
		t.Errorf("%v", u)
	}
}

// An optic of a switch is judged on a port with an LLDP neighbour, and nowhere else.
func TestOpticsOfSwitches(t *testing.T) {
	for part, want := range map[string]int{"Ethernet1/1": 1, "Ethernet1/48": 0} {
		s := rack()
		trouble(switches.OfOptics, part, "Rx Power is -30")(s)
		if f := by(Examine(s, nil).Findings, "WD-LNK-06"); len(f) != want || want > 0 && f[0].Place.Part != part {
			t.Errorf("%s: %v", part, f)
		}
	}
	s := rack()
	s.Switches[0].Conditions = nil
	if u := by(Examine(s, nil).Unknown, "WD-LNK-07"); len(u) != 1 {
		t.Errorf("%v", u)
	}
}

// partTrials are those of the checks of parts: cards, machines, GPUs, file systems.
func partTrials() map[string]tried {
	all := otherTrials()
	maps.Copy(all, lineTrials())
	return all
}

func otherTrials() map[string]tried {
	return map[string]tried{
		"WD-PCI-03": {nil, nic(func(n *host.NICHealth) { n.Above[0].Now.Width = 4 }), nic(func(n *host.NICHealth) { n.Above = nil })},
		"WD-PCI-04": {nil, nic(func(n *host.NICHealth) { n.Read = 512 }), nic(func(n *host.NICHealth) { n.Read = 0 })},
		"WD-QOS-03": {nil, nic(func(n *host.NICHealth) { n.DSCP = map[int]int{} }), nic(func(n *host.NICHealth) { n.DSCP = nil })},
		"WD-NVM-05": {nil, path(value("fast_io_fail_tmo", "off")), path(value("fast_io_fail_tmo", ""))},
		"WD-NVM-15": {nil, machine(func(h *Host) { h.CMListens = []string{"10.40.1.11:20049"} }), machine(func(h *Host) { h.CMListens = nil })},
		"WD-RDM-12": {nil, machine(func(h *Host) { h.Agents[0].Lock = "8388608" }), machine(func(h *Host) { h.Agents[0].Lock = "" })},
		"WD-PCI-10": counter("outbound_pci_stalled_wr_events"),
		"WD-PCI-12": {nil, nic(func(n *host.NICHealth) { n.ASPM = "1" }), nic(func(n *host.NICHealth) { n.ASPM = "" })},
		"WD-FW-05":  {carded, nic(func(n *host.NICHealth) { n.Driver = "vfio-pci" }), nic(func(n *host.NICHealth) { n.Driver = "" })},
		"WD-FW-06":  {nil, machine(func(h *Host) { h.Versions = map[string]string{"mlx5_core": "24.10"} }), nic(func(n *host.NICHealth) { n.Driver = "" })},

		"WD-LNK-04": {twice, nic(func(n *host.NICHealth) { n.Lost = ptr(uint64(4)) }), nic(func(n *host.NICHealth) { n.Lost = nil })},
		"WD-LNK-07": {nil, nic(func(n *host.NICHealth) { n.Optics.Alarms = []string{"Module temperature high alarm"} }), nic(func(n *host.NICHealth) { n.Optics, n.Silent["optics"] = nil, "Input/output error" })},
		"WD-LNK-09": counter("link_downed"),
		"WD-LNK-15": {nil, machine(func(h *Host) { h.Netdevs[0].Addresses = []netip.Prefix{netip.MustParsePrefix("10.40.1.11/24")} }), machine(func(h *Host) { h.Netdevs = nil })},
		"WD-LNK-12": {members, func(s *Site) {
			n := s.Switches[0].Neighbours
			n[0].Port, n[4].Port = n[4].Port, n[0].Port
		}, onSwitch(func(sw *Switch) { sw.Heard, sw.Neighbours = false, nil })},
		"WD-MTU-04": {vlans, machine(func(h *Host) { h.Netdevs[2].MTU = 9100 }), machine(func(h *Host) { h.Netdevs = nil })},
		"WD-ADR-01": {subnet, machine(func(h *Host) { h.Rules = ptr(3) }), machine(func(h *Host) { h.Rules = nil })},
		"WD-ADR-03": {subnet, machine(func(h *Host) {
			h.Sysctls["net/ipv4/conf/all/arp_ignore"], h.Sysctls["net/ipv4/conf/ens0/arp_ignore"] = 0, 0
		}), machine(func(h *Host) { delete(h.Sysctls, "net/ipv4/conf/ens0/arp_ignore") })},

		"WD-QOS-09": {nil, nic(func(n *host.NICHealth) { n.ETS[3], n.ETS[0] = 30, 70 }), nic(func(n *host.NICHealth) { n.Classes = nil })},
		"WD-QOS-10": {nil, nic(func(n *host.NICHealth) { n.DSCP[48] = 3 }), nic(func(n *host.NICHealth) { n.DSCP = nil })},
		"WD-QOS-13": {nil, nic(func(n *host.NICHealth) { n.Flags = map[string]string{"fw-lldp-agent": "on"} }), nic(func(n *host.NICHealth) { n.DCBX = nil })},
		"WD-QOS-17": {twice, nic(func(n *host.NICHealth) { n.Count["rx_prio0_pause"] = 9 }), nic(func(n *host.NICHealth) { delete(n.Count, "rx_prio0_pause") })},

		"WD-RDM-03": {nil, nic(func(n *host.NICHealth) { n.GIDs[0].Type = "IB/RoCE v1" }), nic(func(n *host.NICHealth) { n.GIDs = nil })},
		"WD-RDM-06": {nil, nic(func(n *host.NICHealth) { n.Count["req_transport_retries_exceeded"] = 1 }), nic(func(n *host.NICHealth) { delete(n.Count, "req_transport_retries_exceeded") })},
		"WD-RDM-07": counter("rnr_nak_retry_err"),
		"WD-RDM-10": counter("roce_adp_retrans"),
		"WD-RDM-11": counter("rx_icrc_encapsulated"),
		"WD-IB-02": {infiniband, func(s *Site) {
			for _, h := range s.Hosts {
				for _, n := range h.NICs {
					n.RDMA[0].Subnet.PKeys = []host.PKey{0x7fff}
				}
			}
		}, nic(func(n *host.NICHealth) { n.RDMA[0].Subnet = nil })},
		"WD-IB-03": {func() *Site {
			s := infiniband()
			for _, h := range s.Hosts {
				for i := range h.NICs {
					h.NICs[i].RDMA[0].Rate = "400 Gb/sec (4X NDR)"
				}
			}
			return s
		}, nic(func(n *host.NICHealth) { n.RDMA[0].Rate = "200 Gb/sec (4X HDR)" }), nic(func(n *host.NICHealth) { n.RDMA[0].Rate = "" })},
		"WD-IB-04": counter("symbol_error"),

		"WD-CPU-02": {nil, machine(func(h *Host) { h.Idle[1].Off = false }), machine(func(h *Host) { h.Idle = nil })},
		"WD-CPU-03": {nil, nic(func(n *host.NICHealth) { n.Vector.Off = 3 }), nic(func(n *host.NICHealth) { n.Vector = nil })},
		"WD-CPU-05": {nil, machine(func(h *Host) { h.Flaws["meltdown"] = "Vulnerable" }), machine(func(h *Host) { h.Flaws = nil })},
		"WD-CPU-06": {ticking, machine(func(h *Host) { h.Ticks.Stolen = 100 }), machine(func(h *Host) { h.Ticks = nil })},
		"WD-MEM-01": {nil, machine(func(h *Host) { h.Memory["HugePages_Total"] = 0 }), machine(func(h *Host) { delete(h.Memory, "HugePages_Total") })},
		"WD-OS-04":  {nil, machine(func(h *Host) { h.Units["lldpad"] = "active" }), machine(func(h *Host) { h.Units = nil })},
		"WD-OS-05":  {nil, machine(func(h *Host) { h.Full["/"] = 97 }), machine(func(h *Host) { h.Full = nil })},
		"WD-OS-06":  {nil, machine(func(h *Host) { h.Lockdown = "none [integrity] confidentiality" }), machine(func(h *Host) { h.Lockdown = "" })},

		"WD-NVM-06": {nil, path(value("kato", "0")), path(value("kato", ""))},
		"WD-NVM-07": {carded, path(value("queue_count", "65")), path(value("queue_count", ""))},
		"WD-NVM-08": {nil, func(s *Site) { s.Hosts[1].Facts.Kernel = "6.8.0"; path(value("sqsize", "1023"))(s) }, path(value("sqsize", ""))},
		"WD-NVM-10": {exports, export(func(e *host.Export) { e.NQN = "nqn.t:0" }), machine(func(h *Host) { h.Modules = nil })},
		"WD-NVM-11": {func() *Site {
			s := exports()
			for m, h := range s.Hosts {
				h.Exports[0].NQN, h.Exports[0].CntlidMin, h.Exports[0].CntlidMax = "nqn.t:0", fmt.Sprint(m*100+1), fmt.Sprint(m*100+100)
			}
			return s
		}, export(func(e *host.Export) { e.CntlidMin = "50" }), machine(func(h *Host) { h.Modules = nil })},
		"WD-NVM-12": {exports, export(func(e *host.Export) { e.AnyHost = "1" }), export(func(e *host.Export) { e.AnyHost = "" })},
		"WD-NVM-13": {exports, machine(func(h *Host) { h.Mounts = []host.Mount{{Device: "/dev/nvme8n1", Dir: "/srv", Type: "xfs"}} }), export(func(e *host.Export) { delete(e.Namespaces[0].Values, "device_path") })},
		"WD-NVM-20": {nil, drive(func(c *host.Controller) { c.Smart.Errors = 2 }), drive(func(c *host.Controller) { c.Smart = nil })},
		"WD-NVM-21": {nil, drive(value("hwmon1/temp1_input", "81000")), drive(value("hwmon1/temp1_input", ""))},
		"WD-NVM-23": {pooled, machine(func(h *Host) { h.Disks = []string{} }), machine(func(h *Host) { h.Disks = nil })},
		"WD-NVM-26": {nil, path(value("reconnect_delay", "900")), path(value("reconnect_delay", ""))},

		"WD-GPU-01": {gpus, machine(func(h *Host) { h.GPUs.Driver = "NVIDIA UNIX x86_64 Kernel Module 570" }), machine(func(h *Host) { h.GPUs.Driver = "" })},
		"WD-GPU-02": {gpus, machine(func(h *Host) { h.Modules["nvidia_peermem"], h.Facts.Kernel = 0, "5.4.0" }), machine(func(h *Host) { h.Modules = nil })},
		"WD-GPU-03": {gpus, machine(func(h *Host) { h.Modules["nv_peer_mem"] = 1 }), machine(func(h *Host) { h.Modules = nil })},
		"WD-GPU-04": {gpus, machine(func(h *Host) { h.GPUs.FS, h.GPUs.Config["use_pci_p2pdma"] = "", "false" }), machine(func(h *Host) { h.GPUs.FS = ""; delete(h.GPUs.Config, "allow_compat_mode") })},
		"WD-GPU-07": {gpus, machine(func(h *Host) { h.GPUs.FS, h.GPUs.Config["allow_compat_mode"] = "", "true" }), machine(func(h *Host) { h.GPUs.Config = nil })},
		"WD-GPU-08": {gpus, machine(func(h *Host) { h.GPUs.Paths["0000:11:00.0"] = "/sys/devices/pci0000:80/0000:80:02.0/0000:11:00.0" }), machine(func(h *Host) { h.NICs[0].Path, h.NICs[1].Path = "", "" })},
		"WD-GPU-12": {gpus, machine(func(h *Host) { h.Cmdline = ptr("ro amd_iommu=on") }), machine(func(h *Host) { h.Cmdline = nil })},
		"WD-GPU-13": {gpus, machine(func(h *Host) { h.Multipath = "Y" }), machine(func(h *Host) { h.Multipath = "" })},
		"WD-GPU-14": {gpus, machine(func(h *Host) { h.GPUs.Lists["rdma_dev_addr_list"] = []string{"10.99.0.1"} }), machine(func(h *Host) { h.Netdevs = nil })},
		"WD-GPU-15": {gpus, machine(func(h *Host) { h.GPUs.Peering = ptr(false) }), machine(func(h *Host) { h.GPUs.Peering = nil })},
		"WD-GPU-17": {gpus, path(func(c *host.Controller) { c.Transport = "tcp" }), path(func(c *host.Controller) { c.Transport = "" })},
		"WD-GPU-18": {gpus, machine(func(h *Host) { h.GPUs.Counts = "0" }), machine(func(h *Host) { h.GPUs.Counts = "" })},

		"WD-FS-01":  {files, machine(func(h *Host) { h.LNet = &host.LNet{Down: "Network is down (-100)"} }), machine(func(h *Host) { h.LNet = nil })},
		"WD-FS-02":  {files, machine(func(h *Host) { h.LNet.NIs[0].Health = 900 }), machine(func(h *Host) { h.LNet.NIs[0].Health = -1 })},
		"WD-FS-03":  {files, machine(func(h *Host) { h.LNetToS = "-1" }), machine(func(h *Host) { h.LNetToS = "" })},
		"WD-FS-04":  {files, machine(func(h *Host) { h.LNet.NIs[0].Credits = 8 }), machine(func(h *Host) { h.LNet.NIs[0].Credits = -1 })},
		"WD-FS-05":  {files, machine(func(h *Host) { h.Lustre["x-OST0001"] = "inactive" }), machine(func(h *Host) { h.Lustre = nil })},
		"WD-FS-06":  {files, machine(func(h *Host) { h.LNet.NIs = h.LNet.NIs[:1] }), machine(func(h *Host) { h.LNet = nil })},
		"WD-FS-07":  {files, machine(func(h *Host) { h.Weka["io_status"] = "STOPPED" }), machine(func(h *Host) { delete(h.Weka, "status") })},
		"WD-FS-09":  {files, machine(func(h *Host) { h.Skew = 40 * time.Second }), machine(func(h *Host) { delete(h.Weka, "skew") })},
		"WD-FS-10":  {files, nic(func(n *host.NICHealth) { n.MTU = 1500 }), machine(func(h *Host) { h.NICs[0].MTU, h.NICs[1].MTU = 0, 0 })},
		"WD-FS-11":  {files, machine(func(h *Host) { h.Mounts[0].Options = "rw,proto=tcp,addr=10.40.1.11" }), machine(func(h *Host) { h.Mounts[0].Options = "rw" })},
		"WD-FS-12":  {files, machine(func(h *Host) { h.NFSPorts = []string{"tcp 2049"} }), machine(func(h *Host) { h.NFSPorts = nil })},
		"WD-QOS-19": {nil, trouble(switches.OfAges, "", "it forgets MAC addresses after 300 s"), unseen(switches.OfAges)},
		"WD-QOS-22": {nil, trouble(switches.OfSaved, "", "3 lines run and are not saved"), unseen(switches.OfSaved)},
		"WD-ADR-04": {nil, machine(func(h *Host) { h.Keepers["ens0"] = host.Keeper{Name: "NetworkManager"} }), machine(func(h *Host) { h.Keepers = nil })},
		"WD-ADR-05": {nil, machine(func(h *Host) { h.Firewall.Closed, h.Firewall.Rules = true, nil }), machine(func(h *Host) { h.Firewall = nil })},
		"WD-NVM-16": {exports, export(func(e *host.Export) { e.Connected = nil }), machine(func(h *Host) { h.Sessions = false })},
		"WD-NVM-27": {nil, machine(func(h *Host) { h.Thin[0].Data = 81 }), machine(func(h *Host) { h.Thin = nil })},
		"WD-GPU-05": {gpus, machine(func(h *Host) { h.GPUs.Hooks = []string{"rpcrdma_register_nvfs_dma_ops"} }), machine(func(h *Host) { h.GPUs.Hooks = nil })},
		"WD-GPU-11": {gpus, machine(func(h *Host) { h.GPUs.ACS["0000:10:02.0"] = "001d" }), machine(func(h *Host) { h.GPUs.ACS = nil })},
		"WD-FS-13":  {files, machine(func(h *Host) { h.RoCEToS["mlx5_0"] = "0" }), machine(func(h *Host) { h.RoCEToS = nil })},
		"WD-SW-03":  {nil, trouble(switches.OfPower, "power supply 1", "it is Shutdown"), unseen(switches.OfPower)},
		"WD-SW-04":  {nil, trouble(switches.OfFans, "Fan1", "it is Failure"), unseen(switches.OfFans)},
		"WD-SW-05":  {nil, trouble(switches.OfWarmth, "module 1 FRONT", "it is 50 °C"), unseen(switches.OfWarmth)},
		"WD-SW-06":  {nil, trouble(switches.OfLog, "ipqosmgr", "it logs severities up to 2"), unseen(switches.OfLog)},
		"WD-SW-01":  {nil, trouble(switches.OfHardware, "module 1", "it is faulty"), onSwitch(func(sw *Switch) { sw.Conditions = nil })},
		"WD-SW-02": {nil, trouble(switches.OfPair, "", "Peer status is peer link is down"), onSwitch(func(sw *Switch) {
			sw.Conditions = &switches.Conditions{Gaps: map[string]string{switches.OfPair: "refused: show vpc"}}
		})},
		"WD-FS-14": {filesTwice, machine(func(h *Host) { h.NFSRDMA = []int{3} }), machine(func(h *Host) { h.NFSRDMA = []int{1, 1} })},
	}
}

// A port that goes by tags of VLANs is no port of a lossless class, nor is one without a line
// or a policy where most others have one.
func TestTrust(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*switches.Port)
		running string
		want    string
	}{
		"by DSCP":   {func(*switches.Port) {}, "", ""},
		"by tags":   {func(p *switches.Port) { p.ByTag = true }, "", "bad leaf-0 Ethernet1/1"},
		"no line":   {func(p *switches.Port) { p.Classify, p.Classes = false, []switches.Class{{Priority: 3, PFC: true}} }, "", "bad leaf-0 Ethernet1/1"},
		"policies":  {func(p *switches.Port) { p.Classify = false }, "interface Ethernet1/1\n  service-policy type qos input THEIRS\n", ""},
		"no policy": {func(p *switches.Port) { p.Classify = false }, "", "bad leaf-0 Ethernet1/1"},
	} {
		s := rack()
		says(s.Switches[0], c.running)
		c.change(&s.Switches[0].Reading.Ports[0])
		got, r := "", Examine(s, nil)
		for _, f := range by(r.Findings, "WD-QOS-03") {
			got += "bad " + f.Place.String()
		}
		for _, f := range by(r.Unknown, "WD-QOS-03") {
			got += "unknown " + f.Place.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
