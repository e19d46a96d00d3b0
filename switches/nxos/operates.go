package nxos

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/traffic"
	"weft/switches"
)

const showPFC = "show interface priority-flow-control"

// pfcStates reads, by port, a table whose bitmap of priorities is
// hexadecimal and missing where nothing runs:
//
//	Port               Mode Oper(VL bmap)  RxPPP      TxPPP
//	Ethernet1/1/1      Auto On  (8)       0          0
//	Ethernet1/27       Auto Off           0          0
func pfcStates(text string, _ []string) map[string]switches.Running {
	out := map[string]switches.Running{}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 5 || !slices.Contains([]string{"On", "Off", "Auto"}, w[1]) || w[2] != "On" && w[2] != "Off" {
			continue
		}
		state := switches.Running{On: w[2] == "On"}
		bitmap, bracketed := strings.CutPrefix(w[3], "(")
		if n, err := strconv.ParseUint(strings.TrimSuffix(bitmap, ")"), 16, 8); bracketed && err == nil {
			state.Priorities = []int{}
			for q := range traffic.Priorities {
				if n&(1<<q) != 0 {
					state.Priorities = append(state.Priorities, q)
				}
			}
		}
		out[w[0]] = state
	}
	return out
}
