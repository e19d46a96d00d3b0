package comware

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/owned"
	"weft/internal/slice"
	"weft/internal/traffic"
	"weft/switches"
)

// meaning reads what others have set means as classes: the map of DSCPs, which is one for
// the switch, and the lines of most ports that classify. A priority is a class where its
// queue has more than every queue has: PFC, ECN, strictness or a weight. Each other line about
// QoS, PFC or buffers is a remark. No port that trusts DSCP, or no such queue: no classes.
func meaning(o *switches.OS, out map[string]string) switches.Meaning {
	c, err := parse(o, out)
	if err != nil {
		return switches.Meaning{} // as who reads it is told
	}
	m := &meant{extra: extraOf(c.Text()), facts: c.Facts, tables: map[string][]string{}, policies: map[string][]string{}, lines: map[string][]string{}}
	_, tree := o.Text(out[showRunning], nil)
	for _, n := range tree {
		m.take(n)
	}
	ports := slice.Map(c.PortNames(), func(name string) switches.Port { return parsePort(name, c.Text(), c.Facts) })
	p, times := m.most(ports)
	if times > 0 && !p.ByTag {
		m.classes(p)
	}
	m.untrusting(ports)
	return m.Meaning
}

// meant is a meaning that is being read.
type meant struct {
	switches.Meaning
	extra    *extra
	facts    switches.Facts
	tables   map[string][]string // WRED tables, by name
	policies map[string][]string // the lines of policies, classifiers, behaviors and queue profiles, by the header
	lines    map[string][]string // of each port that has no table of weft's
}

func (m *meant) remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.Remarks, text) {
		m.Remarks = append(m.Remarks, text)
	}
}

// take notes a section.
func (m *meant) take(n *switches.Node) {
	name, isTable := strings.CutPrefix(n.Line, wredTable)
	switch {
	case isTable:
		for _, k := range n.Kids {
			m.tables[name] = append(m.tables[name], k.Line)
		}
	case describes.MatchString(n.Line):
		m.policies[n.Line] = slice.Map(n.Kids, func(k *switches.Node) string { return k.Line })
	case strings.HasPrefix(n.Line, "qos apply policy "):
		m.remark("%s: a policy for all ports, which may classify otherwise", n.Line)
		m.applied(n.Line)
	case strings.HasPrefix(n.Line, noDrop), n.Line == pfc, n.Line == pfcAuto:
		m.remark("the system view says %s, which may decide for every port", n.Line)
	case idleMap.MatchString(n.Line):
		for _, k := range n.Kids {
			m.remark("%s: %s has no word in weft", n.Line, k.Line)
		}
	case n.Line != mapDSCP && n.Line != mapDot1p && about.MatchString(n.Line):
		m.remark("the system view says %s, which has no word in weft", n.Line)
	case strings.HasPrefix(n.Line, iface) && physical(n.Line):
		var list []string
		for _, k := range n.Kids {
			if strings.HasPrefix(k.Line, apply+owned.Objects) {
				return
			}
			list = append(list, k.Line)
		}
		m.lines[portName(n.Line)] = list
	}
}

// most is the first of the ports that classify and are set alike, of which there are most,
// and how many these are.
func (m *meant) most(ports []switches.Port) (best switches.Port, times int) {
	count, byTag := map[string]int{}, 0
	as := func(p switches.Port) string {
		return strings.Join(slice.Filter(m.lines[p.Name], about.MatchString), "\n")
	}
	var list []switches.Port
	for _, p := range ports {
		if m.lines[p.Name] == nil || !p.Classify {
			continue
		}
		if p.ByTag {
			byTag++
		}
		list = append(list, p)
		count[as(p)]++
	}
	for _, p := range list {
		if n := count[as(p)]; n > times {
			best, times = p, n
		}
	}
	if byTag > 0 {
		m.remark("%d ports go by the priority of the VLAN tag (%s): weft classifies by DSCP", byTag, tags)
	}
	if len(count) > 1 {
		m.remark("ports have %d different configurations: this is the one of %d of them", len(count), times)
		m.differing(list, best)
	}
	return best, times
}

// classes reads the queues of a port, and which DSCPs lead to them.
func (m *meant) classes(p switches.Port) {
	queues, auto, fair := slices.Clone(p.Classes), false, false
	var marks []string
	for _, line := range m.lines[p.Name] {
		if own, ok := strings.CutPrefix(line, "qos wred queue "); ok {
			marks = append(marks, "queue "+own)
		}
		if table, ok := strings.CutPrefix(line, apply); ok {
			marks = append(marks, m.tables[table]...)
			if m.tables[table] == nil {
				m.remark("%s: the contents of that table are unknown", line)
			}
		}
		auto, fair = auto || line == pfcAuto, fair || line == wfq
		m.beside(line)
	}
	if auto {
		m.remark("%s: PFC is on where the NIC agrees to it by DCBX; weft turns it on", pfcAuto)
	}
	parseMarks(queues, marks, m.facts)
	m.unit(marks, queues)
	m.unmarked(queues, marks, p.PFC || auto)
	rest := 0 // the weight of the queues of other traffic
	for priority, dscp := range m.sorted() {
		q := queues[m.queue(priority)]
		lossless := queues[priority].PFC && (p.PFC || auto) // no-drop counts priorities
		switch {
		case priority == ownQueue && len(dscp) > 0 && q.Strict && !lossless && q.ECN == nil:
			m.remark("DSCP %s have queue 7, of the switch's own packets, which weft leaves to these: they are other traffic", traffic.Ranges(dscp))
		case priority > 0 && len(dscp) > 0 && (lossless || q.Strict || q.ECN != nil || fair && q.Bandwidth > 1):
			m.Classes = append(m.Classes, switches.Class{Name: switches.Unnamed(priority), DSCP: dscp, Priority: priority, PFC: lossless, ECN: q.ECN, Strict: q.Strict, Bandwidth: q.Bandwidth})
		default:
			rest += q.Bandwidth
		}
	}
	if len(m.Classes) > 0 {
		m.share(rest, fair)
	}
}

// sorted are the DSCPs that lead to each priority.
func (m *meant) sorted() (by [traffic.Priorities][]int) {
	led := m.extra.maps[mapDSCP]
	for _, d := range slices.Sorted(maps.Keys(led)) {
		by[led[d]] = append(by[led[d]], d)
	}
	return by
}

// queue is where packets of a priority wait.
func (m *meant) queue(priority int) int {
	if q, known := m.extra.maps[mapDot1p][priority]; known && q != priority {
		m.remark("priority %d has queue %d: with weft each has the queue of its number", priority, q)
		return q
	}
	return priority
}

// unit says how sure the bytes are that depths are told in.
func (m *meant) unit(marks []string, queues []switches.Class) {
	ecn := slices.ContainsFunc(marks, func(l string) bool { return strings.HasSuffix(l, " ecn") })
	switch {
	case ecn && m.facts.CellBytes == 0:
		m.remark("it marks with ECN, and in which unit model %q counts depths is not known", m.facts.Model)
	case ecn && m.facts.CellAssumed:
		m.remark("depths are counted in cells, which are assumed to be of %d bytes", m.facts.CellBytes)
	}
	for q, k := range queues {
		if k.ECN != nil && (k.ECN.Min <= 0 || k.ECN.Max < k.ECN.Min) {
			m.remark("queue %d marks with ECN, and no line says from which depth", q)
			queues[q].ECN = nil
		}
	}
}

// share turns weights into percent: some for each class, and some for other traffic.
func (m *meant) share(rest int, fair bool) {
	sum, largest := max(rest, 1), -1
	for i, k := range m.Classes {
		switch {
		case k.Strict:
			continue
		case !fair:
			m.Classes[i].Bandwidth = max(rest, 1)
		}
		sum += m.Classes[i].Bandwidth
		if largest < 0 || m.Classes[i].Bandwidth > m.Classes[largest].Bandwidth {
			largest = i
		}
	}
	other := switches.Class{Name: switches.AllOther, Bandwidth: 100}
	for i, k := range m.Classes {
		if k.Strict {
			m.Classes[i].Bandwidth = 0
			continue
		}
		m.Classes[i].Bandwidth = max(1, k.Bandwidth*100/sum)
		other.Bandwidth -= m.Classes[i].Bandwidth
	}
	if other.Bandwidth < 1 {
		m.Classes[largest].Bandwidth += other.Bandwidth - 1
		other.Bandwidth = 1
	}
	if !fair && largest >= 0 {
		m.remark("how its queues share a port is not said by %s: equal shares are taken", wfq)
	}
	m.Classes = slices.Insert(m.Classes, 0, other)
}
