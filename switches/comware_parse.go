package switches

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func comwareParse(o *OS, out map[string]string) (Reading, error) {
	var c Reading
	c.Facts = comwareFacts(out[comwareVersion], out[comwareManu])
	r := &reading{
		os: o, port: map[string][]block{}, bundles: map[string]string{},
		own: &comwareSeen{maps: map[string]map[int]int{
			comwareMapDSCP:  comwareMap(out[comwareDSCP], "dscp-dot1p"),
			comwareMapDot1p: comwareMap(out[comwareDot1p], "dot1p-lp"),
		}, routed: map[string]int{}},
	}
	tree := parseTree(out[comwareRunning])
	r.understand(comwareVocabulary(), tree)
	for _, n := range tree {
		comwareNode(&c, r, n)
	}
	for _, header := range []string{comwareMapDSCP, comwareMapDot1p} {
		r.global = append(r.global, block{path: []string{header}}) // always exist
	}
	r.global = mergeBlocks(r.global, comwareKey)
	system, _ := findBlock(r.global)
	c.LLDP = slices.Contains(system.lines, comwareLLDP)
	frames := comwareFrameLengths(out[comwareFrames])
	for i, p := range c.Ports {
		c.Ports[i] = comwareParsePort(p.Name, r, c.Facts)
		c.Ports[i].Frame, c.Ports[i].Bundle = frames[p.Name], r.bundles[p.Name]
	}
	c.Name = attachedName(r, anybody)
	c.Classes = comwareClasses(r)
	r.facts, c.read = c.Facts, r
	c.fitPerPort(Intent{})
	return c.seal(), nil
}

// These are printed by real devices: "H3C Comware Software, Version 7.1.070,
// Release 2609", "H3C S6800-54QF uptime is 19 weeks". What is not a release is
// an "Ess 6505", a "Feature 2702" or a "Demo 5202P14".
var (
	comwareVersionLine = regexp.MustCompile(`(?im)Comware (?:Platform )?Software, (?:Software )?Version (\S+?), ([a-z]+ +\d\S*|\S+)`)
	comwareModelLine   = regexp.MustCompile(`(?im)^ *(?:H3C|HPE?|3Com) +(.+?) uptime is `)
	comwareSerialLine  = regexp.MustCompile(`(?im)^ *DEVICE_SERIAL_NUMBER *: *(\S+)`)
)

func comwareFacts(version, manu string) (f Facts) {
	if m := comwareVersionLine.FindStringSubmatch(version); m != nil {
		f.Version = m[1] + ", " + m[2]
	}
	if m := comwareModelLine.FindStringSubmatch(version); m != nil {
		f.Model = m[1]
	}
	for _, m := range comwareSerialLine.FindAllStringSubmatch(manu, -1) {
		if m[1] != "NONE" { // a fan, or a card without one
			f.Serial = m[1]
			break
		}
	}
	f.CellBytes, f.CellAssumed = comwareCell(f.Model)
	return f
}

// comwareCell is the unit of queue depths by model. The RDMA technical
// reference of the S98xx counts limits in cells, which are 208 bytes on the
// S9820-64H. Of no other model a text that names their size was found: it is
// assumed to be the same, which is shown in the plan. Older models count
// packets.
func comwareCell(model string) (size int, assumed bool) {
	switch {
	case strings.HasPrefix(model, "S9820-64H"):
		return 208, false
	case strings.HasPrefix(model, "S98"), strings.HasPrefix(model, "S68"):
		return 208, true
	}
	return 0, false
}

// comwareNode collects one section of the current configuration.
func comwareNode(c *Reading, r *reading, n *node) {
	switch {
	case strings.HasPrefix(n.line, "sysname "):
		c.Facts.Hostname = strings.TrimPrefix(n.line, "sysname ")
	case n.line == comwarePFC, n.line == "priority-flow-control auto", strings.HasPrefix(n.line, comwareNoDrop):
		c.Warnings = append(c.Warnings, "the system view says "+n.line+
			", which is kept and may decide for every port")
	case strings.HasPrefix(n.line, "irf-port"):
		for _, k := range n.kids {
			if w := strings.Fields(k.line); len(w) > 3 && strings.HasPrefix(k.line, "port group interface ") {
				comwareOf(r).stack = append(comwareOf(r).stack, w[3])
			}
		}
	case n.line == comwareLLDP:
		r.global = append(r.global, block{lines: []string{n.line}})
	case n.line == comwareMapDSCP, n.line == comwareMapDot1p:
		b := block{path: []string{n.line}}
		for _, k := range n.kids {
			b.lines = append(b.lines, comwareImports(k.line)...)
		}
		r.global = append(r.global, b)
	case strings.HasPrefix(n.line, comwareTable) && objectOf(n.line) != "":
		b := block{path: []string{n.line}}
		for _, k := range n.kids {
			b.lines = append(b.lines, k.line)
		}
		r.global = append(r.global, b)
	case strings.HasPrefix(n.line, comwareTable), strings.HasPrefix(n.line, "traffic classifier "),
		strings.HasPrefix(n.line, "traffic behavior "), strings.HasPrefix(n.line, "qos policy "):
		r.others = append(r.others, n.line)
	case strings.HasPrefix(n.line, comwareIface) && comwarePhysical(n.line):
		name := comwarePortName(n.line)
		b := block{path: []string{comwareIface + name}}
		for _, k := range n.kids {
			if comwareManaged(k.line) {
				b.lines = append(b.lines, k.line)
			}
			comwareOf(r).route(name, k.line)
			if group, ok := strings.CutPrefix(k.line, comwareMember); ok {
				group, _, _ = strings.Cut(group, " ")
				r.bundles[name] = "aggregation group " + group
			}
		}
		if _, twice := r.port[name]; !twice {
			c.Ports = append(c.Ports, Port{Name: name})
		}
		r.port[name] = mergeBlocks(append(r.port[name], b), comwareKey)
	}
}

// comwarePhysical reports whether a header opens an Ethernet port.
func comwarePhysical(header string) bool {
	name := strings.TrimPrefix(header, comwareIface)
	return !strings.HasPrefix(name, "range ") && (strings.Contains(name, "GigE") || strings.Contains(name, "GigabitEthernet")) &&
		!strings.HasPrefix(name, "M-")
}

// comwarePortName is the port that a header opens, which some devices print with
// a space in it.
func comwarePortName(header string) string {
	return strings.ReplaceAll(strings.TrimPrefix(header, comwareIface), " ", "")
}

// comwareManaged reports whether weft manages a line of a port that is not a
// default.
func comwareManaged(line string) bool {
	if strings.HasPrefix(line, "qos wfq ") && strings.HasSuffix(line, comwareDefaultShare) {
		return false
	}
	for _, prefix := range []string{
		"jumboframe enable", "qos trust ", "qos wfq ", "qos wrr ", "qos sp", "qos apply qmprofile",
		comwareApply, "qos wred queue ", comwareNoDrop,
	} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return line == comwarePFC || line == "priority-flow-control auto" || line == comwareShort
}

// comwareImports reads "import 4 5 export 1" as one line for each value.
func comwareImports(line string) (out []string) {
	list, to, ok := strings.Cut(line, " export ")
	list, isImport := strings.CutPrefix(list, "import ")
	if !ok || !isImport {
		return nil
	}
	for _, d := range parseRanges(strings.ReplaceAll(strings.ReplaceAll(list, " to ", "-"), " ", ","), dscpNumber) {
		out = append(out, fmt.Sprintf("import %d export %d", d, atoi(to)))
	}
	return out
}

// comwareMap reads a printed map table. Where the OS prints one for each
// direction and one without, the last holds.
func comwareMap(text, name string) map[int]int {
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
		if err1 == nil && err2 == nil && from >= 0 && from < 64 && to >= 0 && to < priorities {
			out[from] = to
		}
	}
	return out
}

var comwareFrameLine = regexp.MustCompile(`(?i)^ *(?:the )?maximum frame length(?: *:| +is) *(\d+)`)

// comwareFrameLengths reads the longest frame of each port. A port is
// introduced by its name on a line of its own, or before "current state".
func comwareFrameLengths(text string) map[string]int {
	out := map[string]int{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if word, _, _ := strings.Cut(line, " "); word != "" && comwarePhysical(word) &&
			(line == word || strings.HasPrefix(strings.ToLower(line[len(word):]), " current state")) {
			name = word
		}
		if m := comwareFrameLine.FindStringSubmatch(line); m != nil && name != "" {
			out[name] = atoi(m[1])
		}
	}
	return out
}

// comwareClasses reads the map of DSCPs: every priority that one leads to is a
// class. Those of priority 0 are all other traffic, and are not listed.
func comwareClasses(r *reading) (out []Class) {
	by := map[int][]int{0: nil}
	m := comwareOf(r).maps[comwareMapDSCP]
	for _, d := range sortedKeys(m) {
		by[m[d]] = append(by[m[d]], d)
	}
	for _, p := range sortedKeys(by) {
		k := Class{Name: anonymous + strconv.Itoa(p), Priority: p, DSCP: by[p]}
		if p == 0 {
			k.Name, k.DSCP = allOther, nil
		}
		out = append(out, k)
	}
	return out
}

// comwareParsePort reads what a port itself does with each priority.
func comwareParsePort(name string, r *reading, f Facts) Port {
	p := Port{Name: name, Exists: true, Classes: []Class{}}
	fair, table := false, ""
	queues := make([]Class, priorities)
	for q := range queues {
		queues[q] = Class{Priority: q, Bandwidth: 1} // unless a line says otherwise
	}
	for _, line := range r.port[name][0].lines {
		w := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, comwareJumbo):
			p.MTU = max(0, atoi(w[2]))
		case line == comwarePFC:
			p.PFC = true
		case strings.HasPrefix(line, comwareNoDrop):
			for _, q := range parseRanges(w[3], dscpNumber) {
				if q < priorities {
					queues[q].PFC = true
				}
			}
		case line == comwareTrust:
			p.Classify = true
		case line == comwareWFQ:
			fair = true
		case strings.HasPrefix(line, "qos wfq "):
			comwareShare(queues, w)
		case strings.HasPrefix(line, comwareApply):
			table = w[3]
		}
	}
	for q := range queues {
		if !fair {
			queues[q].Bandwidth, queues[q].Strict = 0, false
		}
	}
	if b, ok := findBlock(r.global, comwareTable+table); ok {
		comwareMarks(queues, b.lines, f)
	}
	p.Classes = queues
	return p
}

// comwareShare reads "qos wfq af3 group 1 byte-count 50" and "… group sp".
func comwareShare(queues []Class, w []string) {
	if len(w) < 5 || w[3] != "group" {
		return
	}
	q := slices.Index(comwareQueues(), w[2])
	if q < 0 {
		q = atoi(w[2])
	}
	switch {
	case q < 0 || q >= priorities:
	case w[4] == "sp":
		queues[q].Bandwidth, queues[q].Strict = 0, true
	case len(w) == 7 && w[5] == "byte-count":
		queues[q].Bandwidth, queues[q].Strict = max(0, atoi(w[6])), false
	}
}

// comwareMarks reads the lines of a WRED table.
func comwareMarks(queues []Class, lines []string, f Facts) {
	for q := range queues {
		if f.CellBytes == 0 || !slices.Contains(lines, fmt.Sprintf("queue %d ecn", q)) {
			continue
		}
		e := &ECN{Probability: 10} // the default of the OS
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
