package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/nvme/pingpong"
	"weft/internal/nvme/tcp"
)

// A probing is a ping-pong as the command line says it.
type probing struct {
	host
	shape         pingpong.Shape
	listen        string
	request       size
	reply         size
	runtime, ramp time.Duration
	samples       int64 // 0: as many as the time holds
	once          bool
	cpu           int
	json          bool
	verbs         verbing
}

func probeCommand(places *agent.Places) *cobra.Command {
	p := new(probing)
	c := &cobra.Command{
		Use:   "probe --listen ADDRESS:PORT | probe --traddr ADDRESS:PORT",
		Short: "Measure what the wire does without NVMe: a ping-pong over TCP, or RDMA",
		Long: `Measure round trips of plain TCP between two machines: one listens, the other
sends requests and waits for replies of the sizes given. The sizes of a 4 KiB
read are the default. What a target adds to these figures is its own.

Latencies are of whole round trips; as perftest does for sends, t_typical is
half of the median.

With --transport rdma, sends, writes or reads of RDMA are measured instead, with
the meanings and columns of perftest: latency is half of a round trip, of reads
all of it. Both ends poll.

With --samples it is a measurement as weft verify makes it: latency is half of a
round trip over TCP, too; who connects waits for the other end to listen, for
--connect-timeout; and --json is the result that read prints.`,
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	f.StringVar(&p.listen, "listen", "", "answer at this address until interrupted; port 0 takes a free one and prints it")
	f.StringVar(&p.portal, "traddr", "", "address and port of the end that listens")
	f.StringVar(&p.way.From, "host-traddr", "", "address of this host to connect from")
	f.DurationVar(&p.way.Connect, "connect-timeout", 10*time.Second, "how long connecting may take")
	f.Uint8Var(&p.way.ToS, "tos", 0, tosHelp)
	p.transports(c)
	p.verbs.flags(c)
	p.request, p.reply = 72, 4120
	f.Var(&p.request, "request", "bytes of a request")
	f.Var(&p.reply, "reply", "bytes of a reply")
	f.IntVar(&p.shape.Depth, "iodepth", 1, "requests outstanding; more than 1 needs --poll")
	f.BoolVar(&p.shape.Poll, "poll", false, "both ends poll, else both block (Linux)")
	f.IntVar(&p.cpu, "poll-cpu", -1, "with --poll, or with --listen: the processor to poll on")
	f.DurationVar(&p.runtime, "runtime", 2*time.Second, "how long to measure")
	f.Int64Var(&p.samples, "samples", 0, "end when so many were measured, and --runtime is the most that may take")
	f.BoolVar(&p.once, "once", false, "with --listen: end when one client has left, or when none has come for --connect-timeout")
	f.DurationVar(&p.ramp, "ramp-time", warmTime, "how long to run before that")
	f.BoolVar(&p.json, "json", false, "print the result as JSON")
	c.MarkFlagsMutuallyExclusive("listen", "traddr")
	c.MarkFlagsOneRequired("listen", "traddr")
	c.RunE = started(func(c *cobra.Command) error {
		switch over := strings.Join(p.way.Transports, ","); {
		case over == "rdma" && p.listen != "":
			return p.serveRDMA(c.Context(), *places, c.OutOrStdout(), c.ErrOrStderr())
		case over == "rdma":
			return p.measureRDMA(c, *places)
		case p.samples > 0 && over == "tcp" && p.portal != "":
			return p.sample(c, *places, p.bounce)
		case over != "tcp":
			return fmt.Errorf("--transport %q is neither tcp nor rdma: a probe measures one of them", over)
		case p.listen != "":
			return p.serve(c.Context(), *places, c.OutOrStdout(), c.ErrOrStderr())
		}
		return p.measure(c, *places)
	})
	return c
}

// serve answers until the context ends.
func (p *probing) serve(ctx context.Context, places agent.Places, out, told io.Writer) error {
	real, err := places.Address(p.listen)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", real)
	if err == nil && p.way.ToS != 0 {
		err = tcp.Mark(l, p.way.ToS)
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", p.listen, err)
	}
	fmt.Fprintln(out, "listening on", l.Addr())
	if p.once {
		return pingpong.ServeOne(ctx, l.(*net.TCPListener), p.way.Connect)
	}
	return pingpong.Serve(ctx, l, p.cpu, func(err error) { fmt.Fprintln(out, err) })
}

// A probed is the result as JSON.
type probed struct {
	Remote  string        `json:"remote"`
	Mode    string        `json:"mode"` // "event" or "poll"
	Request int           `json:"request_bytes"`
	Reply   int           `json:"reply_bytes"`
	Depth   int           `json:"iodepth"`
	Rate    float64       `json:"iops"`         // round trips per second
	Typical float64       `json:"t_typical_us"` // half of the median
	Lat     reportLatency `json:"lat_ns"`
}

func (p *probing) measure(c *cobra.Command, places agent.Places) error {
	p.shape.Request, p.shape.Reply = int(p.request), int(p.reply)
	if err := p.shape.Validate(); err != nil {
		return err
	}
	if p.shape.Poll && runtime.GOMAXPROCS(0) < 2 {
		return errors.New("--poll needs a second processor")
	}
	carrier, err := p.transport(places)
	if err != nil {
		return err
	}
	ctx, cancel := p.patience(c.Context())
	conn, err := carrier.DialAddr(ctx, p.portal)
	cancel()
	if err != nil {
		return failed(fmt.Errorf("connect to %s: %w", p.portal, err))
	}
	r, err := p.apart(c.Context(), conn)
	if err != nil {
		return failed(fmt.Errorf("ping-pong with %s: %w", p.portal, err))
	}
	out := probed{
		Remote: p.portal, Mode: "event", Request: p.shape.Request, Reply: p.shape.Reply, Depth: p.shape.Depth,
		Typical: float64(r.Latency.Quantile(0.5)) / 2e3, Lat: newLatency(r.Latency),
	}
	if s := r.Elapsed.Seconds(); s > 0 {
		out.Rate = float64(r.Done) / s
	}
	if p.shape.Poll {
		out.Mode = "poll"
	}
	if p.json {
		return printJSON(c.OutOrStdout(), out)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%d B to and %d B fro, depth %d, %s, %s: %.0f round trips per second\n%s", out.Request, out.Reply, out.Depth, out.Mode, out.Remote, out.Rate, spread(r.Latency))
	return err
}

// apart measures on a goroutine that may keep its thread.
func (p *probing) apart(ctx context.Context, conn net.Conn) (r pingpong.Result, err error) {
	if p.way.ToS != 0 {
		if err := tcp.Mark(conn, p.way.ToS); err != nil {
			return r, errors.Join(err, conn.Close())
		}
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		r, err = pingpong.Measure(ctx, conn, p.shape, p.ramp, p.runtime, p.cpu)
	}()
	<-over
	return r, err
}

func spread(h *latency.Histogram) string {
	return fmt.Sprintf("min %v  mean %v  p50 %v  p99 %v  p99.9 %v  max %v\n", h.Min(), h.Mean(), h.Quantile(0.5), h.Quantile(0.99), h.Quantile(0.999), h.Max())
}
