package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/nvme/pingpong"
	"weft/internal/nvme/rdma/perf"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/wait"
)

// knockEvery is the time between two tries to reach an end that does not listen
// yet.
const knockEvery = 50 * time.Millisecond

// sample measures a number of messages and prints what read prints, also when the
// other end does not answer.
func (p *probing) sample(c *cobra.Command, places agent.Places, measure sampler) error {
	r, hist, err := p.sampled(c.Context(), places, measure)
	if r == nil {
		return err
	}
	show := func() error { return printResult(c.OutOrStdout(), r, hist) }
	if p.json {
		show = func() error { return printJSON(c.OutOrStdout(), r) }
	}
	return errors.Join(err, show())
}

// A sampler measures into a result.
type sampler func(context.Context, agent.Places, *agent.ProbeResult) (*latency.Histogram, error)

// sampled measures. There is a result whenever something was tried.
func (p *probing) sampled(ctx context.Context, places agent.Places, measure sampler) (*agent.ProbeResult, *latency.Histogram, error) {
	r := &agent.ProbeResult{Remote: p.portal, Depth: 1, Size: int(p.verbs.size)}
	hist, err := measure(ctx, places, r)
	if r.Op == "" { // nothing was tried
		return nil, nil, err
	}
	r.Local = p.own()
	if err != nil {
		r.Errors, r.FirstErr = 1, err.Error()
		err = failed(err)
	}
	if hist == nil {
		hist = latency.New()
	}
	r.Samples = int(hist.Count())
	text, textErr := hist.MarshalText()
	r.Histogram = string(text)
	return r, hist, errors.Join(err, textErr)
}

// bounce sends messages of one size to and fro over TCP.
func (p *probing) bounce(ctx context.Context, places agent.Places, r *agent.ProbeResult) (*latency.Histogram, error) {
	shape := pingpong.Shape{Request: int(p.verbs.size), Reply: int(p.verbs.size), Depth: 1, Poll: p.shape.Poll, Samples: p.samples, Half: true}
	if err := shape.Validate(); err != nil {
		return nil, err
	}
	if shape.Poll && runtime.GOMAXPROCS(0) < 2 {
		return nil, errors.New("--poll needs a second processor")
	}
	carrier, err := p.transport(places)
	if err != nil {
		return nil, err
	}
	r.Transport, r.Mode, r.Op = "tcp", "event", agent.OpSocket
	if shape.Poll {
		r.Mode = "poll"
	}
	dialling, cancel := p.patience(ctx)
	defer cancel()
	var got pingpong.Result
	err = p.knock(dialling, func() error {
		conn, err := carrier.DialAddr(dialling, p.portal)
		if err != nil {
			return fmt.Errorf("connect to %s: %w", p.portal, err)
		}
		p.shape = shape
		if got, err = p.apart(ctx, conn); err != nil {
			err = fmt.Errorf("ping-pong with %s: %w", p.portal, err)
		}
		return err
	})
	r.Elapsed, r.Bytes = int64(got.Elapsed), uint64(got.Done)*uint64(shape.Request)
	return got.Latency, err
}

// turning is turn as a sampler.
func (p *probing) turning(v verbs.Provider, to verbs.Route, s perf.Shape) sampler {
	return func(ctx context.Context, _ agent.Places, r *agent.ProbeResult) (*latency.Histogram, error) {
		return p.turn(ctx, v, to, s, r)
	}
}

// turn sends messages of one size to and fro over RDMA.
func (p *probing) turn(ctx context.Context, v verbs.Provider, to verbs.Route, s perf.Shape, r *agent.ProbeResult) (*latency.Histogram, error) {
	s.Samples = p.samples
	r.Transport, r.Mode, r.Op = "rdma", "poll", string(s.Op)
	dialling, cancel := p.patience(ctx)
	defer cancel()
	var got *perf.Result
	err := p.knock(dialling, func() (err error) {
		got, err = p.apartRDMA(ctx, v, to, s)
		return err
	})
	if got == nil {
		return nil, err
	}
	r.Elapsed, r.Bytes = int64(got.Elapsed), uint64(got.Done)*uint64(s.Size)
	return got.Latency, err
}

// knock tries again while nobody listens, until the context ends.
func (p *probing) knock(ctx context.Context, try func() error) error {
	var former error // what it was told before its time was over
	for {
		err := try()
		refused := new(verbs.RefusedError)
		switch {
		case err != nil && ctx.Err() != nil && former != nil:
			return former
		case !errors.Is(err, syscall.ECONNREFUSED) && (!errors.As(err, &refused) || refused.ByPeer()):
			return err
		}
		former = err
		if !wait.For(ctx, knockEvery) {
			return err
		}
	}
}
