package inventory

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/tally"
)

// A Source is what a metric counts: switch.port.class.rdma.drops.
type Source struct {
	Device string // switch or server
	Class  string // of the fabric; "": of the whole port
	Name   string
}

// counterNames are the counters of a port, or of a class of it.
func counterNames(device string, class bool) []string {
	switch {
	case device == "switch" && class:
		return []string{tally.Drops, tally.TxPackets, tally.TxBytes, tally.PFCRx, tally.PFCTx}
	case device == "switch":
		return []string{tally.WatchdogEvents, tally.IngressDrops}
	case class:
		return []string{tally.Drops, tally.RxBytes, tally.TxBytes, tally.PFCRx, tally.PFCTx, tally.RxPause, tally.TxPause}
	}
	return []string{tally.Drops, tally.OutOfBuffer, tally.OutOfOrder, tally.Retransmits, tally.CNPSent, tally.CNPHandled, tally.ECNMarked,
		tally.IBSymbolErrors, tally.IBLinkRecoveries, tally.IBLinkDowned, tally.IBReceiveErrors, tally.IBTransmitDiscards, tally.IBTransmitWait}
}

// ParseSource reads a source; its error lists what there is.
func ParseSource(text string) (Source, error) {
	device, rest, _ := strings.Cut(text, ".")
	port, name, _ := strings.Cut(rest, ".")
	if !(device == "switch" && port == "port" || device == "server" && port == "rnic") {
		return Source{}, fmt.Errorf("%q is no source: there are switch.port[.class.CLASS].NAME and server.rnic[.class.CLASS].NAME", text)
	}
	s, place := Source{Device: device, Name: name}, device+"."+port
	if of, ok := strings.CutPrefix(name, "class."); ok {
		place += ".class.CLASS"
		s.Class, s.Name, _ = strings.Cut(of, ".")
	}
	known := counterNames(device, s.Class != "")
	if !slices.Contains(known, s.Name) {
		return s, fmt.Errorf("%s counts no %q; it counts %s", place, s.Name, strings.Join(known, ", "))
	}
	return s, nil
}
