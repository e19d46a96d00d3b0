package nxos

import (
	"strings"
	"sync"

	"weft/internal/pattern"
	"weft/switches"
)

// vocabulary is what weft knows of NX-OS lines: Nexus 9000 QoS configuration
// guides 7.x to 10.5, Interfaces configuration guide 10.6, NX-API reference 9.3,
// and configurations of devices.
var vocabulary = sync.OnceValue(func() *switches.Vocabulary {
	return &switches.Vocabulary{
		Section: section,
		Normal:  normal,
		Port: func(header string) string {
			if physical(header) {
				return strings.TrimPrefix(header, onPort)
			}
			return ""
		},
		Skip: func(header string) bool { return strings.HasPrefix(header, "banner ") },
		Sections: map[string]switches.Section{
			"":           {Kept: switches.Forms(), Harmless: switches.Forms(`(?:name|description|remark) .*`)},
			"system":     systemWords(),
			"system qos": {Kept: switches.Forms(`service-policy type (?:qos input|queuing (?:input|output)|network-qos) \S+`), Harmless: switches.Forms(), Closed: true},
			"port":       portWords(),
			"interface": {
				Kept:     switches.Forms(`service-policy type qos input \S+`),
				Harmless: switches.Forms(`mtu \d+`, `bandwidth \d+`, `description .*`, `(?:no )?lldp (?:transmit|receive)`),
			},
			"class-map": {
				Kept:     switches.Forms(`match dscp `+dscPs, `match cos [0-7](?:[-,][0-7])*`),
				Harmless: switches.Forms(`description .*`, `match (?:not )?(?:cos|precedence|qos-group|access-group|protocol|packet|ip|exception|redirect) .*`),
				Closed:   true,
			},
			"policy-map":    {Kept: switches.Forms(`class (?:type (?:qos|queuing|network-qos) )?\S+`), Harmless: switches.Forms(`description .*`), Closed: true},
			"class":         classWords(),
			"control-plane": {Kept: switches.Forms(), Harmless: switches.Forms(`.*`)},
		},
	}
})

const dscPs = `(?:[1-5]?\d|6[0-3]|af[1-4][1-3]|cs[0-7]|ef|default)(?:[-,](?:[1-5]?\d|6[0-3]|af[1-4][1-3]|cs[0-7]|ef|default))*`

func section(path []string) string {
	if len(path) == 0 {
		return "system"
	}
	head := path[0]
	has := func(prefix string) bool { return strings.HasPrefix(head, prefix) }
	switch {
	case head == systemQoS:
		return "system qos"
	case has("class-map type control-plane "), has("policy-map type control-plane "), head == "control-plane":
		return "control-plane" // what the switch itself answers
	case physical(head):
		return "port"
	case has(onPort):
		return "interface"
	case has("class-map "):
		return "class-map"
	case has("policy-map ") && len(path) == 1:
		return "policy-map"
	case has("policy-map ") && len(path) == 2:
		return "class"
	case has("policy-map "):
		return "policy-map" // which has nothing so deep
	}
	return ""
}

func systemWords() switches.Section {
	const watch = `priority-flow-control (?:watch-dog (?:shutdown-multiplier|timer)|auto-restore(?: multiplier)?|fixed-restore(?: multiplier)?) \d+`
	return switches.Section{
		Kept: switches.Forms(
			`hostname \S+`, `switchname \S+`, `feature lldp`, `system qos`, `system jumbomtu \d+`,
			`priority-flow-control watch-dog-interval (?:on|off)`,
			`class-map type (?:qos|queuing|network-qos|control-plane)(?: match-any| match-all)? \S+`,
			`policy-map type (?:qos|queuing|network-qos|control-plane) \S+`, `interface .+`,
		),
		Told: []switches.Remark{
			{Form: switches.Forms(watch), Key: "the watchdog", Text: "has its own times, which weft does not change"},
			// Reported by operators; the line disables PFC whatever the ports say.
			{Form: switches.Forms(`priority-flow-control override-interface mode off`), Key: "PFC of all ports", Text: "is off, whatever their own lines say; remove the line by hand", Breaks: true},
			{Form: switches.Forms(`hardware qos nodrop-queue-thresholds .*`), Key: "the buffers of lossless queues", Text: "are set by hand, which weft leaves as they are"},
		},
		Harmless: switches.Forms(
			`(?:no )?feature \S+`, `banner .*`, `control-plane.*`, `copp profile .*`,
			`(?:no )?lldp (?:timer|holdtime|reinit|portid-subtype|tlv-select) .*`,
			`congestion-control random-detect forward-nonecn`, // in the page: it is for whoever declares ECN
			`hardware access-list tcam (?:region|label) .*`,   // a switch whose region is too small refuses the policy in its own words
			`(?:no )?(?:snmp-server|logging|aaa|alias|cli alias|vlan|ip|ipv6|mac|username|ntp|vrf context|route-map|object-group) .*`,
		),
	}
}

func portWords() switches.Section {
	const watchdog = `priority-flow-control watch-dog-interval`
	pause := "is on together with PFC; remove it by hand: "
	return switches.Section{
		Closed: true,
		Kept: switches.Forms(
			`mtu \d+`, `priority-flow-control mode (?:on|off|auto)(?: send-tlv)?`, watchdog+` (?:on|off)`, watchdog+watchdogMore,
			`service-policy type (?:qos input|queuing (?:input|output)) \S+`, `channel-group \d+(?: force)?(?: mode (?:on|active|passive))?`,
		),
		Told: []switches.Remark{
			{Form: switches.Forms(`inherit port-profile \S+`), Key: "a profile", Text: "may say more of a port than its own lines, which are all that is read: "},
			{Form: switches.Forms(`flowcontrol (?:receive|send) on`), Key: "pause of the whole link", Text: pause, Breaks: true},
			{Form: switches.Forms(`priority-flow-control mode on send-tlv`), Key: "DCBX", Text: "tells the NIC what the switch does; firmware that is willing takes that, and not what weft sets on the host: "},
			{Form: switches.Forms(`no lldp (?:transmit|receive)`), Key: "LLDP", Text: "is off on the port, where cables cannot be proven without it: "},
			{Form: switches.Forms(watchdog + ` on disable-action.*`), Key: "the watchdog", Text: "only reports what stays paused, and drops nothing: "},
			{Form: switches.Forms(watchdog + ` on interface-multiplier \d+`), Key: "the watchdog", Text: "has a time of its own, which weft leaves as it is: "},
		},
		Harmless: switches.Forms(
			`description .*`, `(?:no )?shutdown`, `(?:no )?switchport(?: .*)?`, `(?:no )?speed .*`, `(?:no )?duplex .*`, `(?:no )?negotiate auto.*`,
			`(?:no )?spanning-tree .*`, `(?:no )?cdp .*`, `(?:no )?logging event .*`, `(?:no )?snmp .*`, `(?:no )?vpc .*`, `(?:no )?lacp .*`, `(?:no )?udld.*`,
			`flowcontrol (?:receive|send) off`, `lldp (?:transmit|receive)`, `(?:no )?lldp (?:tlv-set|dcbx version) .*`,
			`vrf member \S+`, `(?:no )?ip (?:address|redirects|unreachables|proxy-arp|ospf|router|pim|forward|arp|bgp|local-proxy-arp|port-unreachable|directed-broadcast).*`,
			`(?:no )?ipv6 (?:address|redirects|unreachables|nd|link-local|forward|router).*`,
			`(?:no )?bfd.*`, `medium .*`, `(?:no )?beacon`, `fec .*`, `(?:no )?load-interval .*`, `bandwidth \d+`, `delay \d+`, `(?:no )?carrier-delay.*`,
			`(?:no )?link debounce.*`, `mac-address .*`, `encapsulation dot1q .*`, `storm-control (?:broadcast|multicast|action) .*`,
			`storm-control unicast level 100(?:\.0+)?`, `no (?:storm-control .*|description|bandwidth inherit|shutdown lan|ip dhcp .*|ip verify .*)`, // as shown with all defaults
			`link (?:mac-up|transmit).*`, `(?:no )?mdix auto`, `(?:no )?macsec .*`, `(?:no )?eee .*`, `(?:no )?ptp.*`, `(?:no )?sflow .*`,
		),
	}
}

// watchdogMore is what may follow in the line of a port's watchdog (NX-API
// reference: multiplier and disable action of a port).
const watchdogMore = ` on(?: disable-action| interface-multiplier \d+){1,2}`

func classWords() switches.Section {
	const depth = `\d+ (?:packets|bytes|kbytes|mbytes)`
	return switches.Section{
		Closed: true,
		Kept: switches.Forms(
			`set qos-group \d+`, `bandwidth(?: remaining)? percent \d+`, `priority(?: level \d+)?`, `mtu \d+`,
			`random-detect minimum-threshold `+depth+` maximum-threshold `+depth+` drop-probability \d+ weight \d+(?: cap-average)?(?: ecn)?`,
			`random-detect threshold (?:burst-optimized|mesh-optimized)(?: ecn)?`,
			`pause pfc-cos [\d,-]+`, `pause no-drop`, `pause buffer-size \d+ pause-threshold \d+ resume-threshold \d+`,
			`shape min \d+ [kmg]bps max \d+ [kmg]bps`,
		),
		Harmless: switches.Forms(`set (?:cos|dscp|precedence) .*`, `police .*`, `no pause`, `(?:no )?congestion-control (?:tail-drop|random-detect)`, `queue-limit .*`),
	}
}

// harmless are the forms of models, images and policies of the system's own.
func harmless() []pattern.Pattern {
	return []pattern.Pattern{
		pattern.New(`^(?:N\d[KX]v?-C?\d{2,5}[A-Z0-9]{0,6}(?:-[A-Z0-9]{1,5}){0,2}|Nexus\d{0,5}|C9\d{2,4}[A-Z]{0,5}\d{0,2}(?:-[A-Z]{1,3}\d{0,2}[A-Z]?)?|C3\d{3}[A-Z]{0,2}|9000v|C9\d{3}v)$`),
		pattern.New(`^(?:nxos|nxos64|n[379]000|nxos64-cs|nxos64-msll|nxos\.)[\w().-]{0,30}\.bin$`),
		pattern.New(`^(?:default-(?:8q|4q)-\w{2,3}-policy|default-(?:nq|in|out)-policy|c-(?:8q-)?nq(?:-default|\d)|c-(?:in|out|out-8q|in-8q)-q(?:-default|\d)|copp-system-p-[a-z0-9-]{1,30})$`),
	}
}
