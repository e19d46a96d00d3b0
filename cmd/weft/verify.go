package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weft/internal/prove"
	"weft/internal/run"
	"weft/internal/view"
	"weft/inventory"
	"weft/inventory/problem"
	"weft/plan"
)

// A verification is how verify goes.
type verification struct {
	baseline   string // file to compare with; "": what was kept
	save       string // file to keep what was measured in
	throughput bool
	compare    bool
	schedule   bool
	allow      []string // devices and systems that may go without a measurement
	mayWrite   []string // scratch namespaces that loads may overwrite
}

// A verifyCommand is weft verify.
type verifyCommand struct {
	opts    *options
	out     *printer
	project *project
	store   *runStore
	fabric  *fabric
	results *results
}

func (c *verifyCommand) command() *cobra.Command {
	var how verification
	cmd := &cobra.Command{
		Use: "verify [VALIDATION…]", Short: "Measure the fabric and judge it against its limits",
		Long: `verify reads from every target over every plane from every initiator, prints the
latencies, and judges them against the limits of the validation blocks. It reads the
counters of switch ports and NICs before and after, and judges their growth. It writes
nothing, except to namespaces that --i-will-write names.

If a declared item is not measured, the verdict is partial (exit code 11), unless
allow_unmeasured of a validation or --allow-unmeasured names the device or its system.
check and output blocks are evaluated with the connections of the servers' kernels.

Without names, verify runs every validation and the path checks of every pair and plane.
Packets must arrive whole at full length. The NIC must mark them with the class of the
traffic, and the switch must put them into the queue of that class. A failure is localised to a NIC, a
port or a switch, or reported as undecided between several.

A metric with regression is compared with a baseline: from record phases of rollouts,
from --save-baseline, or from the file of --baseline. It fails only if the difference
exceeds the uncertainty of the samples.

--compare measures latency, throughput and processor time of reads over RDMA, over TCP
and from the local storage. They run in turn and in random order, with 95 % intervals.
It covers each pair whose target has both transports at the same portal. It opens no
portals, and loads each pair and size for about a minute.

A write load (for example probe = "nvme-load" with rw = "randwrite") OVERWRITES namespaces
that the files declare as scratch. It runs only on namespaces that --i-will-write names.
It is refused if an admitted host has the namespace mounted, partitioned or in use by
another device, or cannot be queried. It is also refused if the data is neither blank
nor from an earlier load. The written data is read back.

No server carries two measured flows at a time. --schedule lists the rounds of the
measurement and contacts no device.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			c.out.begin(cmd)
			m, err := c.project.load()
			if err != nil {
				return err
			}
			if err := cmp.Or(validations(cmd, m, names), writable(m, how.mayWrite), unmeasurable(m, how.allow)); err != nil {
				return err
			}
			if how.schedule {
				return c.schedule(m, names)
			}
			p, err := c.fabric.open(m)
			if err != nil {
				return err
			}
			defer p.Close()
			return c.verify(cmd.Context(), p, names, how)
		},
	}
	how.flags(cmd.Flags())
	return cmd
}

func (how *verification) flags(f *pflag.FlagSet) {
	f.StringVar(&how.baseline, "baseline", "", "compare with this file in place of the stored baseline")
	f.StringVar(&how.save, "save-baseline", "", "save the results as a baseline, in the store or in this file")
	f.Lookup("save-baseline").NoOptDefVal = keptBaseline
	output(f, "save-baseline", inChdir)
	f.BoolVar(&how.throughput, "throughput", false, "also measure throughput of every pair and plane, and its processor time")
	f.BoolVar(&how.compare, "compare", false, "also compare RDMA, TCP and local storage for every pair, with the processor time of both ends")
	f.StringArrayVar(&how.mayWrite, "i-will-write", nil, "allow loads to OVERWRITE this scratch namespace (TARGET/namespace.SUBSYSTEM.ID); may be repeated")
	unmeasuredFlag(f, &how.allow)
	f.BoolVar(&how.schedule, "schedule", false, "list the measurements that run at the same time")
}

// unmeasuredFlag adds the flag that unmeasurable checks.
func unmeasuredFlag(f *pflag.FlagSet, allow *[]string) {
	f.StringArrayVar(allow, "allow-unmeasured", nil, "accept a missing measurement of this device (switch.leaf-a) or system (esxi), like allow_unmeasured of a validation; may be repeated")
}

// unmeasurable refuses names of --allow-unmeasured that the files do not declare.
func unmeasurable(m *inventory.Model, names []string) error {
	known := m.UnmeasuredNames()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return usage(fmt.Errorf("--allow-unmeasured %s: no declared server, switch or virtual machine has that address, and none has that system%s", name, problem.DidYouMean(name, known)))
		}
	}
	return nil
}

// schedule shows the rounds of a measurement.
func (c *verifyCommand) schedule(m *inventory.Model, names []string) error {
	rounds, err := prove.Schedule(m, names)
	if err != nil {
		return err
	}
	if c.opts.json {
		for n, r := range rounds {
			c.out.emit(plan.Event{Type: plan.EventNote, Message: fmt.Sprintf("round %d: %d flows", n+1, len(r)), Data: map[string]any{"round": n + 1, "flows": r}})
		}
		return nil
	}
	view.Schedule(c.out.stdout, rounds, c.out.style(c.out.stdout))
	return nil
}

func (c *verifyCommand) verify(ctx context.Context, p *run.Site, names []string, how verification) error {
	base, err := c.baseline(ctx, how.baseline)
	if err != nil {
		return err
	}
	c.fabric.warnMarked(ctx, p)
	res, err := p.Measure(ctx, prove.Input{Names: names, Baseline: base, Throughput: how.throughput, Compare: how.compare, Allow: how.allow, MayWrite: how.mayWrite, Path: len(names) == 0, Conclude: len(names) == 0})
	if err != nil {
		return err
	}
	if err := run.WriteKept(c.results.lastVerify(), run.Kept{Validations: names, Time: time.Now().UTC(), Simulated: c.opts.lab, Files: run.SumOf(p.Model), Result: res, Thresholds: run.Thresholds(p.Model)}); err != nil {
		c.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "nothing is kept for weft report: " + err.Error()})
	}
	if how.save != "" {
		if err := c.keepBaseline(ctx, how.save, res); err != nil {
			return err
		}
	}
	if c.opts.json {
		c.out.emitJudgements(res.Judgements)
		c.out.emitConclusions(res.Checks, res.Outputs)
	} else {
		view.Heading(c.out.stdout, c.out.style(c.out.stdout), "verify", p.Model.Name, c.opts.lab)
		view.Verify(c.out.stdout, res, c.out.style(c.out.stdout))
	}
	if res.Verdict != prove.Pass {
		return &quietError{proven(res.Verdict)}
	}
	return nil
}
