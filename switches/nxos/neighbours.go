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
	all := totalLine.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return -1
	}
	n, err := strconv.Atoi(all[len(all)-1][1]) // earlier ones stand in descriptions
	if err != nil {
		return -1
	}
	return n
}

// parseNeighbours reads records that begin with the chassis:
//
//	Chassis id: 0002.c9aa.bb00
//	Port id: Ethernet1/1
//	Local Port id: Eth1/1
//	Port Description: uplink
//	System Name: leaf-b
//	System Description: Cisco Nexus Operating System
//	Time remaining: 91 seconds
//
// Descriptions may be of several lines, which may hold anything: one ends only at a field that
// follows it. A record that says a field twice, or is not whole in an answer that has more of
// them than it says, may be a part of a description: it is of no known port.
func parseNeighbours(text string) []switches.Neighbour {
	var list []switches.Neighbour
	var said []map[string]bool // the fields of each
	twice := map[int]bool{}    // the records that say a field twice
	order := fields()
	in := -1 // the place of the description that is being read among the fields
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		at := slices.Index(order, key)
		if !ok || at <= in || len(list) == 0 && at != 0 {
			continue // of a description, or of a head
		}
		if value = strings.TrimSpace(value); value == "not advertised" {
			value = ""
		}
		if at == 0 {
			list, said = append(list, switches.Neighbour{}), append(said, map[string]bool{})
		}
		in = -1
		if strings.HasSuffix(key, "Description") {
			in = at
		}
		n := &list[len(list)-1]
		if said[len(said)-1][key] && !strings.HasPrefix(key, "Management") {
			twice[len(list)-1] = true
		}
		said[len(said)-1][key] = true
		switch key {
		case "Chassis id":
			n.Chassis = value
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
	total := totalNeighbours(text)
	for i := range list {
		short := slices.ContainsFunc(order[:wholeRecord], func(f string) bool { return !said[i][f] })
		if twice[i] || short && total >= 0 && total < len(list) {
			list[i].Port = ""
		}
	}
	return list
}

// fields are those of a record, in their order, of which each device prints the first
// wholeRecord.
func fields() []string {
	return []string{"Chassis id", "Port id", "Local Port id", "Port Description", "System Name", "System Description",
		"Time remaining", "System Capabilities", "Enabled Capabilities", "Management Address", "Management Address IPV6", "Vlan ID"}
}

const wholeRecord = 9
