package simswitch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// comwareDialect is compiled once for all switches.
var comwareDialect = sync.OnceValue(func() *dialect {
	return newDialect(slices.Concat(comwareGlobals(), comwareMaps(), comwareWRED(), comwarePorts(), comwarePortQoS(), comwareCommands()),
		"undo", portNames{one: comwarePort, several: comwarePortRange})
})

const (
	cmdref   = "H3C Comware 7 command reference"
	template = "H3C AIDC template, S9825 and S9827"
	operator = "published configuration of 400G ports"
	script   = "QLogic lab script, PFC and DCBX of ports"
)

func comwareGlobals() []Rule {
	const deadlock = "priority-flow-control deadlock"
	return []Rule{
		{View: "system", Line: "sysname <name>", Source: "scrapligo, hp_comware.yaml that prompts have it; that they do at once is SYNTHETIC", at: 6},
		{View: "system", Line: "lldp global enable", Undo: "lldp global enable", Source: template, at: 15},
		{View: "system", Line: "vlan <id:1-4094>", Undo: "vlan <id:1-4094>", Source: template, key: "vlan $id", enter: "vlan", at: 30},
		{View: "vlan", Line: "name <text>", Undo: "name", Source: "H3C Comware 7 Layer 2 Command Reference, VLAN commands: name"},
		{View: "system", Line: "priority-flow-control poolid <pool:0-7> headroom <0-1000000>", Undo: "priority-flow-control poolid <pool:0-7> headroom",
			Source: template, key: "priority-flow-control poolid $pool headroom", at: 33},
		{View: "system", Line: "buffer egress cell queue <queue-id:0-7> {way:guaranteed|shared} ratio <1-100>", Undo: "buffer egress cell queue <queue-id:0-7> {way:guaranteed|shared}",
			Source: "H3C S12500X-AF ACL and QoS command reference, data buffer commands; " + template, key: "buffer egress cell queue $queue-id $way", at: 31},
		{View: "system", Line: "buffer apply", Undo: "buffer apply", Source: "H3C S12500X-AF ACL and QoS command reference, buffer apply; " + template, at: 32},
		{View: "system", Line: deadlock + " precision {high|normal|low}", Undo: deadlock + " precision",
			Source: template, at: 34, hide: deadlock + " precision normal"},
		{View: "system", Line: deadlock + " cos <cos:0-7> interval <1-1500>", Undo: deadlock + " cos <cos:0-7> interval",
			Source: template, key: deadlock + " cos $cos interval", at: 34},
		{View: "system", Line: deadlock + " auto-recover cos <cos:0-7> delay <1-1500>", Undo: deadlock + " auto-recover cos <cos:0-7> delay",
			Source: template, key: deadlock + " auto-recover cos $cos delay", at: 34},
		{View: "system", Line: deadlock + " auto-recover action {discard|forwarding}", Undo: deadlock + " auto-recover action",
			Source: cmdref, at: 34, hide: deadlock + " auto-recover action forwarding"},
		{View: "system", Line: "archive configuration location <dir:name> filename-prefix <prefix:name>",
			Undo: "archive configuration location", Source: "H3C configuration file management", key: "archive configuration location", at: 88},
		{View: "system", Line: "archive configuration max <1-10>", Undo: "archive configuration max",
			Source: "H3C configuration file management; HPE 5510 HI manual", at: 88, hide: "archive configuration max 5"},
	}
}

// comwareMaps are the priority maps. An entry that equals the default is not
// stored; whether devices print one is not known.
func comwareMaps() []Rule {
	const source = cmdref + ", " + template + "; that defaults are not printed is SYNTHETIC"
	return []Rule{
		{View: "system", Line: "qos map-table {table:dscp-dot1p|dscp-lp}", Undo: "qos map-table {table:dscp-dot1p|dscp-lp}",
			Source: source, key: "qos map-table $table", enter: "maptbl-dscp", at: 40, quiet: true},
		{View: "system", Line: "qos map-table {table:dot1p-lp}", Undo: "qos map-table {table:dot1p-lp}",
			Source: source, key: "qos map-table $table", enter: "maptbl-dot1p", at: 40, quiet: true},
		{View: "maptbl-dscp", Line: "import <from:numbers 0-63> export <to:0-7>", Undo: "import {all:all}; import <from:numbers 0-63>",
			Source: source, many: mapEntries(func(v int) int { return v >> 3 }), forget: forgetEntries},
		{View: "maptbl-dot1p", Line: "import <from:numbers 0-7> export <to:0-7>", Undo: "import {all:all}; import <from:numbers 0-7>",
			Source: source, many: mapEntries(localPriority), forget: forgetEntries},
	}
}

// localPriority is the generic default of dot1p-lp in the H3C Comware 7 command reference.
func localPriority(dot1p int) int {
	return [...]int{2, 0, 1, 3, 4, 5, 6, 7}[dot1p]
}

// mapEntries makes one entry of each import value.
func mapEntries(usual func(int) int) func(*Switch, match) []setting {
	return func(_ *Switch, m match) []setting {
		var all []setting
		for _, from := range strings.Fields(m.args["from"]) {
			s := setting{"import " + from, fmt.Sprintf("import %s export %s", from, m.args["to"])}
			if v, err := strconv.Atoi(from); err == nil && strconv.Itoa(usual(v)) == m.args["to"] {
				s.line = ""
			}
			all = append(all, s)
		}
		return all
	}
}

func forgetEntries(m match, k *node) bool {
	if m.args["all"] != "" {
		return true
	}
	return slices.Contains(strings.Fields(m.args["from"]), strings.TrimPrefix(k.key, "import "))
}

func comwareWRED() []Rule {
	const source = cmdref + ", HPE 5130 HI ACL and QoS command reference (queue)"
	return []Rule{
		{View: "system", Line: "qos wred queue table <name>", Undo: "qos wred queue table <name>", Source: source,
			key: "qos wred queue table $name", enter: "wred-table", at: 45, named: true},
		{View: "wred-table", Line: "queue <queue-id:0-7> [drop-level <level:0-2>] low-limit <low:0-38000> high-limit <high:0-38000> [discard-probability <probability:0-100>]",
			Undo: "queue {all:all}; queue <queue-id:0-7>", Source: source, at: 10, many: dropLevels,
			forget: func(m match, k *node) bool {
				return strings.Contains(k.key, " drop-level ") &&
					(m.args["all"] != "" || strings.HasPrefix(k.key, "queue "+m.args["queue-id"]+" "))
			}},
		{View: "wred-table", Line: "queue <queue-id:0-7> weighting-constant <0-15>", Undo: "queue <queue-id:0-7> weighting-constant",
			Source: source, key: "queue $queue-id weighting-constant", at: 20, hide: "queue $queue-id weighting-constant 9"},
		{View: "wred-table", Line: "queue <queue-id:0-7> ecn", Undo: "queue <queue-id:0-7> ecn",
			Source: source, key: "queue $queue-id ecn", at: 30},
	}
}

// dropLevels makes a line without a drop level count for all three.
func dropLevels(_ *Switch, m match) []setting {
	levels := []string{"0", "1", "2"}
	if l := m.args["level"]; l != "" {
		levels = []string{l}
	}
	probability := cmp.Or(m.args["probability"], "10")
	var all []setting
	for _, l := range levels {
		s := setting{key: fmt.Sprintf("queue %s drop-level %s", m.args["queue-id"], l)}
		if m.args["low"] != "100" || m.args["high"] != "1000" || probability != "10" {
			s.line = fmt.Sprintf("%s low-limit %s high-limit %s discard-probability %s", s.key, m.args["low"], m.args["high"], probability)
		}
		all = append(all, s)
	}
	return all
}

func comwarePorts() []Rule {
	const in = "if"
	return []Rule{
		{View: "system", Line: "interface <port>", Source: "H3C Comware 7 command reference; " + script, key: "interface $port", enter: in, at: 80},
		{View: "system", Line: "interface range <ports>", Source: operator + "; prompt SYNTHETIC", key: "interface $ports", enter: in, at: 80},
		{View: in, Line: "port link-mode {bridge|route}", Source: template + "; published notes of an S6800-54QF", at: 10},
		{View: in, Line: "description <text>", Undo: "description", Source: "H3C Comware 7 Interface Command Reference, common interface commands: description", at: 12},
		{View: in, Line: "port link-type {access|trunk}", Undo: "port link-type", Source: script, at: 14, hide: "port link-type access"},
		{View: in, Line: "port access vlan <1-4094>", Undo: "port access vlan", Source: "H3C Comware 7 Layer 2 Command Reference, VLAN commands: port access vlan", at: 15},
		{View: in, Line: "port trunk permit vlan <vlans:numbers 1-4094>", Undo: "port trunk permit vlan <vlans:numbers 1-4094>",
			Source: script, key: "port trunk permit vlan $vlans", at: 16},
		{View: in, Line: "port trunk pvid vlan <1-4094>", Undo: "port trunk pvid vlan", Source: operator, at: 17},
		{View: in, Line: "port link-aggregation group <1-1024>", Undo: "port link-aggregation group",
			Source: "H3C S6850 configuration manual p. 72 (members of aggregation groups), HPE 5940 link aggregation; the range is SYNTHETIC", at: 18},
		{View: in, Line: "link-delay {way:up|down} <0-30>", Undo: "link-delay {way:up|down}", Source: operator, key: "link-delay $way", at: 20},
		{View: in, Line: "jumboframe enable [<size:1536-12288>]", Undo: "jumboframe enable <size:1536-12288>", key: "jumboframe enable", at: 25,
			Source: "H3C Ethernet interface command reference (jumboframe enable): the negative form with a size restores the default, as none does",
			many: func(_ *Switch, m match) []setting {
				s := setting{key: m.rule.key}
				if m.args["size"] != "" {
					s.line = m.line
				}
				return []setting{s}
			}},
		{View: in, Line: "undo jumboframe enable", key: "jumboframe enable", at: 25,
			Source: "H3C Ethernet interface command reference (jumboframe enable), WX6600 interface guide p. 2: the negative form without a size forbids jumbo frames, it is no default"},
		{View: in, Line: "lldp tlv-enable dot1-tlv dcbx", Undo: "lldp tlv-enable dot1-tlv dcbx", Source: script, at: 50},
		{View: in, Line: "shutdown", Undo: "shutdown", Source: "H3C Comware 7 Interface Command Reference, common interface commands: shutdown", at: 60},
	}
}

func comwarePortQoS() []Rule {
	const in = "if"
	const order = "; the undo form is SYNTHETIC"
	return []Rule{
		{View: in, Line: "flow-control", Undo: "flow-control", Source: cmdref + ", HPE 5920 and 5900 manual: models that refuse it together with PFC are not simulated", at: 28},
		{View: in, Line: "priority-flow-control {auto|enable}", Undo: "priority-flow-control", Source: cmdref + ", " + script, at: 30},
		{View: in, Line: "priority-flow-control no-drop dot1p <list 0-7>", Undo: "priority-flow-control no-drop dot1p", Source: cmdref + ", " + script, at: 31},
		{View: in, Line: "priority-flow-control dot1p <cos:0-7> headroom <0-1000000>", Undo: "priority-flow-control dot1p <cos:0-7> headroom",
			Source: operator, key: "priority-flow-control dot1p $cos headroom", at: 32},
		{View: in, Line: "priority-flow-control dot1p <cos:0-7> ingress-buffer dynamic <0-100>", Undo: "priority-flow-control dot1p <cos:0-7> ingress-buffer",
			Source: operator, key: "priority-flow-control dot1p $cos ingress-buffer", at: 32},
		{View: in, Line: "priority-flow-control deadlock enable", Undo: "priority-flow-control deadlock enable", Source: template, at: 33},
		{View: in, Line: "qos trust {dscp|dot1p|none}", Undo: "qos trust", Source: cmdref + ", " + script, at: 40, hide: "qos trust none"},
		{View: in, Line: "qos wfq {byte-count|weight}", Undo: "qos wfq [{byte-count|weight}]", Source: cmdref + ", " + operator + order, at: 41,
			forget: func(_ match, k *node) bool { return strings.HasPrefix(k.key, "qos wfq") }},
		{View: in, Line: "qos wfq <queue> group {1|2} {unit:byte-count|weight} <1-127>", Undo: "qos wfq <queue> [group]",
			Source: cmdref + ", " + operator + order + ", the range too", key: "qos wfq $queue group", at: 42},
		{View: in, Line: "qos wfq <queue> group sp", Source: cmdref + ", " + operator, key: "qos wfq $queue group", at: 42},
		{View: in, Line: "qos gts queue <queue-id:0-7> cir <8-400000000> [cbs <512-268435456>]", Undo: "qos gts queue <queue-id:0-7>",
			Source: cmdref + order, key: "qos gts queue $queue-id", at: 43},
		{View: in, Line: "qos wred apply <name>", Undo: "qos wred apply [<name>]", Source: template, at: 44},
	}
}

// comwareKinds are the kinds of ports in full and as displays shorten them.
func comwareKinds() [][2]string {
	return [][2]string{
		{"GigabitEthernet", "GE"}, {"Ten-GigabitEthernet", "XGE"}, {"Twenty-FiveGigE", "WGE"}, {"FortyGigE", "FGE"},
		{"HundredGigE", "HGE"}, {"TwoHundredGigE", "200GE"}, {"FourHundredGigE", "400GE"},
		{"M-GigabitEthernet", "M-GE"}, {"Bridge-Aggregation", "BAGG"}, {"LoopBack", "Loop"}, {"NULL", "NULL"},
	}
}

// comwarePort reads HundredGigE1/0/1, HGE1/0/1 or HundredGigE 1/0/1.
func comwarePort(t []string) (string, int) {
	for _, k := range comwareKinds() {
		for _, name := range k {
			if len(t) > 1 && strings.EqualFold(t[0], name) && portNumber(t[1]) {
				return k[0] + t[1], 2
			}
			if len(t[0]) > len(name) && strings.EqualFold(t[0][:len(name)], name) && portNumber(t[0][len(name):]) {
				return k[0] + t[0][len(name):], 1
			}
		}
	}
	return "", 0
}

// shortComware is a port's name as displays shorten it.
func shortComware(port string) string {
	for _, k := range comwareKinds() {
		if n, ok := strings.CutPrefix(port, k[0]); ok {
			return k[1] + n
		}
	}
	return port
}

// comwarePortRange reads "HundredGigE1/0/1 to HundredGigE1/0/4".
func comwarePortRange(t []string) (string, int) {
	from, n := comwarePort(t)
	if n == 0 || n+1 >= len(t) || !strings.EqualFold(t[n], "to") {
		return "", 0
	}
	to, m := comwarePort(t[n+1:])
	cut := strings.LastIndexByte(to, '/') + 1
	if m == 0 || cut == 0 || !strings.HasPrefix(from, to[:cut]) {
		return "", 0
	}
	all, ok := portRange([]string{from + "-" + to[cut:]}, comwarePort)
	if ok == 0 {
		return "", 0
	}
	return all, n + 1 + m
}
