package comware

import (
	"slices"
	"strings"

	"weft/internal/traffic"
	"weft/switches"
)

const showPFC = "display priority-flow-control interface"

// pfcStates reads what PFC does on each port. Columns are found by their headings, as the
// list of priorities may be empty; at 80 columns rows wrap behind Recv, which is of no
// concern here (H3C PFC command reference, S9825 and S9855):
//
//	Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv
//	HGE1/0/1                         Enabled    Enabled   3           3     18
//
// Names of ports are short there: a port is the only one that has its number.
func pfcStates(text string, ports []string) map[string]switches.Running {
	out, list, end := map[string]switches.Running{}, 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		w := strings.Fields(line)
		if strings.HasPrefix(line, "Interface ") {
			list, end = strings.Index(line, "Dot1pList"), strings.Index(line, "Prio")
			if len(w) < 5 || !slices.Equal(w[1:5], []string{"AdminMode", "OperMode", "Dot1pList", "Prio"}) {
				list = 0
			}
			continue
		}
		if list <= 0 || len(line) <= list || len(w) < 4 || w[2] != "Enabled" && w[2] != "Disabled" {
			continue
		}
		port := numbered(ports, w[0])
		if port == "" {
			continue
		}
		state := switches.Running{On: w[2] == "Enabled", Priorities: []int{}}
		for _, q := range traffic.ParseRanges(strings.TrimSpace(line[list:min(end, len(line))]), traffic.ParseDSCP) {
			if q < traffic.Priorities {
				state.Priorities = append(state.Priorities, q)
			}
		}
		slices.Sort(state.Priorities)
		out[port] = state
	}
	return out
}

// numbered is the port of a short name: HGE1/0/1 is HundredGigE1/0/1; "": it is none of
// them, or more than one.
func numbered(ports []string, short string) (found string) {
	number := func(name string) string {
		i := strings.IndexByte(name, '/')
		if i < 0 {
			return name
		}
		for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
			i--
		}
		return name[i:]
	}
	for _, p := range ports {
		if number(p) == number(short) {
			if found != "" {
				return ""
			}
			found = p
		}
	}
	return found
}
