package nxos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/traffic"
	"weft/switches"
)

func parse(o *switches.OS, out map[string]string) (switches.Reading, error) {
	var c switches.Reading
	c.Facts = facts(out[showVersion])
	r, tree := o.Text(out[showRunning], &extra{trunks: map[string]*switches.Trunk{}, routes: map[string]bool{}, bridges: map[string]bool{}, queues: map[string][]int{}})
	for _, n := range tree {
		parseNode(&c, r, n)
	}
	r.Global = append(r.Global, switches.Block{Path: []string{systemQoS}}) // always exists
	r.Global = switches.MergeBlocks(r.Global, keyOf)
	system, _ := switches.FindBlock(r.Global)
	if slices.Contains(system.Lines, watchdog) {
		c.Watchdog = "drop"
	}
	c.LLDP = slices.Contains(system.Lines, lldp)
	return r.Reading(c), nil
}

// under says what the objects of a name do, as far as they are in force.
func under(c switches.Reading, name string) switches.Reading {
	r := c.Text()
	c.Name, c.Classes, c.Ports = name, parseClasses(r.Global, name), slices.Clone(c.Ports)
	buffers := false
	for i, p := range c.Ports {
		c.Ports[i] = parsePort(p.Name, r.Port[p.Name], r.Global, name)
		c.Ports[i].Bundle = r.Bundles[p.Name]
		buffers = buffers || c.Ports[i].Headroom
	}
	_, c.Tagged = switches.FindBlock(r.Global, policyQoS+name+roleTag)
	if buffers { // in force on some port
		headroom(c.Classes, r.Global, name)
	}
	return c
}

// These are printed by real devices: "NXOS: version 10.2(3) [Feature
// Release]", "cisco Nexus9000 C9332D-GX2B Chassis", "Processor Board ID
// FDO26380WD1", "Device name: Spine-12". Older systems say "system:".
var (
	versionLine = pattern.New(`(?m)^ *(?:NXOS|system): +version (\S+)`)
	modelLine   = pattern.New(`(?m)^ *cisco (.+?) *(?:[Cc]hassis\b.*|\(.*)?$`)
	serialLine  = pattern.New(`(?m)^ *Processor Board ID (\S+)`)
	nameLine    = pattern.New(`(?m)^ *Device name: (\S+)`)
)

func facts(text string) switches.Facts {
	text = strings.ReplaceAll(text, "\r", "")
	first := func(re pattern.Pattern) string {
		if m := re.FindStringSubmatch(text); m != nil {
			return m[1]
		}
		return ""
	}
	return switches.Facts{
		Hostname: first(nameLine),
		Model:    first(modelLine),
		Serial:   first(serialLine),
		Version:  first(versionLine),
	}
}

// parseNode collects one section of the running configuration. Sections stand
// in any order, and some twice.
func parseNode(c *switches.Reading, r *switches.Text, n *switches.Node) {
	head, own := normal(n.Line), extraOf(r)
	if strings.HasPrefix(head, policyQoS) || strings.HasPrefix(head, policyQueuing) {
		own.queues[head] = append(own.queues[head], queuesOf(n)...)
	}
	switch {
	case strings.HasPrefix(head, systemJumbo):
		own.jumbo = switches.Number(strings.TrimPrefix(head, systemJumbo))
	case strings.HasPrefix(head, "hostname "), strings.HasPrefix(head, "switchname "):
		c.Facts.Hostname = head[strings.IndexByte(head, ' ')+1:]
	case strings.HasPrefix(head, watchdogLine), head == lldp:
		r.Global = append(r.Global, switches.Block{Lines: []string{head}})
	case head == systemQoS:
		b := switches.Block{Path: []string{head}}
		for _, k := range n.Kids {
			switch line := normal(k.Line); {
			case r.OS.Attached(line) == "":
			case strings.HasPrefix(line, attachOut), strings.HasPrefix(line, attachNQ):
				b.Lines = append(b.Lines, line)
			default:
				own.beside = append(own.beside, attached{systemQoS, line})
			}
		}
		r.Global = append(r.Global, b)
	case rankOf(head) >= 0 && switches.Object(head) != "":
		r.Global = append(r.Global, parseObject([]string{head}, n.Kids)...)
	case strings.HasPrefix(head, "class-map "), strings.HasPrefix(head, "policy-map "):
		r.Others = append(r.Others, head)
	case strings.HasPrefix(head, onPort) && !physical(head):
		for _, k := range n.Kids {
			if line := normal(k.Line); r.OS.Attached(line) != "" {
				own.beside = append(own.beside, attached{strings.TrimPrefix(head, onPort), line})
			}
		}
	case strings.HasPrefix(head, onPort):
		name := strings.TrimPrefix(head, onPort)
		if _, twice := r.Port[name]; !twice {
			c.Ports = append(c.Ports, switches.Port{Name: name})
		}
		r.Port[name] = switches.MergeBlocks(append(r.Port[name], interfaceBlock(r.OS, head, n.Kids)), keyOf)
		for _, k := range n.Kids {
			own.routes[name] = own.routes[name] || k.Line == "no switchport"
			own.bridges[name] = own.bridges[name] || k.Line == "switchport" || strings.HasPrefix(k.Line, "switchport ")
			own.trunk(name, k.Line)
			if w := strings.Fields(k.Line); len(w) > 1 && w[0] == "channel-group" {
				r.Bundles[name] = "port-channel" + w[1]
			}
		}
	}
}

// physical reports whether a header opens a port that can carry a fabric.
func physical(header string) bool {
	name := strings.TrimPrefix(header, onPort)
	return strings.HasPrefix(name, "Ethernet") || strings.HasPrefix(name, "port-channel")
}

// normal writes short and longer forms as the one that we write.
func normal(line string) string {
	word := strings.Fields(line)
	if len(word) == 0 {
		return line
	}
	switch {
	case word[0] == "interface" && len(word) == 2:
		for _, kind := range []string{"Ethernet", "port-channel"} {
			if n := len(kind); len(word[1]) > n && strings.EqualFold(word[1][:n], kind) {
				word[1] = kind + word[1][n:]
			}
		}
	case word[0] == "policy-map" && len(word) == 2:
		word = []string{"policy-map", "type", "qos", word[1]}
	case word[0] == "class-map" && !slices.Contains(word, "type"):
		word = append([]string{"class-map", "type", "qos"}, word[1:]...)
	case word[0] == "class" && len(word) == 4 && word[1] == "type" && word[2] == "qos":
		word = []string{"class", word[3]}
	case word[0] == "service-policy" && len(word) >= 3 && word[1] != "type":
		word = append([]string{"service-policy", "type", "qos"}, word[1:]...)
	}
	if word[0] == "service-policy" && word[len(word)-1] == "no-stats" {
		word = word[:len(word)-1] // added by the switch
	}
	return strings.Join(word, " ")
}

// parseObject flattens an object of ours with everything in it.
func parseObject(path []string, kids []*switches.Node) []switches.Block {
	b := switches.Block{Path: path}
	var below []switches.Block
	for _, k := range kids {
		line := normal(k.Line)
		switch list, isMatch := strings.CutPrefix(line, "match dscp "); {
		case isMatch:
			for _, d := range traffic.ParseRanges(list, traffic.ParseDSCP) {
				b.Lines = append(b.Lines, "match dscp "+strconv.Itoa(d))
			}
		case strings.HasPrefix(line, "class "):
			below = append(below, parseObject([]string{path[0], line}, k.Kids)...)
		default:
			b.Lines = append(b.Lines, depths(line))
		}
	}
	return append([]switches.Block{b}, below...)
}

var depthWords = pattern.New(`(\d+) ([km]?bytes)\b`)

// depths writes the depths of a curve in the units that we use.
func depths(line string) string {
	if !strings.HasPrefix(line, "random-detect ") {
		return line
	}
	return depthWords.ReplaceAllStringFunc(line, func(words string) string {
		number, unit, _ := strings.Cut(words, " ")
		if n, ok := parseDepth(number, unit); ok {
			return depthText(n)
		}
		return words
	})
}

// interfaceBlock keeps the lines that weft manages and that are not
// defaults.
func interfaceBlock(o *switches.OS, head string, kids []*switches.Node) switches.Block {
	b := switches.Block{Path: []string{head}}
	for _, k := range kids {
		line := normal(k.Line)
		switch {
		case line == "mtu 1500", line == "priority-flow-control mode auto":
		case strings.HasPrefix(line, "mtu "), strings.HasPrefix(line, watchdogLine),
			strings.HasPrefix(line, "priority-flow-control mode "),
			strings.HasPrefix(line, attachHR) && o.Attached(line) != "",
			strings.HasPrefix(line, attachIn) && o.Attached(line) != "",
			strings.HasPrefix(line, attachOut) && o.Attached(line) != "":
			b.Lines = append(b.Lines, line)
		}
	}
	return b
}

// parseClasses reads what the policies of a name say, as far as they are in
// force; classification is in force port by port.
func parseClasses(bs []switches.Block, name string) (out []switches.Class) {
	if name == "" {
		return nil
	}
	system, _ := switches.FindBlock(bs, systemQoS)
	queuing := slices.Contains(system.Lines, attachOut+name+roleOut)
	network := slices.Contains(system.Lines, attachNQ+name+roleNQ)
	for _, b := range bs {
		if b.Head() != policyQoS+name+roleIn || len(b.Path) < 2 {
			continue
		}
		object := strings.TrimPrefix(b.Path[1], "class ")
		k := switches.Class{Name: strings.TrimPrefix(object, name+"-")}
		if b.Path[1] == otherwise {
			k.Name = switches.AllOther
		}
		for _, line := range b.Lines {
			if n, ok := strings.CutPrefix(line, "set qos-group "); ok {
				k.Priority = switches.Number(n)
			}
		}
		match, _ := switches.FindBlock(bs, classMap+object)
		for _, line := range match.Lines {
			if n, ok := strings.CutPrefix(line, "match dscp "); ok {
				k.DSCP = append(k.DSCP, switches.Number(n))
			}
		}
		slices.Sort(k.DSCP)
		if queuing {
			q, _ := switches.FindBlock(bs, policyQueuing+name+roleOut, "class type queuing "+queueClass(k.Priority))
			schedule(&k, q.Lines)
		}
		if network {
			q, _ := switches.FindBlock(bs, policyNetworkQoS+name+roleNQ, "class type network-qos c-8q-nq"+strconv.Itoa(k.Priority))
			k.PFC = slices.Contains(q.Lines, "pause pfc-cos "+strconv.Itoa(k.Priority))
		}
		out = append(out, k)
	}
	slices.SortStableFunc(out, switches.ByPriority)
	return out
}

// headroom reads the ingress buffers of classes.
func headroom(classes []switches.Class, bs []switches.Block, name string) {
	for i, k := range classes {
		b, _ := switches.FindBlock(bs, policyQueuing+name+roleHR, "class type queuing c-in-q"+strconv.Itoa(k.Priority))
		for _, line := range b.Lines {
			h := switches.Headroom{}
			if n, _ := fmt.Sscanf(line, buffer, &h.Size, &h.Xoff, &h.Xon); n == 3 {
				classes[i].Headroom = &h
			}
		}
	}
}

var red = pattern.New(`^random-detect minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+) drop-probability (\d+) weight \d+ (?:\S+ )*ecn$`)

func schedule(k *switches.Class, lines []string) {
	for _, line := range lines {
		if n, ok := strings.CutPrefix(line, share); ok {
			k.Bandwidth = switches.Number(n)
		}
		if strings.HasPrefix(line, priorityLevel) {
			k.Strict = true
		}
		m := red.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		lo, ok := parseDepth(m[1], m[2])
		hi, ok2 := parseDepth(m[3], m[4])
		if ok && ok2 {
			k.ECN = &switches.ECN{Min: lo, Max: hi, Probability: switches.Number(m[5])}
		}
	}
}

// parseDepth reads a queue depth; one in packets has no length in bytes.
func parseDepth(number, unit string) (int64, bool) {
	n, err := strconv.ParseInt(number, 10, 40)
	switch {
	case err != nil:
	case unit == "bytes":
		return n, true
	case unit == "kbytes":
		return n * 1000, true
	case unit == "mbytes":
		return n * 1000_000, true
	}
	return 0, false
}

func parsePort(name string, bs, global []switches.Block, prefix string) switches.Port {
	p := switches.Port{Name: name, Exists: true}
	system, _ := switches.FindBlock(global, systemQoS)
	p.Queue = prefix != "" && slices.Contains(system.Lines, attachOut+prefix+roleOut)
	for _, b := range bs {
		for _, line := range b.Lines {
			if n, ok := strings.CutPrefix(line, "mtu "); ok {
				p.MTU = switches.Number(n)
			}
			if line == pfc || strings.HasPrefix(line, pfc+" ") {
				p.PFC = true
			}
			p.Watchdog = p.Watchdog || dropsPaused(line)
			if prefix != "" && line == attachIn+prefix+roleIn {
				p.Classify = true
			}
			if prefix != "" && line == attachIn+prefix+roleTag {
				p.Classify, p.ByTag = true, true
			}
			if prefix != "" && line == attachHR+prefix+roleHR {
				p.Headroom = true
			}
			if strings.HasPrefix(line, attachOut) {
				p.Queue = false // the port's own policy overrides the system's
			}
		}
	}
	return p
}
