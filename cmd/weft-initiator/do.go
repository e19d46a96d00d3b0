package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/hint"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/load"
	"weft/internal/nvme/pingpong"
	"weft/internal/nvme/rdma/perf"
)

func doCommand(places *agent.Places) *cobra.Command {
	return &cobra.Command{
		Use:   "do",
		Short: "Do what a request asks for, as weft sends it",
		Long: `Read one request as JSON from standard input, do what it asks for, and write a
reply as JSON to standard output, also when it cannot be done: the way in which
weft itself uses this program. Only a load whose request names what it overwrites
writes, and only where that is blank or of an earlier load.

A request has a format, as has the reply, which says also which version has
answered; what either does not know is refused.`,
		Args: cobra.NoArgs,
		RunE: started(func(c *cobra.Command) error {
			text, err := io.ReadAll(c.InOrStdin())
			if err != nil {
				return fmt.Errorf("read the request: %w", err)
			}
			reply := agent.Reply{Format: agent.RequestFormat, Version: agent.Version()}
			request, err := agent.ParseRequest(bytes.TrimPrefix(text, []byte("\uFEFF"))) // .NET on Windows may begin with one
			if err == nil {
				a := asked{places: *places, told: c.ErrOrStderr()}
				err = a.do(c.Context(), request, &reply)
			}
			if err != nil {
				reply.Error, reply.Hint = err.Error(), hint.Of(err)
			}
			return errors.Join(err, printJSON(c.OutOrStdout(), reply))
		}),
	}
}

// asked is where and for whom requests are done.
type asked struct {
	places agent.Places
	told   io.Writer // what people should know at once
}

// do does what a request asks for; the reply has a result whenever it was tried.
func (a asked) do(ctx context.Context, r *agent.Request, into *agent.Reply) (err error) {
	switch {
	case r.Read != nil:
		p := &probe{ReadRequest: *r.Read}
		a.host(&p.host, r.Read.Over, r.Read.Portal)
		if err := p.validate(); err != nil {
			return err
		}
		into.Probe, _, err = p.run(ctx, a.places)
	case r.Load != nil:
		into.Load, err = a.load(ctx, r.Load)
	case r.Probe != nil:
		into.Probe, err = a.probe(ctx, r.Probe)
	default:
		p := &probing{listen: r.Answer.Listen, once: true}
		a.host(&p.host, r.Answer.Over, "")
		if p.overRDMA() {
			return p.serveRDMA(ctx, a.places, a.told, a.told)
		}
		return p.serve(ctx, a.places, a.told, a.told)
	}
	return err
}

// host is who connects, as a request says it.
func (a asked) host(h *host, way agent.Way, portal string) {
	if len(way.Transports) == 0 {
		way.Transports = []string{"tcp"}
	}
	h.way, h.portal = way, portal
	h.by.told = func(s string) { fmt.Fprintln(a.told, s) }
}

func (a asked) load(ctx context.Context, r *agent.LoadRequest) (*agent.LoadResult, error) {
	j := &job{places: &a.places, jobs: 1}
	j.LoadRequest, j.block, j.policy = *r, defaultBlock, defaultPolicy
	j.KeepAlive = cmp.Or(j.KeepAlive, initiator.DefaultKATO)
	if w := r.Work; w != nil {
		j.jobs, j.mix, j.rate, j.fsync, j.span, j.overwrite = w.Queues, w.ReadShare, w.Rate, w.FlushEach, size(w.Span), w.Overwrite
		j.verify = load.Pattern(j.Pattern).Writes()
		j.careful = j.verify
	}
	a.host(&j.host, r.Over, "")
	if r.Path != "" { // of a device past the system's cache, as reads one at a time
		info, err := os.Stat(a.places.Path(r.Path))
		if err != nil {
			return nil, err // names the path
		}
		j.direct = info.Mode()&os.ModeDevice != 0
	}
	text, err := j.report(ctx, a.told)
	if text == nil {
		return nil, err
	}
	run, weft := &text.Jobs[0], &text.Weft
	result := &agent.LoadResult{
		Transport: weft.Transport, Degraded: weft.Degraded, TLS: weft.TLS, Mode: weft.Mode, Reads: run.Read.Total, Failed: run.Error,
		BytesPerSec: run.Read.BW, IOPS: run.Read.IOPS, Longest: time.Duration(run.Read.Lat.Max), CPUPerGbit: weft.CPUPerGbit,
		Lost: weft.Lost, Reconnected: weft.Reconnected,
	}
	if r.Work != nil {
		result.Worked = worked(text)
	}
	return result, err
}

// worked is a report by kind of command.
func worked(text *report) *agent.Worked {
	run := &text.Jobs[0]
	of := func(r *reportOp) agent.Operations {
		return agent.Operations{Done: r.Total, BytesPerSec: r.BW, IOPS: r.IOPS, Histogram: r.Clat.Histogram}
	}
	w := &agent.Worked{Read: of(&run.Read), Write: of(&run.Write), Flush: agent.Operations{Done: run.Sync.Total, Histogram: run.Sync.Lat.Histogram}}
	if v := text.Weft.Verified; v != nil {
		w.Checked, w.Bad = v.Blocks, v.Bad
	}
	return w
}

// warmTime is how long messages are sent before they are measured.
const warmTime = 200 * time.Millisecond

func (a asked) probe(ctx context.Context, r *agent.ProbeRequest) (*agent.ProbeResult, error) {
	p := &probing{samples: r.Samples, runtime: r.Runtime, ramp: warmTime, cpu: -1, shape: pingpong.Shape{Depth: 1}}
	p.verbs.op, p.verbs.size = string(perf.Send), size(r.Size)
	a.host(&p.host, r.Over, r.Portal)
	if r.Samples < 1 {
		return nil, fmt.Errorf("%d samples", r.Samples)
	}
	measure := sampler(p.bounce)
	if p.overRDMA() {
		route, err := p.route(a.places)
		if err != nil {
			return nil, err
		}
		shape := p.verbs.shapes(1)[0]
		if err := shape.Validate(); err != nil {
			return nil, err
		}
		v, err := loadVerbs(a.places)
		if err != nil {
			return nil, err
		}
		measure = p.turning(v, route, shape)
	}
	result, _, err := p.sampled(ctx, a.places, measure)
	return result, err
}

// overRDMA says which of the two a probe measures.
func (p *probing) overRDMA() bool { return slices.Equal(p.way.Transports, []string{"rdma"}) }
