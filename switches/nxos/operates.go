package nxos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/traffic"
	"weft/switches"
)

const showPFC = "show interface priority-flow-control"

// A pfcState is what a port does with PFC: for which priorities, if for any.
type pfcState struct {
	runs       bool
	priorities []int
	known      bool // the priorities were told
}

// pfcStates reads, by port, a table whose bitmap of priorities is
// hexadecimal and missing where nothing runs:
//
//	Port               Mode Oper(VL bmap)  RxPPP      TxPPP
//	Ethernet1/1/1      Auto On  (8)       0          0
//	Ethernet1/27       Auto Off           0          0
func pfcStates(text string) map[string]pfcState {
	out := map[string]pfcState{}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 5 || !slices.Contains([]string{"On", "Off", "Auto"}, w[1]) || w[2] != "On" && w[2] != "Off" {
			continue
		}
		state := pfcState{runs: w[2] == "On"}
		bitmap, bracketed := strings.CutPrefix(w[3], "(")
		if n, err := strconv.ParseUint(strings.TrimSuffix(bitmap, ")"), 16, 8); bracketed && err == nil {
			state.known = true
			for q := range traffic.Priorities {
				if n&(1<<q) != 0 {
					state.priorities = append(state.priorities, q)
				}
			}
		}
		out[w[0]] = state
	}
	return out
}

// idle folds what is not as configured by what it is.
func idle(shown string, ports []string, lossless []int) (out []string) {
	states := pfcStates(shown)
	by := map[string][]string{}
	for _, p := range ports {
		state, ok := states[p]
		text := ""
		switch {
		case !ok:
			text = "PFC is on and " + showPFC + " does not list the port, so whether it runs is not known: "
		case !state.runs:
			text = "PFC is on and does not run (" + showPFC + "); on a port without a link that may be all there is to it: "
		case state.known && !slices.Equal(state.priorities, lossless):
			text = fmt.Sprintf("PFC runs for priorities %s and not for %s (%s): ", someOrNone(state.priorities), traffic.Ranges(lossless), showPFC)
		}
		if text != "" {
			by[text] = append(by[text], p)
		}
	}
	for text, names := range by {
		out = append(out, text+switches.SomeOf(names))
	}
	slices.Sort(out)
	return out
}

func someOrNone(ns []int) string {
	if len(ns) == 0 {
		return "none"
	}
	return traffic.Ranges(ns)
}
