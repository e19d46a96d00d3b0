package comware

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/slice"
	"weft/internal/traffic"
	"weft/switches"
)

func parse(o *switches.OS, out map[string]string) (switches.Reading, error) {
	var c switches.Reading
	c.Facts = facts(out[showVersion], out[showManu])
	r, tree := o.Text(out[showRunning], &extra{maps: map[string]map[int]int{
		mapDSCP:  parseMap(out[showDSCP], "dscp-dot1p"),
		mapDot1p: parseMap(out[showDot1p], "dot1p-lp"),
	}, routed: map[string]int{}, trunks: map[string]*switches.Trunk{}})
	for _, n := range tree {
		parseNode(&c, r, n)
	}
	for _, header := range []string{mapDSCP, mapDot1p} {
		r.Global = append(r.Global, switches.Block{Path: []string{header}}) // always exist
	}
	r.Global = switches.MergeBlocks(r.Global, keyOf)
	system, _ := switches.FindBlock(r.Global)
	c.LLDP = slices.Contains(system.Lines, lldp)
	frames := frameLengths(out[showFrames])
	for i, p := range c.Ports {
		c.Ports[i] = parsePort(p.Name, r, c.Facts)
		c.Ports[i].Frame, c.Ports[i].Bundle = frames[p.Name], r.Bundles[p.Name]
	}
	c.Classes, c.Tagged = parseClasses(r), true // tags need no objects
	return r.Reading(c), nil
}

// These are printed by real devices: "H3C Comware Software, Version 7.1.070,
// Release 2609", "H3C S6800-54QF uptime is 19 weeks". What is not a release is
// an "Ess 6505", a "Feature 2702" or a "Demo 5202P14".
var (
	versionLine = pattern.New(`(?im)Comware (?:Platform )?Software, (?:Software )?Version (\S+?), ([a-z]+ +\d\S*|\S+)`)
	modelLine   = pattern.New(`(?im)^ *(?:H3C|HPE?|3Com) +(.+?) uptime is `)
	serialLine  = pattern.New(`(?im)^ *DEVICE_SERIAL_NUMBER *: *(\S+)`)
)

func facts(version, manu string) (f switches.Facts) {
	if m := versionLine.FindStringSubmatch(version); m != nil {
		f.Version = m[1] + ", " + m[2]
	}
	if m := modelLine.FindStringSubmatch(version); m != nil {
		f.Model = m[1]
	}
	for _, m := range serialLine.FindAllStringSubmatch(manu, -1) {
		if m[1] != "NONE" { // a fan, or a card without one
			f.Serial = m[1]
			break
		}
	}
	f.CellBytes, f.CellAssumed = cell(f.Model)
	return f
}

// cell is the unit of queue depths by model. The RDMA technical
// reference of the S98xx counts limits in cells, which are 208 bytes on the
// S9820-64H. Of no other model a text that names their size was found: it is
// assumed to be the same, which is shown in the plan. Older models count
// packets.
func cell(model string) (size int, assumed bool) {
	switch {
	case strings.HasPrefix(model, "S9820-64H"):
		return 208, false
	case strings.HasPrefix(model, "S98"), strings.HasPrefix(model, "S68"):
		return 208, true
	}
	return 0, false
}

// parseNode collects one section of the current configuration.
func parseNode(c *switches.Reading, r *switches.Text, n *switches.Node) {
	switch {
	case strings.HasPrefix(n.Line, "sysname "):
		c.Facts.Hostname = strings.TrimPrefix(n.Line, "sysname ")
	case strings.HasPrefix(n.Line, "irf-port"):
		for _, k := range n.Kids {
			if w := strings.Fields(k.Line); len(w) > 3 && strings.HasPrefix(k.Line, "port group interface ") {
				extraOf(r).stack = append(extraOf(r).stack, w[3])
			}
		}
	case n.Line == lldp:
		r.Global = append(r.Global, switches.Block{Lines: []string{n.Line}})
	case n.Line == mapDSCP, n.Line == mapDot1p:
		b := switches.Block{Path: []string{n.Line}}
		for _, k := range n.Kids {
			b.Lines = append(b.Lines, imports(k.Line)...)
		}
		r.Global = append(r.Global, b)
	case strings.HasPrefix(n.Line, wredTable) && switches.Object(n.Line) != "":
		b := switches.Block{Path: []string{n.Line}}
		b.Lines = slice.Map(n.Kids, func(k *switches.Node) string { return k.Line })
		r.Global = append(r.Global, b)
	case strings.HasPrefix(n.Line, wredTable), strings.HasPrefix(n.Line, "traffic classifier "),
		strings.HasPrefix(n.Line, "traffic behavior "), strings.HasPrefix(n.Line, "qos policy "):
		r.Others = append(r.Others, n.Line)
	case strings.HasPrefix(n.Line, iface) && physical(n.Line):
		name := portName(n.Line)
		b := switches.Block{Path: []string{iface + name}}
		for _, k := range n.Kids {
			if managed(k.Line) {
				b.Lines = append(b.Lines, k.Line)
			}
			extraOf(r).route(name, k.Line)
			extraOf(r).trunk(name, k.Line)
			if group, ok := strings.CutPrefix(k.Line, member); ok {
				group, _, _ = strings.Cut(group, " ")
				r.Bundles[name] = "aggregation group " + group
			}
		}
		if _, twice := r.Port[name]; !twice {
			c.Ports = append(c.Ports, switches.Port{Name: name})
		}
		r.Port[name] = switches.MergeBlocks(append(r.Port[name], b), keyOf)
	}
}

// physical reports whether a header opens an Ethernet port.
func physical(header string) bool {
	name := strings.TrimPrefix(header, iface)
	return !strings.HasPrefix(name, "range ") && (strings.Contains(name, "GigE") || strings.Contains(name, "GigabitEthernet")) &&
		!strings.HasPrefix(name, "M-")
}

// portName is the port that a header opens, which some devices print with
// a space in it.
func portName(header string) string {
	return strings.ReplaceAll(strings.TrimPrefix(header, iface), " ", "")
}

// managed reports whether weft manages a line of a port that is not a
// default.
func managed(line string) bool {
	if strings.HasPrefix(line, "qos wfq ") && strings.HasSuffix(line, defaultShare) {
		return false
	}
	for _, prefix := range []string{
		"jumboframe enable", "qos trust ", "qos wfq ", "qos wrr ", "qos sp", "qos apply qmprofile",
		apply, "qos wred queue ", noDrop,
	} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return line == pfc || line == pfcAuto || line == short
}

// imports reads "import 4 5 export 1" as one line for each value.
func imports(line string) (out []string) {
	list, to, ok := strings.Cut(line, " export ")
	list, isImport := strings.CutPrefix(list, "import ")
	if !ok || !isImport {
		return nil
	}
	for _, d := range traffic.ParseRanges(strings.ReplaceAll(strings.ReplaceAll(list, " to ", "-"), " ", ","), traffic.ParseDSCP) {
		out = append(out, fmt.Sprintf("import %d export %d", d, switches.Number(to)))
	}
	return out
}

// parseMap reads a printed map table. Where the OS prints one for each
// direction and one without, the last holds.
func parseMap(text, name string) map[int]int {
	out := map[int]int{}
	in := false
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if strings.HasPrefix(strings.TrimSpace(line), "MAP-TABLE NAME:") {
			in = slices.Contains(w, name)
			continue
		}
		if !in || len(w) != 3 || w[1] != ":" {
			continue
		}
		from, err1 := strconv.Atoi(w[0])
		to, err2 := strconv.Atoi(w[2])
		if err1 == nil && err2 == nil && from >= 0 && from < 64 && to >= 0 && to < traffic.Priorities {
			out[from] = to
		}
	}
	return out
}

var frameLine = pattern.New(`(?i)^ *(?:the )?maximum frame length(?: *:| +is) *(\d+)`)

// frameLengths reads the longest frame of each port. A port is
// introduced by its name on a line of its own, or before "current state".
func frameLengths(text string) map[string]int {
	out := map[string]int{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if word, _, _ := strings.Cut(line, " "); word != "" && physical(word) &&
			(line == word || strings.HasPrefix(strings.ToLower(line[len(word):]), " current state")) {
			name = word
		}
		if m := frameLine.FindStringSubmatch(line); m != nil && name != "" {
			out[name] = switches.Number(m[1])
		}
	}
	return out
}

// parseClasses reads the map of DSCPs: every priority that one leads to is a
// class. Those of priority 0 are all other traffic, and are not listed.
func parseClasses(r *switches.Text) (out []switches.Class) {
	by := map[int][]int{0: nil}
	m := extraOf(r).maps[mapDSCP]
	for _, d := range slices.Sorted(maps.Keys(m)) {
		by[m[d]] = append(by[m[d]], d)
	}
	for _, p := range slices.Sorted(maps.Keys(by)) {
		k := switches.Class{Name: switches.Unnamed(p), Priority: p, DSCP: by[p]}
		if p == 0 {
			k.Name, k.DSCP = switches.AllOther, nil
		}
		out = append(out, k)
	}
	return out
}

// parsePort reads what a port itself does with each priority.
func parsePort(name string, r *switches.Text, f switches.Facts) switches.Port {
	p := switches.Port{Name: name, Exists: true, Classes: []switches.Class{}}
	fair, table := false, ""
	queues := make([]switches.Class, traffic.Priorities)
	for q := range queues {
		queues[q] = switches.Class{Priority: q, Bandwidth: 1} // unless a line says otherwise
	}
	for _, line := range r.Port[name][0].Lines {
		w := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, jumbo):
			p.MTU = max(0, switches.Number(w[2]))
		case line == pfc:
			p.PFC = true
		case strings.HasPrefix(line, noDrop):
			for _, q := range traffic.ParseRanges(w[3], traffic.ParseDSCP) {
				if q < traffic.Priorities {
					queues[q].PFC = true
				}
			}
		case line == trust:
			p.Classify = true
		case line == tags:
			p.Classify, p.ByTag = true, true
		case line == wfq:
			fair = true
		case strings.HasPrefix(line, "qos wfq "):
			share(queues, w)
		case strings.HasPrefix(line, apply):
			table = w[3]
		}
	}
	for q := range queues {
		if !fair {
			queues[q].Bandwidth, queues[q].Strict = 0, false
		}
	}
	if b, ok := switches.FindBlock(r.Global, wredTable+table); ok {
		parseMarks(queues, b.Lines, f)
	}
	p.Classes = queues
	return p
}

// share reads "qos wfq af3 group 1 byte-count 50" and "… group sp".
func share(queues []switches.Class, w []string) {
	if len(w) < 5 || w[3] != "group" {
		return
	}
	q := slices.Index(queueNames(), w[2])
	if q < 0 {
		q = switches.Number(w[2])
	}
	switch {
	case q < 0 || q >= traffic.Priorities:
	case w[4] == "sp":
		queues[q].Bandwidth, queues[q].Strict = 0, true
	case len(w) == 7 && w[5] == "byte-count":
		queues[q].Bandwidth, queues[q].Strict = max(0, switches.Number(w[6])), false
	}
}

// parseMarks reads the lines of a WRED table.
func parseMarks(queues []switches.Class, lines []string, f switches.Facts) {
	for q := range queues {
		if f.CellBytes == 0 || !slices.Contains(lines, fmt.Sprintf("queue %d ecn", q)) {
			continue
		}
		e := &switches.ECN{Probability: 10} // the default of the OS
		for _, line := range lines {
			var level, lo, hi int
			chance := e.Probability
			n, _ := fmt.Sscanf(line, "queue "+strconv.Itoa(q)+" drop-level %d low-limit %d high-limit %d discard-probability %d",
				&level, &lo, &hi, &chance)
			if n >= 3 && level == 0 {
				e.Min, e.Max = int64(lo)*int64(f.CellBytes), int64(hi)*int64(f.CellBytes)
				e.Probability = chance
			}
		}
		queues[q].ECN = e
	}
}
