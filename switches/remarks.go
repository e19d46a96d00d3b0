package switches

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// note remembers a line that is worth a remark, with the port it stands on; ""
// is the system.
func (r *Text) note(m Remark, port, line string) {
	text := m.Key + " (" + Redact(line) + ") " + m.Text
	if r.notes == nil {
		r.notes = map[string][]string{}
	}
	if !slices.Contains(r.notes[text], port) {
		r.notes[text] = append(r.notes[text], port)
	}
}

// remarks are what a reader of the plan must know of the ports on which want has
// lossless classes, and of these classes.
func (c Reading) remarks(want Intent) (out []string) {
	for _, text := range slices.Sorted(maps.Keys(c.read.notes)) {
		var ports []string
		for _, w := range want.Ports {
			if w.PFC && slices.Contains(c.read.notes[text], w.Name) {
				ports = append(ports, w.Name)
			}
		}
		switch {
		case len(ports) > 0:
			out = append(out, text+SomeOf(ports))
		case slices.Contains(c.read.notes[text], "") && len(Lossless(want.Classes)) > 0:
			out = append(out, text)
		}
	}
	if err := c.read.OS.Lacks(Remarking); err != nil {
		return append(out, err.Error())
	}
	return append(out, c.read.OS.Remarks(c, want)...)
}

// SomeOf lists the first of names, and how many more there are.
func SomeOf(names []string) string {
	if len(names) > 4 {
		names = append(slices.Clone(names[:4]), fmt.Sprintf("and %d more", len(names)-4))
	}
	return strings.Join(names, ", ")
}
