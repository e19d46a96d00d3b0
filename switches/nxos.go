package switches

import (
	"slices"
	"strings"
	"time"
)

// NXOS speaks to Cisco Nexus 9000 switches (NX-OS 10.x, the model of eight
// queues).
func NXOS() *OS {
	o := &OS{
		Name: "nxos", Dialect: nxosDialect(), Show: []string{nxosVersion, nxosRunning},
		Files: &Files{
			List: "dir bootflash:", Make: "mkdir bootflash:%s", Remove: "rmdir bootflash:%s",
			Copy: "copy running-config bootflash:%s", Copied: `(?i)copy complete`,
			Print: "show file bootflash:%s", Delete: "delete bootflash:%s no-prompt", Clock: "show clock",
		},
		lines: nxosLines(), Guard: dualStage{}, Remarks: nxosRemarks,
		Counters: []CounterLine{
			{"show queuing interface %s", []string{TxPackets, TxBytes, Drops, PFCRx, PFCTx, IngressDrops}, nxosQueueCounts},
			{"show queuing pfc-queue interface %s detail", []string{WatchdogEvents}, nxosWatchdogCounts},
		},
		Neighbours: &Neighbours{nxosNeighbours, nxosParseNeighbours},
		Operates:   &Operation{nxosPFCState, nxosIdle},
		Without: map[Feature]string{
			WatchdogTimes: "the switch counts in multiples of an interval of its own that no manual found ties to a time, and its own settings hold",
		},
	}
	o.Parse = func(out map[string]string) (Reading, error) { return nxosParse(o, out) }
	return o
}

// What is asked of an NX-OS switch.
const (
	nxosVersion = "show version"
	nxosRunning = "show running-config"
)

func nxosDialect() Dialect {
	return Dialect{
		Platform: []byte(nxosPlatform), Hello: "terminal dont-ask", Prompt: nxosPrompt,
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
		Running: nxosRunning,
		Save:    "copy running-config startup-config",
		Saved:   `(?i)complete|100%`,
		Method:  "two-stage commit: the switch verifies, applies, and reverts by itself unless confirmed (seen on a virtual Nexus, not with QoS lines)",
		// The help text of the switch: <30-65535> seconds.
		Confirm: 30 * time.Second,
		Reads:   "show",
		Members: "what classifies on a member has no effect",
	}
}

// nxosPrompt is where commands are run.
const nxosPrompt = `(?im)^[\w.\-]{1,63}(\(maint-mode\))?#\s?$`

// nxosPlatform is ours because the embedded definition of scrapligo cannot
// leave system qos: its prompt, (config-sys-qos), is excluded there.
const nxosPlatform = `---
platform-type: 'weft_nxos'
default:
  driver-type: 'network'
  privilege-levels:
    exec:
      name: 'exec'
      pattern: '` + nxosPrompt + `'
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

// Headers of the objects that weft creates.
const (
	nxosClassMap   = "class-map type qos match-any "
	nxosClassify   = "policy-map type qos "
	nxosQueuing    = "policy-map type queuing "
	nxosNetworkQoS = "policy-map type network-qos "
	nxosSystem     = "system qos"
	nxosInterface  = "interface "

	nxosAttachIn  = "service-policy type qos input "
	nxosAttachOut = "service-policy type queuing output "
	nxosAttachNQ  = "service-policy type network-qos "
	nxosAttachHR  = "service-policy type queuing input "
	nxosOtherwise = "class class-default" // all other traffic
)

// nxosGrammar is how NX-OS lines replace and undo each other.
func nxosGrammar() grammar {
	return grammar{
		key:    nxosKey,
		undo:   nxosUndo,
		remove: nxosRemove,
		rank:   nxosRank,
		early: func(have, want string) bool {
			// Shares of a policy may not exceed 100 percent at any moment.
			h, isShare := strings.CutPrefix(have, nxosShare)
			w, same := strings.CutPrefix(want, nxosShare)
			if isShare && same {
				return atoi(w) < atoi(h)
			}
			// Nor may two queues have one level.
			h, isLevel := strings.CutPrefix(have, nxosLevel)
			w, same = strings.CutPrefix(want, nxosLevel)
			return isLevel && same && atoi(w) > atoi(h)
		},
		join:   nxosJoin,
		indent: "  ",
	}
}

const (
	nxosShare = "bandwidth remaining percent "
	nxosLevel = "priority level "
)

func nxosKey(line string) string {
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

func nxosUndo(line string) string {
	if strings.HasPrefix(line, "mtu ") {
		return "no mtu"
	}
	return "no " + line
}

func nxosRemove(header string) string {
	if header == nxosSystem || strings.HasPrefix(header, nxosInterface) {
		return ""
	}
	return "no " + header
}

func nxosRank(header string) int {
	return slices.IndexFunc([]string{nxosClassMap, nxosClassify, nxosQueuing, nxosNetworkQoS, nxosSystem, nxosInterface},
		func(prefix string) bool { return strings.HasPrefix(header, prefix) })
}

// nxosJoin writes neighbouring matches as one line.
func nxosJoin(lines []string) (out []string) {
	const match = "match dscp "
	for i := 0; i < len(lines); i++ {
		no := ""
		if strings.HasPrefix(lines[i], "no ") {
			no = "no "
		}
		var ns []int
		for ; i < len(lines) && strings.HasPrefix(lines[i], no+match); i++ {
			ns = append(ns, atoi(lines[i][len(no+match):]))
		}
		if len(ns) == 0 {
			out = append(out, lines[i])
			continue
		}
		out = append(out, no+match+ranges(ns))
		i--
	}
	return out
}
