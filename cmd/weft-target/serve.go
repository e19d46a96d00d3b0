package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
)

// drainTime is how long commands under way may take to finish at the end.
const drainTime = 10 * time.Second

// garbageMost is how much garbage may lie in memory, in percent of what is used.
const garbageMost = 50

// options are what the command line says about serving.
type options struct {
	config string
	poll   int // pollers; 0 is event driven
	cpus   []int
}

func serveCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve what the configuration says until SIGTERM",
		Long: `Serve what the configuration says.

SIGHUP reads the configuration again and serves what it says from then on:
hosts stay connected, are told what has changed, and lose only what the
configuration takes from them. A configuration that is wrong changes nothing;
weft-target reload sends the signal and says how it ended.

SIGTERM and SIGINT finish the commands under way and end with status 0.`,
		Args: cobra.NoArgs,
	}
	o := new(options)
	c.Flags().StringVar(&o.config, "config", agent.ConfigPath, "configuration, below --root")
	c.Flags().IntSliceVar(&o.cpus, "poll-cpus", nil, "with --poll: processors that the threads are kept on, in turn")
	c.Flags().IntVar(&o.poll, "poll", 0, "poll the network with so many threads, each of which keeps a processor busy (Linux); portals with TLS wait for events all the same; 0 waits for events everywhere")
	c.RunE = started(func(c *cobra.Command) error {
		log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
		return serve(c.Context(), *places, *o, log)
	})
	return c
}

// serve runs until ctx or a signal ends it.
func serve(ctx context.Context, places agent.Places, o options, log *slog.Logger) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)

	// Commands allocate nothing. What does is strangers who come and ask: their
	// garbage is not worth as much memory as everything else takes.
	debug.SetGCPercent(garbageMost)

	s, err := start(ctx, places, o, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	socket := os.Getenv("NOTIFY_SOCKET")
	if err := notify(socket, "READY=1"); err != nil {
		return err
	}
	for {
		select {
		case <-reload:
			if err := s.reload(ctx); err != nil {
				log.Error("reload failed; the previous configuration stays active", "error", err)
			}
		case <-ctx.Done():
			log.Info("stopping")
			return notify(socket, "STOPPING=1")
		}
	}
}
