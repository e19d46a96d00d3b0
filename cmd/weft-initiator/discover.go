package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/wire"
	"weft/internal/slice"
)

func discoverCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "discover --traddr ADDRESS:PORT --hostnqn NQN",
		Short: "List what a target offers to a host",
		Args:  cobra.NoArgs,
	}
	h := new(host)
	h.flags(c)
	h.tlsFlag(c.Flags())
	asJSON := c.Flags().Bool("json", false, "print the records as JSON")
	c.MarkFlagsRequiredTogether("traddr", "hostnqn")
	c.MarkFlagsOneRequired("traddr")
	c.RunE = started(func(c *cobra.Command) error {
		if _, err := places.Address(h.portal); err != nil {
			return err
		}
		carrier, err := h.over(*places, agent.DiscoveryNQN, false)
		if err != nil {
			return err
		}
		ctx, cancel := h.patience(c.Context())
		defer cancel()
		log, err := initiator.Discover(ctx, carrier, h.portal, h.way.HostNQN)
		if err != nil {
			return failed(err)
		}
		records := []agent.Discovered{}
		records = append(records, slice.Map(log, discovered)...)
		if *asJSON {
			return printJSON(c.OutOrStdout(), records)
		}
		w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, r := range records {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Transport, shown(r.Address), r.Kind, shown(r.NQN))
		}
		return w.Flush()
	})
	return c
}

func discovered(e wire.DiscoveryEntry) agent.Discovered {
	r := agent.Discovered{Address: net.JoinHostPort(e.Address, e.SvcID), NQN: e.SubNQN}
	switch e.TrType {
	case wire.TransportTCP:
		r.Transport = "tcp"
	case wire.TransportRDMA:
		r.Transport = "rdma"
	default:
		r.Transport = fmt.Sprintf("type %d", e.TrType)
	}
	switch e.SubType {
	case wire.SubsystemNVM:
		r.Kind = "subsystem"
	case wire.SubsystemDiscovery:
		r.Kind = "discovery"
	case wire.SubsystemReferral:
		r.Kind = "referral"
	default:
		r.Kind = fmt.Sprintf("kind %d", e.SubType)
	}
	return r
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
