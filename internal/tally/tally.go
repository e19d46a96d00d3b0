// Package tally is what the ports of switches and servers have counted, in the
// words of no vendor.
package tally

import "slices"

// What switches count.
const (
	Drops          = "drops"               // packets of a queue that were dropped; NICs count them too
	TxPackets      = "tx_packets"          // of a queue
	TxBytes        = "tx_bytes"            // of a queue, of a priority of a NIC
	PFCRx          = "pfc_rx"              // pauses of a priority that came in
	PFCTx          = "pfc_tx"              // pauses of a priority that went out
	IngressDrops   = "ingress_drops"       // packets that were dropped on the way in; which class is not said
	WatchdogEvents = "pfc_watchdog.events" // queues that the watchdog has shut
)

// What NICs count besides.
const (
	RxBytes     = "rx_bytes"
	RxPause     = "rx_pause_duration" // microseconds for which a priority was not to send
	TxPause     = "tx_pause_duration"
	OutOfBuffer = "out_of_buffer"
	OutOfOrder  = "rdma.out_of_sequence"
	Retransmits = "rdma.retransmits"
	CNPSent     = "rdma.cnp_sent"
	CNPHandled  = "rdma.cnp_handled"
	ECNMarked   = "rdma.ecn_marked"

	IBSymbolErrors     = "ib.symbol_errors"
	IBLinkRecoveries   = "ib.link_recoveries"
	IBLinkDowned       = "ib.link_downed"
	IBReceiveErrors    = "ib.receive_errors"
	IBTransmitDiscards = "ib.transmit_discards"
	IBTransmitWait     = "ib.transmit_wait" // ticks for which data had to wait
)

// AllPriorities stands where a count is of a port and of no priority.
const AllPriorities = -1

// A Count is what a device has counted on one of its ports since it was cleared,
// or since the device came up.
type Count struct {
	Port     string `json:"port"`
	Priority int    `json:"priority"` // 802.1p priority, which is the queue of a class; AllPriorities
	Name     string `json:"name"`
	Value    uint64 `json:"value"`
	Line     string `json:"line"`             // what was read to see it
	Off      string `json:"off,omitempty"`    // why nothing is counted there: Value says nothing
	Untold   bool   `json:"untold,omitempty"` // Off is because the system does not report it, not because what counts is off
}

// A Gap is what a device does not tell about a port, and why.
type Gap struct {
	Port string `json:"port"`
	Name string `json:"name"` // "": nothing of the port
	Why  string `json:"why"`
}

// Ports are what the ports of a device have counted. What it holds neither as a count nor as
// a gap was not asked for.
type Ports struct {
	Counts []Count `json:"counts"`
	Gaps   []Gap   `json:"gaps,omitempty"`
}

// Find is the count of a port; ok is false where there is none, and why says
// what kept it from being read, if that is known.
func (c *Ports) Find(port string, priority int, name string) (count Count, ok bool, why string) {
	i := slices.IndexFunc(c.Counts, func(x Count) bool { return x.Port == port && x.Priority == priority && x.Name == name })
	if i >= 0 {
		return c.Counts[i], true, ""
	}
	for _, g := range c.Gaps {
		if g.Port == port && g.Name == name {
			return Count{}, false, g.Why
		}
	}
	return Count{}, false, ""
}
