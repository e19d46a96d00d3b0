package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/rdma/perf"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/slice"
)

// verbing is what probe measures over RDMA.
type verbing struct {
	op   string
	bw   bool
	size size
	all  bool
}

func (b *verbing) flags(c *cobra.Command) {
	f := c.Flags()
	ops := slice.Map(perf.Ops(), func(op perf.Op) string { return string(op) })
	f.StringVar(&b.op, "op", string(perf.Send), "over RDMA: "+strings.Join(ops, ", ")+", as perftest's ib_send_lat and so on")
	f.BoolVar(&b.bw, "bw", false, "over RDMA: bandwidth with --iodepth messages under way, as perftest's ib_send_bw and so on, instead of latency")
	b.size = 64
	f.Var(&b.size, "size", "over RDMA: bytes of a message")
	f.BoolVar(&b.all, "all", false, "over RDMA: all sizes, powers of two from 2 bytes to 8 MiB")
}

// shapes are the measurements in their order.
func (b *verbing) shapes(depth int) []perf.Shape {
	one := perf.Shape{Op: perf.Op(b.op), Bandwidth: b.bw, Size: int(b.size), Depth: depth}
	if !b.all {
		return []perf.Shape{one}
	}
	var all []perf.Shape
	for one.Size = 2; one.Size <= perf.MaxSize; one.Size *= 2 {
		all = append(all, one)
	}
	return all
}

// serveRDMA answers until the context ends.
func (p *probing) serveRDMA(ctx context.Context, places agent.Places, out, told io.Writer) error {
	at, err := addrPort(places, p.listen)
	if err != nil {
		return err
	}
	v, err := loadVerbs(places)
	if err != nil {
		return err
	}
	a, err := v.Listen(at)
	if err != nil {
		return fmt.Errorf("listen on %s over RDMA: %w", p.listen, err)
	}
	fmt.Fprintln(out, "listening on", a.Addr(), "over RDMA")
	if p.once {
		return perf.ServeOne(ctx, a, p.way.Connect)
	}
	return perf.Serve(ctx, a, func(err error) { fmt.Fprintln(told, err) })
}

func addrPort(places agent.Places, logical string) (netip.AddrPort, error) {
	real, err := places.Address(logical)
	if err != nil {
		return netip.AddrPort{}, err
	}
	a, err := netip.ParseAddrPort(real)
	if err != nil {
		return a, fmt.Errorf("%q is no IP address with a port", real)
	}
	return a, nil
}

// A verbed is one measurement as JSON, with perftest's meanings.
type verbed struct {
	Test       string  `json:"test"` // perftest's program
	Remote     string  `json:"remote"`
	Bytes      int     `json:"bytes"`
	Depth      int     `json:"tx_depth"`
	Iterations int64   `json:"iterations"`
	Rate       float64 `json:"msg_per_s"`
	Average    float64 `json:"bw_average_mib_s,omitempty"`

	Lat *reportLatency `json:"lat_ns,omitempty"` // half of a round trip, of reads all of it
}

// route is that to the other end.
func (p *probing) route(places agent.Places) (route verbs.Route, err error) {
	route.ToS = p.way.ToS
	if route.To, err = addrPort(places, p.portal); err != nil {
		return route, err
	}
	if p.way.From != "" && len(places.Maps) == 0 {
		if route.From, err = netip.ParseAddr(p.way.From); err != nil {
			return route, fmt.Errorf("--host-traddr %q is no IP address", p.way.From)
		}
	}
	return route, nil
}

// measureRDMA measures, one size after the other.
func (p *probing) measureRDMA(c *cobra.Command, places agent.Places) error {
	route, err := p.route(places)
	if err != nil {
		return err
	}
	shapes := p.verbs.shapes(p.shape.Depth)
	for _, s := range shapes {
		if err := s.Validate(); err != nil {
			return err
		}
	}
	v, err := loadVerbs(places)
	if err != nil {
		return err
	}
	if p.samples > 0 {
		if len(shapes) > 1 || shapes[0].Bandwidth {
			return errors.New("--samples goes with the latency of one size")
		}
		return p.sample(c, places, p.turning(v, route, shapes[0]))
	}
	var all []verbed
	for _, s := range shapes {
		r, err := p.apartRDMA(c.Context(), v, route, s)
		if err != nil {
			return failed(err)
		}
		one := verbed{Test: s.Name(), Remote: p.portal, Bytes: s.Size, Depth: s.Depth, Iterations: r.Done, Rate: r.Rate()}
		if s.Bandwidth {
			one.Average = one.Rate * float64(s.Size) / (1 << 20)
		} else {
			lat := newLatency(r.Latency)
			one.Lat = &lat
		}
		all = append(all, one)
	}
	if p.json {
		return printJSON(c.OutOrStdout(), all)
	}
	return printVerbed(c.OutOrStdout(), all)
}

// apartRDMA measures on a thread of its own.
func (p *probing) apartRDMA(ctx context.Context, v verbs.Provider, to verbs.Route, s perf.Shape) (r *perf.Result, err error) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err = rawsock.Own(p.cpu); err != nil && !errors.Is(err, rawsock.ErrUnsupported) {
			return
		}
		r, err = perf.Measure(ctx, v, to, s, p.ramp, p.runtime)
	}()
	<-over
	return r, err
}

// printVerbed has perftest's columns.
func printVerbed(out io.Writer, all []verbed) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, all[0].Test, "with", all[0].Remote)
	if all[0].Lat == nil {
		fmt.Fprintln(w, "#bytes\t#iterations\tBW average[MiB/sec]\tMsgRate[Mpps]\t")
	} else {
		fmt.Fprintln(w, "#bytes\t#iterations\tt_min[usec]\tt_max[usec]\tt_typical[usec]\tt_avg[usec]\tt_stdev[usec]\t99% percentile[usec]\t99.9% percentile[usec]\t")
	}
	us := func(ns float64) string { return fmt.Sprintf("%.2f", ns/float64(time.Microsecond)) }
	for _, v := range all {
		if v.Lat == nil {
			fmt.Fprintf(w, "%d\t%d\t%.2f\t%.6f\t\n", v.Bytes, v.Iterations, v.Average, v.Rate/1e6)
			continue
		}
		p := func(q string) string { return us(float64(v.Lat.Percentile[q])) }
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", v.Bytes, v.Iterations, us(float64(v.Lat.Min)), us(float64(v.Lat.Max)),
			p("50.000000"), us(v.Lat.Mean), us(v.Lat.StdDev), p("99.000000"), p("99.900000"))
	}
	return w.Flush()
}
