package simswitch

import (
	"slices"
	"strings"
	"sync"
)

// nxosDialect is compiled once for all switches.
var nxosDialect = sync.OnceValue(func() *dialect {
	return newDialect(slices.Concat(nxosObjects(), nxosPorts(), nxosCommands()), "no",
		portNames{one: nxosPort, several: nxosPortRange})
})

// Where the sources are cited often.
const (
	reference = "Cisco NX-OS command reference 9.3(x)"
	exampleA  = "Cisco roce_enable v0.60"
	exampleB  = "Azure/AzureLocal-Supportability, reference TOR QoS policy"
	exampleC  = "zartbot, Nexus 93180FX2"
	rcf       = "reference configuration of a Nexus 9364D in NetApp's style"
	sectionEx = "Azure Local network overview, show running-config interface"
)

// nxosObjects are the lines about classes, policies and the system.
func nxosObjects() []Rule {
	return slices.Concat(nxosGlobals(), nxosQoSPolicies(), nxosQueuing(), nxosNetworkQoS(), nxosSystemQoS())
}

func nxosGlobals() []Rule {
	return []Rule{
		{View: "config", Line: "hostname <name>", Source: "configuration generator's README, Nexus 9500v 10.1(1): the prompt has the new name at once", at: 10},
		{View: "config", Line: "feature {feature:bgp|bfd|dhcp|interface-vlan|lacp|lldp|nxapi|ospf|scheduler|scp-server|sftp-server|tacacs+|telnet|vpc}",
			Undo:   "feature {feature:bgp|bfd|dhcp|interface-vlan|lacp|lldp|nxapi|ospf|scheduler|scp-server|sftp-server|tacacs+|telnet|vpc}",
			Source: reference + "; microsoft/SDN, Cisco Nexus 3132-TOR1.cfg; ntc-templates, show feature",
			key:    "feature $feature", at: 30},
		{View: "config", Line: "priority-flow-control watch-dog-interval {on|off}",
			Undo:   "priority-flow-control watch-dog-interval [{on|off}]",
			Source: exampleA, at: 58, hide: "priority-flow-control watch-dog-interval off"},
		{View: "config", Line: "system jumbomtu <1500-9216>", Undo: "system jumbomtu [<1500-9216>]", at: 57, hide: "system jumbomtu 9216",
			Source: "Cisco Nexus 9000 Interfaces Configuration Guide 10.6(x), Set the system jumbo MTU size; that MTUs of ports do not follow is SYNTHETIC"},
		{View: "config", Line: "link-level-flow-control watch-dog-interval {on|off}", Undo: "link-level-flow-control watch-dog-interval [{on|off}]",
			Source: "Cisco NX-API REST SDK User Guide 9.3(x), Configuring LLFC Watch-Dog Interval Globally; place among others SYNTHETIC",
			at:     59, hide: "link-level-flow-control watch-dog-interval off"},
		{View: "config", Line: "congestion-control random-detect forward-nonecn",
			Undo: "congestion-control random-detect forward-nonecn", Source: exampleC, at: 67},
		{View: "config", Line: "vlan <id:1-3967>", Undo: "vlan <id:1-3967>", key: "vlan $id", enter: "vlan", at: 75,
			Source: "microsoft/SDN, Cisco Nexus 3132-TOR1.cfg"},
		{View: "vlan", Line: "name <name>", Undo: "name [<name>]", key: "name",
			Source: "microsoft/SDN, Cisco Nexus 3132-TOR1.cfg"},
	}
}

func nxosQoSPolicies() []Rule {
	const class, policy = "class-map type qos $name", "policy-map type qos $name"
	return []Rule{
		{View: "config", Line: "class-map type qos {match:match-any|match-all} <name>",
			Undo:   "class-map type qos [{match-any|match-all}] <name>",
			Source: exampleA, key: class, enter: "cmap-qos", at: 60, exact: true, named: true},
		{View: "config", Line: "class-map {match:match-any|match-all} <name>",
			Source: "batfish, nxos_class_map; that the short form expands: published notes of an operator",
			key:    class, store: "class-map type qos $match $name", enter: "cmap-qos", at: 60},
		{View: "cmap-qos", Line: "description <text>", Undo: "description [<text>]",
			Source: "batfish, nxos_class_map"},
		{View: "cmap-qos", Line: "match dscp <dscp:list 0-63>", Undo: "match dscp <dscp:list 0-63>",
			Source: exampleA, key: "match dscp $dscp", at: 10},
		{View: "cmap-qos", Line: "match cos <cos:list 0-7>", Undo: "match cos <cos:list 0-7>",
			Source: exampleB, key: "match cos $cos", at: 10},

		{View: "config", Line: "policy-map type qos <name>", Undo: "policy-map type qos <name>",
			Source: exampleA, key: policy, enter: "pmap-qos", at: 62, named: true},
		{View: "config", Line: "policy-map <name>", Source: "published notes of an operator: the short form expands",
			key: policy, store: "policy-map type qos $name", enter: "pmap-qos", at: 62},
		{View: "pmap-qos pmap-que pmap-nqos", Line: "description <text>", Undo: "description [<text>]",
			Source: "batfish, nxos_policy_map"},
		{View: "pmap-qos", Line: "class <name>", Undo: "class <name>", Source: exampleA,
			key: "class $name", store: "class $name", enter: "pmap-c-qos", at: 20, named: true},
		{View: "pmap-qos", Line: "class type qos <name>", Undo: "class type qos <name>", Source: rcf,
			key: "class $name", store: "class $name", enter: "pmap-c-qos", at: 20, named: true},
		{View: "pmap-c-qos", Line: "set qos-group <0-7>", Undo: "set qos-group [<0-7>]", Source: exampleA},
	}
}

// queuingClass and networkClass are the classes that the system defines.
const (
	queuingClass = "{class:c-out-8q-q7|c-out-8q-q6|c-out-8q-q5|c-out-8q-q4|c-out-8q-q3|c-out-8q-q2|c-out-8q-q1|c-out-8q-q-default" +
		"|c-in-q7|c-in-q6|c-in-q5|c-in-q4|c-in-q3|c-in-q2|c-in-q1|c-in-q-default}"
	networkClass = "{class:c-8q-nq7|c-8q-nq6|c-8q-nq5|c-8q-nq4|c-8q-nq3|c-8q-nq2|c-8q-nq1|c-8q-nq-default}"
)

func nxosQueuing() []Rule {
	const unit = "{packets|bytes|kbytes|mbytes}"
	return []Rule{
		{View: "config", Line: "policy-map type queuing <name>", Undo: "policy-map type queuing <name>",
			Source: exampleA, key: "policy-map type queuing $name", enter: "pmap-que", at: 64, named: true},
		{View: "pmap-que", Line: "class type queuing " + queuingClass, Undo: "class type queuing " + queuingClass,
			Source: exampleA + "; input classes " + exampleC,
			key:    "class type queuing $class", enter: "pmap-c-que", at: 20, named: true},
		{View: "pmap-c-que", Line: "bandwidth remaining percent <0-100>", Undo: "bandwidth remaining percent [<0-100>]",
			Source: exampleA, key: "bandwidth", at: 10},
		{View: "pmap-c-que", Line: "bandwidth percent <0-100>", Undo: "bandwidth percent [<0-100>]",
			Source: exampleB, key: "bandwidth", at: 10},
		{View: "pmap-c-que", Line: "priority level <1-8>", Undo: "priority level [<1-8>]",
			Source: exampleA + "; range Cisco NX-API DME model", at: 10},
		{View: "pmap-c-que", Line: "shape min <0-100000000> {kbps|mbps|gbps} max <0-100000000> {kbps|mbps|gbps}",
			Undo: "shape", Source: exampleC, key: "shape", at: 15},
		{View: "pmap-c-que", Line: "random-detect minimum-threshold <0-1000000> " + unit +
			" maximum-threshold <0-1000000> " + unit +
			" drop-probability <0-100> weight <0-15> [cap-average] [ecn]",
			Undo: "random-detect; random-detect minimum-threshold <0-1000000> " + unit +
				" maximum-threshold <0-1000000> " + unit +
				" drop-probability <0-100> weight <0-15> [cap-average] [ecn]",
			Source: reference + ", " + exampleA, key: "random-detect", at: 20},
		{View: "pmap-c-que", Line: "random-detect threshold {burst-optimized|mesh-optimized} [ecn]",
			Undo:   "random-detect threshold {burst-optimized|mesh-optimized} [ecn]",
			Source: reference + ", " + rcf, key: "random-detect", at: 20},
		{View: "pmap-c-que", Line: "pause buffer-size <5000-268435456> pause-threshold <0-268435456> resume-threshold <0-268435456>",
			Undo:   "pause buffer-size",
			Source: exampleC + "; ranges Cisco NX-API DME model", at: 25},
	}
}

func nxosNetworkQoS() []Rule {
	return []Rule{
		{View: "config", Line: "policy-map type network-qos <name>", Undo: "policy-map type network-qos <name>",
			Source: exampleA + "; stands before the features: published running configuration of a C93180YC-FX 9.3(3)",
			key:    "policy-map type network-qos $name", enter: "pmap-nqos", at: 20, named: true},
		{View: "pmap-nqos", Line: "class type network-qos " + networkClass, Undo: "class type network-qos " + networkClass,
			Source: exampleA, key: "class type network-qos $class", enter: "pmap-nqos-c", at: 20, named: true},
		{View: "pmap-nqos-c", Line: "mtu <576-9216>", Undo: "mtu [<576-9216>]",
			Source: exampleA + "; range Cisco NX-API DME model", at: 10},
		{View: "pmap-nqos-c", Line: "pause pfc-cos <list 0-7>", Undo: "pause pfc-cos [<list 0-7>]",
			Source: exampleA + "; list Cisco NX-API DME model", at: 20},
	}
}

func nxosSystemQoS() []Rule {
	return []Rule{
		{View: "config", Line: "system qos", Source: exampleA, enter: "sys-qos", at: 66, quiet: true},
		{View: "sys-qos", Line: "service-policy type network-qos <name>", Undo: "service-policy type network-qos <name>",
			Source: exampleA, at: 30, exact: true, named: true},
		{View: "sys-qos", Line: "service-policy type queuing {in:input|output} <name>",
			Undo:   "service-policy type queuing {in:input|output} <name>",
			Source: exampleA, key: "service-policy type queuing $in", at: 20, exact: true, named: true},
		{View: "sys-qos", Line: "service-policy type qos input <name>", Undo: "service-policy type qos input <name>",
			Source: "Cisco Nexus 5000 Series NX-OS QoS Configuration Guide, Configuring QoS: the policies of FCoE below system qos", at: 10, exact: true, named: true},
	}
}

// nxosPorts are the lines about interfaces.
func nxosPorts() []Rule {
	const in = "if"
	return []Rule{
		{View: "config", Line: "interface <ports>", Source: exampleA, key: "interface $ports", enter: in, at: 80},
		{View: "config", Line: "interface <port>", Undo: "interface <port>",
			Source: "scrapligo, cisco_nxos.yaml; lab notes of a virtual Nexus 10.x",
			key:    "interface $port", enter: in, at: 80, named: true},
		{View: in, Line: "description <text>", Undo: "description [<text>]", Source: sectionEx, at: 10},
		{View: in, Line: "no cdp enable", Source: sectionEx, key: "cdp enable", at: 15},
		{View: in, Line: "cdp enable", Source: "batfish, nxos_interface_show_all_1",
			at: 15, hide: "cdp enable"},
		{View: in, Line: "switchport", Source: sectionEx, at: 20},
		{View: in, Line: "no switchport", Source: "Cisco Nexus 3600 NX-OS Interfaces Configuration Guide 10.3(x), Configuring Layer 3 Interfaces: routed interfaces", key: "switchport", at: 20},
		{View: in, Line: "switchport mode {access|trunk}", Undo: "switchport mode", Source: sectionEx, at: 21},
		{View: in, Line: "switchport access vlan <1-3967>", Undo: "switchport access vlan", at: 22,
			Source: "lab notes of a Nexus 9000v 10.2(2)"},
		{View: in, Line: "switchport trunk native vlan <1-3967>", Undo: "switchport trunk native vlan",
			Source: sectionEx, at: 23},
		{View: in, Line: "switchport trunk allowed vlan <list 1-4094>", Undo: "switchport trunk allowed vlan",
			Source: sectionEx, at: 24},
		{View: in, Line: "priority-flow-control mode {auto|on|off} [send-tlv]",
			Undo:   "priority-flow-control mode [{auto|on|off}] [send-tlv]",
			Source: reference + ", " + exampleA, at: 30, hide: "priority-flow-control mode auto"},
		{View: in, Line: "priority-flow-control watch-dog-interval {on|off} [disable-action] [interface-multiplier <0-40>]",
			Undo: "priority-flow-control watch-dog-interval [{on|off}] [disable-action] [interface-multiplier <0-40>]",
			Source: exampleA + "; disable action and multiplier of a port, with its range: Cisco NX-API DME model reference 9.3(x), as in Cisco's terraform-provider-nxos; " +
				"their order, and that a line without them takes them off, is SYNTHETIC",
			at: 31, hide: "priority-flow-control watch-dog-interval off"},
		{View: in, Line: "flowcontrol {way:receive|send} {on|off}", Source: reference + ", batfish, nxos_interface_show_all_1",
			key: "flowcontrol $way", at: 33, hide: "flowcontrol $way off"},
		{View: in, Line: "spanning-tree port type edge [trunk]", Undo: "spanning-tree port type",
			Source: sectionEx, key: "spanning-tree port type", at: 35},
		{View: in, Line: "mtu <576-9216>", Undo: "mtu [<576-9216>]", Source: exampleA, at: 40, hide: "mtu 1500"},
		{View: in, Line: "no logging event port link-status", Source: sectionEx, key: "logging event port link-status", at: 45},
		{View: in, Line: "service-policy type qos input <name> [quiet: no-stats]",
			Undo:   "service-policy type qos input <name> [no-stats]",
			Source: exampleA + "; no-stats Azure Local network overview", key: "service-policy type qos input",
			at: 50, exact: true, named: true, many: portPolicy},
		{View: in, Line: "service-policy input <name>", Source: "published notes of an operator: the short form expands",
			key: "service-policy type qos input", at: 50, many: portPolicy},
		{View: in, Line: "service-policy type queuing {in:input|output} <name>",
			Undo:   "service-policy type queuing {in:input|output} <name>",
			Source: exampleC, key: "service-policy type queuing $in", at: 51, exact: true, named: true},
		{View: in, Line: "no lldp {lldp:transmit|receive}", Source: "batfish, nxos_interface_show_all_1; SYNTHETIC negative form",
			key: "lldp $lldp", needs: "lldp", at: 55},
		{View: in, Line: "lldp {lldp:transmit|receive}", at: 55, key: "lldp $lldp", needs: "lldp", hide: "lldp $lldp",
			Source: "batfish, nxos_interface_show_all_1"},
		{View: in, Line: "channel-group <1-4096> [force] [mode {active|passive|on}]", Undo: "channel-group",
			Source: "configure replace lab, NX-OS 9.3(1); " + rcf, at: 60},
		{View: in, Line: "no shutdown", Source: exampleA, key: "shutdown", at: 70},
		{View: in, Line: "shutdown", Source: "Cisco Nexus 9000 Series NX-OS Interfaces Configuration Guide 9.3(x), Configuring Basic Interface Parameters: shutdown", at: 70},
	}
}

// portPolicy is the attachment of a qos policy to a port as the switch prints
// it: some releases add no-stats.
func portPolicy(sw *Switch, m match) []setting {
	line := "service-policy type qos input " + m.args["name"]
	if m.args["quiet"] != "" || sw.spec.NoStats {
		line += " no-stats"
	}
	return []setting{{m.rule.key, line}}
}

// nxosPort reads the name of an interface: Ethernet1/1, eth 1/1, lo5.
func nxosPort(t []string) (string, int) {
	kinds := []struct{ full, shortest string }{
		{"Ethernet", "e"}, {"loopback", "lo"}, {"port-channel", "po"}, {"mgmt", "m"}, {"Vlan", "vl"},
	}
	name := strings.ToLower(t[0])
	i := strings.IndexAny(name, "0123456789")
	n := 1
	number := ""
	switch {
	case i > 0:
		number, name = name[i:], name[:i]
	case i < 0 && len(t) > 1:
		number, n = t[1], 2
	}
	if !portNumber(number) {
		return "", 0
	}
	for _, k := range kinds {
		full := strings.ToLower(k.full)
		if strings.HasPrefix(full, name) && strings.HasPrefix(name, k.shortest) {
			return k.full + number, n
		}
	}
	return "", 0
}

// portNumber says whether s is made of numbers with slashes and dots between.
func portNumber(s string) bool {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '.' || r == ':' }) {
		if strings.Trim(part, "0123456789") != "" {
			return false
		}
	}
	return s != "" && strings.Trim(s[:1], "0123456789") == "" && strings.Trim(s[len(s)-1:], "0123456789") == ""
}

// nxosPortRange reads Ethernet1/1-32 as the list of its ports.
func nxosPortRange(t []string) (string, int) {
	return portRange(t, nxosPort)
}
