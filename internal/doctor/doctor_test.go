package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/review"
	"weft/internal/tally"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/leaf"
	"weft/switches"
)

func ptr[T any](v T) *T { return &v }

// rack is a healthy site: two leafs, three machines with a NIC at each.
func rack() *Site {
	s := &Site{}
	for n := range 2 {
		s.Switches = append(s.Switches, &Switch{Name: fmt.Sprintf("leaf-%d", n), Health: &leaf.Health{OS: "nxos", Heard: true, Watches: true,
			Counters: &tally.Ports{}, Conditions: well(),
			Reading: switches.Reading{Watchdog: "drop", Running: map[string]switches.Running{}, Classes: []switches.Class{
				{Name: "rdma", DSCP: []int{26}, Priority: 3, Bandwidth: 50, PFC: true, ECN: &switches.ECN{Min: 1000, Max: 2000, Probability: 10}},
				{Name: "default", Bandwidth: 50},
			}}}})
		says(s.Switches[n], "")
	}
	for m := range 3 {
		h := &Host{Name: fmt.Sprintf("st%d", m+1), Health: &host.Health{Name: fmt.Sprintf("st%d", m+1), Clock: ptr(time.Unix(1e9, 0)), Uptime: 48 * time.Hour,
			Cmdline: ptr("ro iommu=pt"), Governors: []string{"performance"}, Memory: map[string]int{}, Modules: map[string]int{"nvmet": 1, "nvme_rdma": 1},
			Sysctls: map[string]int{"kernel/numa_balancing": 0, "net/ipv4/conf/all/rp_filter": 0}, Swaps: ptr(0), MemoryErrs: ptr(0), Multipath: "Y"}}
		h.Facts.Kernel = "6.14.2"
		equip(h)
		for n := range 2 {
			name, mac := fmt.Sprintf("ens%d", n), fmt.Sprintf("02:00:00:00:0%d:0%d", m, n)
			f := host.NICFacts{PCI: fmt.Sprintf("0000:%d1:00.0", n+1), ID: "15b3:1021", Driver: "mlx5_core", Firmware: "28.43.1014", Node: 0,
				PCIe: host.Lanes{Speed: 16, Width: 16}, PCIeMax: host.Lanes{Speed: 16, Width: 16}, Interface: name, MAC: mac, MTU: 9000, State: "up",
				Carrier: ptr(true), Speed: 100e9, RDMA: []host.RDMAPort{{Device: "mlx5_0", Port: 1, Protocol: "rocev2", State: "ACTIVE"}}}
			ets := host.Shares{50, 0, 0, 50, 0, 0, 0, 0}
			h.NICs = append(h.NICs, host.NICHealth{NICFacts: f, Flaps: ptr(2), FEC: "RS", Pause: &host.GlobalPause{}, PFC: []int{3}, DSCP: map[int]int{26: 3, 48: 6},
				ETS: &ets, AER: map[string]uint64{"fatal": 0, "nonfatal": 0}, Optics: &host.Optics{Model: "Q28"}, Silent: map[string]string{},
				Count: map[string]uint64{"rp_cnp_ignored": 0, "out_of_sequence": 5, "packet_seq_err": 0, "local_ack_timeout_err": 0, "out_of_buffer": 0,
					"rx_crc_errors_phy": 0, "rx_symbol_err_phy": 0, "rx_prio3_pause_duration": 0}})
			for _, name := range growingCounters() {
				h.NICs[n].Count[name] = 0
			}
			h.Sysctls["net/ipv4/conf/"+name+"/rp_filter"], h.Sysctls["net/ipv4/conf/"+name+"/arp_ignore"] = 0, 1
			equipNIC(h, m, n)
			h.Controllers = append(h.Controllers, host.Controller{Name: fmt.Sprintf("nvme%d", n+1), Transport: "rdma", State: "live", NQN: "nqn.x:a",
				Address: "traddr=10.0.0.1", HostNQN: fmt.Sprintf("nqn.host:%d", m), Values: map[string]string{"ctrl_loss_tmo": "600", "kato": "5", "reconnect_delay": "10", "queue_count": "9", "sqsize": "127", "fast_io_fail_tmo": "5"},
				Namespaces: []host.Namespace{{Disk: "nvme0n1", State: "optimized"}}})
			sw := s.Switches[n]
			port := fmt.Sprintf("Ethernet1/%d", m+1)
			sw.Reading.Ports = append(sw.Reading.Ports, switches.Port{Name: port, MTU: 9216, PFC: true, Classify: true, Exists: true})
			sw.Reading.Running[port] = switches.Running{On: true, Priorities: []int{3}}
			sw.Neighbours = append(sw.Neighbours, switches.Neighbour{Port: port, PortID: mac})
			sw.Conditions.Ports[port] = switches.PortCount{Up: true, Broken: ptr(uint64(4)), Steady: ptr(switches.Always)}
			sw.Counters.Counts = append(sw.Counters.Counts, tally.Count{Port: port, Priority: 3, Name: tally.WatchdogEvents},
				tally.Count{Port: port, Priority: 3, Name: tally.Drops, Value: 7})
		}
		h.Subsystems = []host.Subsystem{{NQN: "nqn.x:a", Policy: "round-robin"}}
		for n := range 2 {
			h.Controllers = append(h.Controllers, host.Controller{Name: fmt.Sprintf("nvme%d", n+8), Transport: "pcie", State: "live", Model: "PM", Firmware: "1",
				Smart: &host.Smart{Used: 3}, Values: map[string]string{"device/numa_node": "0", "hwmon1/temp1_input": "41000", "hwmon1/temp1_max": "80000"}})
		}
		s.Hosts = append(s.Hosts, h)
	}
	return s
}

// filed is the rack with files that say what it is.
func filed() *Site {
	s := rack()
	f := &inventory.Fabric{Block: inventory.Block{Addr: "fabric.roce"}, Transport: "rocev2", Mode: "lossless", HostMTU: 9000,
		Classes: []*inventory.TrafficClass{{DSCP: []int{26}, Priority: 3, PFC: true}}}
	s.Model = &inventory.Model{Fabrics: []*inventory.Fabric{f}}
	for _, sw := range s.Switches {
		sw.Switch = &inventory.Switch{Block: inventory.Block{Addr: sw.Name}, Fabric: f}
	}
	for m, h := range s.Hosts {
		h.Server = &inventory.Server{Block: inventory.Block{Addr: h.Name}}
		for n := range h.NICs {
			r := &inventory.RNIC{Block: inventory.Block{Addr: h.Name}, Name: fmt.Sprintf("p%d", n), PCI: h.NICs[n].PCI, Fabric: f}
			h.Server.RNICs = append(h.Server.RNICs, r)
			s.Model.Links = append(s.Model.Links, &inventory.Link{Block: inventory.Block{Addr: "link.x"}, Speed: 100e9, From: inventory.LinkEnd{RNIC: r},
				To: inventory.LinkEnd{Switch: s.Switches[n].Switch, Port: fmt.Sprintf("Ethernet1/%d", m+1)}})
		}
		s.Model.Targets = append(s.Model.Targets, &inventory.Target{Server: h.Server})
	}
	return s
}

// twice is the rack read twice.
func twice() *Site {
	s := rack()
	s.Before = rack()
	for _, h := range s.Hosts {
		h.Uptime += 10 * time.Second
	}
	return s
}

// infiniband is the rack with ports that need a subnet manager.
func infiniband() *Site {
	s := rack()
	for _, h := range s.Hosts {
		for i := range h.NICs {
			h.NICs[i].RDMA[0].Protocol, h.NICs[i].RDMA[0].Subnet = "infiniband", &host.SubnetPort{Manager: 1, PKeys: []host.PKey{0x7fff, 0x8001}}
		}
	}
	return s
}

// A tried check has what makes it fire, and what makes it blind.
type tried struct {
	of    func() *Site // nil: rack
	fires func(*Site)
	blind func(*Site)
}

func nic(change func(*host.NICHealth)) func(*Site) {
	return func(s *Site) { change(&s.Hosts[1].NICs[0]) }
}

func machine(change func(*Host)) func(*Site) { return func(s *Site) { change(s.Hosts[1]) } }

func onSwitch(change func(*Switch)) func(*Site) { return func(s *Site) { change(s.Switches[0]) } }

func path(change func(*host.Controller)) func(*Site) {
	return func(s *Site) { change(&s.Hosts[1].Controllers[0]) }
}

// counter is a check of one that must not grow.
func counter(name string) tried {
	return tried{twice, nic(func(n *host.NICHealth) { n.Count[name]++ }), nic(func(n *host.NICHealth) { delete(n.Count, name) })}
}

func firstTrials() map[string]tried {
	return map[string]tried{
		"WD-PCI-01": {nil, nic(func(n *host.NICHealth) { n.PCIe = host.Lanes{Speed: 8, Width: 8} }), nic(func(n *host.NICHealth) { n.PCIe.Width = 0 })},
		"WD-PCI-02": {nil, nic(func(n *host.NICHealth) { n.PCIe.Speed = 8 }), nic(func(n *host.NICHealth) { n.PCIe.Speed = 0 })},
		"WD-PCI-08": {nil, machine(func(h *Host) { h.Cmdline = ptr("ro intel_iommu=on") }), machine(func(h *Host) { h.Cmdline = nil })},
		"WD-PCI-09": {nil, nic(func(n *host.NICHealth) { n.AER["nonfatal"] = 2 }), nic(func(n *host.NICHealth) { n.AER = nil })},
		"WD-PCI-11": {nil, machine(func(h *Host) { h.Controllers[2].Values["device/numa_node"] = "1" }), machine(func(h *Host) { h.Controllers[2].Values["device/numa_node"] = "-1" })},
		"WD-FW-01":  {nil, nic(func(n *host.NICHealth) { n.ID = "15b3:0209" }), nic(func(n *host.NICHealth) { n.ID = "" })},
		"WD-FW-02":  {nil, nic(func(n *host.NICHealth) { n.Firmware = "28.40.0" }), nic(func(n *host.NICHealth) { n.Firmware = "" })},
		"WD-FW-04":  {filed, nic(func(n *host.NICHealth) { n.RDMA[0].Protocol = "infiniband" }), nic(func(n *host.NICHealth) { n.RDMA[0].Protocol = "" })},

		"WD-LNK-01": {nil, nic(func(n *host.NICHealth) { n.Carrier, n.State = ptr(false), "down" }), nic(func(n *host.NICHealth) { n.Carrier, n.State = nil, "" })},
		"WD-LNK-02": {nil, nic(func(n *host.NICHealth) { n.Speed = 25e9 }), nic(func(n *host.NICHealth) { n.Speed = 0 })},
		"WD-LNK-03": {nil, nic(func(n *host.NICHealth) { n.FEC = "Off" }), nic(func(n *host.NICHealth) { n.FEC = "" })},
		"WD-LNK-06": {nil, nic(func(n *host.NICHealth) { n.Optics.Alarms = []string{"Laser rx power low alarm"} }), nic(func(n *host.NICHealth) { n.Optics, n.Silent["optics"] = nil, "Input/output error" })},
		"WD-LNK-08": {nil, nic(func(n *host.NICHealth) { n.Flaps = ptr(40) }), nic(func(n *host.NICHealth) { n.Flaps = nil })},
		"WD-LNK-10": {filed, func(s *Site) {
			n := s.Switches[0].Neighbours
			n[0].PortID, n[1].PortID = n[1].PortID, n[0].PortID
		}, onSwitch(func(sw *Switch) { sw.Neighbours = sw.Neighbours[1:] })},
		"WD-LNK-11": {nil, func(s *Site) {
			s.Switches[0].Neighbours = append(s.Switches[0].Neighbours, switches.Neighbour{Port: "Ethernet1/9", PortID: s.Hosts[0].NICs[1].MAC})
		}, onSwitch(func(sw *Switch) { sw.Neighbours = nil })},
		"WD-LNK-13": {nil, onSwitch(func(sw *Switch) { sw.Neighbours = sw.Neighbours[1:] }), onSwitch(func(sw *Switch) { sw.Heard, sw.Neighbours = false, nil })},
		"WD-LNK-16": counter("rx_crc_errors_phy"),
		"WD-MTU-01": {nil, onSwitch(func(sw *Switch) { sw.Reading.Ports[0].MTU = 1500 }), nic(func(n *host.NICHealth) { n.MTU = 0 })},
		"WD-MTU-02": {nil, nic(func(n *host.NICHealth) { n.MTU = 1500 }), nic(func(n *host.NICHealth) { n.MTU = 0 })},
		"WD-ADR-02": {nil, machine(func(h *Host) { h.Sysctls["net/ipv4/conf/ens0/rp_filter"] = 1 }), machine(func(h *Host) { delete(h.Sysctls, "net/ipv4/conf/ens0/rp_filter") })},

		"WD-QOS-01": {nil, onSwitch(func(sw *Switch) { sw.Reading.Ports[0].PFC = false }), nic(func(n *host.NICHealth) { n.PFC = nil })},
		"WD-QOS-02": {nil, onSwitch(func(sw *Switch) { sw.Reading.Running["Ethernet1/1"] = switches.Running{} }), onSwitch(func(sw *Switch) { delete(sw.Reading.Running, "Ethernet1/1") })},
		"WD-QOS-04": {nil, onSwitch(func(sw *Switch) { sw.Reading.Classes[0].DSCP = []int{28} }), nic(func(n *host.NICHealth) { n.DSCP = nil })},
		"WD-QOS-06": {nil, onSwitch(func(sw *Switch) { sw.Reading.Classes[0].ECN = nil }), onSwitch(func(sw *Switch) { sw.Reading.Classes = nil })},
		"WD-QOS-07": {nil, onSwitch(func(sw *Switch) { sw.Reading.Classes[0].ECN = &switches.ECN{Min: 9, Max: 8} }), onSwitch(func(sw *Switch) { sw.Reading.Classes = nil })},
		"WD-QOS-26": {func() *Site {
			s := rack()
			for _, sw := range s.Switches {
				sw.Reading.Classes[0].Headroom = &switches.Headroom{Xoff: 9000}
			}
			return s
		},
			onSwitch(func(sw *Switch) { sw.Reading.Classes[0].Headroom.Xoff = 1500 }), onSwitch(func(sw *Switch) { sw.Reading.Classes = nil })},
		"WD-QOS-08": {nil, nic(func(n *host.NICHealth) { n.ETS[0] = 10 }), nic(func(n *host.NICHealth) { n.ETS = nil })},
		"WD-QOS-12": {nil, nic(func(n *host.NICHealth) { n.Pause.TX = true }), nic(func(n *host.NICHealth) { n.Pause = nil })},
		"WD-QOS-14": {nil, onSwitch(func(sw *Switch) { sw.Reading.Watchdog = "" }), onSwitch(func(sw *Switch) { sw.Watches = false })},
		"WD-QOS-15": {nil, onSwitch(func(sw *Switch) { sw.Counters.Counts[0].Value = 1 }), onSwitch(func(sw *Switch) { sw.Counters = nil })},
		"WD-QOS-16": {twice, nic(func(n *host.NICHealth) { n.Count["rx_prio3_pause_duration"] = 5e6 }), nic(func(n *host.NICHealth) { delete(n.Count, "rx_prio3_pause_duration") })},
		"WD-QOS-18": {twice, onSwitch(func(sw *Switch) { sw.Counters.Counts[1].Value++ }), onSwitch(func(sw *Switch) { sw.Counters = nil })},
		"WD-QOS-21": {filed, onSwitch(func(sw *Switch) { sw.Reading.Classes[0].Priority = 4 }), onSwitch(func(sw *Switch) { sw.Reading.Classes = nil })},

		"WD-RDM-01": {nil, nic(func(n *host.NICHealth) { n.RDMA = nil }), nic(func(n *host.NICHealth) { n.RDMA, n.Driver = nil, "" })},
		"WD-RDM-02": {nil, nic(func(n *host.NICHealth) { n.RDMA[0].Protocol = "iwarp" }), nic(func(n *host.NICHealth) { n.RDMA[0].Protocol = "" })},
		"WD-RDM-04": counter("out_of_sequence"),
		"WD-RDM-05": counter("local_ack_timeout_err"),
		"WD-RDM-08": counter("out_of_buffer"),
		"WD-RDM-09": {nil, nic(func(n *host.NICHealth) { n.Count["rp_cnp_ignored"] = 3 }), nic(func(n *host.NICHealth) { delete(n.Count, "rp_cnp_ignored") })},
		"WD-RDM-14": {filed, nic(func(n *host.NICHealth) { n.RDMA[0].Device = "rxe0" }), nic(func(n *host.NICHealth) { n.RDMA = nil })},
		"WD-IB-01":  {infiniband, nic(func(n *host.NICHealth) { n.RDMA[0].Subnet.Manager = 0 }), nic(func(n *host.NICHealth) { n.RDMA[0].Subnet = nil })},

		"WD-CPU-01": {nil, machine(func(h *Host) { h.Governors = []string{"powersave"} }), machine(func(h *Host) { h.Governors = nil })},
		"WD-CPU-04": {nil, machine(func(h *Host) { h.Sysctls["kernel/numa_balancing"] = 1 }), machine(func(h *Host) { delete(h.Sysctls, "kernel/numa_balancing") })},
		"WD-MEM-02": {nil, machine(func(h *Host) { h.Swaps = ptr(4096) }), machine(func(h *Host) { h.Swaps = nil })},
		"WD-MEM-03": {nil, machine(func(h *Host) { h.MemoryErrs = ptr(1) }), machine(func(h *Host) { h.MemoryErrs = nil })},
		"WD-TIM-01": {nil, machine(func(h *Host) { h.Skew = time.Minute }), machine(func(h *Host) { h.Clock = nil })},
		"WD-OS-01":  {nil, machine(func(h *Host) { h.Facts.Kernel, h.Modules["nvme_tcp"] = "6.12.38+deb13-amd64", 1 }), machine(func(h *Host) { h.Modules = nil })},
		"WD-OS-02":  {nil, machine(func(h *Host) { h.Facts.Kernel = "6.1.0" }), machine(func(h *Host) { h.Facts.Kernel = "" })},

		"WD-NVM-01": {nil, path(func(c *host.Controller) { c.State = "connecting" }), path(func(c *host.Controller) { c.State = "" })},
		"WD-NVM-28": {nil, machine(func(h *Host) {
			h.Controllers[0].Namespaces[0].State, h.Controllers[1].Namespaces[0].State = "inaccessible", "change"
		}), path(func(c *host.Controller) { c.Namespaces = nil })},
		"WD-NVM-02": {nil, machine(func(h *Host) { h.Multipath = "N" }), machine(func(h *Host) { h.Multipath = "" })},
		"WD-NVM-03": {nil, machine(func(h *Host) { h.Subsystems[0].Policy = "numa" }), machine(func(h *Host) { h.Subsystems[0].Policy = "" })},
		"WD-NVM-04": {nil, path(func(c *host.Controller) { c.Values["ctrl_loss_tmo"] = "5" }), path(func(c *host.Controller) { delete(c.Values, "ctrl_loss_tmo") })},
		"WD-NVM-09": {nil, path(func(c *host.Controller) { c.HostNQN = "nqn.host:0" }), machine(func(h *Host) { h.Controllers[0].HostNQN, h.Controllers[1].HostNQN = "", "" })},
		"WD-NVM-17": {filed, path(func(c *host.Controller) { c.Transport = "tcp" }), path(func(c *host.Controller) { c.Transport = "" })},
		"WD-NVM-18": {nil, path(func(c *host.Controller) { c.Transport = "tcp" }), path(func(c *host.Controller) { c.Transport = "" })},
		"WD-NVM-22": {nil, machine(func(h *Host) { h.Controllers[2].Firmware = "2" }), machine(func(h *Host) { h.Controllers[2].Firmware = "" })},
	}
}

// trials are those of all checks.
func trials() map[string]tried {
	all := firstTrials()
	maps.Copy(all, partTrials())
	maps.Copy(all, windowsTrials())
	maps.Copy(all, vcenterTrials())
	maps.Copy(all, hopTrials())
	return all
}

func by(list []Finding, id string) (out []Finding) {
	for _, f := range list {
		if f.Check.ID == id {
			out = append(out, f)
		}
	}
	return out
}

// Each check fires, is quiet, and says where it does not know.
func TestCatalogue(t *testing.T) {
	all := trials()
	for _, c := range Catalogue() {
		t.Run(c.ID, func(t *testing.T) {
			trial, ok := all[c.ID]
			if !ok {
				t.Fatal("nothing shows that it fires, is quiet, or does not know")
			}
			if trial.of == nil {
				trial.of = rack
			}
			quiet := Examine(trial.of(), nil)
			if f, u := by(quiet.Findings, c.ID), by(quiet.Unknown, c.ID); len(f)+len(u) > 0 || quiet.Fine[c.ID] == 0 {
				t.Errorf("of what is healthy it says %v %v, and fine of %d", f, u, quiet.Fine[c.ID])
			}
			sick := trial.of()
			trial.fires(sick)
			r := Examine(sick, nil)
			if f := by(r.Findings, c.ID); len(f) == 0 || f[0].Text == "" || f[0].Place.Device == "" {
				t.Errorf("it does not fire: %v", f)
			}
			dark := trial.of()
			trial.blind(dark)
			r = Examine(dark, nil)
			if u := by(r.Unknown, c.ID); len(u) == 0 || u[0].Text == "" || u[0].Place.Device == "" {
				t.Errorf("it does not say what it does not know: %v", u)
			}
			if f := by(r.Findings, c.ID); len(f) > 0 {
				t.Errorf("it judges what it does not know: %v", f)
			}
			if r.Fine[c.ID] >= quiet.Fine[c.ID] {
				t.Errorf("what is not known is fine: %d of %d", r.Fine[c.ID], quiet.Fine[c.ID])
			}
			for _, text := range []string{c.Title, c.Reads, c.Limit, c.Source, c.Remedy} {
				if text == "" {
					t.Errorf("it lacks words: %+v", c)
				}
			}
			if c.Severity.Rank() < 0 {
				t.Errorf("severity %q", c.Severity)
			}
		})
	}
	if len(all) != len(Catalogue()) {
		t.Errorf("%d checks, %d trials", len(Catalogue()), len(all))
	}
}

// Every row of the catalogue is a check, or left out with a reason.
func TestEveryRow(t *testing.T) {
	var have []string
	for _, c := range Catalogue() {
		have = append(have, c.ID)
	}
	for _, r := range LeftOut() {
		have = append(have, r.ID)
		if r.Title == "" || r.Why == "" {
			t.Errorf("%s is left out without a reason", r.ID)
		}
		if _, text, ok := Explain(r.ID); !ok || !strings.Contains(text, r.Why) {
			t.Errorf("%s is not explained: %q", r.ID, text)
		}
	}
	var want []string
	for _, area := range []struct {
		name string
		rows int
	}{{"PCI", 12}, {"FW", 7}, {"LNK", 16}, {"MTU", 4}, {"ADR", 5}, {"QOS", 29}, {"RDM", 15}, {"IB", 4}, {"CPU", 6}, {"MEM", 3}, {"TIM", 1}, {"OS", 6},
		{"NVM", 28}, {"GPU", 18}, {"FS", 14}, {"WIN", 13}, {"SW", 6}, {"VC", 3}} {
		for n := range area.rows {
			want = append(want, fmt.Sprintf("WD-%s-%02d", area.name, n+1))
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("have %v\nwant %v", have, want)
	}
}

func TestReport(t *testing.T) {
	s := filed()
	s.Hosts[1].NICs[0].MTU = 1500
	s.Hosts[1].NICs[0].FEC = ""
	s.Hosts[1].Server.RNICs[0].Range.Filename = "a.weft.hcl"
	s.Hosts[1].Server.RNICs[0].Range.Start.Line = 7
	sheet := &Sheet{Owner: "o<b>", Report: Examine(s, nil)}
	if !sheet.Failed() || len(sheet.Findings) != 1 {
		t.Fatalf("%+v", sheet.Findings)
	}
	var text, page, doc, sarif, mark bytes.Buffer
	sheet.Text(&text)
	sheet.Markdown(&mark)
	if err := sheet.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := sheet.JSON(&doc); err != nil || !json.Valid(doc.Bytes()) {
		t.Fatal(err, doc.String())
	}
	l := &review.Log{Path: func(name string) string { return name }}
	sheet.SARIF(l)
	if err := l.Write(&sarif); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*bytes.Buffer{"text": &text, "html": &page, "json": &doc, "sarif": &sarif, "markdown": &mark} {
		for _, want := range []string{"WD-MTU-02", "WD-LNK-03", "its MTU is 1500 bytes, fabric.roce declares 9000", "a.weft.hcl"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, b)
			}
		}
	}
	if strings.Contains(page.String(), "<b>") || strings.Contains(mark.String(), "<b>") {
		t.Error("a name becomes markup")
	}
	ignored := Examine(s, map[string]string{"WD-MTU-02": "why", "WD-LNK-03": "why"})
	if len(ignored.Findings)+len(ignored.Unknown) != 0 || len(ignored.Ignored) != 1 || ignored.Ignored[0].Reason != "why" {
		t.Errorf("%+v", ignored)
	}
}

// TestFoldedText holds that findings of one check that say the same are one entry, whatever
// devices their texts name, and that Verbose lists each.
func TestFoldedText(t *testing.T) {
	check := Catalogue()[0]
	r := &Report{Fine: map[string]int{}}
	for i := range 1000 {
		host, port := fmt.Sprintf("server.cn%d", i), Place{Device: fmt.Sprintf("switch.leaf-%d", 1+i/48), Part: fmt.Sprintf("Eth1/%d", 1+i%48)}
		r.Findings = append(r.Findings, Finding{Check: check, Place: port, Text: "the MTU of the port is 1500 bytes, but " + host + " p0 sends 9000"})
		r.Unknown = append(r.Unknown, Finding{Check: check, Place: Place{Device: host, Part: "p0"}, Text: "it could not be read"})
	}
	sheet := &Sheet{Report: r}
	var b strings.Builder
	sheet.Text(&b)
	for _, want := range []string{"(1000)", "1000 places: switch.leaf-1..20 Eth1/1..48, switch.leaf-21 Eth1/1..40", "but … sends 9000", "1000 places: server.cn0..999 p0: it could not be read"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%.2000s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "\n"); n > 14 {
		t.Errorf("%d lines:\n%.2000s", n, b.String())
	}
	sheet.Verbose = true
	b.Reset()
	sheet.Text(&b)
	if n := strings.Count(b.String(), "sends 9000"); n != 1000 {
		t.Errorf("--verbose lists %d findings", n)
	}
}
