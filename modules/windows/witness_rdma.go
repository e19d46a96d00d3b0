package windows

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/remote"
	"weft/internal/wait"
	"weft/inventory"
	"weft/modules/host"
)

// countersLook sees what NICs have counted of RDMA since they came up. The names of the class
// and of its properties are the same in every language, those of Get-Counter are not. What
// is called Persec is a sum: it is the raw data from which others calculate a rate.
func countersLook() remote.Look {
	return query("Name RDMAActiveConnections RDMACompletionQueueErrors RDMAConnectionErrors RDMAFailedConnectionAttempts RDMAInboundBytesPersec RDMAOutboundBytesPersec",
		"Get-CimInstance", "-ClassName", "Win32_PerfRawData_Counters_RDMAActivity")
}

// counters are what a NIC has counted of RDMA.
type counters struct {
	active, in, out uint64 // connections that stand, bytes
	broken, refused uint64 // connections and completion queues with an error, connections that did not come about
	why             string // it is not known
}

// countersOf are those of an adapter, whose row bears its description as performance
// counters write it.
func countersOf(s remote.Seen, description string) (c counters) {
	type row struct {
		Name, RDMAActiveConnections, RDMACompletionQueueErrors, RDMAConnectionErrors, RDMAFailedConnectionAttempts, RDMAInboundBytesPersec, RDMAOutboundBytesPersec string
	}
	list, err := rows[row](s, countersLook())
	if err != nil {
		return counters{why: "Windows reports no RDMA counters: " + err.Error()}
	}
	list = slices.DeleteFunc(list, func(r row) bool { return instance(r.Name) != instance(description) })
	if len(list) != 1 {
		return counters{why: fmt.Sprintf("Windows has %d rows of RDMA counters for an adapter %q, which are told apart by that only", len(list), description)}
	}
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil && c.why == "" {
			c.why = fmt.Sprintf("a counter of RDMA of %q is %q, which is no number", description, text)
		}
		return n
	}
	r := list[0]
	c.active, c.in, c.out = number(r.RDMAActiveConnections), number(r.RDMAInboundBytesPersec), number(r.RDMAOutboundBytesPersec)
	c.broken = number(r.RDMACompletionQueueErrors) + number(r.RDMAConnectionErrors)
	c.refused = number(r.RDMAFailedConnectionAttempts)
	return c
}

// trafficOf is what the NIC at a PCI address has counted at one of the looks.
func trafficOf(adapters, at remote.Seen, nic *inventory.RNIC) counters {
	all, err := readAdapters(adapters)
	if err != nil {
		return counters{why: err.Error()}
	}
	i := slices.IndexFunc(all, func(a adapter) bool { return a.PCI == nic.PCI })
	if i < 0 {
		return counters{why: "the host has no adapter at PCI address " + nic.PCI}
	}
	if slices.ContainsFunc(all, func(a adapter) bool { return a.PCI != nic.PCI && a.rdma && instance(a.Model) == instance(all[i].Model) }) {
		return counters{why: fmt.Sprintf("two adapters are described as %q, and counters of RDMA are told apart by that only", all[i].Model)}
	}
	return countersOf(at, all[i].Model)
}

// instance is a description without what names of performance counters must not hold, for
// which they have something else.
func instance(description string) string {
	return strings.ToLower(strings.NewReplacer("[", "(", "]", ")", "#", "_", "/", "_", `\`, "_").Replace(strings.TrimSpace(description)))
}

// between is how long it takes at least from one look at the counters to the next.
const between = time.Second

// counted looks at the counters again, some time after a first look.
func (t transport) counted(ctx context.Context, since time.Time) (remote.Seen, error) {
	if !wait.For(ctx, between-time.Since(since)) {
		return remote.Seen{}, ctx.Err()
	}
	return t.Read(ctx, []remote.Look{countersLook()})
}

// testifyTraffic says what RDMA has carried between two looks. weft sends none over SMB
// Direct: where nobody else does, nothing is measured.
func testifyTraffic(before, after counters, way int) host.Testimony {
	says := host.Testimony{Way: way, OfNIC: true, Metric: "rdma_traffic", Note: "bytes of RDMA of all senders", Holds: host.Unmeasured}
	switch {
	case before.why != "":
		says.Why = before.why
	case after.why != "":
		says.Why = after.why
	case after.in < before.in || after.out < before.out || after.broken < before.broken || after.refused < before.refused:
		says.Why = "the counters of RDMA went back meanwhile: the adapter has started again"
	case after.broken > before.broken:
		says.Holds, says.Why = host.Broken, fmt.Sprintf("RDMA broke with an error meanwhile, connections or completion queues: %d times, as Win32_PerfRawData_Counters_RDMAActivity counts", after.broken-before.broken)
	case after.refused > before.refused:
		says.Holds, says.Why = host.Unknown, fmt.Sprintf("failed RDMA connection attempts meanwhile: %d; the counters do not report the peer", after.refused-before.refused)
	case after.in == before.in && after.out == before.out:
		says.Why = fmt.Sprintf("%s, and nothing went over RDMA meanwhile: read a large file over SMB from another host while weft verify runs", standing(after.active))
	default:
		says.Holds = host.Holds
	}
	return says
}

// standing says how many connections there are.
func standing(n uint64) string {
	switch n {
	case 0:
		return "no connection of RDMA stands"
	case 1:
		return "one connection of RDMA stands"
	}
	return fmt.Sprintf("%d connections of RDMA stand", n)
}
