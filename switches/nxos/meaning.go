package nxos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/traffic"
	"weft/switches"
)

// meaning reads what policies of others that are in force mean as classes: the qos policy
// of most ports, and the queuing and network-qos policies that are in force there. Each line of
// these policies is understood or in a remark. No policy that classifies by DSCP: no classes.
func meaning(o *switches.OS, out map[string]string) switches.Meaning {
	_, tree := o.Text(out[showRunning], nil)
	m := &meant{policies: collect(tree)}
	places := m.places()
	qos, in := m.chosen(attachIn, places)
	for _, b := range m.body[policyQoS+qos] {
		if k, ok := m.class(b); ok {
			m.Classes = append(m.Classes, k)
		}
	}
	m.differs(attachIn, places, qos)
	if qos == "" {
		in = places
	}
	if len(m.Classes) > 0 {
		m.Classes = append(m.Classes, switches.Class{Name: switches.AllOther})
	}
	network := ""
	if system := m.at[systemQoS]; system != nil {
		network = system.attached[attachNQ]
	}
	m.each(policyNetworkQoS, "network-qos", network, m.lossless)
	m.each(policyQueuing, "queuing", m.one(attachOut, in), m.schedule)
	m.each(policyQueuing, "queuing", m.one(attachHR, in), m.buffer)
	m.unforced(in)
	if len(m.Classes) > 0 {
		balance(&m.Meaning)
	}
	slices.SortStableFunc(m.Classes, switches.ByPriority)
	return m.Meaning
}

// meant is a meaning that is being read.
type meant struct {
	switches.Meaning
	*policies
}

func (m *meant) remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.Remarks, text) {
		m.Remarks = append(m.Remarks, text)
	}
}

// one is the policy that is in force in most of the places, with a remark on others.
func (m *meant) one(attach string, in []*place) string {
	name, _ := m.chosen(attach, in)
	m.differs(attach, in, name)
	if without := slice.Filter(in, func(at *place) bool { return m.inForce(attach, at) == "" }); name != "" && len(without) > 0 {
		m.remark("%s%s is not on every port with these classes: %s", attach, name, someOf(without))
	}
	return name
}

// differs remarks on places with another policy than the one that is read.
func (m *meant) differs(attach string, places []*place, name string) {
	for _, other := range slices.Compact(slices.Sorted(slices.Values(slice.Map(places, func(at *place) string { return at.attached[attach] })))) {
		if other == "" || other == name {
			continue
		}
		has := slice.Filter(places, func(at *place) bool { return at.attached[attach] == other })
		m.remark("%s%s (%s): another policy than %s, which most ports have and which is told", attach, other, someOf(has), name)
	}
}

func someOf(places []*place) string {
	return text.List(slice.Map(places, func(at *place) string { return at.name }), switches.MostNamed)
}

// class is what a branch of a qos policy means; false: nothing that weft has a word for.
func (m *meant) class(b branch) (k switches.Class, ok bool) {
	k.Name = b.class
	for _, line := range b.lines {
		if group, isGroup := strings.CutPrefix(line, "set qos-group "); isGroup {
			k.Priority = switches.Number(group)
			if b.class == "class-default" && k.Priority != 0 {
				m.remark("class %s: %s: weft leaves other traffic in queue 0", b.class, line)
			}
			continue
		}
		m.remark("class %s: %s has no word in weft", b.class, line)
	}
	if b.class == "class-default" {
		return k, false
	}
	for _, line := range m.matches["qos "+b.class] {
		if list, isDSCP := strings.CutPrefix(line, "match dscp "); isDSCP {
			k.DSCP = append(k.DSCP, traffic.ParseRanges(list, traffic.ParseDSCP)...)
			continue
		}
		m.remark("class %s: %s: weft classifies by DSCP only", b.class, line)
	}
	slices.Sort(k.DSCP)
	k.DSCP = slices.Compact(k.DSCP)
	if len(k.DSCP) == 0 || k.Priority <= 0 || k.Priority > traffic.MaxPriority {
		m.remark("class %s is left out: it has no DSCP, or is in queue 0", b.class)
		return k, false
	}
	return k, true
}

// each has a function read the lines of each class of a policy into the class whose queue that
// is. A line that it does not read is a remark.
func (m *meant) each(header, kind, policy string, read func(k *switches.Class, where, line string) bool) {
	for _, b := range m.body[header+policy] {
		queue := m.queueOf(kind, b.class)
		where := fmt.Sprintf("policy %s, class %s", policy, b.class)
		if queue < 0 {
			for _, line := range m.matches[kind+" "+b.class] {
				m.remark("%s: %s: weft knows the queue of such a class by one qos-group only", where, line)
			}
			for _, line := range b.lines {
				m.remark("%s: %s: of which queue, is not known", where, line)
			}
			continue
		}
		at := slices.IndexFunc(m.Classes, func(k switches.Class) bool { return k.Priority == queue })
		if at < 0 {
			m.unclassed(queue, where, b.lines)
			continue
		}
		if k := &m.Classes[at]; k.Name != switches.AllOther {
			where = "class " + k.Name + ", " + where
		}
		for _, line := range b.lines {
			if !read(&m.Classes[at], where, line) {
				m.remark("%s: %s has no word in weft", where, line)
			}
		}
	}
}

// unclassed remarks on what a queue has that no class by DSCP is in.
func (m *meant) unclassed(queue int, where string, lines []string) {
	for _, line := range lines {
		if _, percent, shares := strings.Cut(line, " percent "); line == "no pause" || shares && (percent == "0" || queue == 0) || harmlessMTU(line) {
			continue
		}
		if line == "priority" || strings.HasPrefix(line, priorityLevel) && queue == traffic.MaxPriority {
			continue // of the switch's own packets, as weft sets it too
		}
		m.remark("%s: %s: no class by DSCP is in queue %d", where, line, queue)
	}
}

// harmlessMTU reports whether a line limits the frames of a class to no less than any port does.
func harmlessMTU(line string) bool {
	n, ok := strings.CutPrefix(line, "mtu ")
	return ok && switches.Number(n) >= usualJumbo
}

// lossless reads a line of a network-qos policy.
func (m *meant) lossless(k *switches.Class, where, line string) bool {
	cos, pauses := strings.CutPrefix(line, "pause pfc-cos ")
	switch {
	case pauses, line == "pause no-drop":
		switch {
		case k.Name == switches.AllOther:
			m.remark("%s: %s: other traffic is lossless, which weft has no word for", where, line)
			return true
		case pauses && cos != strconv.Itoa(k.Priority):
			m.remark("%s: queue %d is no-drop and pauses CoS %s (%s): weft has one number for both", where, k.Priority, cos, line)
		}
		k.PFC = true
		return true
	}
	return line == "no pause" || harmlessMTU(line)
}

// schedule reads a line of a queuing policy for what leaves a port.
func (m *meant) schedule(k *switches.Class, where, line string) bool {
	n, percent := strings.CutPrefix(line, "bandwidth percent ")
	switch {
	case percent:
		k.Bandwidth = switches.Number(n)
		return true
	case strings.HasPrefix(line, share), strings.HasPrefix(line, priorityLevel):
		schedule(k, []string{line})
		return true
	case line == "priority":
		k.Strict = true
		return true
	case !strings.HasPrefix(line, "random-detect"):
		return line == "congestion-control random-detect"
	}
	marks := switches.Class{}
	switch schedule(&marks, []string{line}); {
	case marks.ECN != nil:
		k.ECN = marks.ECN
	case strings.HasSuffix(line, " ecn"):
		m.remark("%s: %s: it marks with ECN, from a depth that is not told in bytes", where, line)
	case k.PFC:
		m.remark("%s: %s: it is lossless, and drops early instead of marking, for want of ecn", where, line)
	default:
		m.remark("%s: %s: it drops early instead of marking, for want of ecn", where, line)
	}
	return true
}

// buffer reads a line of a queuing policy for what arrives at a port.
func (m *meant) buffer(k *switches.Class, where, line string) bool {
	h := switches.Headroom{}
	if n, _ := fmt.Sscanf(line, buffer, &h.Size, &h.Xoff, &h.Xon); n != 3 || !k.PFC || h.Xon <= 0 || h.Xoff < h.Xon || h.Size < h.Xoff {
		return false
	}
	k.Headroom = &h
	m.remark("%s: %s is its headroom", where, line)
	return true
}

// unforced remarks on the ports whose PFC waits for DCBX, or is off, although a class of their
// policy is lossless.
func (m *meant) unforced(in []*place) {
	ports := slice.Filter(in, func(at *place) bool { return at.port })
	off := slice.Filter(ports, func(at *place) bool { return !at.pfc })
	if len(off) > 0 && len(switches.Lossless(m.Classes)) > 0 {
		m.remark("%d of %d ports with these policies have no line %s, so that PFC is off there unless the NIC agrees to it by DCBX: %s", len(off), len(ports), pfc, someOf(off))
	}
}

// balance gives other traffic what the classes leave of the bandwidth, which is 100
// percent in weft's words.
func balance(m *switches.Meaning) {
	other := slices.IndexFunc(m.Classes, func(k switches.Class) bool { return k.Name == switches.AllOther })
	sum := 0
	for i, k := range m.Classes {
		if k.Strict {
			m.Classes[i].Bandwidth = 0
			continue
		}
		sum += k.Bandwidth
	}
	if left := 100 - sum; left != 0 && m.Classes[other].Bandwidth+left > 0 {
		m.Classes[other].Bandwidth += left
		m.Remarks = append(m.Remarks, fmt.Sprintf("the classes have %d percent of the bandwidth in sum: other traffic is given %d", sum, m.Classes[other].Bandwidth))
	}
}
