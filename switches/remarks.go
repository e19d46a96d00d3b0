package switches

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// note remembers a line that is worth a remark, with the port it stands on; ""
// is the system.
func (r *reading) note(m remark, port, line string) {
	text := m.key + " (" + line + ") " + m.text
	if r.notes == nil {
		r.notes = map[string][]string{}
	}
	if !slices.Contains(r.notes[text], port) {
		r.notes[text] = append(r.notes[text], port)
	}
}

// route remembers of a Comware port that it routes, and its IP MTU.
func (r *reading) route(port, line string) {
	mtu, known := strings.CutPrefix(line, "mtu ")
	if line != "port link-mode route" && !known {
		return
	}
	if r.routed == nil {
		r.routed = map[string]int{}
	}
	r.routed[port] = max(r.routed[port], atoi(mtu), 0)
}

// remarks are what a reader of the plan must know of the ports on which want has
// lossless classes, and of these classes.
func (c Config) remarks(want Config) (out []string) {
	for _, text := range slices.Sorted(maps.Keys(c.read.notes)) {
		var ports []string
		for _, w := range want.Ports {
			if w.PFC && slices.Contains(c.read.notes[text], w.Name) {
				ports = append(ports, w.Name)
			}
		}
		switch {
		case len(ports) > 0:
			out = append(out, text+someOf(ports))
		case slices.Contains(c.read.notes[text], "") && len(lossless(want.Classes)) > 0:
			out = append(out, text)
		}
	}
	if ports := c.shortRoutes(want); len(ports) > 0 {
		out = append(out, fmt.Sprintf("these ports route, and how long an IP packet may be is a line of its own there (mtu N), %d bytes without one; set it by hand: ", comwareIPMTU)+someOf(ports))
	}
	if len(c.read.stack) > 0 && len(lossless(want.Classes)) > 0 {
		out = append(out, "H3C wants the same PFC on the ports that tie the members of the stack together, which weft leaves as they are: "+someOf(c.read.stack))
	}
	out = append(out, c.systemRemarks(want)...)
	if c.divides(want) {
		out = append(out, "a network-qos policy is attached, changed or taken off: the switch then divides the buffers of all its ports anew, and what that does to their traffic is not known")
	}
	out = append(out, c.strictRemarks(want)...)
	for _, k := range want.Classes {
		if c.read.maps != nil && k.PFC && slices.Contains([]int{0, 6, 7}, k.Priority) {
			out = append(out, fmt.Sprintf("class %s: H3C advises against PFC for priorities 0, 6 and 7, which models and stacks refuse in part", k.Name))
		}
	}
	return out
}

// strictRemarks say what becomes of queues that no class claims so that strict
// ones are what they are meant to be, and where classes stand in the way of that.
func (c Config) strictRemarks(want Config) (out []string) {
	if c.read.maps != nil {
		own := fmt.Sprintf("qos wfq %s group sp", comwareQueue(comwareOwn))
		claimed := slices.ContainsFunc(want.Classes, func(k Class) bool { return k.Priority == comwareOwn })
		var ports []string
		for _, w := range want.Ports {
			if b, _ := findBlock(c.read.port[w.Name], comwareIface+w.Name); w.Queue && !claimed && !slices.Contains(b.lines, own) {
				ports = append(ports, w.Name)
			}
		}
		if len(ports) > 0 {
			out = append(out, "queue 7, of the switch's own protocol packets, becomes strict, as in H3C's templates: at its default weight of 1 a full port starves it: "+someOf(ports))
		}
		return out
	}
	lowest := lowestStrict(want.Classes)
	var fill []string
	for q := lowest + 1; q < priorities; q++ {
		i := slices.IndexFunc(want.Classes, func(k Class) bool { return k.Priority == q })
		b, _ := findBlock(c.read.global, nxosQueuing+want.Name+nxosOut, "class type queuing "+nxosQueue(q))
		switch {
		case i >= 0 && !want.Classes[i].Strict:
			out = append(out, fmt.Sprintf("class %s: its queue %d shares by weight above queue %d, which is strict: Cisco wants strict queues to be the highest, next to each other", want.Classes[i].Name, q, lowest))
		case i < 0 && !slices.ContainsFunc(b.lines, func(l string) bool { return strings.HasPrefix(l, nxosLevel) }):
			fill = append(fill, fmt.Sprint(q))
		}
	}
	if len(fill) > 0 {
		out = append(out, fmt.Sprintf("queue %s, which no class has, becomes strict: Cisco wants strict queues to be the highest, next to each other, and queue %d is one", strings.Join(fill, ", "), lowest))
	}
	return out
}

// divides reports whether what leads to want touches the network-qos policy of
// an NX-OS switch, of which there is one for all ports.
func (c Config) divides(want Config) bool {
	if c.read.maps != nil {
		return false
	}
	system, _ := findBlock(c.read.global, nxosSystem)
	attached := ""
	for _, line := range system.lines {
		if policy, ok := strings.CutPrefix(line, nxosAttachNQ); ok {
			attached = policy
		}
	}
	if len(want.Classes) == 0 {
		return attached != "" && want.mine(attached)
	}
	return attached != want.Name+nxosNQ || !slices.Equal(lossless(c.Classes), lossless(want.Classes))
}

// comwareIPMTU is the longest IP packet of a port that routes where no line says
// otherwise (H3C Ethernet interface command reference, mtu).
const comwareIPMTU = 1500

// shortRoutes are the ports that route and take no longer IP packets than usual,
// where want wishes longer frames.
func (c Config) shortRoutes(want Config) (out []string) {
	for _, w := range want.Ports {
		if mtu, routes := c.read.routed[w.Name]; routes && mtu <= comwareIPMTU && w.MTU > comwareIPMTU {
			out = append(out, w.Name)
		}
	}
	return out
}

// someOf lists the first of names, and how many more there are.
func someOf(names []string) string {
	if len(names) > 4 {
		names = append(slices.Clone(names[:4]), fmt.Sprintf("and %d more", len(names)-4))
	}
	return strings.Join(names, ", ")
}
