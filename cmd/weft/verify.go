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
latencies, and judges them against the limits of the validation blocks. What
switch ports and NICs count is read before and after, and judged by how it has
grown. It writes nothing, except to namespaces that --i-will-write names. Where something that the files
declare is not measured, the verdict is partial (exit code 11), unless allow_unmeasured of a
validation or --allow-unmeasured names the device or its system. check and output blocks are
computed with what the servers' kernels have connected. Without names verify runs every
validation and checks the path of packets for every pair and plane: they arrive whole at their
full length, the NIC marks them as the class that carries storage, and the switch puts them into
the queue of that class. A failure is localised to a NIC, a port or a switch, or reported as
undecided between several.

A metric with regression is compared with what was measured before: what the
record phases of rollouts and --save-baseline keep where runs are kept, or the file
of --baseline. It fails only where it is worse beyond what the number of
samples leaves open.

--compare measures what reads take, move and cost over RDMA, over TCP and from the
storage itself, in turn and in random order, with 95 % intervals: of each pair
whose target has both at the same portal, as transport says. It opens
no further portals, and loads each pair and size for about a minute.

A validation whose load writes (probe = "nvme-load" with rw = "randwrite", say)
OVERWRITES namespaces that the files declare as scratch. It is not run on one that
--i-will-write does not name, nor where a host that the namespace admits has it
mounted, partitioned or built upon, or cannot be asked, nor where what is to be
overwritten is neither blank nor of an earlier load. What it writes it reads back.

No server carries two measured flows at a time. --schedule shows the rounds in which
everything would be measured; it contacts no device.`,
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
	f.StringVar(&how.baseline, "baseline", "", "compare with this file instead of what was kept")
	f.StringVar(&how.save, "save-baseline", "", "keep what was measured, to compare with later: where runs are kept, or in this file")
	f.Lookup("save-baseline").NoOptDefVal = keptBaseline
	output(f, "save-baseline", inChdir)
	f.BoolVar(&how.throughput, "throughput", false, "also measure how much goes over every pair and plane, and what that costs")
	f.BoolVar(&how.compare, "compare", false, "also measure RDMA, TCP and the storage itself in turn at every pair, with what each costs both ends")
	f.StringArrayVar(&how.mayWrite, "i-will-write", nil, "let loads OVERWRITE this scratch namespace (TARGET/namespace.SUBSYSTEM.ID); may be repeated")
	f.StringArrayVar(&how.allow, "allow-unmeasured", nil, "this device (switch.leaf-a) or system (esxi) may go without a measurement, as allow_unmeasured of a validation; may be repeated")
	f.BoolVar(&how.schedule, "schedule", false, "show what would be measured at the same time")
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
