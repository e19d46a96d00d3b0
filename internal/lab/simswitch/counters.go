package simswitch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// counts are what a port has counted since the switch came up. Nothing but
// [Switch.Forward] and [Switch.Overrun] counts: SIMULATED traffic.
type counts struct {
	queue [8]queueCounts // on the way out
	pfc   [8]pfcCounts   // by 802.1p priority
}

type queueCounts struct{ packets, bytes, drops, dropped uint64 } // dropped: bytes

type pfcCounts struct{ received, sent uint64 }

// A class is where a switch puts packets.
type class struct{ priority, queue int }

// Forward counts packets that come in at one port and leave at another. Their
// queue is the one that the running configuration gives their DSCP on the port
// where they come in.
func (sw *Switch) Forward(in, out string, dscp int, packets, bytes uint64) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	q := &sw.counts(out).queue[sw.system.classify(sw.running, in, dscp).queue]
	q.packets += packets
	q.bytes += bytes
}

// Overrun lets packets of a DSCP come in at a port faster than they can leave.
// Where the configuration makes their class lossless on that port the switch
// sends a pause for each, and says for which priority; elsewhere they are
// dropped.
func (sw *Switch) Overrun(port string, dscp int, packets uint64) (priority int, paused bool, err error) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if !slices.Contains(sw.spec.Ports, port) {
		return 0, false, fmt.Errorf("%s has no port %s", sw.spec.Hostname, port)
	}
	c := sw.system.classify(sw.running, port, dscp)
	if sw.system.lossless(sw.running, port, c) {
		sw.counts(port).pfc[c.priority].sent += packets
		return c.priority, true, nil
	}
	q := &sw.counts(port).queue[c.queue]
	q.drops += packets
	q.dropped += packets * overrunBytes
	return c.priority, false, nil
}

// overrunBytes is the size of packets that overrun a port.
const overrunBytes = 4174

// counts are those of a port. The caller holds sw.mu.
func (sw *Switch) counts(port string) *counts {
	if sw.counted == nil {
		sw.counted = map[string]*counts{}
	}
	if sw.counted[port] == nil {
		sw.counted[port] = &counts{}
	}
	return sw.counted[port]
}

// nxosClassify follows the qos policy of a port, or that of the system, class
// by class: the first whose class-map names the DSCP decides.
func nxosClassify(root *node, port string, dscp int) class {
	attached := root.get(place{"interface " + port, "service-policy type qos input"})
	if attached == nil {
		attached = root.get(place{"system qos", "service-policy type qos input"})
	}
	if attached == nil {
		return class{}
	}
	policy := root.kid("policy-map type qos " + strings.Fields(attached.line)[4])
	if policy == nil {
		return class{}
	}
	for _, c := range policy.kids {
		name, ok := strings.CutPrefix(c.key, "class ")
		if !ok || name != "class-default" && !nxosMatches(root.kid("class-map type qos "+name), dscp) {
			continue
		}
		if set := c.kid("set qos-group"); set != nil {
			group, _ := strconv.Atoi(strings.Fields(set.line)[2]) // a number, says the grammar
			return class{nxosPriority(root, group), group}
		}
		return class{}
	}
	return class{}
}

func nxosMatches(classMap *node, dscp int) bool {
	return classMap != nil && slices.ContainsFunc(classMap.kids, func(k *node) bool {
		list, ok := strings.CutPrefix(k.line, "match dscp ")
		return ok && listed(list, dscp)
	})
}

// nxosPriority is the priority that the attached network-qos policy pauses for
// a group; without one it is that of the same number.
func nxosPriority(root *node, group int) int {
	if attached := root.get(place{"system qos", "service-policy type network-qos"}); attached != nil {
		k := root.get(place{"policy-map type network-qos " + strings.Fields(attached.line)[3],
			fmt.Sprintf("class type network-qos c-8q-nq%d", group), "pause pfc-cos"})
		for cos := range 8 {
			if k != nil && listed(strings.Fields(k.line)[2], cos) {
				return cos
			}
		}
	}
	return group
}

func nxosLossless(root *node, port string, c class) bool {
	k := root.get(place{"interface " + port, "priority-flow-control mode"})
	return k != nil && strings.HasPrefix(k.line, "priority-flow-control mode on") && noDrop(root)&(1<<c.priority) != 0
}

// comwareClassify follows the priority maps that a port trusts.
func comwareClassify(root *node, port string, dscp int) class {
	priority := 0
	if k := root.get(place{"interface " + port, "qos trust"}); k != nil && k.line == "qos trust dscp" {
		priority = mapped(root, "dscp-dot1p", dscp, dscp>>3)
	}
	return class{priority, mapped(root, "dot1p-lp", priority, localPriority(priority))}
}

// mapped is what a priority map makes of a value.
func mapped(root *node, table string, from, usual int) int {
	if k := root.get(place{"qos map-table " + table, "import " + strconv.Itoa(from)}); k != nil {
		to, _ := strconv.Atoi(strings.Fields(k.line)[3]) // a number, says the grammar
		return to
	}
	return usual
}

func comwareLossless(root *node, port string, c class) bool {
	mode := root.get(place{"interface " + port, "priority-flow-control"})
	list := root.get(place{"interface " + port, "priority-flow-control no-drop dot1p"})
	return mode != nil && mode.line == "priority-flow-control enable" && list != nil && listed(strings.Fields(list.line)[3], c.priority)
}

// nxosQueueCounts prints what the queues of a port have counted, in the layout of a
// N93180YC-FX2.
func nxosQueueCounts(s *session, m match) {
	port := m.args["port"]
	if !slices.Contains(s.sw.spec.Ports, port) {
		s.refuse(fmt.Errorf("%s: %w", port, errNoSuchPort))
		return
	}
	c := *s.sw.counts(port)
	const rule = "+-------------------------------------------------------------+"
	s.say("\nslot  1\n=======\n\n\nEgress Queuing for " + port + " [System]")
	for group, q := range c.queue {
		s.say(rule)
		s.say(fmt.Sprintf("|%31s%-30s|", fmt.Sprintf("QOS GROUP %d", group), ""))
		s.say(rule)
		s.say("|                           |  Unicast       |Multicast       |")
		s.say(rule)
		for _, row := range []struct {
			name  string
			value uint64
		}{
			{"Tx Pkts", q.packets}, {"Tx Byts", q.bytes}, {"WRED/AFD & Tail Drop Pkts", q.drops}, {"WRED/AFD & Tail Drop Byts", q.dropped},
			{"Q Depth Byts", 0}, {"WD & Tail Drop Pkts", q.drops},
		} {
			s.say(fmt.Sprintf("|%26s |%16d|%16d|", row.name, row.value, 0))
		}
	}
	s.say(rule)
	s.say("\nIngress Queuing for " + port + "\n-----------------------------------------------------")
	s.say("QoS-Group#                 Pause\n           Buff Size       Pause Th      Resume Th\n-----------------------------------------------------")
	for group := 7; group >= 0; group-- {
		s.say(fmt.Sprintf("%7d%15s%13s%13s", group, "-", "-", "-"))
	}
	s.say("\nPer Port Ingress Statistics\n--------------------------------------------------------")
	for _, name := range []string{"Hi Priority Drop Pkts", "Low Priority Drop Pkts", "Ingress Overflow Drop Pkts"} {
		s.say(fmt.Sprintf("%26s%28d", name, 0))
	}
	nxosPFCStatistics(s, c.pfc)
}

func nxosPFCStatistics(s *session, all [8]pfcCounts) {
	const rule = "------------------------------------------------------------------------------"
	var sum pfcCounts
	for _, p := range all {
		sum.received += p.received
		sum.sent += p.sent
	}
	s.say("\nPFC Statistics\n" + rule)
	s.say(fmt.Sprintf("TxPPP: %20d,   RxPPP: %20d", sum.sent, sum.received))
	s.say(rule + "\nPFC_COS QOS_Group   TxPause             TxCount   RxPause             RxCount")
	for cos, p := range all {
		s.say(fmt.Sprintf("%7d%10d%10s%20d%10s%20d", cos, cos, "Inactive", p.sent, "Inactive", p.received))
	}
	s.say(rule)
}

// nxosWatchdog prints what the PFC watchdog of a port has done. None of these
// watchdogs ever fires: nobody pauses a simulated switch for long.
func nxosWatchdog(s *session, m match) {
	port := m.args["port"]
	if !slices.Contains(s.sw.spec.Ports, port) {
		s.refuse(fmt.Errorf("%s: %w", port, errNoSuchPort))
		return
	}
	const on, rule = "priority-flow-control watch-dog-interval", "+----------------------------------------------------+"
	state := "Disabled"
	global, local := s.sw.running.kid(on), s.sw.running.get(place{"interface " + port, on})
	if global != nil && local != nil && strings.HasSuffix(global.line, " on") && strings.HasSuffix(local.line, " on") {
		state = "Enabled"
	}
	s.say(port + " Interface PFC watchdog: [" + state + "]")
	if state == "Disabled" {
		return
	}
	s.say("Disable-action                     : No\nPFC watch-dog interface-multiplier : 0")
	for group := range 8 {
		priority := nxosPriority(s.sw.running, group)
		if noDrop(s.sw.running)&(1<<priority) == 0 {
			continue
		}
		s.say(rule + fmt.Sprintf("\n| QOS GROUP %d [Active] PFC [YES] PFC-COS [%d]\n", group, priority) + rule)
		s.say("|                               |  Stats             |\n" + rule)
		for _, name := range []string{"Shutdown", "Restored", "Total pkts drained", "Total pkts dropped", "Total pkts drained + dropped",
			"Aggregate pkts dropped", "Total Ingress pkts dropped", "Aggregate Ingress pkts dropped"} {
			s.say(fmt.Sprintf("|%31s|%20d|", name, 0))
		}
		s.say(rule)
	}
}

// comwareQueues prints what the queues of a port have counted.
func comwareQueues(s *session, m match) {
	port := m.args["port"]
	if !slices.Contains(s.sw.spec.Ports, port) {
		s.refuse(fmt.Errorf("%s: no such port", port))
		return
	}
	c := *s.sw.counts(port)
	var all queueCounts
	for _, q := range c.queue {
		all.packets, all.bytes, all.drops, all.dropped = all.packets+q.packets, all.bytes+q.bytes, all.drops+q.drops, all.dropped+q.dropped
	}
	row := func(indent, what string, packets, bytes uint64) {
		s.say(fmt.Sprintf("%s%s: %d packets, %d bytes", indent, what, packets, bytes))
	}
	s.say("Interface: " + port + "\n Direction: outbound")
	row(" ", "Forwarded", all.packets, all.bytes)
	row(" ", "Dropped", all.drops, all.dropped)
	for n, q := range c.queue {
		s.say(fmt.Sprintf(" Queue %d", n))
		row("  ", "Forwarded", q.packets, q.bytes)
		row("  ", "Dropped", q.drops, q.dropped)
		row("  ", "Green forwarded", q.packets, q.bytes)
		row("  ", "Green dropped", q.drops, q.dropped)
		for _, colour := range []string{"Yellow", "Red"} {
			row("  ", colour+" forwarded", 0, 0)
			row("  ", colour+" dropped", 0, 0)
		}
		s.say("  Total queue length: 0 packets\n  Current queue length: 0 packets, 0% use ratio")
	}
}
