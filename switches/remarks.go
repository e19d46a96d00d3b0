package switches

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A remark is a line of a port that weft leaves as it is and that somebody who
// wants lossless classes there must know of.
type remark struct {
	key  string // what the line is about, apart from its values
	text string // what is said of it
}

// remarkable lists the lines that are worth a remark, by what they begin with.
func remarkable(os string) map[string]remark {
	pause := remark{"pause of the whole link", "is on beside PFC; take it off by hand: "}
	told := remark{"DCBX", "tells the NIC what the switch does; firmware that is willing takes that, and not what weft sets on the host: "}
	if os == "comware" {
		pause.text = "is on beside PFC, which some models refuse and others let PFC override; take it off by hand: "
		return map[string]remark{"flow-control": pause, "lldp tlv-enable dot1-tlv dcbx": told}
	}
	return map[string]remark{"flowcontrol receive on": pause, "flowcontrol send on": pause, nxosPFC + " send-tlv": told}
}

// note remembers the lines of a port that are worth a remark.
func (r *reading) note(port, line string) {
	for begins, m := range r.worth {
		if line == begins || strings.HasPrefix(line, begins+" ") {
			text := m.key + " (" + line + ") " + m.text
			if r.notes == nil {
				r.notes = map[string][]string{}
			}
			r.notes[text] = append(r.notes[text], port)
		}
	}
}

// remarks are what a reader of the plan must know of the ports on which want has
// lossless classes, and of these classes.
func (c Config) remarks(want Config) (out []string) {
	for _, text := range slices.Sorted(maps.Keys(c.read.notes)) {
		var ports []string
		for _, w := range want.Ports {
			if w.PFC && slices.Contains(c.read.notes[text], w.Name) {
				ports = append(ports, w.Name)
			}
		}
		if len(ports) > 0 {
			out = append(out, text+someOf(ports))
		}
	}
	for _, k := range want.Classes {
		if c.read.maps != nil && k.PFC && slices.Contains([]int{0, 6, 7}, k.Priority) {
			out = append(out, fmt.Sprintf("class %s: H3C advises against PFC for priorities 0, 6 and 7, which models and stacks refuse in part", k.Name))
		}
	}
	return out
}

// someOf lists the first of names, and how many more there are.
func someOf(names []string) string {
	if len(names) > 4 {
		names = append(slices.Clone(names[:4]), fmt.Sprintf("and %d more", len(names)-4))
	}
	return strings.Join(names, ", ")
}
