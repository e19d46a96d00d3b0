package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/run"
	"weft/internal/view"
	"weft/internal/wait"
	"weft/inventory"
	"weft/plan"
)

// A watching is how watch goes.
type watching struct {
	interval   time.Duration
	count      int
	prometheus string
	ui         bool
	allow      []string // devices and systems that may go without a measurement
}

// A watchCommand is weft watch.
type watchCommand struct {
	opts    *options
	out     *printer
	project *project
	fabric  *fabric
}

func (wat *watchCommand) command() *cobra.Command {
	var how watching
	cmd := &cobra.Command{
		Use: "watch [VALIDATION…]", Short: "Repeat measurements of the fabric",
		Long: `watch repeats validations and judges the growth of counters since the previous sample,
until it is interrupted or after --count samples. Without names it runs all validations
with counters. A validation with a probe is measured in every sample, and the marks and
queues of its reads are judged (path.marked, path.classified).

--ui shows a board on a terminal. It has graphs of the last samples of each plane (p99 if
a validation reads, throughput, pauses, drops), the slowest pairs, and everything that
does not pass. Without a terminal, --ui has no effect.

--prometheus serves /metrics with every counter, each metric with its value and verdict
at each place, and the p99 of each pair. The exit code is that of the last sample.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			wat.out.begin(cmd)
			if how.interval < time.Second {
				return usage(errors.New("--interval is at least 1s"))
			}
			if how.count < 0 {
				return usage(errors.New("--count is 0, for no end, or more"))
			}
			if _, _, err := net.SplitHostPort(how.prometheus); how.prometheus != "" && err != nil {
				return usage(hint.Wrap(fmt.Errorf("--prometheus: %w", err), "an address has a port, like 127.0.0.1:9421"))
			}
			m, err := wat.project.load()
			if err != nil {
				return err
			}
			if err := validations(cmd, m, names); err != nil {
				return err
			}
			if err := unmeasurable(m, how.allow); err != nil {
				return err
			}
			if len(names) == 0 {
				names = countingNames(m)
			}
			if len(names) == 0 {
				return errors.New("there is nothing to watch: no validation has a metric with a source")
			}
			p, err := wat.fabric.open(m)
			if err != nil {
				return err
			}
			defer p.Close()
			return wat.watch(cmd.Context(), p, names, how)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&how.interval, "interval", 10*time.Second, "time between two samples")
	f.IntVar(&how.count, "count", 0, "number of samples; 0: until interrupted")
	f.BoolVar(&how.ui, "ui", false, "show a board of planes, pairs and issues if stdout is a terminal")
	unmeasuredFlag(f, &how.allow)
	f.StringVar(&how.prometheus, "prometheus", "", "serve Prometheus metrics at this address, like 127.0.0.1:9421; port 0 selects a free port")
	return cmd
}

// rereadEvery is how often watch reads what devices are set to. Counters are read each time.
const rereadEvery = 5 * time.Minute

// countingNames are the validations that only count.
func countingNames(m *inventory.Model) []string {
	var names []string
	for _, v := range m.Validations {
		if v.Probe == "" && slices.ContainsFunc(v.Metrics, func(x *inventory.Metric) bool { return x.Source != "" }) {
			names = append(names, v.Addr)
		}
	}
	return names
}

func (wat *watchCommand) watch(ctx context.Context, p *run.Site, names []string, how watching) error {
	seen := newSeenLast(p.Model.Name)
	if how.prometheus != "" {
		stop, err := wat.answer(how.prometheus, seen.handler())
		if err != nil {
			return err
		}
		defer stop()
	}
	terminal, board := onTerminal(wat.out.stdout), wat.boardFor(p.Model, how.ui)
	var since *prove.Snapshot
	var last *prove.Result
	var configuration *prove.Configuration
	for n := 1; ; n++ {
		if configuration != nil && time.Since(configuration.Time) >= rereadEvery {
			configuration = nil
		}
		res, err := p.Measure(ctx, prove.Input{Names: names, Configuration: configuration, Since: since, Allow: how.allow, Marks: true})
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		since, last, configuration = res.After.Since(since), res, res.Configuration
		seen.last.Store(res)
		switch {
		case wat.opts.json:
			wat.out.emit(plan.Event{Type: plan.EventVerdict, Message: string(res.Verdict), Data: map[string]any{"judgements": res.Judgements}})
		case board != nil:
			board.Add(res, time.Now())
			board.Show(wat.out.stdout, res, time.Now(), wat.out.style(wat.out.stdout))
		default:
			view.Watch(wat.out.stdout, res, time.Now(), wat.out.style(wat.out.stdout), terminal)
		}
		if how.count > 0 && n >= how.count || !wait.For(ctx, how.interval) {
			break
		}
	}
	switch {
	case last == nil:
		return context.Cause(ctx)
	case last.Verdict != prove.Pass:
		return &quietError{proven(last.Verdict)}
	}
	return nil
}

// answer serves metrics until stop is called.
func (wat *watchCommand) answer(addr string, metrics http.Handler) (stop func(), err error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--prometheus: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(wat.out.stderr, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ln) // until stop closes it
	}()
	wat.out.emit(plan.Event{Type: plan.EventHeartbeat, Message: "answering Prometheus at http://" + ln.Addr().String() + "/metrics"})
	return func() {
		_ = s.Close()
		<-done
	}, nil
}
