package simswitch

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// comware is H3C Comware 7 on an S6800.
func comware() *system {
	return &system{
		name: "comware",
		kinds: map[string]string{"hge": "HundredGigE", "hundredgige": "HundredGigE", "fge": "FortyGigE", "fortygige": "FortyGigE",
			"twenty-fivegige": "Twenty-FiveGigE", "xge": "Ten-GigabitEthernet", "ten-gigabitethernet": "Ten-GigabitEthernet",
			"ge": "GigabitEthernet", "gigabitethernet": "GigabitEthernet"},
		mtu:      10000,
		mtuLine:  "jumboframe enable ",
		top:      "system",
		more:     "---- More ----",
		screen:   24, // H3C login management command reference: the default of screen-length
		enter:    "\r\n",
		number:   "INTEGER",
		defaults: comwareDefaults,
		initial:  comwareInitial,
		dialect:  comwareDialect,
		refusals: comwareRefusals,
		print:    comwarePrint,
		check:    comwareCheck,
		prompt:   comwarePrompt,
		greeting: func(*Switch) string {
			bar := strings.Repeat("*", 60) + "\n"
			return bar + "* H3C Comware Software, SIMULATED by a lab                 *\n" + bar
		},
		scopes:   comwareScopes,
		denied:   "Permission denied.",
		complain: comwareComplain,
		refused:  func(s *session, err error) { s.say("ERROR: " + err.Error()) },
		leave:    func(s *session) { s.levels = nil },
		classify: comwareClassify,
		lossless: comwareLossless,
		ailments: []string{"supply", "fan", "warm", "module", "optic", "hot"},
	}
}

func comwareDefaults(spec Spec) Spec {
	spec.Model = cmp.Or(spec.Model, "S6800-54QF")
	spec.Version = cmp.Or(spec.Version, "7.1.070, Release 2612P06")
	return spec
}

// comwarePrompt follows scrapligo and netmiko; that of a map table is of the H3C QoS
// command reference, that of a range was never seen.
func comwarePrompt(s *session) string {
	host := s.sw.hostname()
	if len(s.levels) == 0 {
		return "<" + host + ">"
	}
	l := s.levels[len(s.levels)-1]
	if len(s.levels) == 1 {
		return "[" + host + "]"
	}
	key := l.at[0][len(l.at[0])-1]
	name := key[strings.LastIndexByte(key, ' ')+1:]
	switch {
	case len(l.at) > 1:
		name = "if-range"
	case strings.HasPrefix(l.view, "maptbl"):
		name = "maptbl-" + name
	case l.view == "wred-table":
		name = "wred-table-" + name
	case l.view == "vlan":
		name = "vlan" + name
	}
	return "[" + host + "-" + name + "]"
}

// comwareScopes: a view takes its own lines and those of any view.
func comwareScopes(s *session) []scope {
	if len(s.levels) == 0 {
		return []scope{{"user", 0}, {"any", 0}}
	}
	return []scope{{s.levels[len(s.levels)-1].view, len(s.levels)}, {"any", 0}}
}

func comwareComplain(s *session, f *fault, _ string) {
	s.say(strings.Repeat(" ", len(comwarePrompt(s))+f.at) + "^")
	what := map[faultKind]string{
		unrecognized: "Unrecognized command", wrong: "Wrong parameter", tooMany: "Too many parameters",
		incomplete: "Incomplete command", ambiguous: "Ambiguous command",
	}[f.kind]
	s.say(" % " + what + " found at '^' position.")
}

// comwarePrint sets contexts, and groups of single lines, apart with #.
func comwarePrint(root *node) []string {
	var out []string
	last := -1
	for _, k := range root.kids {
		if k.hidden() {
			continue
		}
		if k.view {
			out = append(out, "#")
			k.printed(&out, "", " ")
			last = -1
			continue
		}
		if k.at != last {
			out = append(out, "#")
		}
		last = k.at
		k.printed(&out, " ", " ")
	}
	return append(out, "#", "return")
}

func comwareInitial(spec Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, `@5
version %s
@6
sysname %s
@10
irf mac-address persistent timer
irf auto-update enable
irf member 1 priority 1
@14
hardware-resource routing-mode ipv6-128
lldp global enable
@20
password-recovery enable
vlan 1
vlan 40
 name STORAGE
@60
interface NULL0
`, spec.Version, spec.Hostname)
	b.WriteString(spec.Config)
	for i, port := range spec.Ports {
		vlan := " port access vlan 40"
		if tagged := spec.Tagged[port]; tagged != 0 {
			vlan = fmt.Sprintf(" port link-type trunk\n port trunk permit vlan 1 %d", tagged)
		}
		fmt.Fprintf(&b, "interface %s\n port link-mode bridge\n description server port %d\n%s\n", port, i+1, vlan)
	}
	b.WriteString(`interface M-GigabitEthernet0/0/0
 ip address 192.0.2.21 255.255.255.0
@85
scheduler logfile size 16
@90
snmp-agent
snmp-agent sys-info version v2c
snmp-agent target-host trap address udp-domain 192.0.2.10 params securityname public v2c
@92
ssh server enable
@94
line vty 0 63
 authentication-mode scheme
 user-role network-operator
@96
local-user netops class manage
 service-type ssh
 authorization-attribute user-role network-admin
`)
	return b.String()
}

var (
	errWREDLimits     = errors.New("the high limit must be greater than the low limit")
	errBuffersApplied = errors.New("data buffers are applied and cannot be directly modified")
)

// comwareCheck judges a configuration. The texts are SYNTHETIC, as on NX-OS.
func comwareCheck(_ *Switch, old, next *node, e edit) error {
	key := e.m.expand(e.m.rule.key)
	if port, ok := strings.CutPrefix(key, "interface "); ok && old.kid(key) == nil {
		return fmt.Errorf("%s: %w", port, errNoSuchPort)
	}
	if !e.m.undo && e.m.args["low"] != "" {
		var low, high int
		_, _ = fmt.Sscan(e.m.args["low"]+" "+e.m.args["high"], &low, &high) // numbers, says the pattern
		if high <= low {
			return errWREDLimits
		}
	}
	if strings.HasPrefix(key, "buffer egress ") && old.kid("buffer apply") != nil {
		return errBuffersApplied
	}
	for _, k := range next.kids {
		if !strings.HasPrefix(k.key, "interface ") {
			continue
		}
		if err := portFits(next, k, e.m.undo); err != nil {
			return err
		}
	}
	return nil
}

// portFits judges what is set on one port.
func portFits(root, port *node, undo bool) error {
	for _, k := range port.kids {
		switch {
		case k.key == "qos wred apply":
			name := strings.TrimPrefix(k.line, "qos wred apply ")
			if root.kid("qos wred queue table "+name) != nil {
				continue
			}
			if undo {
				return fmt.Errorf("WRED table %s is in use by %s", name, port.line)
			}
			return fmt.Errorf("WRED table %s does not exist", name)
		case strings.HasPrefix(k.key, "qos wfq ") && strings.HasSuffix(k.key, " group"):
			mode := port.kid("qos wfq")
			if mode == nil {
				return fmt.Errorf("%s: WFQ is not enabled", port.line)
			}
			unit := strings.Fields(mode.line)[2]
			if words := strings.Fields(k.line); len(words) == 7 && words[5] != unit {
				return fmt.Errorf("%s: WFQ counts in %s", port.line, unit)
			}
		case k.key == "priority-flow-control no-drop dot1p":
			if err := losslessFits(port.line, strings.Fields(k.line)[3]); err != nil {
				return err
			}
		case k.key == "priority-flow-control deadlock enable" && port.kid("priority-flow-control") == nil:
			return fmt.Errorf("%s: PFC is not enabled", port.line)
		}
	}
	return nil
}
