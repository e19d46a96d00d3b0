package simswitch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// nxos is Cisco NX-OS on a Nexus 9000, 10.x.
func nxos() *system {
	return &system{
		name:     "nxos",
		kinds:    map[string]string{"e": "Ethernet", "eth": "Ethernet", "ethernet": "Ethernet"},
		mtu:      1500,
		mtuLine:  "mtu ",
		top:      "config",
		more:     "--More--",
		enter:    "\r\r\n", // seen on devices: netmiko, cisco_nxos.py
		defaults: nxosDefaults,
		initial:  nxosInitial,
		dialect:  nxosDialect,
		refusals: nxosRefusals,
		print:    nxosPrint,
		check:    nxosCheck,
		prompt:   nxosPrompt,
		greeting: func(*Switch) string {
			return "Cisco Nexus Operating System (NX-OS) Software, SIMULATED by a lab\n"
		},
		scopes:   nxosScopes,
		denied:   "% Permission denied for the role",
		complain: nxosComplain,
		refused: func(s *session, err error) {
			if errors.As(err, new(moduleError)) {
				s.say(err.Error())
				return
			}
			s.say("ERROR: " + err.Error())
		},
		leave: func(s *session) {
			s.levels, s.staged = nil, false
		},
		classify: nxosClassify,
		lossless: nxosLossless,
		ailments: []string{"supply", "fan", "warm", "module", "log", "optic", "hot"},
	}
}

func nxosDefaults(spec Spec) Spec {
	spec.Model = cmp.Or(spec.Model, "C93180YC-FX")
	if spec.Version == "" {
		spec.Version = "10.3(4a)"
	}
	return spec
}

// nxosPrompt follows scrapligo, published sessions of devices, and those of a
// virtual Nexus with two-stage commit.
// The prompts of network-qos contexts were never seen.
func nxosPrompt(s *session) string {
	host := s.sw.hostname()
	if len(s.levels) == 0 {
		return host + "# "
	}
	mode := "config"
	if s.staged {
		mode = "config-dual-stage"
	}
	if l := s.levels[len(s.levels)-1]; len(s.levels) > 1 {
		mode += "-" + l.view
		if len(l.at) > 1 {
			mode += "-range"
		}
	}
	return host + "(" + mode + ")# "
}

// nxosScopes: a context also takes the lines of those around it, and commands.
func nxosScopes(s *session) []scope {
	var all []scope
	for i := len(s.levels); i > 0; i-- {
		all = append(all, scope{s.levels[i-1].view, i})
	}
	if s.staged {
		all = append(all, scope{"dual-stage", 0})
	}
	return append(all, scope{"exec", 0})
}

func nxosComplain(s *session, f *fault, _ string) {
	marker := strings.Repeat(" ", len(nxosPrompt(s))+f.at) + "^"
	switch f.kind {
	case incomplete:
		s.say("\n" + marker)
		s.say("% Incomplete command at '^' marker.")
	case ambiguous:
		s.say(marker)
		s.say("% Ambiguous command at '^' marker.")
	default:
		s.say(marker)
		s.say("% Invalid command at '^' marker.")
	}
}

// nxosPrint sets groups of lines apart, and interfaces from each other.
func nxosPrint(root *node) []string {
	var out []string
	last := ""
	for _, k := range root.kids {
		if k.hidden() {
			continue
		}
		word, _, _ := strings.Cut(k.line, " ")
		if word != last || word == "interface" {
			out = append(out, "")
		}
		last = word
		k.printed(&out, "", "  ")
	}
	return out
}

// nxosInitial is what a switch carries before anybody configures QoS. Lines
// with @ say where the following ones stand among those of the grammar.
func nxosInitial(spec Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, `@10
hostname %[1]s
@25
vdc %[1]s id 1
  limit-resource vlan minimum 16 maximum 4094
  limit-resource vrf minimum 2 maximum 4096
feature interface-vlan
feature lacp
feature lldp
@40
no password strength-check
username admin password 5 $5$SIMULATED role network-admin
ip domain-lookup
snmp-server contact fabric operations
snmp-server host 192.0.2.10 traps version 2c public
ntp server 192.0.2.11 use-vrf management
@70
copp profile strict
vlan 40
  name STORAGE
@78
vrf context management
  ip route 0.0.0.0/0 192.0.2.1
`, spec.Hostname)
	b.WriteString(spec.Config)
	for i, port := range spec.Ports {
		vlan := "  switchport access vlan 40"
		if tagged := spec.Tagged[port]; tagged != 0 {
			vlan = fmt.Sprintf("  switchport mode trunk\n  switchport trunk allowed vlan %d", tagged)
		}
		fmt.Fprintf(&b, "\ninterface %s\n  description server port %d\n  switchport\n%s\n  no shutdown\n", port, i+1, vlan)
	}
	b.WriteString("interface mgmt0\n  vrf member management\n  ip address 192.0.2.20/24\n@90\nline console\nline vty\nboot nxos bootflash:/nxos64-cs.10.3.4a.M.bin\n")
	return b.String()
}

var (
	errUndefinedClass = errors.New("undefined class") // Cisco bug CSCve72295, Nexus 3500
	errNoSuchPort     = errors.New("the interface does not exist")
)

// nxosCheck judges a configuration. What a device says here was never seen,
// one text apart: the texts are SYNTHETIC.
func nxosCheck(_ *Switch, old, next *node, e edit) error {
	if port, ok := strings.CutPrefix(e.m.expand(e.m.rule.key), "interface "); ok && len(e.at) == 0 {
		fixed := strings.HasPrefix(port, "Ethernet") || strings.HasPrefix(port, "mgmt")
		switch {
		case fixed && e.m.undo:
			return fmt.Errorf("%s is part of the chassis", port)
		case fixed && old.kid("interface "+port) == nil:
			return fmt.Errorf("%s: %w", port, errNoSuchPort)
		}
	}
	if err := jumboFits(next, e); err != nil {
		return err
	}
	for _, k := range next.kids {
		var err error
		switch {
		case strings.HasPrefix(k.key, "policy-map type qos "):
			err = classesExist(next, k, e.m.undo)
		case strings.HasPrefix(k.key, "policy-map type queuing "):
			err = bandwidthFits(k)
		case strings.HasPrefix(k.key, "policy-map type network-qos "):
			err = nxosLosslessFits(k)
		case k.key == "system qos", strings.HasPrefix(k.key, "interface "):
			err = policiesExist(next, k, e.m.undo)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// jumboFits wants of a port of layer 2 an MTU of 1500 or that of the system (Cisco
// Nexus 9000 Interfaces Configuration Guide 10.6(x)), which is 9216 where nobody set
// it (blog.madnetworks.fr, on a Nexus 7000).
func jumboFits(root *node, e edit) error {
	port := root.get(e.at)
	if port == nil || e.m.undo || e.m.rule.key != "mtu" || !strings.HasPrefix(port.key, "interface ") {
		return nil
	}
	system := "9216"
	if jumbo := root.kid("system jumbomtu"); jumbo != nil {
		system = strings.TrimPrefix(jumbo.line, "system jumbomtu ")
	}
	mode, mtu := port.kid("switchport"), strings.TrimPrefix(e.m.line, "mtu ")
	if mode == nil || mode.line != "switchport" || mtu == "1500" || mtu == system {
		return nil
	}
	return fmt.Errorf("%s: MTU on L2 interfaces can only be set to default or system-jumboMTU", strings.TrimPrefix(port.line, "interface "))
}

// classesExist wants a class-map for every class of a qos policy.
func classesExist(root, policy *node, undo bool) error {
	for _, c := range policy.kids {
		name, ok := strings.CutPrefix(c.key, "class ")
		switch {
		case !ok, name == "class-default", root.kid("class-map type qos "+name) != nil:
		case undo:
			return fmt.Errorf("class-map %s is in use by %s", name, policy.line)
		default:
			return errUndefinedClass
		}
	}
	return nil
}

// policiesExist wants a policy-map for everything attached.
func policiesExist(root, to *node, undo bool) error {
	for _, k := range to.kids {
		words := strings.Fields(k.line)
		if len(words) < 4 || words[0] != "service-policy" {
			continue
		}
		name := words[len(words)-1]
		if name == "no-stats" {
			name = words[len(words)-2]
		}
		switch {
		case root.kid("policy-map type "+words[2]+" "+name) != nil:
		case undo:
			return fmt.Errorf("policy-map %s is in use by %s", name, to.line)
		default:
			return fmt.Errorf("policy-map %s of type %s does not exist", name, words[2])
		}
	}
	return nil
}

// bandwidthFits wants shares of at most 100 percent.
func bandwidthFits(policy *node) error {
	var remaining, absolute int
	for _, c := range policy.kids {
		i := slices.IndexFunc(c.kids, func(k *node) bool { return k.key == "bandwidth" })
		if i < 0 {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(c.kids[i].line, "bandwidth remaining percent %d", &n); err == nil {
			remaining += n
		} else if _, err := fmt.Sscanf(c.kids[i].line, "bandwidth percent %d", &n); err == nil {
			absolute += n
		}
	}
	if remaining > 100 || absolute > 100 {
		return fmt.Errorf("the bandwidth of %s is more than 100 percent", policy.line)
	}
	return nil
}
