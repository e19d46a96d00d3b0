package simswitch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// nxosShows are the commands that only look.
func nxosShows() []Rule {
	return []Rule{
		{View: "exec", Line: "show version", Source: "genieparser, show_version golden_output_2, shortened", run: nxosVersion},
		{View: "exec", Line: "show inventory", Source: "Cisco Nexus 9000 Series NX-OS Fundamentals Configuration Guide, show inventory; layout SYNTHETIC, no transcript", run: nxosInventory},
		{View: "exec", Line: "show hostname", Source: "ntc-templates, show hostname",
			run: func(s *session, _ match) { s.say(s.sw.hostname()) }},
		{View: "exec", Line: "show clock", Source: "ntc-templates, show clock",
			run: func(s *session, _ match) {
				s.say(s.sw.clock.Now().UTC().Format("15:04:05.000 UTC Mon Jan 02 2006"))
			}},
		{View: "exec", Line: "show running-config", Source: "Azure Local network overview; microsoft/SDN, Cisco Nexus 3132-TOR1.cfg; published running configuration of a C93180YC-FX 9.3(3)",
			run: func(s *session, _ match) {
				s.heading("show running-config")
				s.showConfig(nxosPrint(s.sw.running))
			}},
		{View: "exec", Line: "show running-config interface <port>", run: nxosShowPort,
			Source: "lab notes of a Nexus 9000v 10.2(2)"},
		{View: "exec", Line: "show interface priority-flow-control", run: nxosPFC,
			Source: "blog about a Nexus 5000, show interface priority-flow-control"},
		{View: "exec", Line: "show queuing interface <port>", run: nxosQueueCounts,
			Source: "zartbot, Nexus 93180FX2, show queuing interface, put together from its two halves"},
		{View: "exec", Line: "show queuing pfc-queue interface <port> detail", run: nxosWatchdog,
			Source: "Cisco NX-API schema 9.3(x), show queuing pfc-queue; layout and the word Disabled SYNTHETIC, as in a test of the OpenTelemetry Collector"},
		{View: "exec", Line: "show interface status", Source: "ntc-templates, show interface status", run: nxosStatus},
		{View: "exec", Line: "show mac address-table", Source: "ntc-templates, show mac address-table", run: nxosStations},
		{View: "exec", Line: "show lldp neighbors", needs: "lldp", run: nxosNeighbours,
			Source: "ntc-templates, show lldp neighbors"},
		{View: "exec", Line: "show lldp neighbors detail", needs: "lldp", run: nxosNeighbourDetails,
			Source: "ntc-templates, show lldp neighbors detail"},
	}
}

// stamp writes a time as in the headings of a configuration.
func stamp(t time.Time) string { return t.UTC().Format("Mon Jan _2 15:04:05 2006") }

// heading stands before a configuration.
func (s *session) heading(command string) {
	s.say("\n!Command: " + command)
	if s.sw.changed.IsZero() {
		s.say("!No configuration change since last restart")
	} else {
		s.say("!Running configuration last done at: " + stamp(s.sw.changed))
	}
	s.say("!Time: " + stamp(s.sw.clock.Now()))
}

func (s *session) showConfig(lines []string) {
	s.say("\nversion " + s.sw.spec.Version + " Bios:version 05.47 ")
	s.say(strings.Join(lines, "\n"))
	s.say("")
}

func nxosShowPort(s *session, m match) {
	port := m.args["port"]
	k := s.sw.running.kid("interface " + port)
	if k == nil {
		s.refuse(fmt.Errorf("%s: %w", port, errNoSuchPort))
		return
	}
	s.heading("show running-config interface " + port)
	lines := []string{""}
	k.printed(&lines, "", "  ")
	s.showConfig(lines)
}

func nxosVersion(s *session, _ match) {
	sp, up := s.sw.spec, s.sw.clock.Now().Sub(s.sw.booted)
	s.say("Cisco Nexus Operating System (NX-OS) Software")
	s.say("SIMULATED: no such device exists")
	s.say("\nSoftware\n  BIOS: version 05.47\n  NXOS: version " + sp.Version + " [Maintenance Release]")
	s.say("  Host NXOS: version " + sp.Version)
	s.say("  NXOS image file is: bootflash:///nxos64-cs.10.3.4a.M.bin")
	s.say("\nHardware\n  cisco Nexus9000 " + sp.Model + " Chassis ")
	s.say("  Intel(R) Xeon(R) CPU  with 24563568 kB of memory.")
	s.say("  Processor Board ID " + sp.Serial)
	s.say("  Device name: " + s.sw.hostname())
	s.say("  bootflash:  115805708 kB")
	minutes := int(up.Minutes())
	s.say(fmt.Sprintf("\nKernel uptime is %d day(s), %d hour(s), %d minute(s), %d second(s)",
		minutes/1440, minutes/60%24, minutes%60, int(up.Seconds())%60))
	s.say("\nLast reset\n  Reason: Unknown\n  System version: \n  Service: \n\nplugin\n  Core Plugin, Ethernet Plugin")
}

func nxosInventory(s *session, _ match) {
	sp := s.sw.spec
	for _, part := range []string{"Chassis", "Slot 1"} {
		s.say(fmt.Sprintf("NAME: \"%s\",  DESCR: \"Nexus9000 %s Chassis\"", part, sp.Model))
		s.say(fmt.Sprintf("PID: N9K-%-19s,  VID: V01 ,  SN: %-20s\n", sp.Model, sp.Serial))
	}
}

// noDrop is the bitmap of the priorities that the attached network-qos policy
// pauses.
func noDrop(root *node) int {
	attached := root.get(place{"system qos", "service-policy type network-qos"})
	if attached == nil {
		return 0
	}
	policy := root.kid("policy-map type network-qos " + strings.Fields(attached.line)[3])
	if policy == nil {
		return 0
	}
	bitmap := 0
	for _, class := range policy.kids {
		if k := class.kid("pause pfc-cos"); k != nil {
			for cos := range 8 {
				if listed(strings.Fields(k.line)[2], cos) {
					bitmap |= 1 << cos
				}
			}
		}
	}
	return bitmap
}

// listed says whether a list such as 1,3-5 has n.
func listed(list string, n int) bool {
	for _, part := range strings.Split(list, ",") {
		low, high := bounds(part)
		if high < 0 {
			low, high = bounds(part + "-" + part)
		}
		if low <= n && n <= high {
			return true
		}
	}
	return false
}

// nxosPFC: a port in mode auto waits for DCBX, which nobody speaks here.
func nxosPFC(s *session, _ match) {
	rule := strings.Repeat("=", 60)
	s.say(rule)
	s.say("Port               Mode Oper(VL bmap)  RxPPP      TxPPP")
	s.say(rule + "\n")
	bitmap := fmt.Sprintf("(%x)", noDrop(s.sw.running))
	for _, port := range s.sw.spec.Ports {
		mode, oper := "Auto", "Off"
		shown := ""
		if k := s.sw.running.get(place{"interface " + port, "priority-flow-control mode"}); k != nil {
			switch strings.Fields(k.line)[2] {
			case "on":
				mode, oper, shown = "On", "On", bitmap
			case "off":
				mode = "Off"
			}
		}
		var sum pfcCounts
		if c := s.sw.counted[port]; c != nil {
			for _, p := range c.pfc {
				sum.received, sum.sent = sum.received+p.received, sum.sent+p.sent
			}
		}
		s.say(fmt.Sprintf("%-19s%-5s%-5s%-10s%-11d%d", port, mode, oper, shown, sum.received, sum.sent))
	}
}

func nxosStatus(s *session, _ match) {
	rule := strings.Repeat("-", 80)
	s.say(rule)
	s.say("Port          Name               Status    Vlan      Duplex  Speed   Type")
	s.say(rule)
	for _, port := range s.sw.spec.Ports {
		k := s.sw.running.kid("interface " + port)
		name, vlan := "--", "1"
		state, duplex, speed := "notconnec", "auto", "auto"
		if s.sw.linked(port) {
			state, duplex, speed = "connected", "full", s.sw.spec.Speed
		}
		for _, l := range k.kids {
			switch {
			case l.key == "description":
				name = strings.TrimPrefix(l.line, "description ")
			case l.key == "switchport access vlan":
				vlan = strings.TrimPrefix(l.line, "switchport access vlan ")
			case l.line == "switchport mode trunk":
				vlan = "trunk"
			case l.line == "shutdown":
				state, duplex, speed = "disabled", "auto", "auto"
			}
		}
		s.say(fmt.Sprintf("%-14s%-19s%-10s%-10s%-8s%-8s%s", shortPort(port), clip(name, 18), state, vlan, duplex, speed, "--"))
	}
}

func clip(s string, n int) string { return s[:min(n, len(s))] }

// shortPort makes Ethernet1/1 Eth1/1.
func shortPort(port string) string {
	if n, ok := strings.CutPrefix(port, "Ethernet"); ok {
		return "Eth" + n
	}
	return port
}

const lldpCodes = `Capability codes:
  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device
  (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other`

func nxosStations(s *session, _ match) {
	s.say(`Legend:
        * - primary entry, G - Gateway MAC, (R) - Routed MAC, O - Overlay MAC
        age - seconds since first seen,+ - primary entry using vPC Peer-Link
   VLAN     MAC Address      Type      age     Secure NTFY   Ports/SWID.SSID.LID
---------+-----------------+--------+---------+------+----+------------------`)
	for _, n := range s.sw.stations() {
		s.say(fmt.Sprintf("* 1        %s    dynamic   3590       F    F  %s", dotted(n.PortID, "."), shortPort(n.Port)))
	}
}

func nxosNeighbours(s *session, _ match) {
	s.say(lldpCodes)
	s.say("Device ID            Local Intf      Hold-time  Capability  Port ID  ")
	heard := s.sw.heard()
	for _, n := range heard {
		id := cmp.Or(n.SystemName, n.ChassisID)
		if len(id) > 20 { // long names stand on a line of their own
			s.say(id)
			id = ""
		}
		s.say(fmt.Sprintf("%-21s%-16s%-11d%-12s%s", id, shortPort(n.Port), 120, "S", n.PortID))
	}
	s.say(fmt.Sprintf("Total entries displayed: %d", len(heard)))
}

func nxosNeighbourDetails(s *session, _ match) {
	s.say(lldpCodes)
	s.say("Device ID            Local Intf      Hold-time  Capability  Port ID  ")
	heard := s.sw.heard()
	for n := range slices.Values(heard) {
		name := cmp.Or(n.SystemName, "not advertised")
		s.say("\nChassis id: " + n.ChassisID + "\nPort id: " + n.PortID + "\nLocal Port id: " + shortPort(n.Port))
		s.say("Port Description: not advertised\nSystem Name: " + name + "\nSystem Description: SIMULATED")
		can, at := "S", cmp.Or(n.Management, "not advertised")
		if n.Bridge {
			can = "B, R"
		}
		s.say("Time remaining: 91 seconds\nSystem Capabilities: " + can + "\nEnabled Capabilities: " + can)
		s.say("Management Address: " + at + "\nVlan ID: not advertised\n")
	}
	s.say(fmt.Sprintf("Total entries displayed: %d", len(heard)))
}
