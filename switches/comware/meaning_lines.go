package comware

import (
	"maps"
	"slices"
	"strings"

	"weft/internal/pattern"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/switches"
)

var (
	// about finds the lines that decide how packets are classified, queued, paused or dropped.
	about = pattern.New(`^(?:qos|priority-flow-control|buffer|burst-mode|flow-control) ?`)
	// describes finds the headers of what is in force where a line applies it.
	describes = pattern.New(`^(?:qos policy|qos qmprofile|traffic classifier|traffic behavior) `)
	// read finds the lines of a port that [meant.classes] understands.
	read = pattern.New(`^(?:qos trust (?:dscp|dot1p)|qos wfq byte-count|qos wfq \S+ group (?:sp|1 byte-count \d+)|qos wred (?:apply|queue) .+|` +
		`priority-flow-control (?:enable|auto)|priority-flow-control no-drop dot1p [0-7](?:[-,][0-7])*)$`)
	limits = pattern.New(`^queue ([0-7]) drop-level ([0-2]) (.+)$`)
)

// beside remarks on a line of the port that is read which says more than weft has words for.
func (m *meant) beside(line string) {
	switch {
	case !about.MatchString(line), read.MatchString(line):
	case strings.HasPrefix(line, "qos apply policy "):
		m.remark("%s: a policy, which may classify otherwise", line)
		m.applied(line)
	case strings.HasPrefix(line, "qos apply qmprofile "):
		m.remark("%s: a queue profile, which decides how the queues of the port share it", line)
		m.content("qos qmprofile " + strings.TrimPrefix(line, "qos apply qmprofile "))
	default:
		m.remark("%s has no word in weft", line)
	}
}

// applied remarks on the lines of the policy that a line applies.
func (m *meant) applied(line string) {
	words := strings.Fields(line) // qos apply policy NAME inbound
	for _, line := range m.content("qos policy " + words[3]) {
		w := strings.Fields(line) // classifier C behavior B
		if len(w) < 4 || w[0] != "classifier" {
			continue
		}
		for _, header := range slices.Sorted(maps.Keys(m.policies)) {
			if strings.HasPrefix(header+" ", "traffic classifier "+w[1]+" ") {
				m.content(header)
			}
		}
		m.content("traffic behavior " + w[3])
	}
}

// content remarks on each line below a header, and returns them.
func (m *meant) content(header string) []string {
	for _, line := range m.policies[header] {
		m.remark("%s: %s has no word in weft", header, line)
	}
	return m.policies[header]
}

// differing remarks on the lines of ports that the port which is told does not have, or lacks.
func (m *meant) differing(ports []switches.Port, told switches.Port) {
	want := slice.Filter(m.lines[told.Name], about.MatchString)
	lacks := func(word string, a, b []string) string {
		list := slice.Filter(a, func(line string) bool { return !slices.Contains(b, line) })
		if len(list) == 0 {
			return ""
		}
		return "; " + word + " " + strings.Join(list, ", ")
	}
	m.grouped(ports, "other than "+told.Name+": ", func(_ switches.Port, have []string) string {
		return strings.TrimPrefix(lacks("has", have, want)+lacks("lacks", want, have), "; ")
	})
}

// untrusting remarks on ports with PFC or queues whose packets are not classified by DSCP.
func (m *meant) untrusting(ports []switches.Port) {
	m.grouped(ports, "left out, for it trusts neither DSCP nor tags: ", func(p switches.Port, have []string) string {
		if p.Classify {
			return ""
		}
		return strings.Join(have, ", ")
	})
}

// grouped makes one remark of all ports of which the same is to be said; "" is nothing.
func (m *meant) grouped(ports []switches.Port, head string, say func(p switches.Port, lines []string) string) {
	var order []string
	by := map[string][]string{}
	for _, p := range ports {
		remark := say(p, slice.Filter(m.lines[p.Name], about.MatchString))
		if remark != "" && by[remark] == nil {
			order = append(order, remark)
		}
		by[remark] = append(by[remark], p.Name)
	}
	for _, remark := range order {
		m.remark("%s: %s%s", text.List(by[remark], switches.MostNamed), head, remark)
	}
}

// unmarked remarks on the lines about early drops that mean more than ECN from a depth.
func (m *meant) unmarked(queues []switches.Class, marks []string, pfc bool) {
	level0 := map[string]string{}
	for _, line := range marks {
		if l := limits.FindStringSubmatch(line); l != nil && l[2] == "0" {
			level0[l[1]] = l[3]
		}
	}
	for _, line := range marks {
		w := strings.Fields(line)
		q := 0
		if len(w) > 2 {
			q = switches.Number(w[1])
		}
		ecn := slices.Contains(marks, "queue "+w[min(1, len(w)-1)]+" ecn")
		switch l := limits.FindStringSubmatch(line); {
		case strings.HasSuffix(line, " ecn"), strings.HasSuffix(line, " weighting-constant 0"):
		case l == nil, l[3] != level0[l[1]]:
			m.remark("WRED: %s has no word in weft", line)
		case ecn:
		case q >= 0 && q < len(queues) && queues[q].PFC && pfc:
			m.remark("WRED: %s: queue %d is lossless, and drops early instead of marking, for want of ecn", line, q)
		default:
			m.remark("WRED: %s: it drops early instead of marking, for want of ecn", line)
		}
	}
}
