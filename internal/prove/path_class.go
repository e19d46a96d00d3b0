package prove

import (
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
