package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/wire"
)

// checkSamples is how many reads tell whether a path answers.
const checkSamples = 16

func checkCommand(places *agent.Places) *cobra.Command {
	d := new(device)
	c := &cobra.Command{
		Use:   "check --traddr ADDRESS:PORT --nqn NQN --hostnqn NQN",
		Short: "Connect every path to a namespace, read over it, and say what is there",
		Long: `Connect every path to a namespace one after the other, read the beginning of
the namespace over each, and say what is there. Nothing is written.

Exit status 3 says that a path could not be connected or did not answer, or
that not all lead to the same blocks.`,
		Args: cobra.NoArgs,
	}
	d.flags(c)
	asJSON := c.Flags().Bool("json", false, "print the result as JSON")
	c.RunE = started(func(c *cobra.Command) error {
		if d.Path != "" {
			return fmt.Errorf("check is about targets: --path does not go with it")
		}
		return d.check(c.Context(), *places, c.OutOrStdout(), *asJSON)
	})
	return c
}

// A checked is what was found at the end of a path.
type checked struct {
	Remote     string `json:"remote"`
	Transport  string `json:"transport,omitempty"`
	Degraded   string `json:"degraded,omitempty"` // why it is not the first choice
	Error      string `json:"error,omitempty"`
	Controller uint16 `json:"controller,omitempty"`
	Model      string `json:"model,omitempty"`
	Serial     string `json:"serial,omitempty"`
	Firmware   string `json:"firmware,omitempty"`
	Access     string `json:"access,omitempty"` // of asymmetric access
	Blocks     uint64 `json:"blocks,omitempty"`
	BlockSize  int    `json:"block_size,omitempty"`
	Depth      int    `json:"depth,omitempty"`
	Most       int    `json:"max_transfer,omitempty"`

	first []byte // what the namespace begins with
	ns    initiator.Namespace
}

func (d *device) check(ctx context.Context, places agent.Places, out io.Writer, asJSON bool) error {
	carrier, err := d.host.over(places, d.NQN, false)
	if err != nil {
		return err
	}
	o := initiator.Options{
		SubNQN: d.NQN, HostNQN: d.host.way.HostNQN, KATO: d.KeepAlive, Timeout: d.Timeout, HeaderDigest: d.header, DataDigest: d.data,
	}
	if err := d.host.keys(places, &o); err != nil {
		return err
	}
	var all []checked
	var errs []error
	for _, p := range d.Portals {
		if _, err := places.Address(p); err != nil {
			return err
		}
		one := checked{Remote: p}
		d.host.portal, o.Addr = p, p
		if err := d.checkPath(ctx, carrier, o, &one); err != nil {
			one.Error = err.Error()
			errs = append(errs, err)
		}
		all = append(all, one)
	}
	errs = append(errs, alike(all))
	if err := errors.Join(errs...); err != nil {
		return errors.Join(failed(err), showChecked(out, all, asJSON))
	}
	return showChecked(out, all, asJSON)
}

func showChecked(out io.Writer, all []checked, asJSON bool) error {
	if asJSON {
		return printJSON(out, all)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range all {
		if c.Error != "" {
			fmt.Fprintf(w, "%s\tfailed\t%s\n", c.Remote, c.Error)
			continue
		}
		fmt.Fprintf(w, "%s\tanswers over %s\t%s %s %s, controller %d, %d blocks of %d, %s, depth %d", c.Remote, c.Transport, shown(c.Model), shown(c.Serial), shown(c.Firmware), c.Controller, c.Blocks, c.BlockSize, c.Access, c.Depth)
		if c.Degraded != "" {
			fmt.Fprintf(w, "\tDEGRADED: %s", c.Degraded)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// checkPath connects and reads.
func (d *device) checkPath(ctx context.Context, carrier fabric.Transport, o initiator.Options, into *checked) error {
	connecting, cancel := d.host.patience(ctx)
	defer cancel()
	c, err := initiator.Connect(connecting, carrier, o)
	if err != nil {
		return unproven(err)
	}
	defer c.Close() // after the reads it is a courtesy
	into.Transport, into.Degraded = d.host.result()
	id := c.Identity()
	into.Controller, into.Model, into.Serial, into.Firmware = c.ID(), id.MN, id.SN, id.FR
	ns, ok := find(c.Namespaces(), d.NSID)
	if !ok {
		return missing(d.NQN, o.Addr, d.NSID)
	}
	into.ns, into.Blocks, into.BlockSize = ns, ns.Blocks, ns.BlockSize
	state, err := c.ANAState(ns)
	if err != nil {
		return err
	}
	into.Access = state.String()
	q := c.Queues()[0]
	into.Depth, into.Most = q.Depth(), q.MaxTransfer()
	if state != wire.ANAOptimized && state != wire.ANANonOptimized {
		return nil // a path that is there for later
	}
	into.first = make([]byte, ns.BlockSize)
	for range checkSamples {
		if err := q.Read(ns, 0, into.first); err != nil {
			return err
		}
	}
	return nil
}

// alike compares what the paths lead to.
func alike(all []checked) error {
	var first *checked
	for i := range all {
		c := &all[i]
		switch {
		case c.Error != "":
		case first == nil:
			first = c
		case c.ns.UUID != first.ns.UUID || c.Blocks != first.Blocks || c.BlockSize != first.BlockSize:
			return fmt.Errorf("%s and %s lead to different namespaces: UUID %x of %d blocks, and %x of %d", first.Remote, c.Remote, first.ns.UUID, first.Blocks, c.ns.UUID, c.Blocks)
		case first.first != nil && c.first != nil && !bytes.Equal(c.first, first.first):
			return fmt.Errorf("%s and %s differ in the first block", first.Remote, c.Remote)
		}
	}
	return nil
}
