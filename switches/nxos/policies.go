package nxos

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/owned"
	"weft/internal/pattern"
	"weft/internal/slice"
	"weft/internal/traffic"
	"weft/switches"
)

// policies are the class-maps and policy-maps of a running configuration, and where they are
// attached.
type policies struct {
	matches map[string][]string // the lines of class-maps, by "type name"
	body    map[string][]branch // the classes of policy-maps, by the header
	at      map[string]*place   // by the interface, or "system qos"
}

// A branch is a class of a policy.
type branch struct {
	class string
	lines []string
}

// A place is where policies may be attached.
type place struct {
	name     string
	attached map[string]string // the policy by the line that attaches it
	weft     bool              // it has a policy of weft's
	port     bool              // a physical port or a port-channel
	pfc      bool              // priority-flow-control mode on
}

var (
	anyClassMap = pattern.New(`^class-map type (qos|queuing|network-qos) (?:match-(?:any|all) )?(\S+)$`)
	queueNumber = pattern.New(`^c-(?:in-|out-)?(?:[48]q-)?n?q(\d|-default)$`)
)

func collect(tree []*switches.Node) *policies {
	p := &policies{matches: map[string][]string{}, body: map[string][]branch{}, at: map[string]*place{}}
	for _, n := range tree {
		p.take(n)
	}
	return p
}

// take notes a section.
func (p *policies) take(n *switches.Node) {
	head := normal(n.Line)
	lines := func(n *switches.Node) []string {
		list := slice.Map(n.Kids, func(k *switches.Node) string { return normal(k.Line) })
		return slices.DeleteFunc(list, func(l string) bool { return strings.HasPrefix(l, "description ") })
	}
	switch m := anyClassMap.FindStringSubmatch(head); {
	case m != nil:
		key := m[1] + " " + m[2]
		p.matches[key] = append(p.matches[key], lines(n)...)
	case strings.HasPrefix(head, "policy-map "):
		for _, k := range n.Kids {
			if line := normal(k.Line); strings.HasPrefix(line, "class ") {
				p.body[head] = append(p.body[head], branch{lastWord(line), lines(k)})
			}
		}
	case head == systemQoS, strings.HasPrefix(head, onPort):
		p.attach(head, n.Kids)
	}
}

// attach notes what is attached below a header.
func (p *policies) attach(head string, kids []*switches.Node) {
	name := strings.TrimPrefix(head, onPort)
	at := p.at[name]
	if at == nil {
		at = &place{name: name, attached: map[string]string{}, port: head != systemQoS && physical(head)}
		p.at[name] = at
	}
	for _, k := range kids {
		line := normal(k.Line)
		at.pfc = at.pfc || line == pfc || strings.HasPrefix(line, pfc+" ")
		for _, attach := range []string{attachIn, attachOut, attachHR, attachNQ} {
			name, ok := strings.CutPrefix(line, attach)
			switch {
			case !ok, strings.HasPrefix(name, "default-"): // what the switch itself attaches
			case strings.HasPrefix(name, owned.Objects):
				at.weft = true
			default:
				at.attached[attach] = name
			}
		}
	}
}

// chosen returns the policy that is in force in most of the places, with these places; of two
// in as many places the first by name.
func (p *policies) chosen(attach string, among []*place) (policy string, in []*place) {
	by := map[string][]*place{}
	for _, at := range among {
		if name := p.inForce(attach, at); name != "" {
			by[name] = append(by[name], at)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if len(by[name]) > len(in) {
			policy, in = name, by[name]
		}
	}
	return policy, in
}

// inForce is the policy of a place: its own, or that of the system; "" is none.
func (p *policies) inForce(attach string, at *place) string {
	if name := at.attached[attach]; name != "" || at.name == systemQoS {
		return name
	}
	if system := p.at[systemQoS]; system != nil && at.port {
		return system.attached[attach]
	}
	return ""
}

// places are those that have no policy of weft's, by name.
func (p *policies) places() (list []*place) {
	for _, name := range slices.Sorted(maps.Keys(p.at)) {
		if at := p.at[name]; !at.weft {
			list = append(list, at)
		}
	}
	return list
}

// queueOf is the queue of a class of a queuing or network-qos policy, by its name or by the
// class-map that describes it; -1: that is not known.
func (p *policies) queueOf(kind, class string) int {
	switch m := queueNumber.FindStringSubmatch(class); {
	case class == "class-default":
		return 0
	case m != nil && m[1] == "-default":
		return 0
	case m != nil:
		return switches.Number(m[1])
	}
	if lines := p.matches[kind+" "+class]; len(lines) == 1 {
		if group, ok := strings.CutPrefix(lines[0], "match qos-group "); ok {
			if q, err := strconv.Atoi(group); err == nil && q >= 0 && q < traffic.Priorities {
				return q
			}
		}
	}
	return -1
}

func lastWord(line string) string { return line[strings.LastIndexByte(line, ' ')+1:] }
