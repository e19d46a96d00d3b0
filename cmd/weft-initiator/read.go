package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
)

// A probe is what one run reads.
type probe struct {
	host
	agent.ReadRequest // but for Over and Portal: host has them
}

func readCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "read --traddr ADDRESS:PORT --nqn NQN --hostnqn NQN | read --path FILE",
		Short: "Measure how long reads take",
		Long: `Measure how long reads at random places take.

With --traddr the reads go to a namespace of a target. With --path they go to
a file or device of this machine, through the system's cache as the file
backend of weft-target reads, one at a time.

When the target cannot be reached or refuses, the result still says so (no
samples, errors, the first error), and the exit status is 3.`,
		Args: cobra.NoArgs,
	}
	p := new(probe)
	p.flags(c)
	p.secrets(c.Flags())
	p.tlsFlag(c.Flags())
	f := c.Flags()
	f.StringVar(&p.Path, "path", "", "file or device of this machine")
	f.StringVar(&p.NQN, "nqn", "", "NQN of the subsystem")
	f.Uint32Var(&p.NSID, "nsid", 1, "namespace; 0: the first that this host is shown")
	f.IntVar(&p.Size, "size", 4096, "bytes of one read")
	f.IntVar(&p.Depth, "depth", 1, "reads outstanding")
	f.IntVar(&p.Samples, "samples", 1000, "reads to measure")
	f.IntVar(&p.Warmup, "warmup", 100, "reads before those")
	f.DurationVar(&p.Timeout, "timeout", 30*time.Second, "how long one read may take")
	asJSON := f.Bool("json", false, "print the result as JSON")
	c.MarkFlagsMutuallyExclusive("path", "traddr")
	c.MarkFlagsOneRequired("path", "traddr")
	c.MarkFlagsRequiredTogether("traddr", "nqn", "hostnqn")
	c.PreRunE = func(*cobra.Command, []string) error { return p.validate() }
	c.RunE = started(func(c *cobra.Command) error {
		result, hist, err := p.run(c.Context(), *places)
		if result == nil {
			return err
		}
		show := func() error { return printResult(c.OutOrStdout(), result, hist) }
		if *asJSON {
			show = func() error { return printJSON(c.OutOrStdout(), result) }
		}
		return errors.Join(err, show())
	})
	return c
}

func (p *probe) validate() error {
	switch {
	case p.Size < 1 || p.Size > 1<<30:
		return fmt.Errorf("--size %d is not from 1 to 1 GiB", p.Size)
	case p.Depth < 1 || p.Depth > initiator.DefaultDepth:
		return fmt.Errorf("--depth %d is not from 1 to %d", p.Depth, initiator.DefaultDepth)
	case p.Path != "" && p.Depth != 1:
		return fmt.Errorf("--depth %d with --path: described, not yet managed", p.Depth)
	case p.Samples < 1 || p.Warmup < 0:
		return fmt.Errorf("--samples %d after --warmup %d", p.Samples, p.Warmup)
	}
	return nil
}

// run measures. There is a result whenever the reads, or at least connecting,
// were tried; an error with it says that they did not go well.
func (p *probe) run(ctx context.Context, places agent.Places) (*agent.ProbeResult, *latency.Histogram, error) {
	result, hist, err := p.measure(ctx, places)
	if result == nil {
		return nil, nil, err
	}
	text, textErr := hist.MarshalText()
	result.Histogram = string(text)
	return result, hist, errors.Join(err, textErr)
}

func (p *probe) measure(ctx context.Context, places agent.Places) (*agent.ProbeResult, *latency.Histogram, error) {
	hist := latency.New()
	result := &agent.ProbeResult{Transport: "tcp", Mode: "event", Op: "read", Size: p.Size, Depth: p.Depth}
	if p.Path != "" {
		result.Transport, result.Remote = "local", p.Path
		err := p.readLocal(ctx, places.Path(p.Path), result, hist)
		if err != nil && result.Errors == 0 {
			return nil, nil, err
		}
		return result, hist, err
	}
	if _, err := places.Address(p.portal); err != nil {
		return nil, nil, err
	}
	carrier, err := p.over(places, p.NQN, false)
	if err != nil {
		return nil, nil, err
	}
	result.Remote, result.NQN, result.NSID = p.portal, p.NQN, p.NSID
	o := initiator.Options{Addr: p.portal, SubNQN: p.NQN, HostNQN: p.way.HostNQN, QueueSize: p.Depth, Timeout: p.Timeout}
	if err := p.keys(places, &o); err != nil {
		return nil, nil, err
	}
	err = p.readTarget(ctx, carrier, o, result, hist)
	result.Local = p.own()
	result.Transport, result.Degraded = p.result()
	result.TLS = p.by.tls()
	if f := (*failure)(nil); errors.As(err, &f) && f.status == agent.ExitError {
		return nil, nil, err
	}
	return result, hist, err
}

// readTarget connects, reads and disconnects.
func (p *probe) readTarget(ctx context.Context, carrier fabric.Transport, o initiator.Options, result *agent.ProbeResult, hist *latency.Histogram) error {
	tried := func(err error) error {
		if result.Errors++; result.FirstErr == "" {
			result.FirstErr = err.Error()
		}
		return failed(err)
	}
	connecting, cancel := p.patience(ctx)
	defer cancel()
	c, err := initiator.Connect(connecting, carrier, o)
	if err != nil {
		return tried(unproven(err))
	}
	defer c.Close() // after the reads it is a courtesy
	ns, ok := find(c.Namespaces(), p.NSID)
	if !ok {
		return tried(missing(p.NQN, p.portal, p.NSID))
	}
	result.NSID = ns.ID
	q := c.Queues()[0]
	switch most := q.MaxTransfer(); {
	case p.Size%ns.BlockSize != 0:
		return &failure{fmt.Errorf("reads of %d bytes; namespace %d has blocks of %d", p.Size, ns.ID, ns.BlockSize), agent.ExitError}
	case most != 0 && p.Size > most:
		return &failure{fmt.Errorf("reads of %d bytes; %s takes at most %d", p.Size, p.portal, most), agent.ExitError}
	}
	load := initiator.LoadOptions{Namespace: ns, Op: initiator.Read, Size: p.Size, Depth: p.Depth, Random: true, Seed: rand.Uint64()}
	load.Samples = p.Warmup
	warm, err := initiator.Load(ctx, q, load, func(time.Duration) {})
	result.Bytes = warm.Bytes
	if err == nil {
		err = warm.First
	}
	if err != nil {
		return tried(fmt.Errorf("warming up: %w", err))
	}
	load.Samples, load.Seed = p.Samples, load.Seed+1
	got, err := initiator.Load(ctx, q, load, hist.Record)
	result.Samples, result.Errors, result.Elapsed = got.Done, got.Failed, int64(got.Elapsed)
	result.Bytes += got.Bytes
	switch {
	case err != nil:
		return tried(fmt.Errorf("reading %s at %s: %w", p.NQN, p.portal, err))
	case got.Failed > 0:
		result.FirstErr = got.First.Error()
		return failed(fmt.Errorf("reading %s at %s: %d of %d reads failed, the first: %w", p.NQN, p.portal, got.Failed, p.Samples, got.First))
	}
	return nil
}

// find is the namespace of a number; of 0 the first there is.
func find(all []initiator.Namespace, id uint32) (initiator.Namespace, bool) {
	for _, ns := range all {
		if ns.ID == id || id == 0 {
			return ns, true
		}
	}
	return initiator.Namespace{}, false
}

// missing says that find has found nothing.
func missing(nqn, portal string, id uint32) error {
	if id == 0 {
		return fmt.Errorf("%s at %s shows this host no namespace", nqn, portal)
	}
	return fmt.Errorf("%s at %s has no namespace %d", nqn, portal, id)
}

// printResult is the result for people.
func printResult(out io.Writer, r *agent.ProbeResult, h *latency.Histogram) error {
	at := r.Remote
	if r.NQN != "" {
		at = fmt.Sprintf("%s namespace %d at %s", r.NQN, r.NSID, r.Remote)
	}
	if r.Local != "" {
		at += " from " + r.Local
	}
	what := "reads"
	if r.Op != "read" {
		what = "messages"
	}
	_, err := fmt.Fprintf(out, "%d B %s, depth %d, %s (%s), %s\n", r.Size, what, r.Depth, r.Transport, r.Mode, at)
	if r.Degraded != "" && err == nil {
		_, err = fmt.Fprintf(out, "DEGRADED: %s\n", r.Degraded)
	}
	if r.TLS != "" && err == nil {
		_, err = fmt.Fprintf(out, "TLS 1.3: %s\n", r.TLS)
	}
	if r.Samples > 0 && err == nil {
		_, err = fmt.Fprintf(out, "samples %d  min %v  mean %v  p50 %v  p99 %v  p99.9 %v  max %v\n",
			r.Samples, h.Min(), h.Mean(), h.Quantile(0.5), h.Quantile(0.99), h.Quantile(0.999), h.Max())
	}
	if r.Errors > 0 && err == nil {
		_, err = fmt.Fprintf(out, "errors %d, the first: %s\n", r.Errors, r.FirstErr)
	}
	return err
}
