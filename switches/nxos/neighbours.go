package nxos

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/switches"
)

const showNeighbours = "show lldp neighbors detail"

// totalLine ends an answer, whether somebody is heard or nobody.
var totalLine = pattern.New(`(?m)^Total entries displayed: (\d+)\s*$`)

func totalNeighbours(text string) int {
	if m := totalLine.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	return -1
}

// parseNeighbours reads records that begin with the chassis:
//
//	Chassis id: 0002.c9aa.bb00
//	Port id: Ethernet1/1
//	Local Port id: Eth1/1
//	System Name: leaf-b
//
// A description of several lines stands between others; its lines may hold
// anything but these words at their beginning.
func parseNeighbours(text string) []switches.Neighbour {
	var list []switches.Neighbour
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		if value = strings.TrimSpace(value); !ok || value == "not advertised" {
			value = ""
		}
		if key == "Chassis id" {
			list = append(list, switches.Neighbour{Chassis: value})
			continue
		}
		if len(list) == 0 {
			continue
		}
		switch n := &list[len(list)-1]; key {
		case "Port id":
			n.PortID = value
		case "Local Port id":
			n.Port = value
			if number, short := strings.CutPrefix(value, "Eth"); short && !strings.HasPrefix(number, "ernet") {
				n.Port = "Ethernet" + number
			}
		case "System Name":
			n.System = value
		case "Port Description":
			n.Describes = value
		case "Management Address":
			n.Management = value
		case "Enabled Capabilities": // "B, R"
			n.Bridge = slices.Contains(strings.Split(value, ", "), "B")
		}
	}
	return list
}
