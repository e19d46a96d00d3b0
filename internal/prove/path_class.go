package prove

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/slice"
	"weft/internal/tally"
	"weft/inventory"
)

// first is the transport that is declared first for a leg.
func (l leg) first() string { return flow{target: l.target, portal: l.portal}.transports()[0] }

// class is that of what goes over a leg; nil: the fabric has none.
func (l leg) class() *inventory.TrafficClass { return l.from.Fabric.ClassOf(l.first()) }

// keptClass is the lossless class, where TCP is still marked as that: connections keep the
// mark that they had before TCP belonged to the class default, until the fabric says what
// carries it. nil: it is not so.
func (res *Result) keptClass(l leg, class *inventory.TrafficClass, sent, back uint64) *inventory.TrafficClass {
	old := l.from.Fabric.ClassOf(inventory.RDMA)
	if l.first() != inventory.TCP || l.from.Fabric.Assigns() || old == nil || old == class || sent >= back {
		return nil
	}
	if n, why := res.grown(Counter{l.to.Server.Addr, l.to.Name, old.Priority, tally.TxBytes}); why != "" || n < back {
		return nil
	}
	return old
}

// dscps says how the packets of a class are marked.
func dscps(c *inventory.TrafficClass) string {
	if len(c.DSCP) == 0 {
		return ", without a mark"
	}
	return ", DSCP " + strings.Join(slice.Map(c.DSCP, strconv.Itoa), ", ")
}

// reached reports whether a rollout that is under way has left nothing to do on a leg.
func (r *run) reached(l leg) bool {
	return r.in.Ready == nil || !slices.ContainsFunc(l.parts, func(part string) bool {
		device, name, _ := strings.Cut(part, " ")
		return !r.in.Ready(device, name)
	})
}

// atGate leaves out what is inconclusive because a rollout has not come to some hop.
func (r *run) atGate(list []Judgement) []Judgement {
	return slices.DeleteFunc(list, func(j Judgement) bool { return j.Verdict == Inconclusive && !j.unread && j.early })
}
