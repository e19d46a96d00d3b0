package switches

import (
	"maps"
	"slices"

	"weft/internal/text"
)

// note remembers a line that is worth a remark, with the port it stands on; ""
// is the system.
func (r *Text) note(m Remark, port, line string) {
	note := m.Key + " (" + Redact(line) + ") " + m.Text
	if r.notes == nil {
		r.notes = map[string]*noted{}
	}
	n := r.notes[note]
	if n == nil {
		n = &noted{remark: m, line: line}
		r.notes[note] = n
	}
	if !slices.Contains(n.ports, port) {
		n.ports = append(n.ports, port)
	}
}

// A noted line is one that a Remark is about, with the ports that carry it; "" is the system.
type noted struct {
	remark Remark
	line   string
	ports  []string
}

// remarks are what a reader of the plan must know of the ports on which want has
// lossless classes, and of these classes.
func (c Reading) remarks(want Intent) (out []string) {
	for _, note := range slices.Sorted(maps.Keys(c.read.notes)) {
		var ports []string
		for _, w := range want.Ports {
			if w.PFC && slices.Contains(c.read.notes[note].ports, w.Name) {
				ports = append(ports, w.Name)
			}
		}
		switch {
		case len(ports) > 0:
			out = append(out, note+text.List(ports, MostNamed))
		case slices.Contains(c.read.notes[note].ports, "") && len(Lossless(want.Classes)) > 0:
			out = append(out, note)
		}
	}
	if err := c.read.OS.Lacks(Remarking); err != nil {
		return append(out, err.Error())
	}
	return append(out, c.read.OS.Remarks(c, want)...)
}

// MostNamed is the number of ports that one message names.
const MostNamed = 4
