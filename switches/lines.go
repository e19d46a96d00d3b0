package switches

import (
	"maps"
	"slices"
	"strings"
)

// An UnmanagedLine is configuration that weft does not manage and that may concern lossless
// classes, with the ports it is on.
type UnmanagedLine struct {
	Text   string   `json:"text"`            // as the switch prints it, without secrets, after the headers between port and line
	Ports  []string `json:"ports,omitempty"` // none: it concerns the system
	Says   string   `json:"says,omitempty"`  // what the line does; "": weft does not understand it
	Breaks bool     `json:"breaks,omitempty"`
	// Subject says that the line is about QoS, PFC, ECN, buffers, watchdog, MTU or LLDP.
	// Other lines are listed because weft knows all lines of a port that it manages.
	Subject bool `json:"subject,omitempty"`
}

// UnmanagedLines lists the lines that weft leaves as they are: those whose effect it knows, and
// those that it does not understand. It needs no intent: see notUnderstood for one.
func (c Reading) UnmanagedLines() (out []UnmanagedLine) {
	if c.read == nil {
		return nil
	}
	for _, text := range slices.Sorted(maps.Keys(c.read.notes)) {
		n := c.read.notes[text]
		says := strings.TrimSuffix(n.remark.Key+" "+n.remark.Text, ": ")
		out = append(out, UnmanagedLine{Text: Redact(n.line), Ports: onlyPorts(n.ports), Says: says, Breaks: n.remark.Breaks, Subject: true})
	}
	at := map[string]int{}
	for _, s := range c.read.strangers {
		path := s.path
		if s.port != "" {
			path = path[1:]
		}
		line := UnmanagedLine{Text: Redact(strings.Join(append(slices.Clone(path), s.line), " / ")), Subject: s.about}
		key := line.Text
		if s.port == "" {
			key += "\n" // the same text on a port is another line
		}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, line)
		}
		if s.port != "" && !slices.Contains(out[i].Ports, s.port) {
			out[i].Ports = append(out[i].Ports, s.port)
		}
	}
	return out
}

func onlyPorts(names []string) (out []string) {
	for _, name := range names {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// On are the ports of the line among some; all of them where it concerns the system.
func (l UnmanagedLine) On(ports []string) (out []string) {
	for _, p := range ports {
		if len(l.Ports) == 0 || slices.Contains(l.Ports, p) {
			out = append(out, p)
		}
	}
	return out
}
