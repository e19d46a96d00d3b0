package esxi

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/tally"
	"weft/modules/host"
)

func statsLook(pci string) remote.Look {
	return ask("network", "nic", "stats", "get", "-n", nicName(pci))
}

// untold is why the rest of what NICs count is not known on ESXi.
const untold = "ESXi does not tell it: what a NIC counts by class stands in statistics of its driver, whose form has no source"

// meter asks a host what its NICs have counted: packets that were dropped, and pauses of
// each priority.
func meter(ctx context.Context, h remote.Host, nics []host.NIC) (*tally.Ports, error) {
	var looks []remote.Look
	for _, n := range nics {
		looks = append(looks, statsLook(n.PCI), dcbLook(n.PCI))
	}
	seen, err := asked(h).Read(ctx, looks)
	if err != nil {
		return nil, err
	}
	out := &tally.Ports{}
	for _, n := range nics {
		readCounters(seen, n, out)
	}
	return out, nil
}

func readCounters(s remote.Seen, n host.NIC, out *tally.Ports) {
	add := func(look remote.Look, name string, priority int, value uint64, err error) {
		if err != nil {
			out.Gaps = append(out.Gaps, tally.Gap{Port: n.Name, Name: name, Why: err.Error()})
			return
		}
		out.Counts = append(out.Counts, tally.Count{Port: n.Name, Priority: priority, Name: name, Value: value, Line: command(look)})
	}
	var err error
	stats := one(s, statsLook(n.PCI), &err)
	dropped := stats.count("ReceivePacketsDropped") + stats.count("TransmitPacketsDropped")
	add(statsLook(n.PCI), tally.Drops, tally.AllPriorities, dropped, err)
	for name, label := range map[string]string{tally.PFCRx: "ReceivedPFCFrames", tally.PFCTx: "SentPFCFrames"} {
		var err error
		words := one(s, dcbLook(n.PCI), &err).words(label)
		if err == nil && len(words) != 8 {
			err = fmt.Errorf("%s does not tell %s", command(dcbLook(n.PCI)), label)
		}
		for p := range 8 {
			var value uint64
			if err == nil {
				value, err = strconv.ParseUint(words[p], 10, 64)
			}
			add(dcbLook(n.PCI), name, p, value, err)
		}
	}
	for _, name := range []string{tally.OutOfBuffer, tally.OutOfOrder, tally.Retransmits, tally.CNPSent, tally.CNPHandled, tally.ECNMarked} {
		out.Counts = append(out.Counts, tally.Count{Port: n.Name, Priority: tally.AllPriorities, Name: name, Off: untold, Untold: true})
	}
	for _, name := range []string{tally.Drops, tally.RxBytes, tally.TxBytes, tally.RxPause, tally.TxPause} {
		for p := range 8 {
			out.Counts = append(out.Counts, tally.Count{Port: n.Name, Priority: p, Name: name, Off: untold, Untold: true})
		}
	}
}

// count is a field that counts.
func (r row) count(name string) uint64 {
	text := strings.TrimSpace(r.text(name))
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		fail(r.err, "%s: %s is %q, no count", r.of, name, text)
	}
	return n
}
