package switches

import (
	"strings"
	"sync"
)

// comwareVocabulary is what weft knows of Comware lines: H3C command references
// (PFC commands of the S9825 and S9855, data buffer commands of the S12500X-AF,
// ACL and QoS, Ethernet interfaces, LLDP), and configurations of devices.
var comwareVocabulary = sync.OnceValue(func() *vocabulary {
	return &vocabulary{
		section: comwareSection,
		normal:  func(line string) string { return line },
		port: func(header string) string {
			if strings.HasPrefix(header, comwareIface) && comwarePhysical(header) {
				return comwarePortName(header)
			}
			return ""
		},
		skip: func(header string) bool { return strings.HasPrefix(header, "header ") },
		sections: map[string]section{
			"":          {kept: forms(), harmless: forms(`(?:name|description|remark) .*`)},
			"system":    comwareSystemWords(),
			"port":      comwarePortWords(),
			"interface": {kept: forms(), harmless: forms(`mtu \d+`, `jumboframe enable(?: \d+)?`, `description .*`, `(?:undo )?lldp .*`)},
			"map":       {kept: forms(`import ` + comwareDSCPs + ` export [0-7]`), harmless: forms(), closed: true},
			"other map": {kept: forms(), harmless: forms(`import .*`), closed: true},
			"table": {
				kept: forms(
					`queue [0-7](?: drop-level [0-2])? low-limit \d+ high-limit \d+(?: discard-probability \d+)?`,
					`queue [0-7] weighting-constant \d+`, `queue [0-7] ecn`,
				),
				harmless: forms(), closed: true,
			},
			// In force only where a line applies them, which is told.
			"traffic": {kept: forms(), harmless: forms(`if-match .*`, `remark .*`, `car .*`, `filter .*`, `accounting.*`, `redirect .*`, `mirror-to .*`, `classifier .*`, `nest .*`)},
		},
	}
})

const (
	comwareDSCP1 = `(?:[1-5]?\d|6[0-3]|af[1-4][1-3]|cs[0-7]|ef|default)`
	comwareDSCPs = comwareDSCP1 + `(?:(?: to)? ` + comwareDSCP1 + `)*`
	comwareDot1s = `[0-7](?:[-,][0-7])*`
)

func comwareSection(path []string) string {
	if len(path) == 0 {
		return "system"
	}
	head := path[0]
	has := func(prefix string) bool { return strings.HasPrefix(head, prefix) }
	switch {
	case has(comwareIface) && comwarePhysical(head):
		return "port"
	case has(comwareIface):
		return "interface"
	case head == comwareMapDSCP, head == comwareMapDot1p:
		return "map"
	case comwareIdleMap.MatchString(head):
		return "other map"
	case has(comwareTable):
		return "table"
	case has("traffic classifier "), has("traffic behavior "), has("qos policy "):
		return "traffic"
	}
	return ""
}

// comwareIdleMap opens a map that chooses no queue: drop levels, which are all
// alike in a table of weft's, and what is written into packets.
var comwareIdleMap = forms(`qos map-table (?:dot1p|dscp|exp)-(?:dp|dscp|exp)`)

func comwareSystemWords() section {
	const deadlock = `priority-flow-control deadlock `
	return section{
		kept: forms(
			`sysname \S+`, `lldp global enable`, `qos map-table (?:dscp-dot1p|dot1p-lp)`, `qos wred queue table \S+`,
			`traffic (?:classifier|behavior) .+`, `qos policy \S+`, `interface .+`,
			`priority-flow-control (?:enable|auto)`, `priority-flow-control no-drop dot1p `+comwareDot1s,
		),
		told: []remark{
			{forms(`buffer apply`), "data buffers", "are set by hand, which weft leaves as they are; H3C: it may put PFC out of effect, and is taken off before any of them changes"},
			{forms(`buffer (?:egress|ingress) .+`), "data buffers", "are set by hand, which weft leaves as they are"},
			{forms(`burst-mode enable`), "data buffers", "are set for bursts, which weft leaves as they are"},
			{forms(`priority-flow-control pool(?:id|ID) \d+ headroom \d+`), "the headroom of all ports", "is set by hand, which weft leaves as it is"},
			{forms(deadlock + `(?:cos [0-7] interval \d+|precision (?:high|normal|low)|auto-recover cos [0-7] delay \d+|auto-recover action (?:discard|forwarding)|threshold (?:cos [0-7]|action) .*)`),
				"deadlock detection", "is set up, which weft leaves as it is; while it recovers, PFC is off on the port"},
			{forms(`priority-flow-control (?:pause-time|dscp-mapping|config-style|early-warning) .*`), "PFC of all ports", "has settings of its own, which weft leaves as they are"},
			{forms(`qos apply policy \S+ global .*`), "a policy", "is applied to all ports, which may mark, limit or drop what the fabric sends"},
		},
		harmless: forms(
			`qos map-table (?:dot1p|dscp|exp)-(?:dp|dscp|exp)`, `(?:undo )?lldp (?:hold-multiplier|timer|fast-count|mode|compliance|max-credit) .*`,
			`(?:undo )?(?:snmp-agent|info-center|acl|vlan|ip|ipv6|hardware-resource|local-user|header|password-control|ntp-service|aaa|domain|irf) .*`,
		),
	}
}

func comwarePortWords() section {
	const pfc = `priority-flow-control `
	left := "is set by hand, which weft leaves as it is: "
	return section{
		closed: true,
		kept: forms(
			`jumboframe enable(?: \d+)?`, `undo jumboframe enable`, `qos trust (?:auto|dot1p|dscp|exp|none|dot11e)(?: override)?`,
			`qos (?:wfq|wrr)(?: (?:byte-count|weight))?`, `qos (?:wfq|wrr) \S+ group (?:sp|[12] (?:byte-count|weight) \d+)`, `qos sp`,
			`qos apply qmprofile \S+`, `qos wred apply \S+`,
			`qos wred queue [0-7](?: drop-level [0-2])? low-limit \d+ high-limit \d+(?: discard-probability \d+)?`,
			`qos wred queue [0-7] (?:ecn|weighting-constant \d+)`,
			pfc+`(?:enable|auto)`, pfc+`no-drop dot1p `+comwareDot1s,
			`port link-aggregation group \d+(?: .*)?`, `port link-mode (?:route|bridge)`, `mtu \d+`,
		),
		told: []remark{
			{forms(`flow-control(?: .*)?`), "pause of the whole link", "is on together with PFC, which some models refuse and others let PFC override; remove it by hand: "},
			{forms(`lldp tlv-enable dot1-tlv dcbx(?: .*)?`), "DCBX", "tells the NIC what the switch does; firmware that is willing takes that, and not what weft sets on the host: "},
			{forms(`undo lldp enable`, `lldp admin-status (?:disable|rx|tx)`), "LLDP", "is off on the port in part or whole, where cables cannot be proven without it: "},
			{forms(pfc + `dot1p [0-7] (?:headroom|reserved-buffer|ingress-threshold-offset|ingress-buffer (?:dynamic|static)) \d+`), "the ingress buffer of a priority", left},
			{forms(pfc + `deadlock (?:enable|recover-mode (?:auto|manual))`), "deadlock detection", "runs there; while it recovers, PFC is off on the port: "},
			{forms(pfc + `(?:early-warning|pause-time|dscp-mapping) .*`), "PFC", left},
			{forms(`qos gts .*`, `qos lr .*`), "a limit of what the port sends", left},
			{forms(`qos apply policy \S+ .*`), "a policy", "may mark, limit or drop what the fabric sends: "},
			{forms(`buffer .*`), "the data buffer of the port", left},
		},
		harmless: forms(
			`description .*`, `(?:undo )?shutdown`, `(?:undo )?port (?:link-type|access|trunk|hybrid|fec|link-flap|up-mode|media-type|connection-distance) .*`, `link-delay .*`,
			`(?:undo )?speed .*`, `(?:undo )?duplex .*`, `(?:undo )?stp .*`, `(?:broadcast|multicast)-suppression .*`, `(?:undo )?enable snmp trap .*`,
			`ip (?:address|binding) .*`, `ipv6 (?:address|nd) .*`, `(?:undo )?(?:ospf|ospfv3|isis|arp|bfd|mac-address|sflow|dampening|loopback-detection|ptp) ?.*`,
			`(?:undo )?lldp (?:enable|tlv-enable .*|admin-status txrx|compliance .*|management-address.*|notification .*)`, `using \S+`, `combo enable .*`, `mdix-mode .*`,
		),
	}
}
