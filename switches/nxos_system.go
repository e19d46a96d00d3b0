package switches

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// What others attach to an NX-OS switch beside the policies of weft's, and what
// that does to the queues, of which there is one set for all ports.

// nxosSeen is what only NX-OS has.
type nxosSeen struct {
	queues map[string][]int // that a policy fills (type qos) or serves (type queuing), by its header
	beside []attached       // policies where weft puts none
	jumbo  int              // the MTU of layer 2 by a line of the system; 0: no line
	routes map[string]bool  // ports that say that they are none of layer 2
}

func nxosOf(r *reading) *nxosSeen { return r.own.(*nxosSeen) }

// An attached is a policy that stands where weft puts none, and stays.
type attached struct {
	place string // "system qos", Vlan40
	line  string
}

var nxosClassNumber = regexp.MustCompile(`q(\d)$`)

// nxosQueuesOf reads into which queues a policy puts packets (type qos), or to
// which it gives a share or precedence (type queuing).
func nxosQueuesOf(n *node) (out []int) {
	for _, class := range n.kids {
		queue := 0 // …-q-default
		if m := nxosClassNumber.FindStringSubmatch(class.line); m != nil {
			queue = atoi(m[1])
		}
		for _, k := range class.kids {
			group, fills := strings.CutPrefix(k.line, "set qos-group ")
			_, percent, shares := strings.Cut(k.line, " percent ")
			switch {
			case fills:
				out = append(out, atoi(group))
			case strings.HasPrefix(k.line, "bandwidth ") && shares && atoi(percent) > 0,
				k.line == "priority", strings.HasPrefix(k.line, "priority level "):
				out = append(out, queue)
			}
		}
	}
	return out
}

// nxosShared are the queues that have a share or precedence on the system now. The
// system's own policy gives precedence to 7 and all the rest to 0 (show
// policy-map interface, default-8q-out-policy).
func nxosShared(r *reading) []int {
	system, _ := findBlock(r.global, nxosSystem)
	for _, line := range system.lines {
		if policy, ok := strings.CutPrefix(line, nxosAttachOut); ok {
			return nxosOf(r).queues[nxosQueuing+policy]
		}
	}
	return []int{0, 7}
}

// nxosStarving looks which queues get neither a share nor precedence by want although
// somebody else's policy fills them: taken are those that have one now.
func nxosStarving(c Reading, want Intent) (taken, waiting []string) {
	r, own := c.read, nxosOf(c.read)
	if len(want.Classes) == 0 {
		return nil, nil
	}
	places := map[string][]string{} // of policies that fill queues
	note := func(place, line string) {
		if policy, ok := strings.CutPrefix(line, nxosAttachIn); ok && !want.mine(policy) {
			places[policy] = append(places[policy], place)
		}
	}
	for _, a := range own.beside {
		note(a.place, a.line)
	}
	for _, port := range sortedPorts(r) {
		for _, b := range r.port[port] {
			for _, line := range b.lines {
				if _, wanted := want.port(port); !wanted {
					note(port, line)
				}
			}
		}
	}
	now := nxosShared(r)
	for _, policy := range slices.Sorted(maps.Keys(places)) {
		for _, q := range slices.Compact(slices.Sorted(slices.Values(nxosOf(r).queues[nxosClassify+policy]))) {
			if q == 0 || q > lowestStrict(want.Classes) || slices.ContainsFunc(want.Classes, func(k Class) bool { return k.Priority == q }) {
				continue
			}
			text := fmt.Sprintf("policy-map type qos %s fills queue %d, of which the fabric has no class (%s)", policy, q, someOf(places[policy]))
			if slices.Contains(now, q) {
				taken = append(taken, text)
			} else {
				waiting = append(waiting, text+": its packets wait as long as another queue has any")
			}
		}
	}
	return taken, waiting
}

// nxosRemarks are what a reader of the plan must know of what stays.
func nxosRemarks(c Reading, want Intent) []string {
	out := nxosSystemRemarks(c, want)
	if nxosDivides(c, want) {
		out = append(out, "a network-qos policy is attached, changed or taken off: the switch then divides the buffers of all its ports anew, and what that does to their traffic is not known")
	}
	return append(out, nxosStrict(c, want)...)
}

// nxosSystemRemarks are about lines of the system.
func nxosSystemRemarks(c Reading, want Intent) (out []string) {
	own := nxosOf(c.read)
	for _, a := range own.beside {
		switch {
		case a.place != nxosSystem, len(want.Classes) == 0:
		case strings.HasPrefix(a.line, nxosAttachIn):
			out = append(out, "system qos: "+a.line+" stays: it classifies on all ports, and whether it or a port's own policy decides is not known; look at the counters of the queues after apply")
		case strings.HasPrefix(a.line, nxosAttachHR):
			out = append(out, "system qos: "+a.line+" stays: it sets the ingress buffers of all ports, and whether it or a port's own policy decides is not known")
		}
	}
	jumbo := cmp.Or(own.jumbo, nxosUsualJumbo)
	var short []string
	for _, w := range want.Ports {
		if p, ok := c.port(w.Name); ok && !own.routes[w.Name] && w.MTU > max(p.MTU, nxosUsualMTU) && w.MTU != jumbo {
			short = append(short, w.Name)
		}
	}
	switch {
	case len(short) == 0:
	case own.jumbo > 0:
		out = append(out, fmt.Sprintf("system jumbomtu %d stays: a port of layer 2 takes an MTU of %d or just that (Cisco Interfaces guide), so the switch may refuse another one: %s", jumbo, nxosUsualMTU, someOf(short)))
	default:
		out = append(out, fmt.Sprintf("a port of layer 2 takes an MTU of %d or that of system jumbomtu, which is %d without a line (Cisco document 118994), so the switch may refuse another one: %s", nxosUsualMTU, jumbo, someOf(short)))
	}
	return out
}

// What holds without a line: the MTU of a port, and system jumbomtu (Cisco,
// "Configure and Verify Maximum Transmission Unit on Nexus Platforms", document
// 118994, Per-Port MTU Configuration).
const (
	nxosUsualMTU   = 1500
	nxosUsualJumbo = 9216
)
