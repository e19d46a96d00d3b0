package comware

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/traffic"
	"weft/switches"
)

const showNeighbours = "display lldp neighbor-information verbose"

// portLine begins what is heard on one port: "LLDP neighbor-information
// of port 1[HundredGigE1/0/1]:".
var portLine = pattern.New(`^LLDP neighbor-information of port \d+ ?\[([^\]]+)\]:?$`)

// parseNeighbours reads, for each port, records that begin with their
// index. What is heard with CDP stands between, in the same words. The rest of a description
// of several lines is indented further; a record that says a field twice, as where one is not,
// is of no known port.
func parseNeighbours(text string) []switches.Neighbour {
	var list []switches.Neighbour
	port, agent, below := "", "", ""
	said, seen := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if n := len(list); n > 0 && below == "dcbx pfc info" && list[n-1].PFC == "" {
			list[n-1].PFC = saysPFC(line)
		}
		if strings.HasPrefix(line, "LLDP agent ") {
			agent = line
		}
		if !strings.HasPrefix(line, " ") && strings.Contains(line, "neighbor-information of port") {
			port, agent = "", ""
			if m := portLine.FindStringSubmatch(line); m != nil {
				port = m[1]
			}
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || !strings.HasPrefix(line, " ") || strings.HasPrefix(line, "  ") {
			continue // of a list, or the rest of a description
		}
		value = strings.TrimSpace(value)
		key = strings.ToLower(strings.TrimSpace(key))
		switch below = key; {
		case strings.HasSuffix(key, " neighbor index"):
			record := port + "\n" + agent + "\n" + key + value
			list, said = append(list, switches.Neighbour{Port: port}), map[string]bool{}
			if seen[record] {
				list[len(list)-1].Port = ""
			}
			seen[record] = true
		case len(list) == 0:
		case key == "chassis id":
			list[len(list)-1].Chassis = value
		case key == "port id":
			list[len(list)-1].PortID = value
		case key == "system name":
			list[len(list)-1].System = value
		case key == "port description":
			list[len(list)-1].Describes = value
		case key == "management address" && list[len(list)-1].Management == "":
			list[len(list)-1].Management = value
		case key == "system capabilities enabled": // "Bridge, Router"
			list[len(list)-1].Bridge = slices.Contains(strings.Split(value, ", "), "Bridge")
		}
		if len(list) > 0 && said[key] && slices.Contains([]string{"chassis id", "port id", "port description", "system name", "system description"}, key) {
			list[len(list)-1].Port = ""
		}
		said[key] = true
	}
	return list
}

// saysPFC reads "  P0-0     P1-1     P2-1     P3-1     P4-0     …": a
// priority, and whether its sender calls it lossless.
func saysPFC(line string) string {
	w := strings.Fields(line)
	if len(w) != traffic.Priorities {
		return ""
	}
	var on []string
	for i, s := range w {
		switch s {
		case fmt.Sprintf("P%d-1", i):
			on = append(on, strconv.Itoa(i))
		case fmt.Sprintf("P%d-0", i):
		default:
			return ""
		}
	}
	if len(on) == 0 {
		return "none"
	}
	return strings.Join(on, ",")
}
