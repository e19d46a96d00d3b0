package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/graph"
	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/prove"
	"weft/internal/report"
	"weft/internal/run"
	"weft/internal/text"
	"weft/inventory"
	"weft/plan"
)

// A reportCommand is weft report.
type reportCommand struct {
	opts    *options
	out     *printer
	project *project
	store   *runStore
	results *results
}

func (c *reportCommand) command() *cobra.Command {
	var out []string
	var b bundling
	var figures map[string]string
	cmd := &cobra.Command{
		Use: "report [RUN]", Short: "Report a rollout and its measurements", Args: counted(cobra.MaximumNArgs(1)),
		Long: `report shows the latest rollout of this directory, or RUN, and the last weft verify. It
contains phases and verdicts, the course of the rollout, latencies, pairs, counters before
and after, and hardware from the last weft facts. It lists missing measurements, limits
with their sources, and the plan. It contacts no device.

--out FILE selects the format by extension, and may be repeated: .html is one
self-contained page, .md Markdown, .xml JUnit, .json everything. Without --out, report
writes Markdown to standard output. With --lab it covers runs in the lab and states
that.

--bundle FILE.tar.gz writes one archive as evidence: the report in all formats, the
reviewed plan, the audit trail, the journal of commands sent to devices, and checksums.
--sign KEY signs the checksums. Verify the archive with weft report check, or with
sha256sum -c SHA256SUMS and
ssh-keygen -Y verify -n weft-report -s SHA256SUMS.sig < SHA256SUMS.

--payback calculates when RDMA has paid for itself. It uses the last comparison (weft
verify --compare) and four figures of your site. These are the cost of the network without
and with RDMA, the cost of a core per month, and the average storage traffic in Gbit/s.`,
		RunE: c.out.does(func(ctx context.Context, args []string) error {
			own, err := siteFigures(figures)
			if err != nil {
				return err
			}
			r, err := c.tell(ctx, args)
			if err != nil {
				return err
			}
			r.Figures = own
			if b.file != "" || b.key != "" {
				if err := c.writeBundle(ctx, r, b); err != nil {
					return err
				}
			}
			if len(out) == 0 && b.file == "" && !c.opts.json {
				return r.Markdown(c.out.stdout)
			}
			for _, name := range out {
				if err := c.writeReport(ctx, r, name); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	cmd.Flags().StringArrayVarP(&out, "out", "o", nil, "write to this file: .html, .md, .xml or .json; may be repeated")
	output(cmd.Flags(), "out", inChdir)
	cmd.Flags().StringVar(&b.file, "bundle", "", "write an archive of everything, with checksums, to this .tar.gz file")
	output(cmd.Flags(), "bundle", inChdir)
	cmd.Flags().StringVar(&b.key, "sign", "", "sign the checksums of the bundle with this SSH key (a file, or the public half of a key in the agent)")
	cmd.Flags().StringToStringVar(&figures, "payback", nil, "figures of your site: plain=120000,rdma=150000,core=35,traffic=80")
	return cmd
}

// siteFigures are those of --payback; nil: there are none.
func siteFigures(of map[string]string) (*report.Figures, error) {
	if len(of) == 0 {
		return nil, nil
	}
	f, err := report.ParseFigures(of)
	if err != nil {
		return nil, usage(hint.Wrap(fmt.Errorf("--payback: %w", err), "--payback plain=120000,rdma=150000,core=35,traffic=80: the network without RDMA and with it, a core for a month, Gbit/s of storage on average"))
	}
	return f, nil
}

// writeReport writes the report in the format of the file name's extension. A device, a FIFO
// and standard output get Markdown.
func (c *reportCommand) writeReport(ctx context.Context, r *report.Report, name string) error {
	faces := map[string]func(io.Writer) error{".html": r.HTML, ".md": r.Markdown, ".xml": r.JUnit, ".json": r.JSON}
	face := faces[strings.ToLower(filepath.Ext(name))]
	if face == nil && !isFile(c.opts.inDir(name)) {
		face = r.Markdown
	}
	if face == nil {
		return usage(fmt.Errorf("--out %s: the name of a report ends in .html, .md, .xml or .json", name))
	}
	var b bytes.Buffer
	if err := face(&b); err != nil {
		return err
	}
	if err := c.out.write(ctx, c.opts.inDir(name), b.Bytes(), outfile.Options{}); err != nil {
		return hint.Wrap(fmt.Errorf("write the report: %w", err), "%s", hint.Of(err))
	}
	c.out.emit(plan.Event{Type: plan.EventHeartbeat, Message: "wrote " + name, Data: map[string]any{"file": name, "bytes": b.Len(), "verdict": r.Verdict}})
	return nil
}

// tell puts a report together from what is kept in the directory.
func (c *reportCommand) tell(ctx context.Context, args []string) (*report.Report, error) {
	m, err := c.project.load()
	if err != nil {
		return nil, err
	}
	limits := limits{thresholds: run.Thresholds(m)}
	r := &report.Report{Weft: version(), Owner: m.Name, Simulated: c.opts.lab, Made: time.Now().UTC(), Wiring: wiringOf(graph.Of(m))}
	told, err := c.reported(ctx, args)
	if err != nil {
		return nil, err
	}
	if told != nil {
		r.Run, r.Carried = told.Run, carriedOf(told)
		if err := tellRun(ctx, r, told, &limits); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{c.results.lastVerify(), c.results.lastFailover()} {
		var last run.Kept
		there, err := run.ReadKept(name, &last)
		if err != nil {
			return nil, err
		}
		if there && last.Simulated == c.opts.lab && last.Result != nil {
			limits.of(last)
			r.Measured = append(r.Measured, report.Measured{Validations: last.Validations, Failover: name == c.results.lastFailover(), Time: last.Time, Files: last.Files, Result: last.Result})
		}
	}
	if r.Run == nil && len(r.Measured) == 0 {
		advice := "measure first: weft verify; use --lab for runs in the lab"
		if c.opts.lab {
			advice = "measure first: weft --lab verify; omit --lab for runs on real devices"
		}
		return nil, hint.Wrap(errors.New("there is nothing to report: no rollout and no verification of this directory is kept"), "%s", advice)
	}
	if r.Hardware, err = c.results.hardware(m); err != nil {
		return nil, err
	}
	r.Thresholds = limits.thresholds
	r.Finish()
	if r.Since, err = c.since(ctx, r.Headline, m); err != nil {
		return nil, err
	}
	return r, nil
}

// since says what has changed since the last measurement: then its verdict is not
// about what there is now.
func (c *reportCommand) since(ctx context.Context, last *report.Headline, m *inventory.Model) (notes []string, err error) {
	if last == nil {
		return nil, nil
	}
	if !last.Stands(run.SumOf(m)) {
		notes = append(notes, "The files, or their variables, have changed since that was measured: measure again with weft verify.")
	}
	devices, err := c.store.records().ChangedSince(ctx, last.Time, c.opts.lab)
	if err != nil {
		return nil, err
	}
	if len(devices) > 0 {
		notes = append(notes, fmt.Sprintf("Changed since that was measured: %s. Measure again with weft verify.", text.Few(devices, ", ")))
	}
	return notes, nil
}

// reported is the run that is told: the one that is named, or the latest; nil: there
// is none.
func (c *reportCommand) reported(ctx context.Context, args []string) (*run.Record, error) {
	if len(args) == 0 {
		return c.store.records().Latest(ctx, c.opts.lab)
	}
	r, err := c.store.records().Named(ctx, args[0], c.opts.lab)
	if err != nil {
		if other, _ := c.store.records().Named(ctx, args[0], !c.opts.lab); other != nil {
			return nil, usage(fmt.Errorf("the run %s was made with --lab=%t", args[0], other.Simulated))
		}
		return nil, err
	}
	if r.Plain() {
		return nil, usage(fmt.Errorf("run %s was no rollout: there is nothing to tell but its journal", r.ID))
	}
	return r, nil
}

// tellRun adds what is kept of a run.
func tellRun(ctx context.Context, r *report.Report, rec *run.Record, limits *limits) error {
	p, err := rec.Plan(ctx)
	if err != nil {
		return err
	}
	own := *p
	own.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s plan.PlannedStep) bool { return !r.Run.Has(s.Phase) }) // of apply --phase
	r.Plan = report.Of(&own)
	list, err := rec.Measured(ctx)
	if err != nil {
		return err
	}
	for _, k := range list {
		if k.Result != nil {
			limits.of(k)
			r.Measured = append(r.Measured, report.Measured{Phase: k.Phase, Recorded: k.Recorded, After: k.After, Validations: k.Validations, Time: k.Time, Files: k.Files, Result: k.Result})
		}
	}
	if r.Course, err = courseOf(ctx, rec, p); err != nil {
		return err
	}
	r.Soak, err = rec.Soak(ctx)
	return err
}

// limits are those that the latest measurement was held against: the files and
// their variables may be others by now.
type limits struct {
	thresholds []prove.Threshold
	time       time.Time
}

func (l *limits) of(k run.Kept) {
	if k.Thresholds != nil && k.Time.After(l.time) {
		l.thresholds, l.time = k.Thresholds, k.Time
	}
}
