package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/load"
)

// job is a load as the command line says it.
type job struct {
	device
	places    *agent.Places
	mix       int
	jobs      int
	count     int64
	rate      float64
	fsync     int
	span      size
	seed      uint64
	overwrite string
	json      bool
	shared    bool
	verify    bool
	careful   bool // only where everything is blank or of a load
	power     bool // the target may lose what was not flushed
}

func (j *job) loadFlags(c *cobra.Command, depth int) {
	j.device.flags(c)
	f := c.Flags()
	j.Size = 4096
	f.Var((*size)(&j.Size), "bs", "bytes of one command, like 4k")
	f.IntVar(&j.Depth, "iodepth", depth, "commands outstanding in each job")
	f.IntVar(&j.jobs, "numjobs", 1, "number of jobs, each with its own I/O queue and part of the span")
	f.Int64Var(&j.count, "number-ios", 0, "end after so many commands; 0: after --runtime")
	f.Float64Var(&j.rate, "rate-iops", 0, "commands per second of all jobs; 0: as many as go")
	f.IntVar(&j.fsync, "fsync", 0, "a flush after so many writes of a job; 0: none")
	f.Var(&j.span, "size", "bytes from the beginning that are used; 0: all")
	f.Uint64Var(&j.seed, "randseed", 0, "of random numbers; 0 takes one at random")
	f.StringVar(&j.overwrite, "i-will-overwrite", "", "NQN/NSID, or the path with --path, that a write load may overwrite")
	f.BoolVar(&j.json, "json", false, "print the result as JSON, with fio's names where the meaning is fio's")
}

func runCommand(places *agent.Places) *cobra.Command {
	j := &job{places: places}
	c := &cobra.Command{
		Use:   "run --traddr ADDRESS:PORT --nqn NQN --hostnqn NQN | run --path FILE",
		Short: "Put a namespace or a local device under load and measure it",
		Long: `Put a namespace, or a file or block device of this machine, under load and
measure it. Options that fio has too mean what they mean there.

Paths that are lost are connected again, and commands wait meanwhile or go over
another path; what the load has lived through is in the result.

A load that writes DESTROYS what is there. It is refused unless
--i-will-overwrite names exactly what it is going to overwrite.

The result says how it was measured: "event" blocks for what comes, so it
includes how long this machine takes to wake up; "poll" does not, and keeps one
processor busy for each job.`,
		Args: cobra.NoArgs,
	}
	j.loadFlags(c, 1)
	f := c.Flags()
	f.StringVar(&j.Pattern, "rw", string(load.RandRead), "one of "+strings.Join(load.Patterns(), ", "))
	f.IntVar(&j.mix, "rwmixread", 50, "percent of reads in a mixed load")
	f.DurationVar(&j.Runtime, "runtime", 10*time.Second, "how long to measure")
	f.DurationVar(&j.Ramp, "ramp-time", time.Second, "how long to run before that")
	f.BoolVar(&j.shared, "shared-memory", false, "let the commands of a job share memory that stays in the processor cache, to measure the network only")
	c.MarkFlagsMutuallyExclusive("path", "shared-memory") // threads fill memory at the same time there
	c.RunE = started(func(c *cobra.Command) error { return j.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) })
	return c
}

func verifyCommand(places *agent.Places) *cobra.Command {
	j := &job{places: places, verify: true}
	j.Pattern = string(load.RandMix)
	c := &cobra.Command{
		Use:   "verify --traddr ADDRESS:PORT --nqn NQN --hostnqn NQN --i-will-overwrite NQN/NSID",
		Short: "Prove that a namespace or a local device keeps what is written",
		Long: `Write blocks that say what they are, at random, while reading others back, and
at the end read all of them. Every block carries its address, the number of the
write and a checksum, so that writes that were lost, blocks that are stale,
torn or misplaced, and other corruption are told apart.

DESTROYS what is there, up to --size. Exit status 0 says that every block that
was read was what it must be; the paths may have been lost meanwhile any number
of times.

A target that is killed keeps what it has acknowledged. One whose machine loses
power may lose what was not flushed: with --power-loss, which wants --fsync,
what has to be there after a path was lost is what was flushed before.`,
		Args: cobra.NoArgs,
	}
	j.loadFlags(c, 32)
	f := c.Flags()
	f.IntVar(&j.mix, "rwmixread", 50, "percent of reads")
	f.DurationVar(&j.Runtime, "runtime", time.Minute, "how long to write and read, besides filling and reading back")
	f.BoolVar(&j.power, "power-loss", false, "when a path is lost, what was not flushed may be lost with it")
	c.RunE = started(func(c *cobra.Command) error { return j.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) })
	return c
}

// verifyMost is how much is verified where --size does not say.
const verifyMost = 1 << 30

// run measures and prints.
func (j *job) run(ctx context.Context, out, told io.Writer) error {
	text, err := j.report(ctx, told)
	if text == nil {
		return err
	}
	show := func() error { return text.print(out) }
	if j.json {
		show = func() error { return printJSON(out, text) }
	}
	return errors.Join(err, show())
}

// report measures. There is one if the load began.
func (j *job) report(ctx context.Context, told io.Writer) (*report, error) {
	writes := load.Pattern(j.Pattern).Writes()
	if writes {
		if err := j.allowed(j.overwrite); err != nil {
			return nil, err
		}
	}
	if j.jobs < 1 || j.Depth < 1 || j.Depth > 1023 {
		return nil, fmt.Errorf("--numjobs %d and --iodepth %d: want at least 1, and a depth of at most 1023", j.jobs, j.Depth)
	}
	if j.power && j.Path != "" {
		return nil, fmt.Errorf("--power-loss: nothing says when %s has lost power; it is for targets", j.Path)
	}
	if j.seed == 0 {
		j.seed = rand.Uint64()
	}
	if j.count > 0 {
		j.Runtime = 0
	}
	d, err := j.open(ctx, *j.places, j.jobs, j.Depth, writes, told)
	if err != nil {
		return nil, err
	}
	if j.verify && j.span == 0 {
		j.span = size(min(d.capacity, verifyMost))
	}
	if most := d.depth(); j.Depth > most {
		fmt.Fprintf(told, "--iodepth %d: a queue of %s takes %d commands at once, so it is %d\n", j.Depth, j.name(), most, most)
		j.Depth = most
	}
	o := load.Options{
		Pattern: load.Pattern(j.Pattern), ReadShare: j.mix, Size: int(j.Size), Depth: j.Depth,
		Time: j.Runtime, Count: j.count, Warmup: j.Ramp, Rate: j.rate, FlushEach: j.fsync,
		Span: uint64(j.span), Seed: j.seed, BlockSize: d.block, Capacity: d.capacity,
		Verify: j.verify, Careful: j.careful, PowerLoss: j.power, Shared: j.shared, Spin: j.poll, CPUs: j.cpus,
	}
	result, err := j.measure(ctx, d, o)
	if result == nil {
		return nil, errors.Join(err, d.close())
	}
	text := newReport(j, d, result)
	return text, errors.Join(j.verdict(result, err), d.close())
}

// measure runs the load. There is a result if it began.
func (j *job) measure(ctx context.Context, d *opened, o load.Options) (*load.Result, error) {
	if d.remote != nil {
		if most := d.remote.MaxTransfer(); most != 0 && o.Size > most {
			return nil, fmt.Errorf("--bs %d: %s takes at most %d", o.Size, j.NQN, most)
		}
	}
	if err := o.Validate(j.jobs); err != nil {
		return nil, err
	}
	return load.Run(ctx, d.lanes, o)
}

// verdict is the error that a result is, if so.
func (j *job) verdict(r *load.Result, err error) error {
	refused := r.Read.Failed + r.Write.Failed + r.Flush.Failed
	switch bad := r.Check.Bad(); {
	case bad > 0:
		return failed(fmt.Errorf("%s does not keep what is written: %d of %d blocks are bad, the first: %s", j.name(), bad, r.Check.Blocks, r.Check.First))
	case err != nil:
		return failed(fmt.Errorf("load on %s: %w", j.name(), err))
	case r.First != nil:
		return failed(fmt.Errorf("load on %s: %d commands failed, the first: %w", j.name(), refused, r.First))
	}
	return nil
}
