// Package comware speaks to H3C and HPE switches with Comware 7.
package comware

import (
	"slices"
	"strings"
	"time"

	"weft/internal/tally"
	"weft/switches"
)

// OS is that of H3C and HPE switches with Comware 7 (S6800, S68xx, S98xx).
func OS() *switches.OS {
	o := &switches.OS{
		Name: "comware", Dialect: dialect(),
		Show: []string{showVersion, showManu, showRunning, showDSCP, showDot1p, showFrames},
		Files: &switches.Files{
			List: "dir", Make: "mkdir %s", Remove: "rmdir %s",
			Copy: "save %s", Copied: `(?i)saved .*successfully`,
			Print: "more %s", Delete: "delete /unreserved %s", Clock: "display clock",
		},
		Lines: lineRules(), Guard: commitDelay{}, Remarks: remarks,
		Counters: []switches.CounterLine{
			{Format: "display qos queue-statistics interface %s outbound", Names: []string{tally.TxPackets, tally.TxBytes, tally.Drops}, Parse: queueCounts},
			{Format: "display priority-flow-control interface %s", Names: []string{tally.PFCRx, tally.PFCTx}, Parse: pfcCounts},
			{Format: "display current-configuration interface %s", Names: []string{tally.WatchdogEvents}, Parse: deadlockCounts},
		},
		Neighbours: &switches.Neighbours{Line: showNeighbours, Parse: parseNeighbours},
		Table:      &switches.Table{Line: showStations, Head: stationsHead, Parse: parseStations},
		Operates:   &switches.Operation{Line: showPFC, States: pfcStates},
		Conditions: conditions(),
		Role: &switches.Role{Head: "role name %s", Rule: "rule %d permit command %s", Tail: []string{"  quit", "local-user weft class manage"}, Login: "  authorization-attribute user-role %s",
			Change: "network-admin", Source: "H3C Comware 7 Fundamentals Command Reference, RBAC commands"},
		Advice:   advice,
		Harmless: harmless(),
		Without: map[switches.Feature]string{
			switches.Watchdogs: "deadlock detection there starts with an interval whose unit no manual tells",
			switches.Headrooms: "how its thresholds add up, and on many models their unit, is not documented",
		},
	}
	o.Parse = func(out map[string]string) (switches.Reading, error) { return parse(o, out) }
	o.Meaning = func(out map[string]string) switches.Meaning { return meaning(o, out) }
	return o
}

// advice warns where nothing on a port will carry weft's name.
func advice(classes []switches.Class) []string {
	if len(classes) == 0 || slices.ContainsFunc(classes, func(k switches.Class) bool { return k.ECN != nil }) {
		return nil
	}
	return []string{"no class has ecn, whose table is all that carries weft's name on a Comware port: what is on its ports is nobody's, and later changes there are refused"}
}

// What is asked of a Comware switch.
const (
	showVersion = "display version"
	showManu    = "display device manuinfo"
	showRunning = "display current-configuration"
	showDSCP    = "display qos map-table dscp-dot1p"
	showDot1p   = "display qos map-table dot1p-lp"
	showFrames  = "display interface"
)

func dialect() switches.Dialect {
	return switches.Dialect{
		Platform: []byte(platform), Hello: "screen-length disable", Prompt: prompt,
		Version: showVersion, Identity: `Comware (?:Platform )?Software`,
		Refusals: []string{
			`(?m)^ ?% ?\w`,
			`(?i)found at '\^' position`,
			`(?im)^\s*error:`,
			`(?i)permission denied`,
			`(?i)cannot be directly modified`,
			`(?i)not supported on`,
			`(?i)not enough (free )?space|no space`,
		},
		Absent: `(?i)found at '\^' position`,
		Harmless: []string{
			`^System View: return to User View with Ctrl\+Z\.$`,
		},
		Running: showRunning,
		Save:    "save force",
		Saved:   `(?i)saved .*successfully`,
		Method:  "configuration commit delay: the switch reverts by itself unless committed, together with all other changes made meanwhile (documented, never seen on a device)",
		// The unit is asked from the switch; no manual that names it was found.
		Confirm: time.Minute,
		Members: "H3C documents that some settings of a member take effect only once it has left its group, and not which",
		Reads:   "display",
	}
}

// named are what a prompt has of a name: sysname takes 64 characters, and is not choosy.
const named = `[\w.\-@/: #()+&\p{L}\p{N}]`

// prompt is where commands are run.
const prompt = `(?im)^(RBM_[PS])?<` + named + `{1,64}>\s?$`

// platform is ours because the embedded definition of scrapligo takes
// any line that ends with a bracket for a prompt.
const platform = `---
platform-type: 'weft_comware'
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
      pattern: '(?im)^(RBM_[PS])?\[[~*]?` + named + `{1,128}\]\s?$'
      previous-priv: 'exec'
      deescalate: 'return'
      escalate: 'system-view'
      escalate-auth: false
      escalate-prompt:
  default-desired-privilege-level: 'exec'
  network-on-open:
    - operation: 'acquire-priv'
    - operation: 'driver.send-command'
      command: 'screen-length disable'
`

// Headers and lines that weft writes.
const (
	mapDSCP   = "qos map-table dscp-dot1p"
	mapDot1p  = "qos map-table dot1p-lp"
	wredTable = "qos wred queue table "
	iface     = "interface "

	lldp    = "lldp global enable"
	apply   = "qos wred apply "
	trust   = "qos trust dscp"
	tags    = "qos trust dot1p"
	wfq     = "qos wfq byte-count"
	pfc     = "priority-flow-control enable"
	pfcAuto = "priority-flow-control auto"
	noDrop  = "priority-flow-control no-drop dot1p "
	jumbo   = "jumboframe enable "
	short   = "undo jumboframe enable" // no frame longer than usual: a setting, and no default
	member  = "port link-aggregation group "

	// What a queue has unless a line says otherwise; it is not printed.
	defaultShare = " group 1 byte-count 1"
)

// queueName is the name of a queue in scheduling lines.
func queueName(q int) string { return queueNames()[q] }

func queueNames() []string {
	return []string{"be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7"}
}

func grammar() switches.Grammar {
	return switches.Grammar{
		Key:  keyOf,
		Undo: undoOf,
		Remove: func(header string) string {
			if strings.HasPrefix(header, wredTable) {
				return "undo " + header
			}
			return "" // map tables and interfaces always exist
		},
		Rank: func(header string) int {
			return slices.IndexFunc([]string{mapDSCP, mapDot1p, wredTable, iface},
				func(prefix string) bool { return strings.HasPrefix(header, prefix) })
		},
		Early:  func(string, string) bool { return false },
		Join:   join,
		Indent: " ",
		Leave:  "quit",
	}
}

// keyOf is a line without its values.
func keyOf(line string) string {
	w := strings.Fields(line)
	has := func(prefix string) bool { return strings.HasPrefix(line, prefix) }
	switch {
	case has("import ") && len(w) > 1:
		return "import " + w[1]
	case has("jumboframe enable"), line == short:
		return "jumboframe enable"
	case has(noDrop):
		return strings.TrimSpace(noDrop)
	case line == pfc, line == pfcAuto:
		return "priority-flow-control"
	case has("qos trust "):
		return "qos trust"
	case has(apply):
		return strings.TrimSpace(apply)
	case has("qos wfq ") && len(w) == 3:
		return "qos wfq"
	case has("qos wfq ") && len(w) > 3:
		return "qos wfq " + w[2]
	case has("queue ") && len(w) > 3 && w[2] == "drop-level":
		return strings.Join(w[:4], " ")
	case has("queue ") && len(w) > 2:
		return strings.Join(w[:3], " ")
	}
	return line
}

func undoOf(line string) string {
	if strings.HasPrefix(line, jumbo) {
		return "undo " + line // without the length it would forbid all long frames
	}
	if line == short {
		return strings.TrimSpace(jumbo)
	}
	if key := keyOf(line); strings.HasPrefix(key, "queue ") && strings.Contains(key, " drop-level ") {
		return "undo " + strings.Join(strings.Fields(key)[:2], " ")
	}
	return "undo " + keyOf(line)
}

// join writes neighbouring imports with the same export as one line of
// at most eight values, and those that are reverted likewise.
func join(lines []string) (out []string) {
	var from []string
	before, after := "", ""
	flush := func() {
		if len(from) > 0 {
			out = append(out, before+strings.Join(from, " ")+after)
		}
		from = nil
	}
	for _, line := range lines {
		w := strings.Fields(line)
		b, value, a := "", "", ""
		switch {
		case len(w) == 4 && w[0] == "import":
			b, value, a = "import ", w[1], " export "+w[3]
		case len(w) == 3 && w[1] == "import":
			b, value = "undo import ", w[2]
		}
		if value == "" || b != before || a != after || len(from) == 8 {
			flush()
		}
		if value == "" {
			out = append(out, line)
			continue
		}
		before, after, from = b, a, append(from, value)
	}
	flush()
	return out
}
