package nxos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/owned"
	"weft/internal/pattern"
	"weft/internal/slice"
	"weft/internal/traffic"
	"weft/switches"
)

// meaning reads what policies of others that are in force mean as classes: the qos policy
// of most ports, and the queuing and network-qos policies of the system, or of most ports.
// What has no word there is a remark. No policy that classifies by DSCP: no classes.
func meaning(o *switches.OS, out map[string]string) switches.Meaning {
	_, tree := o.Text(out[showRunning], nil)
	p := policies{matches: map[string][]string{}, qos: map[string][]branch{}, queuing: map[string][]branch{}, network: map[string][]branch{}, used: map[string]map[string]int{}}
	for _, n := range tree {
		p.take(n)
	}
	var m switches.Meaning
	queues, lossless := p.queuing[p.most(attachOut)], p.network[p.most(attachNQ)]
	for _, b := range p.qos[p.most(attachIn)] {
		if k, ok := p.class(&m, b); ok {
			m.Classes = append(m.Classes, k)
		}
	}
	if len(m.Classes) == 0 {
		return m
	}
	m.Classes = append(m.Classes, switches.Class{Name: switches.AllOther})
	for i := range m.Classes {
		p.serve(&m.Classes[i], queues, lossless)
	}
	balance(&m)
	slices.SortStableFunc(m.Classes, switches.ByPriority)
	return m
}

// policies are those of a running configuration, by name.
type policies struct {
	matches               map[string][]string // lines of class-maps
	qos, queuing, network map[string][]branch
	used                  map[string]map[string]int // how often a policy is attached, by the line that does so
}

// A branch is a class of a policy.
type branch struct {
	class string
	lines []string
}

var (
	anyClassMap = pattern.New(`^class-map type qos (?:match-(?:any|all) )?(\S+)$`)
	queueNumber = pattern.New(`^c-(?:out-)?(?:[48]q-)?n?q(\d|-default)$`)
)

// take notes a section.
func (p *policies) take(n *switches.Node) {
	head := normal(n.Line)
	below := map[string]map[string][]branch{policyQoS: p.qos, policyQueuing: p.queuing, policyNetworkQoS: p.network}
	for prefix, by := range below {
		if name, ok := strings.CutPrefix(head, prefix); ok {
			for _, k := range n.Kids {
				b := branch{class: lastWord(k.Line)}
				b.lines = slice.Map(k.Kids, func(line *switches.Node) string { return normal(line.Line) })
				by[name] = append(by[name], b)
			}
			return
		}
	}
	if m := anyClassMap.FindStringSubmatch(head); m != nil {
		for _, k := range n.Kids {
			p.matches[m[1]] = append(p.matches[m[1]], normal(k.Line))
		}
		return
	}
	for _, k := range n.Kids {
		line := normal(k.Line)
		for _, attach := range []string{attachIn, attachOut, attachNQ} {
			name, ok := strings.CutPrefix(line, attach)
			if !ok || strings.HasPrefix(name, owned.Objects) {
				continue
			}
			if p.used[attach] == nil {
				p.used[attach] = map[string]int{}
			}
			p.used[attach][name]++
		}
	}
}

// most is the policy that is attached most often; of as many the first by name.
func (p *policies) most(attach string) (name string) {
	for n, times := range p.used[attach] {
		if best := p.used[attach][name]; times > best || times == best && n < name {
			name = n
		}
	}
	return name
}

// class is what a branch of a qos policy means; false: nothing that weft has a word for.
func (p *policies) class(m *switches.Meaning, b branch) (k switches.Class, ok bool) {
	if b.class == "class-default" {
		return k, false
	}
	k.Name = b.class
	for _, line := range p.matches[b.class] {
		if list, isDSCP := strings.CutPrefix(line, "match dscp "); isDSCP {
			k.DSCP = append(k.DSCP, traffic.ParseRanges(list, traffic.ParseDSCP)...)
			continue
		}
		m.Remarks = append(m.Remarks, fmt.Sprintf("class %s: %s: weft classifies by DSCP only", b.class, line))
	}
	for _, line := range b.lines {
		if group, isGroup := strings.CutPrefix(line, "set qos-group "); isGroup {
			k.Priority = switches.Number(group)
			continue
		}
		m.Remarks = append(m.Remarks, fmt.Sprintf("class %s: %s has no word in weft", b.class, line))
	}
	slices.Sort(k.DSCP)
	k.DSCP = slices.Compact(k.DSCP)
	if len(k.DSCP) == 0 || k.Priority <= 0 || k.Priority > traffic.MaxPriority {
		m.Remarks = append(m.Remarks, fmt.Sprintf("class %s is left out: it has no DSCP, or is in queue 0", b.class))
		return k, false
	}
	return k, true
}

// serve reads what the queue of a class has.
func (p *policies) serve(k *switches.Class, queues, lossless []branch) {
	for _, b := range queues {
		if queueOf(b.class) != k.Priority {
			continue
		}
		schedule(k, b.lines)
		for _, line := range b.lines {
			if n, ok := strings.CutPrefix(line, "bandwidth percent "); ok {
				k.Bandwidth = switches.Number(n)
			}
		}
	}
	for _, b := range lossless {
		if queueOf(b.class) == k.Priority {
			k.PFC = slices.Contains(b.lines, "pause pfc-cos "+strconv.Itoa(k.Priority))
		}
	}
}

// queueOf is the queue of a class that the system has, -1: of none.
func queueOf(class string) int {
	m := queueNumber.FindStringSubmatch(class)
	switch {
	case m == nil:
		return -1
	case m[1] == "-default":
		return 0
	}
	return switches.Number(m[1])
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

func lastWord(line string) string { return line[strings.LastIndexByte(line, ' ')+1:] }
