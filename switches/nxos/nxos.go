// Package nxos speaks to Cisco Nexus switches with NX-OS.
package nxos

import (
	"slices"
	"strings"
	"time"

	"weft/internal/tally"
	"weft/internal/traffic"
	"weft/switches"
)

// OS is that of Cisco Nexus 9000 switches (NX-OS 10.x, the model of eight
// queues).
func OS() *switches.OS {
	o := &switches.OS{
		Name: "nxos", Dialect: dialect(), Show: []string{showVersion, showRunning},
		Files: &switches.Files{
			List: "dir bootflash:", Make: "mkdir bootflash:%s", Remove: "rmdir bootflash:%s",
			Copy: "copy running-config bootflash:%s", Copied: `(?i)copy complete`,
			Print: "show file bootflash:%s", Delete: "delete bootflash:%s no-prompt", Clock: "show clock",
		},
		Lines: lineRules(), Guard: dualStage{}, Remarks: remarks,
		Counters: []switches.CounterLine{
			{Format: "show queuing interface %s", Names: []string{tally.TxPackets, tally.TxBytes, tally.Drops, tally.PFCRx, tally.PFCTx, tally.IngressDrops}, Parse: queueCounts},
			{Format: "show queuing pfc-queue interface %s detail", Names: []string{tally.WatchdogEvents}, Parse: watchdogCounts},
		},
		Neighbours: &switches.Neighbours{Line: showNeighbours, Parse: parseNeighbours, Total: totalNeighbours},
		Table:      &switches.Table{Line: showStations, Head: stationsHead, Parse: parseStations},
		Operates:   &switches.Operation{Line: showPFC, States: pfcStates},
		Conditions: conditions(),
		Role: &switches.Role{Head: "role name %s", Rule: "rule %d permit command %s", Login: "username weft role %s", Change: "network-admin",
			Source: "Cisco Nexus 9000 NX-OS Security Configuration Guide, Configuring User Accounts and RBAC"},
		Harmless: harmless(),
		Without: map[switches.Feature]string{
			switches.WatchdogTimes: "the switch counts in multiples of an interval of its own that no manual found ties to a time, and its own settings hold",
		},
	}
	o.Meaning = func(out map[string]string) switches.Meaning { return meaning(o, out) }
	o.Parse = func(out map[string]string) (switches.Reading, error) { return parse(o, out) }
	return o
}

// What is asked of an NX-OS switch.
const (
	showVersion = "show version"
	showRunning = "show running-config"
)

func dialect() switches.Dialect {
	return switches.Dialect{
		Platform: []byte(platform), Hello: "terminal dont-ask", Prompt: prompt,
		Version: showVersion, Identity: `(?m)Nexus Operating System|\bNX-OS\b|^ *NXOS: +version|^ *cisco Nexus`,
		Refusals: []string{
			`(?m)^% ?\w`,
			`(?i)(invalid|incomplete|ambiguous).* at '\^' marker`,
			`(?im)^\s*error:`,
			`(?i)syntax error`,
			`(?i)unknown command`,
			`(?i)no corresponding .+ configured`,
			`(?i)configuration not allowed`,
			`(?i)requested config change not allowed`,
			`(?im)^unable to perform the action`,
			`(?i)module \d+ returned status`,
			`(?i)returned error code: \d+`,
			`(?i)sufficient free entries are not available`,
			`(?im)^failed\. err=`,
			`(?i)commit verification failed`,
			`(?i)permission denied`,
			`(?i)no space left`,
			`(?i)configuration update aborted`,
		},
		Absent: `at '\^' marker`,
		Harmless: []string{
			`^Enter configuration commands, one per line\. +End with CNTL/Z\.$`,
		},
		Running: showRunning,
		Save:    "copy running-config startup-config",
		Saved:   `(?i)complete|100%`,
		Method:  "two-stage commit: the switch verifies, applies, and reverts by itself unless confirmed (seen on a virtual Nexus, not with QoS lines)",
		// The help text of the switch: <30-65535> seconds.
		Confirm: 30 * time.Second,
		Reads:   "show",
		Members: "what classifies on a member has no effect",
	}
}

// prompt is where commands are run.
const prompt = `(?im)^[\w.\-]{1,63}(\(maint-mode\))?#\s?$`

// platform is ours because the embedded definition of scrapligo cannot
// leave system qos: its prompt, (config-sys-qos), is excluded there.
const platform = `---
platform-type: 'weft_nxos'
default:
  driver-type: 'network'
  privilege-levels:
    exec:
      name: 'exec'
      pattern: '` + prompt + `'
      previous-priv:
      deescalate:
      escalate:
      escalate-auth: false
      escalate-prompt:
    configuration:
      name: 'configuration'
      pattern: '(?im)^[\w.\-]{1,63}(\(maint-mode\))?\(conf(ig)?[\w.\-@/:+]{0,63}\)#\s?$'
      not-contains:
        - 'config-tcl'
      previous-priv: 'exec'
      deescalate: 'end'
      escalate: 'configure terminal'
      escalate-auth: false
      escalate-prompt:
  default-desired-privilege-level: 'exec'
  network-on-open:
    - operation: 'acquire-priv'
    - operation: 'driver.send-command'
      command: 'terminal width 511'
    - operation: 'driver.send-command'
      command: 'terminal length 0'
    - operation: 'driver.send-command'
      command: 'terminal dont-ask'
`

// What follows weft's name in those of the objects that are attached.
const roleIn, roleTag, roleOut, roleNQ, roleHR = "-in", "-cos", "-out", "-nq", "-hr"

// Headers of the objects that weft creates.
const (
	classMap         = "class-map type qos match-any "
	policyQoS        = "policy-map type qos "
	policyQueuing    = "policy-map type queuing "
	policyNetworkQoS = "policy-map type network-qos "
	systemQoS        = "system qos"
	onPort           = "interface "

	attachIn  = "service-policy type qos input "
	attachOut = "service-policy type queuing output "
	attachNQ  = "service-policy type network-qos "
	attachHR  = "service-policy type queuing input "
	otherwise = "class class-default" // all other traffic
)

// grammar is how NX-OS lines replace and undo each other.
func grammar() switches.Grammar {
	return switches.Grammar{
		Key:    keyOf,
		Undo:   undoOf,
		Remove: removeOf,
		Rank:   rankOf,
		Early: func(have, want string) bool {
			// Shares of a policy may not exceed 100 percent at any moment.
			h, isShare := strings.CutPrefix(have, share)
			w, same := strings.CutPrefix(want, share)
			if isShare && same {
				return switches.Number(w) < switches.Number(h)
			}
			// Nor may two queues have one level.
			h, isLevel := strings.CutPrefix(have, priorityLevel)
			w, same = strings.CutPrefix(want, priorityLevel)
			return isLevel && same && switches.Number(w) > switches.Number(h)
		},
		Join:   join,
		Indent: "  ",
	}
}

const (
	share         = "bandwidth remaining percent "
	priorityLevel = "priority level "
)

func keyOf(line string) string {
	for _, key := range []string{
		"set qos-group", "bandwidth remaining percent", "priority level", "random-detect", "mtu",
		"pause pfc-cos", "pause buffer-size", "priority-flow-control mode", "priority-flow-control watch-dog-interval",
		"service-policy type qos input", "service-policy type queuing output", "service-policy type queuing input",
		"service-policy type network-qos",
	} {
		if strings.HasPrefix(line, key+" ") && !strings.Contains(line, " disable-action") {
			return key // a watchdog that drops nothing is taken off before another one comes
		}
	}
	return line
}

func undoOf(line string) string {
	if strings.HasPrefix(line, "mtu ") {
		return "no mtu"
	}
	return "no " + line
}

func removeOf(header string) string {
	if header == systemQoS || strings.HasPrefix(header, onPort) {
		return ""
	}
	return "no " + header
}

func rankOf(header string) int {
	return slices.IndexFunc([]string{classMap, policyQoS, policyQueuing, policyNetworkQoS, systemQoS, onPort},
		func(prefix string) bool { return strings.HasPrefix(header, prefix) })
}

// join writes neighbouring matches as one line.
func join(lines []string) (out []string) {
	const match = "match dscp "
	for i := 0; i < len(lines); i++ {
		no := ""
		if strings.HasPrefix(lines[i], "no ") {
			no = "no "
		}
		var ns []int
		for ; i < len(lines) && strings.HasPrefix(lines[i], no+match); i++ {
			ns = append(ns, switches.Number(lines[i][len(no+match):]))
		}
		if len(ns) == 0 {
			out = append(out, lines[i])
			continue
		}
		out = append(out, no+match+traffic.Ranges(ns))
		i--
	}
	return out
}
