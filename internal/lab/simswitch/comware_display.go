package simswitch

import (
	"fmt"
	"strconv"
	"strings"
)

// comwareDisplays are the commands that only look.
func comwareDisplays() []Rule {
	return []Rule{
		{View: "any", Line: "display version", Source: "published notes of an S6800-54QF, Release 2609H09, shortened", run: comwareVersion},
		{View: "any", Line: "display device manuinfo", Source: "ntc-templates, display device manuinfo", run: func(s *session, _ match) {
			s.say("Slot 1 CPU 0:\nDEVICE_NAME          : " + s.sw.spec.Model)
			s.say("DEVICE_SERIAL_NUMBER : " + s.sw.spec.Serial)
			s.say("MAC_ADDRESS          : 0200-0000-0001\nMANUFACTURING_DATE   : 2019-01-01\nVENDOR_NAME          : H3C")
		}},
		{View: "any", Line: "display clock", Source: "ntc-templates, display clock", run: func(s *session, _ match) {
			s.say(s.sw.clock.Now().UTC().Format("15:04:05 UTC Mon 01/02/2006"))
		}},
		{View: "any", Line: "display current-configuration", Source: "H3C Comware 7 file system commands (more); H3C AIDC template, S9825 and S9827", run: func(s *session, _ match) {
			s.say(strings.Join(comwarePrint(s.sw.running), "\n"))
		}},
		{View: "any", Line: "display saved-configuration", Source: "H3C configuration file management", run: func(s *session, _ match) {
			s.say(strings.Join(comwarePrint(s.sw.startup), "\n"))
		}},
		{View: "any", Line: "display startup", Source: "H3C Comware 7 command reference, sample of display startup", run: func(s *session, _ match) {
			for _, which := range []string{"Current startup", "Next main startup"} {
				s.say(" " + which + " saved-configuration file: flash:/" + startupFile)
			}
			s.say(" Next backup startup saved-configuration file: NULL")
		}},
		{View: "any", Line: "display current-configuration interface [<port>]", Source: "H3C configuration file management", run: func(s *session, m match) {
			s.sections(func(k *node) bool {
				return strings.HasPrefix(k.key, "interface ") && (m.args["port"] == "" || k.key == "interface "+m.args["port"])
			})
		}},
		{View: "any", Line: "display this", Source: "published notes of an S6800-54QF", run: func(s *session, _ match) {
			if len(s.levels) < 2 {
				s.say(strings.Join(comwarePrint(s.sw.running), "\n"))
				return
			}
			key := s.levels[1].at[0][0]
			s.sections(func(k *node) bool { return k.key == key })
		}},
		{View: "any", Line: "display interface [<port>]", Source: "ntc-templates, display interface, shortened", run: comwareInterface},
		{View: "any", Line: "display interface brief", Source: "ntc-templates, display interface brief", run: comwareBrief},
		{View: "any", Line: "display mac-address", Source: "ntc-templates, display mac-address", run: comwareStations},
		{View: "any", Line: "display lldp neighbor-information list", Source: "ntc-templates, display lldp neighbor-information list", run: comwareNeighbours},
		{View: "any", Line: "display lldp neighbor-information verbose", Source: "ntc-templates, display lldp neighbor-information verbose, shortened", run: comwareNeighbourDetails},
		{View: "any", Line: "display priority-flow-control interface [<port>]", Source: "H3C PFC command reference, S9825 and S9855; layout on S6800 unknown", run: comwarePFC},
		{View: "any", Line: "display qos queue-statistics interface <port> outbound", Source: "H3C Comware 7 command reference, sample of display qos queue-statistics", run: comwareQueues},
		{View: "any", Line: "display qos map-table [{table:dscp-dot1p|dscp-lp|dot1p-lp}]", Source: "H3C Comware 7 command reference, sample of display qos map-table", run: comwareMapTables},
	}
}

// sections prints the contexts that are wanted.
func (s *session) sections(want func(*node) bool) {
	for _, k := range s.sw.running.kids {
		if want(k) {
			out := []string{"#"}
			k.printed(&out, "", " ")
			s.say(strings.Join(out, "\n"))
		}
	}
	s.say("#\nreturn")
}

func comwareVersion(s *session, _ match) {
	sp := s.sw.spec
	minutes := int(s.sw.clock.Now().Sub(s.sw.booted).Minutes())
	s.say("H3C Comware Software, Version " + sp.Version)
	s.say("SIMULATED: no such device exists")
	s.say(fmt.Sprintf("H3C %s uptime is %d weeks, %d days, %d hours, %d minutes",
		sp.Model, minutes/10080, minutes/1440%7, minutes/60%24, minutes%60))
	s.say("Last reboot reason : User reboot\n")
	s.say("Boot image: flash:/s6800-cmw710-boot.bin\nBoot image version: " + sp.Version)
	s.say("System image: flash:/s6800-cmw710-system.bin\nSystem image version: " + sp.Version)
}

func comwareBrief(s *session, _ match) {
	s.say(`Brief information on interfaces in route mode:
Link: ADM - administratively down; Stby - standby
Protocol: (s) - spoofing
Interface            Link Protocol Primary IP        Description                
InLoop0              UP   UP(s)    --
M-GE0/0/0            UP   UP       192.0.2.21
NULL0                UP   UP(s)    --

Brief information on interfaces in bridge mode:
Link: ADM - administratively down; Stby - standby
Speed: (a) - auto
Duplex: (a)/A - auto; H - half; F - full
Type: A - access; T - trunk; H - hybrid
Interface            Link Speed     Duplex Type PVID Description`)
	for _, port := range s.sw.spec.Ports {
		k := s.sw.running.kid("interface " + port)
		link, speed, duplex, kind, pvid, text := "DOWN", "auto", "A", "A", "1", ""
		if s.sw.linked(port) {
			link, speed, duplex = "UP", s.sw.spec.Speed+"(a)", "F(a)"
		}
		for _, l := range k.kids {
			switch {
			case l.line == "shutdown":
				link, speed, duplex = "ADM", "auto", "A"
			case l.line == "port link-type trunk":
				kind = "T"
			case l.key == "port access vlan":
				pvid = strings.TrimPrefix(l.line, "port access vlan ")
			case l.key == "description":
				text = strings.TrimPrefix(l.line, "description ")
			}
		}
		s.say(strings.TrimRight(fmt.Sprintf("%-20s %-4s %-9s %-6s %-4s %-4s %s", shortComware(port), link, speed, duplex, kind, pvid, text), " "))
	}
}

func comwareStations(s *session, _ match) {
	s.say("MAC ADDR       VLAN ID  STATE          PORT INDEX               AGING TIME(s)")
	for _, n := range s.sw.stations() {
		s.say(fmt.Sprintf("%-14s 1        Learned        %-24s AGING", dotted(n.PortID, "-"), n.Port))
	}
}

func comwareNeighbours(s *session, _ match) {
	if s.sw.running.kid("lldp global enable") == nil {
		return
	}
	s.say(`Chassis ID : * -- -- Nearest nontpmr bridge neighbor
             # -- -- Nearest customer bridge neighbor
             Default -- -- Nearest bridge neighbor
System Name          Local Interface Chassis ID      Port ID`)
	for _, n := range s.sw.heard() {
		s.say(fmt.Sprintf("%-20s %-15s %-15s %s", clip(n.SystemName, 20), shortComware(n.Port), n.ChassisID, n.PortID))
		if len(n.SystemName) > 20 { // the column wraps: ntc-templates
			s.say(n.SystemName[20:])
		}
	}
}

func comwareNeighbourDetails(s *session, _ match) {
	if s.sw.running.kid("lldp global enable") == nil {
		return
	}
	for i, n := range s.sw.heard() {
		s.say(fmt.Sprintf("LLDP neighbor-information of port %d[%s]:\nLLDP agent nearest-bridge:", i+1, n.Port))
		s.say(" LLDP neighbor index : 1\n Update time         : 0 days, 0 hours, 1 minutes, 1 seconds")
		s.say(" Chassis type        : MAC address\n Chassis ID          : " + n.ChassisID)
		s.say(" Port ID type        : MAC address\n Port ID             : " + n.PortID)
		s.say(" Time to live        : 120\n System name         : " + n.SystemName + "\n System description  : SIMULATED")
		if n.Bridge {
			s.say(" System capabilities supported : Bridge, Router\n System capabilities enabled   : Bridge, Router")
		}
		if n.Management != "" {
			s.say(" Management address type           : IPv4\n Management address                : " + n.Management)
		}
		s.say("")
	}
}

// chosen are the ports a display is about: one, or all.
func (s *session) chosen(m match) []string {
	if p := m.args["port"]; p != "" {
		return []string{p}
	}
	return s.sw.spec.Ports
}

// comwarePFC: a port in mode auto waits for DCBX, which nobody speaks here.
func comwarePFC(s *session, m match) {
	const row = "%-33s%-11s%-10s%-12s%-6s%-11s%-11s%-11s%s"
	s.say(fmt.Sprintf(row, "Interface", "AdminMode", "OperMode", "Dot1pList", "Prio", "Recv", "Send", "Inpps", "Outpps"))
	s.say(strings.Repeat("-", 99))
	for _, port := range s.chosen(m) {
		admin, oper, list := "Disabled", "Disabled", ""
		switch k := s.sw.running.get(place{"interface " + port, "priority-flow-control"}); {
		case k == nil:
		case k.line == "priority-flow-control enable":
			admin, oper = "Enabled", "Enabled"
		default:
			admin = "Auto"
		}
		if k := s.sw.running.get(place{"interface " + port, "priority-flow-control no-drop dot1p"}); k != nil {
			list = strings.Fields(k.line)[3]
		}
		for prio := range 8 {
			if list != "" && listed(list, prio) || list == "" && prio == 0 {
				var p pfcCounts
				if c := s.sw.counted[port]; c != nil {
					p = c.pfc[prio]
				}
				s.say(fmt.Sprintf(row, shortComware(port), admin, oper, list, strconv.Itoa(prio), strconv.FormatUint(p.received, 10), strconv.FormatUint(p.sent, 10), "0", "0"))
			}
		}
	}
}

func comwareMapTables(s *session, m match) {
	for _, table := range []string{"dscp-dot1p", "dscp-lp", "dot1p-lp"} {
		if want := m.args["table"]; want != "" && want != table {
			continue
		}
		s.say("MAP-TABLE NAME: " + table + "   TYPE: pre-define\nIMPORT  :  EXPORT")
		values, usual := 64, func(v int) int { return v >> 3 }
		if table == "dot1p-lp" {
			values, usual = 8, localPriority
		}
		for v := range values {
			to := strconv.Itoa(usual(v))
			if k := s.sw.running.get(place{"qos map-table " + table, "import " + strconv.Itoa(v)}); k != nil {
				to = strings.Fields(k.line)[3]
			}
			s.say(fmt.Sprintf("%4d    :%5s", v, to))
		}
	}
}
