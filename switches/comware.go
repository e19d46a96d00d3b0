package switches

import (
	"slices"
	"strings"
	"time"
)

// Comware speaks to H3C and HPE switches with Comware 7 (S6800, S68xx, S98xx).
func Comware() *OS {
	o := &OS{
		Name: "comware", Dialect: comwareDialect(),
		Show: []string{comwareVersion, comwareManu, comwareRunning, comwareDSCP, comwareDot1p, comwareFrames},
		Files: &Files{
			List: "dir", Make: "mkdir %s", Remove: "rmdir %s",
			Copy: "save %s", Copied: `(?i)saved .*successfully`,
			Print: "more %s", Delete: "delete /unreserved %s", Clock: "display clock",
		},
		lines: comwareLines(), Guard: commitDelay{}, Remarks: comwareRemarks,
		Counters: []CounterLine{
			{"display qos queue-statistics interface %s outbound", []string{TxPackets, TxBytes, Drops}, comwareQueueCounts},
			{"display priority-flow-control interface %s", []string{PFCRx, PFCTx}, comwarePFCCounts},
			{"display current-configuration interface %s", []string{WatchdogEvents}, comwareDeadlockCounts},
		},
		Neighbours: &Neighbours{comwareNeighbours, comwareParseNeighbours},
		Advice:     comwareAdvice,
		Without: map[Feature]string{
			Watchdogs: "deadlock detection there starts with an interval whose unit no manual tells",
			Headrooms: "how its thresholds add up, and on many models their unit, is not documented",
			Operating: "the layout of what an S6800 shows is not known",
		},
	}
	o.Parse = func(out map[string]string) (Reading, error) { return comwareParse(o, out) }
	return o
}

// comwareAdvice warns where nothing on a port will carry weft's name.
func comwareAdvice(classes []Class) []string {
	if len(classes) == 0 || slices.ContainsFunc(classes, func(k Class) bool { return k.ECN != nil }) {
		return nil
	}
	return []string{"no class has ecn, whose table is all that carries weft's name on a Comware port: what is on its ports is nobody's, and later changes there are refused"}
}

// What is asked of a Comware switch.
const (
	comwareVersion = "display version"
	comwareManu    = "display device manuinfo"
	comwareRunning = "display current-configuration"
	comwareDSCP    = "display qos map-table dscp-dot1p"
	comwareDot1p   = "display qos map-table dot1p-lp"
	comwareFrames  = "display interface"
)

func comwareDialect() Dialect {
	return Dialect{
		Platform: []byte(comwarePlatform), Hello: "screen-length disable", Prompt: comwarePrompt,
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
		Running: comwareRunning,
		Save:    "save force",
		Saved:   `(?i)saved .*successfully`,
		Method:  "configuration commit delay: the switch reverts by itself unless committed, together with all other changes made meanwhile (documented, never seen on a device)",
		// The unit is asked from the switch; no manual that names it was found.
		Confirm: time.Minute,
		Members: "H3C documents that some settings of a member take effect only once it has left its group, and not which",
		Reads:   "display",
	}
}

// comwarePrompt is where commands are run.
const comwarePrompt = `(?im)^(RBM_[PS])?<[\w.\-@/: ]{1,63}>\s?$`

// comwarePlatform is ours because the embedded definition of scrapligo takes
// any line that ends with a bracket for a prompt.
const comwarePlatform = `---
platform-type: 'weft_comware'
default:
  driver-type: 'network'
  privilege-levels:
    exec:
      name: 'exec'
      pattern: '` + comwarePrompt + `'
      previous-priv:
      deescalate:
      escalate:
      escalate-auth: false
      escalate-prompt:
    configuration:
      name: 'configuration'
      pattern: '(?im)^(RBM_[PS])?\[[~*]?[\w.\-@/: ]{1,127}\]\s?$'
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
	comwareMapDSCP  = "qos map-table dscp-dot1p"
	comwareMapDot1p = "qos map-table dot1p-lp"
	comwareTable    = "qos wred queue table "
	comwareIface    = "interface "

	comwareLLDP   = "lldp global enable"
	comwareApply  = "qos wred apply "
	comwareTrust  = "qos trust dscp"
	comwareWFQ    = "qos wfq byte-count"
	comwarePFC    = "priority-flow-control enable"
	comwareNoDrop = "priority-flow-control no-drop dot1p "
	comwareJumbo  = "jumboframe enable "
	comwareShort  = "undo jumboframe enable" // no frame longer than usual: a setting, and no default
	comwareMember = "port link-aggregation group "

	// What a queue has unless a line says otherwise; it is not printed.
	comwareDefaultShare = " group 1 byte-count 1"
)

// comwareQueue is the name of a queue in scheduling lines.
func comwareQueue(q int) string { return comwareQueues()[q] }

func comwareQueues() []string {
	return []string{"be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7"}
}

func comwareGrammar() grammar {
	return grammar{
		key:  comwareKey,
		undo: comwareUndo,
		remove: func(header string) string {
			if strings.HasPrefix(header, comwareTable) {
				return "undo " + header
			}
			return "" // map tables and interfaces always exist
		},
		rank: func(header string) int {
			return slices.IndexFunc([]string{comwareMapDSCP, comwareMapDot1p, comwareTable, comwareIface},
				func(prefix string) bool { return strings.HasPrefix(header, prefix) })
		},
		early:  func(string, string) bool { return false },
		join:   comwareJoin,
		indent: " ",
		leave:  "quit",
	}
}

// comwareKey is a line without its values.
func comwareKey(line string) string {
	w := strings.Fields(line)
	has := func(prefix string) bool { return strings.HasPrefix(line, prefix) }
	switch {
	case has("import ") && len(w) > 1:
		return "import " + w[1]
	case has("jumboframe enable"), line == comwareShort:
		return "jumboframe enable"
	case has(comwareNoDrop):
		return strings.TrimSpace(comwareNoDrop)
	case line == comwarePFC, line == "priority-flow-control auto":
		return "priority-flow-control"
	case has("qos trust "):
		return "qos trust"
	case has(comwareApply):
		return strings.TrimSpace(comwareApply)
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

func comwareUndo(line string) string {
	if strings.HasPrefix(line, comwareJumbo) {
		return "undo " + line // without the length it would forbid all long frames
	}
	if line == comwareShort {
		return strings.TrimSpace(comwareJumbo)
	}
	if key := comwareKey(line); strings.HasPrefix(key, "queue ") && strings.Contains(key, " drop-level ") {
		return "undo " + strings.Join(strings.Fields(key)[:2], " ")
	}
	return "undo " + comwareKey(line)
}

// comwareJoin writes neighbouring imports with the same export as one line of
// at most eight values, and those that are taken back likewise.
func comwareJoin(lines []string) (out []string) {
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
