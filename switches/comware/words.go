package comware

import (
	"strings"
	"sync"

	"weft/internal/pattern"
	"weft/switches"
)

// vocabulary is what weft knows of Comware lines: H3C command references
// (PFC commands of the S9825 and S9855, data buffer commands of the S12500X-AF,
// ACL and QoS, Ethernet interfaces, LLDP), and configurations of devices.
var vocabulary = sync.OnceValue(func() *switches.Vocabulary {
	return &switches.Vocabulary{
		Section: section,
		Normal:  func(line string) string { return line },
		Port: func(header string) string {
			if strings.HasPrefix(header, iface) && physical(header) {
				return portName(header)
			}
			return ""
		},
		Skip: func(header string) bool { return strings.HasPrefix(header, "header ") },
		Sections: map[string]switches.Section{
			"":          {Kept: switches.Forms(), Harmless: switches.Forms(`(?:name|description|remark) .*`)},
			"system":    systemWords(),
			"port":      portWords(),
			"interface": {Kept: switches.Forms(), Harmless: switches.Forms(`mtu \d+`, `jumboframe enable(?: \d+)?`, `description .*`, `(?:undo )?lldp .*`)},
			"map":       {Kept: switches.Forms(`import ` + dscPs + ` export [0-7]`), Harmless: switches.Forms(), Closed: true},
			"other map": {Kept: switches.Forms(), Harmless: switches.Forms(`import .*`), Closed: true},
			"table": {
				Kept: switches.Forms(
					`queue [0-7](?: drop-level [0-2])? low-limit \d+ high-limit \d+(?: discard-probability \d+)?`,
					`queue [0-7] weighting-constant \d+`, `queue [0-7] ecn`,
				),
				Harmless: switches.Forms(), Closed: true,
			},
			// In force only where a line applies them, which is told.
			"traffic": {Kept: switches.Forms(), Harmless: switches.Forms(`if-match .*`, `remark .*`, `car .*`, `filter .*`, `accounting.*`, `redirect .*`, `mirror-to .*`, `classifier .*`, `nest .*`)},
		},
	}
})

const (
	dscP1 = `(?:[1-5]?\d|6[0-3]|af[1-4][1-3]|cs[0-7]|ef|default)`
	dscPs = dscP1 + `(?:(?: to)? ` + dscP1 + `)*`
	dot1s = `[0-7](?:[-,][0-7])*`
)

func section(path []string) string {
	if len(path) == 0 {
		return "system"
	}
	head := path[0]
	has := func(prefix string) bool { return strings.HasPrefix(head, prefix) }
	switch {
	case has(iface) && physical(head):
		return "port"
	case has(iface):
		return "interface"
	case head == mapDSCP, head == mapDot1p:
		return "map"
	case idleMap.MatchString(head):
		return "other map"
	case has(wredTable):
		return "table"
	case has("traffic classifier "), has("traffic behavior "), has("qos policy "):
		return "traffic"
	}
	return ""
}

// idleMap opens a map that chooses no queue: drop levels, which are all
// alike in a table of weft's, and what is written into packets.
var idleMap = switches.Forms(`qos map-table (?:dot1p|dscp|exp)-(?:dp|dscp|exp)`)

func systemWords() switches.Section {
	const deadlock = `priority-flow-control deadlock `
	return switches.Section{
		Kept: switches.Forms(
			`sysname \S+`, `lldp global enable`, `qos map-table (?:dscp-dot1p|dot1p-lp)`, `qos wred queue table \S+`,
			`traffic (?:classifier|behavior) .+`, `qos policy \S+`, `interface .+`,
			`priority-flow-control (?:enable|auto)`, `priority-flow-control no-drop dot1p `+dot1s,
		),
		Told: []switches.Remark{
			{Form: switches.Forms(`buffer apply`), Key: "data buffers", Text: "are set by hand, which weft leaves as they are; H3C: it may put PFC out of effect, and is taken off before any of them changes"},
			{Form: switches.Forms(`buffer (?:egress|ingress) .+`), Key: "data buffers", Text: "are set by hand, which weft leaves as they are"},
			{Form: switches.Forms(`burst-mode enable`), Key: "data buffers", Text: "are set for bursts, which weft leaves as they are"},
			{Form: switches.Forms(`priority-flow-control pool(?:id|ID) \d+ headroom \d+`), Key: "the headroom of all ports", Text: "is set by hand, which weft leaves as it is"},
			{Form: switches.Forms(deadlock + `(?:cos [0-7] interval \d+|precision (?:high|normal|low)|auto-recover cos [0-7] delay \d+|auto-recover action (?:discard|forwarding)|threshold (?:cos [0-7]|action) .*)`),
				Key: "deadlock detection", Text: "is set up, which weft leaves as it is; while it recovers, PFC is off on the port"},
			{Form: switches.Forms(`priority-flow-control (?:pause-time|dscp-mapping|config-style|early-warning) .*`), Key: "PFC of all ports", Text: "has its own settings, which weft does not change"},
			{Form: switches.Forms(`priority-flow-control (?:enable|auto)`, `priority-flow-control no-drop dot1p `+dot1s), Key: "the system view", Text: "sets PFC, which weft leaves as it is and which may decide for every port"},
			{Form: switches.Forms(`qos apply policy \S+ global .*`), Key: "a policy", Text: "is applied to all ports, which may mark, limit or drop what the fabric sends"},
		},
		Harmless: switches.Forms(
			`qos map-table (?:dot1p|dscp|exp)-(?:dp|dscp|exp)`, `(?:undo )?lldp (?:hold-multiplier|timer|fast-count|mode|compliance|max-credit) .*`,
			`(?:undo )?(?:snmp-agent|info-center|acl|vlan|ip|ipv6|hardware-resource|local-user|header|password-control|ntp-service|aaa|domain|irf) .*`,
		),
	}
}

func portWords() switches.Section {
	const pfc = `priority-flow-control `
	left := "is set by hand, which weft leaves as it is: "
	return switches.Section{
		Closed: true,
		Kept: switches.Forms(
			`jumboframe enable(?: \d+)?`, `undo jumboframe enable`, `qos trust (?:auto|dot1p|dscp|exp|none|dot11e)(?: override)?`,
			`qos (?:wfq|wrr)(?: (?:byte-count|weight))?`, `qos (?:wfq|wrr) \S+ group (?:sp|[12] (?:byte-count|weight) \d+)`, `qos sp`,
			`qos apply qmprofile \S+`, `qos wred apply \S+`,
			`qos wred queue [0-7](?: drop-level [0-2])? low-limit \d+ high-limit \d+(?: discard-probability \d+)?`,
			`qos wred queue [0-7] (?:ecn|weighting-constant \d+)`,
			pfc+`(?:enable|auto)`, pfc+`no-drop dot1p `+dot1s,
			`port link-aggregation group \d+(?: .*)?`, `port link-mode (?:route|bridge)`, `mtu \d+`,
		),
		Told: []switches.Remark{
			{Form: switches.Forms(`flow-control(?: .*)?`), Key: "pause of the whole link", Text: "is on together with PFC, which some models refuse and others let PFC override; remove it by hand: ", Breaks: true},
			{Form: switches.Forms(`lldp tlv-enable dot1-tlv dcbx(?: .*)?`), Key: "DCBX", Text: "tells the NIC what the switch does; firmware that is willing takes that, and not what weft sets on the host: "},
			{Form: switches.Forms(`undo lldp enable`, `lldp admin-status (?:disable|rx|tx)`), Key: "LLDP", Text: "is off on the port in part or whole, where cables cannot be proven without it: "},
			{Form: switches.Forms(pfc + `dot1p [0-7] (?:headroom|reserved-buffer|ingress-threshold-offset|ingress-buffer (?:dynamic|static)) \d+`), Key: "the ingress buffer of a priority", Text: left},
			{Form: switches.Forms(pfc + `deadlock (?:enable|recover-mode (?:auto|manual))`), Key: "deadlock detection", Text: "runs there; while it recovers, PFC is off on the port: "},
			{Form: switches.Forms(pfc + `(?:early-warning|pause-time|dscp-mapping) .*`), Key: "PFC", Text: left},
			{Form: switches.Forms(`qos gts .*`, `qos lr .*`), Key: "a limit of what the port sends", Text: left},
			{Form: switches.Forms(`qos apply policy \S+ .*`), Key: "a policy", Text: "may mark, limit or drop what the fabric sends: "},
			{Form: switches.Forms(`buffer .*`), Key: "the data buffer of the port", Text: left},
		},
		Harmless: switches.Forms(
			`description .*`, `(?:undo )?shutdown`, `(?:undo )?port (?:link-type|access|trunk|hybrid|fec|link-flap|up-mode|media-type|connection-distance) .*`, `link-delay .*`,
			`(?:undo )?speed .*`, `(?:undo )?duplex .*`, `(?:undo )?stp .*`, `(?:broadcast|multicast)-suppression .*`, `(?:undo )?enable snmp trap .*`,
			`ip (?:address|binding) .*`, `ipv6 (?:address|nd) .*`, `(?:undo )?(?:ospf|ospfv3|isis|arp|bfd|mac-address|sflow|dampening|loopback-detection|ptp) ?.*`,
			`(?:undo )?lldp (?:enable|tlv-enable .*|admin-status txrx|compliance .*|management-address.*|notification .*)`, `using \S+`, `combo enable .*`, `mdix-mode .*`,
		),
	}
}

// harmless are the forms of models, images and policies of the system's own.
func harmless() []pattern.Pattern {
	return []pattern.Pattern{
		pattern.New(`^S\d{4,5}[A-Z]{0,3}(?:-\d{1,3}[A-Z]{1,4}\d{0,3}[A-Z]{0,3}\d{0,2}[A-Z]?(?:-[A-Z]{1,3})?){0,2}$`),
		pattern.New(`(?i)^s\d{4,5}\w{0,4}-cmw\d{3}-(?:boot|system|feature|freeradius|packet-capture)[\w-]{0,20}\.(?:bin|ipe)$`),
		pattern.New(`^[14]00G-WRED-Template$`),
	}
}
