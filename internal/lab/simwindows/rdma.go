//go:build unix

package simwindows

import (
	"fmt"
	"strings"
)

// copied is what goes over each connection of RDMA from one look at its counters to the
// next, while files are copied.
const copied = 64 << 20

// counts are the counters of RDMA of the adapters that do it. Each look finds that more was
// carried, or that more broke, where that is to be.
func (h *Host) counts() (out []any) {
	for _, a := range h.adapters {
		if !a.RDMA || !a.rdma || h.noRDMA {
			continue
		}
		var standing int64
		for _, peer := range h.spec.Peers {
			if near, _ := h.near(peer); near == a && !h.oneChannel["Client"] {
				standing += 2
			}
		}
		if h.copying && standing > 0 {
			a.carried += copied
		}
		if h.breaking {
			a.broken++
		}
		out = append(out, made("Win32_PerfRawData_Counters_RDMAActivity", "Name", instance(a.description),
			"RDMAActiveConnections", standing, "RDMAAcceptedConnections", standing, "RDMAInitiatedConnections", standing,
			"RDMACompletionQueueErrors", int64(0), "RDMAConnectionErrors", a.broken, "RDMAFailedConnectionAttempts", int64(0),
			"RDMAInboundBytesPersec", a.carried, "RDMAOutboundBytesPersec", a.carried))
	}
	return out
}

// instance is a description as performance counters write it.
func instance(description string) string {
	return strings.NewReplacer("(", "[", ")", "]", "#", "_", "/", "_", `\`, "_").Replace(description)
}

// describe gives adapters their descriptions: Windows tells those of one model apart, its
// drivers need not.
func (h *Host) describe(alike bool) {
	for i, a := range h.adapters {
		a.description = "SIMULATED 100GbE Adapter"
		if i > 0 && !alike {
			a.description += fmt.Sprintf(" #%d", i+1)
		}
	}
}
