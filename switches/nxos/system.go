package nxos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/pattern"
	"weft/internal/text"
	"weft/switches"
)

// What others attach to an NX-OS switch in addition to the policies of weft's, and what
// that does to the queues, of which there is one set for all ports.

// extra is what only NX-OS has.
type extra struct {
	queues  map[string][]int           // that a policy fills (type qos) or serves (type queuing), by its header
	beside  []attached                 // policies where weft puts none
	jumbo   int                        // the MTU of layer 2 by a line of the system; 0: no line
	routes  map[string]bool            // ports that say that they are none of layer 2
	bridges map[string]bool            // ports that say that they are of layer 2
	trunks  map[string]*switches.Trunk // by port that says something of VLANs
}

func extraOf(r *switches.Text) *extra { return r.Own.(*extra) }

// An attached is a policy that stands where weft puts none, and stays.
type attached struct {
	place string // "system qos", Vlan40
	line  string
}

var classNumber = pattern.New(`q(\d)$`)

// queuesOf reads into which queues a policy puts packets (type qos), or to
// which it gives a share or precedence (type queuing).
func queuesOf(n *switches.Node) (out []int) {
	for _, class := range n.Kids {
		queue := 0 // …-q-default
		if m := classNumber.FindStringSubmatch(class.Line); m != nil {
			queue = switches.Number(m[1])
		}
		for _, k := range class.Kids {
			group, fills := strings.CutPrefix(k.Line, "set qos-group ")
			_, percent, shares := strings.Cut(k.Line, " percent ")
			switch {
			case fills:
				out = append(out, switches.Number(group))
			case strings.HasPrefix(k.Line, "bandwidth ") && shares && switches.Number(percent) > 0,
				k.Line == "priority", strings.HasPrefix(k.Line, "priority level "):
				out = append(out, queue)
			}
		}
	}
	return out
}

// shared are the queues that have a share or precedence on the system now. The
// system's own policy gives precedence to 7 and all the rest to 0 (show
// policy-map interface, default-8q-out-policy).
func shared(r *switches.Text) []int {
	system, _ := switches.FindBlock(r.Global, systemQoS)
	for _, line := range system.Lines {
		if policy, ok := strings.CutPrefix(line, attachOut); ok {
			return extraOf(r).queues[policyQueuing+policy]
		}
	}
	return []int{0, 7}
}

// starving looks which queues get neither a share nor precedence by want although
// another owner's policy fills them: taken are those that have one now.
func starving(c switches.Reading, want switches.Intent) (taken, waiting []string) {
	r, own := c.Text(), extraOf(c.Text())
	if len(want.Classes) == 0 {
		return nil, nil
	}
	places := map[string][]string{} // of policies that fill queues
	note := func(place, line string) {
		if policy, ok := strings.CutPrefix(line, attachIn); ok && !r.OS.Mine(want, policy) {
			places[policy] = append(places[policy], place)
		}
	}
	for _, a := range own.beside {
		note(a.place, a.line)
	}
	for _, port := range r.PortNames() {
		for _, b := range r.Port[port] {
			for _, line := range b.Lines {
				if _, wanted := want.Port(port); !wanted {
					note(port, line)
				}
			}
		}
	}
	now := shared(r)
	for _, policy := range slices.Sorted(maps.Keys(places)) {
		for _, q := range slices.Compact(slices.Sorted(slices.Values(extraOf(r).queues[policyQoS+policy]))) {
			if q == 0 || q > lowestStrict(want.Classes) || slices.ContainsFunc(want.Classes, func(k switches.Class) bool { return k.Priority == q }) {
				continue
			}
			why := fmt.Sprintf("policy-map type qos %s fills queue %d, of which the fabric has no class (%s)", policy, q, text.List(places[policy], switches.MostNamed))
			if slices.Contains(now, q) {
				taken = append(taken, why)
			} else {
				waiting = append(waiting, why+": its packets wait as long as another queue has any")
			}
		}
	}
	return taken, waiting
}

// remarks are what a reader of the plan must know of what stays.
func remarks(c switches.Reading, want switches.Intent) []string {
	out := systemRemarks(c, want)
	if divides(c, want) {
		out = append(out, "a network-qos policy is attached, changed or taken off: the switch then divides the buffers of all its ports anew, and what that does to their traffic is not known")
	}
	return append(out, strict(c, want)...)
}

// systemRemarks are about lines of the system.
func systemRemarks(c switches.Reading, want switches.Intent) (out []string) {
	own := extraOf(c.Text())
	for _, a := range own.beside {
		switch {
		case a.place != systemQoS, len(want.Classes) == 0:
		case strings.HasPrefix(a.line, attachIn):
			out = append(out, "system qos: "+a.line+" stays: it classifies on all ports, and whether it or a port's own policy decides is not known; look at the counters of the queues after apply")
		case strings.HasPrefix(a.line, attachHR):
			out = append(out, "system qos: "+a.line+" stays: it sets the ingress buffers of all ports, and whether it or a port's own policy decides is not known")
		}
	}
	var other []string
	for _, w := range want.Ports {
		p, ok := c.Port(w.Name)
		if takes, err := takes(c.Text(), w); ok && err == nil && w.MTU > max(p.MTU, usualMTU) && (takes.MTU != w.MTU || w.MTU > own.layer2() && !own.routes[w.Name]) {
			other = append(other, w.Name)
		}
	}
	if len(other) > 0 {
		out = append(out, fmt.Sprintf("a port of layer 2 takes an MTU of %d or that of system jumbomtu, which is %s: it is given that where it is enough, and the switch may refuse another one: %s", usualMTU, own.saysJumbo(), text.List(other, switches.MostNamed)))
	}
	return out
}

// layer2 is the MTU that ports of layer 2 take, apart from the usual one.
func (x *extra) layer2() int { return cmp.Or(x.jumbo, usualJumbo) }

func (x *extra) saysJumbo() string {
	if x.jumbo > 0 {
		return fmt.Sprintf("%d by its line (Cisco Interfaces guide)", x.jumbo)
	}
	return fmt.Sprintf("%d without a line (Cisco document 118994)", usualJumbo)
}

// takes gives a port that may be of layer 2 the MTU of the system where a smaller
// one is wished: it takes no other. One that says that it is of layer 2 cannot have a
// larger one.
func takes(r *switches.Text, p switches.Port) (switches.Port, error) {
	own := extraOf(r)
	block, _ := switches.FindBlock(r.Port[p.Name], onPort+p.Name)
	most := own.layer2()
	if p.VLAN != 0 {
		var t switches.Trunk
		if own.trunks[p.Name] != nil {
			t = *own.trunks[p.Name]
		}
		if err := t.Tags(p.Name, p.VLAN); err != nil {
			return p, err
		}
	}
	switch {
	case own.routes[p.Name], p.MTU <= max(usualMTU, mtuOf(block)):
	case p.MTU <= most:
		p.MTU = most
	case own.bridges[p.Name]:
		return p, hint.Wrap(fmt.Errorf("%s is a port of layer 2, which takes no MTU of %d: that of system jumbomtu is %s", p.Name, p.MTU, own.saysJumbo()),
			"raise system jumbomtu on the switch by hand, as it concerns all its ports, or lower mtu of the fabric")
	}
	return p, nil
}

// trunk reads a line of a port about VLANs. Without a list, a trunk allows all.
func (x *extra) trunk(port, line string) {
	of, is := strings.CutPrefix(line, "switchport ")
	if !is {
		return
	}
	t := x.trunks[port]
	if t == nil {
		t = &switches.Trunk{Native: 1, All: true}
		x.trunks[port] = t
	}
	if mode, ok := strings.CutPrefix(of, "mode "); ok {
		t.On = mode == "trunk"
	}
	if vlan, ok := strings.CutPrefix(of, "trunk native vlan "); ok {
		t.Native = switches.Number(vlan)
	}
	if list, ok := strings.CutPrefix(of, "trunk allowed vlan "); ok {
		list, more := strings.CutPrefix(list, "add ")
		if !more {
			t.Allowed = nil
		}
		t.All = list == "all"
		t.Allowed = append(t.Allowed, switches.VLANs(list)...)
	}
}

// What holds without a line: the MTU of a port, and system jumbomtu (Cisco,
// "Configure and Verify Maximum Transmission Unit on Nexus Platforms", document
// 118994, Per-Port MTU Configuration).
const (
	usualMTU   = 1500
	usualJumbo = 9216
)
