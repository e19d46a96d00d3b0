package switches

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// note remembers a line that is worth a remark, with the port it stands on; ""
// is the system.
func (r *reading) note(m remark, port, line string) {
	text := m.key + " (" + line + ") " + m.text
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
			out = append(out, text+someOf(ports))
		case slices.Contains(c.read.notes[text], "") && len(lossless(want.Classes)) > 0:
			out = append(out, text)
		}
	}
	if err := c.read.os.Lacks(Remarking); err != nil {
		return append(out, err.Error())
	}
	return append(out, c.read.os.Remarks(c, want)...)
}

// someOf lists the first of names, and how many more there are.
func someOf(names []string) string {
	if len(names) > 4 {
		names = append(slices.Clone(names[:4]), fmt.Sprintf("and %d more", len(names)-4))
	}
	return strings.Join(names, ", ")
}
