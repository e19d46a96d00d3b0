package switches

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func nxosParse(o *OS, out map[string]string) (Reading, error) {
	var c Reading
	c.Facts = nxosFacts(out[nxosVersion])
	r := &reading{os: o, own: &nxosSeen{routes: map[string]bool{}, queues: map[string][]int{}},
		ports: map[string]Port{}, port: map[string][]block{}, bundles: map[string]string{}}
	tree := parseTree(out[nxosRunning])
	r.understand(nxosVocabulary(), tree)
	for _, n := range tree {
		nxosNode(&c, r, n)
	}
	r.global = append(r.global, block{path: []string{nxosSystem}}) // always exists
	r.global = mergeBlocks(r.global, nxosKey)
	r.facts, c.read = c.Facts, r
	system, _ := findBlock(r.global)
	if slices.Contains(system.lines, nxosWatchdog) {
		c.Watchdog = "drop"
	}
	c.LLDP = slices.Contains(system.lines, nxosLLDP)
	c = nxosUnder(c, attachedName(r, anybody))
	c.Foreign = foreignNames(c, Intent{Name: c.Name, Classes: c.Classes})
	return c.seal(), nil
}

// nxosUnder says what the objects of a name do, as far as they are in force.
func nxosUnder(c Reading, name string) Reading {
	r := c.read
	c.Name, c.Classes, c.Ports = name, nxosClasses(r.global, name), slices.Clone(c.Ports)
	buffers := false
	for i, p := range c.Ports {
		c.Ports[i] = nxosParsePort(p.Name, r.port[p.Name], r.global, name)
		c.Ports[i].Bundle = r.bundles[p.Name]
		buffers = buffers || c.Ports[i].Headroom
	}
	if buffers { // in force on some port
		nxosHeadroom(c.Classes, r.global, name)
	}
	return c
}

// These are printed by real devices: "NXOS: version 10.2(3) [Feature
// Release]", "cisco Nexus9000 C9332D-GX2B Chassis", "Processor Board ID
// FDO26380WD1", "Device name: Spine-12". Older systems say "system:".
var (
	nxosVersionLine = regexp.MustCompile(`(?m)^ *(?:NXOS|system): +version (\S+)`)
	nxosModelLine   = regexp.MustCompile(`(?m)^ *cisco (.+?) *(?:[Cc]hassis\b.*|\(.*)?$`)
	nxosSerialLine  = regexp.MustCompile(`(?m)^ *Processor Board ID (\S+)`)
	nxosNameLine    = regexp.MustCompile(`(?m)^ *Device name: (\S+)`)
)

func nxosFacts(text string) Facts {
	text = strings.ReplaceAll(text, "\r", "")
	first := func(re *regexp.Regexp) string {
		if m := re.FindStringSubmatch(text); m != nil {
			return m[1]
		}
		return ""
	}
	return Facts{
		Hostname: first(nxosNameLine),
		Model:    first(nxosModelLine),
		Serial:   first(nxosSerialLine),
		Version:  first(nxosVersionLine),
	}
}

// nxosNode collects one section of the running configuration. Sections stand
// in any order, and some twice.
func nxosNode(c *Reading, r *reading, n *node) {
	head, own := nxosNormal(n.line), nxosOf(r)
	if strings.HasPrefix(head, nxosClassify) || strings.HasPrefix(head, nxosQueuing) {
		own.queues[head] = append(own.queues[head], nxosQueuesOf(n)...)
	}
	switch {
	case strings.HasPrefix(head, nxosJumbo):
		own.jumbo = atoi(strings.TrimPrefix(head, nxosJumbo))
	case strings.HasPrefix(head, "hostname "), strings.HasPrefix(head, "switchname "):
		c.Facts.Hostname = head[strings.IndexByte(head, ' ')+1:]
	case strings.HasPrefix(head, nxosWatchdogLine), head == nxosLLDP:
		r.global = append(r.global, block{lines: []string{head}})
	case head == nxosSystem:
		b := block{path: []string{head}}
		for _, k := range n.kids {
			switch line := nxosNormal(k.line); {
			case r.os.attachment(line) == "":
			case strings.HasPrefix(line, nxosAttachOut), strings.HasPrefix(line, nxosAttachNQ):
				b.lines = append(b.lines, line)
			default:
				own.beside = append(own.beside, attached{nxosSystem, line})
			}
		}
		r.global = append(r.global, b)
	case nxosRank(head) >= 0 && objectOf(head) != "":
		r.global = append(r.global, nxosObject([]string{head}, n.kids)...)
	case strings.HasPrefix(head, "class-map "), strings.HasPrefix(head, "policy-map "):
		r.others = append(r.others, head)
	case strings.HasPrefix(head, nxosInterface) && !nxosPhysical(head):
		for _, k := range n.kids {
			if line := nxosNormal(k.line); r.os.attachment(line) != "" {
				own.beside = append(own.beside, attached{strings.TrimPrefix(head, nxosInterface), line})
			}
		}
	case strings.HasPrefix(head, nxosInterface):
		name := strings.TrimPrefix(head, nxosInterface)
		if _, twice := r.port[name]; !twice {
			c.Ports = append(c.Ports, Port{Name: name})
		}
		r.port[name] = mergeBlocks(append(r.port[name], nxosInterfaceBlock(r.os, head, n.kids)), nxosKey)
		for _, k := range n.kids {
			own.routes[name] = own.routes[name] || k.line == "no switchport"
			if w := strings.Fields(k.line); len(w) > 1 && w[0] == "channel-group" {
				r.bundles[name] = "port-channel" + w[1]
			}
		}
	}
}

// nxosPhysical reports whether a header opens a port that can carry a fabric.
func nxosPhysical(header string) bool {
	name := strings.TrimPrefix(header, nxosInterface)
	return strings.HasPrefix(name, "Ethernet") || strings.HasPrefix(name, "port-channel")
}

// nxosNormal writes short and longer forms as the one that we write.
func nxosNormal(line string) string {
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

// nxosObject flattens an object of ours with everything in it.
func nxosObject(path []string, kids []*node) []block {
	b := block{path: path}
	var below []block
	for _, k := range kids {
		line := nxosNormal(k.line)
		switch list, isMatch := strings.CutPrefix(line, "match dscp "); {
		case isMatch:
			for _, d := range parseRanges(list, dscpNumber) {
				b.lines = append(b.lines, "match dscp "+strconv.Itoa(d))
			}
		case strings.HasPrefix(line, "class "):
			below = append(below, nxosObject([]string{path[0], line}, k.kids)...)
		default:
			b.lines = append(b.lines, nxosDepths(line))
		}
	}
	return append([]block{b}, below...)
}

var nxosDepthWords = regexp.MustCompile(`(\d+) ([km]?bytes)\b`)

// nxosDepths writes the depths of a curve in the units that we use.
func nxosDepths(line string) string {
	if !strings.HasPrefix(line, "random-detect ") {
		return line
	}
	return nxosDepthWords.ReplaceAllStringFunc(line, func(words string) string {
		number, unit, _ := strings.Cut(words, " ")
		if n, ok := nxosDepth(number, unit); ok {
			return nxosBytes(n)
		}
		return words
	})
}

// nxosInterfaceBlock keeps the lines that weft manages and that are not
// defaults.
func nxosInterfaceBlock(o *OS, head string, kids []*node) block {
	b := block{path: []string{head}}
	for _, k := range kids {
		line := nxosNormal(k.line)
		switch {
		case line == "mtu 1500", line == "priority-flow-control mode auto":
		case strings.HasPrefix(line, "mtu "), strings.HasPrefix(line, nxosWatchdogLine),
			strings.HasPrefix(line, "priority-flow-control mode "),
			strings.HasPrefix(line, nxosAttachHR) && o.attachment(line) != "",
			strings.HasPrefix(line, nxosAttachIn) && o.attachment(line) != "",
			strings.HasPrefix(line, nxosAttachOut) && o.attachment(line) != "":
			b.lines = append(b.lines, line)
		}
	}
	return b
}

func anybody(string) bool { return true }

// attachedName is the prefix of the objects of weft's that are attached, of the
// system before the ports, as far as they are whose they shall be.
func attachedName(r *reading, mine func(object string) bool) string {
	places := slices.Clone(r.global)
	for _, name := range sortedPorts(r) {
		places = append(places, r.port[name]...)
	}
	for _, b := range places {
		for _, line := range b.lines {
			object := r.os.attachment(line)
			if !strings.HasPrefix(object, objectPrefix) || !mine(object) {
				continue
			}
			for _, role := range r.os.lines.roles {
				if name, ok := strings.CutSuffix(object, role); ok {
					return name
				}
			}
			if len(r.os.lines.roles) == 0 {
				return object
			}
		}
	}
	return ""
}

// nxosClasses reads what the policies of a name say, as far as they are in
// force; classification is in force port by port.
func nxosClasses(bs []block, name string) (out []Class) {
	if name == "" {
		return nil
	}
	system, _ := findBlock(bs, nxosSystem)
	queuing := slices.Contains(system.lines, nxosAttachOut+name+roleOut)
	network := slices.Contains(system.lines, nxosAttachNQ+name+roleNQ)
	for _, b := range bs {
		if b.head() != nxosClassify+name+roleIn || len(b.path) < 2 {
			continue
		}
		object := strings.TrimPrefix(b.path[1], "class ")
		k := Class{Name: strings.TrimPrefix(object, name+"-")}
		if b.path[1] == nxosOtherwise {
			k.Name = allOther
		}
		for _, line := range b.lines {
			if n, ok := strings.CutPrefix(line, "set qos-group "); ok {
				k.Priority = atoi(n)
			}
		}
		match, _ := findBlock(bs, nxosClassMap+object)
		for _, line := range match.lines {
			if n, ok := strings.CutPrefix(line, "match dscp "); ok {
				k.DSCP = append(k.DSCP, atoi(n))
			}
		}
		slices.Sort(k.DSCP)
		if queuing {
			q, _ := findBlock(bs, nxosQueuing+name+roleOut, "class type queuing "+nxosQueue(k.Priority))
			nxosSchedule(&k, q.lines)
		}
		if network {
			q, _ := findBlock(bs, nxosNetworkQoS+name+roleNQ, "class type network-qos c-8q-nq"+strconv.Itoa(k.Priority))
			k.PFC = slices.Contains(q.lines, "pause pfc-cos "+strconv.Itoa(k.Priority))
		}
		out = append(out, k)
	}
	slices.SortStableFunc(out, byPriority)
	return out
}

// nxosHeadroom reads the ingress buffers of classes.
func nxosHeadroom(classes []Class, bs []block, name string) {
	for i, k := range classes {
		b, _ := findBlock(bs, nxosQueuing+name+roleHR, "class type queuing c-in-q"+strconv.Itoa(k.Priority))
		for _, line := range b.lines {
			h := Headroom{}
			if n, _ := fmt.Sscanf(line, nxosBuffer, &h.Size, &h.Xoff, &h.Xon); n == 3 {
				classes[i].Headroom = &h
			}
		}
	}
}

var nxosRED = regexp.MustCompile(`^random-detect minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+) drop-probability (\d+) weight \d+ (?:\S+ )*ecn$`)

func nxosSchedule(k *Class, lines []string) {
	for _, line := range lines {
		if n, ok := strings.CutPrefix(line, nxosShare); ok {
			k.Bandwidth = atoi(n)
		}
		if strings.HasPrefix(line, nxosLevel) {
			k.Strict = true
		}
		m := nxosRED.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		lo, ok := nxosDepth(m[1], m[2])
		hi, ok2 := nxosDepth(m[3], m[4])
		if ok && ok2 {
			k.ECN = &ECN{Min: lo, Max: hi, Probability: atoi(m[5])}
		}
	}
}

// nxosDepth reads a queue depth; one in packets has no length in bytes.
func nxosDepth(number, unit string) (int64, bool) {
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

func nxosParsePort(name string, bs, global []block, prefix string) Port {
	p := Port{Name: name, Exists: true}
	system, _ := findBlock(global, nxosSystem)
	p.Queue = prefix != "" && slices.Contains(system.lines, nxosAttachOut+prefix+roleOut)
	for _, b := range bs {
		for _, line := range b.lines {
			if n, ok := strings.CutPrefix(line, "mtu "); ok {
				p.MTU = atoi(n)
			}
			if line == nxosPFC || strings.HasPrefix(line, nxosPFC+" ") {
				p.PFC = true
			}
			p.Watchdog = p.Watchdog || nxosDrops(line)
			if prefix != "" && line == nxosAttachIn+prefix+roleIn {
				p.Classify = true
			}
			if prefix != "" && line == nxosAttachHR+prefix+roleHR {
				p.Headroom = true
			}
			if strings.HasPrefix(line, nxosAttachOut) {
				p.Queue = false // the port's own policy overrides the system's
			}
		}
	}
	return p
}
