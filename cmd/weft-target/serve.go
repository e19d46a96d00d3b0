package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/target"
	"weft/internal/nvme/tcp"
)

// drainTime is how long commands under way may take to finish at the end.
const drainTime = 10 * time.Second

func serveCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve what the configuration says until SIGTERM",
		Long: `Serve what the configuration says.

SIGTERM and SIGINT finish the commands under way and end with status 0. A
changed configuration takes effect with a restart; live reload on SIGHUP is
described, not yet managed.`,
		Args: cobra.NoArgs,
	}
	config := configFlag(c)
	c.RunE = started(func(c *cobra.Command) error {
		log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
		return serve(c.Context(), *places, *config, log)
	})
	return c
}

// serve runs until ctx or a signal ends it.
func serve(ctx context.Context, places agent.Places, config string, log *slog.Logger) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)

	s, err := start(ctx, places, config, log)
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
			log.Warn("live reload on SIGHUP is described, not yet managed; restart the service")
		case <-ctx.Done():
			log.Info("stopping")
			return notify(socket, "STOPPING=1")
		}
	}
}

// A service is a target that is being served.
type service struct {
	log     *slog.Logger
	target  *target.Target
	portals []portal
	socket  *statusServer
	status  agent.TargetStatus // what does not change while it runs
}

type portal struct {
	agent.PortalStatus
	fabric.Listener
}

// start opens everything or nothing: the backends first, then all portals, so
// that a host which reaches one finds everything there. Then the status
// socket, so that who reads a status knows the target is ready.
func start(ctx context.Context, places agent.Places, config string, log *slog.Logger) (*service, error) {
	conf, sum, err := load(places, places.Path(config))
	if err != nil {
		return nil, err
	}
	binary, err := ownSum()
	if err != nil {
		return nil, err
	}
	socket := places.Path(agent.SocketPath)
	if err := nobodyOn(socket); err != nil {
		return nil, err
	}
	s := &service{log: log, status: agent.TargetStatus{
		Version: agent.Version(), Binary: binary, Config: sum, PID: os.Getpid(), Root: places.Root,
	}}
	if s.target, err = newTarget(conf, places, log); err != nil {
		return nil, err
	}
	for _, p := range conf.Portals {
		if err := s.listen(ctx, places, p); err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
	if s.socket, err = serveStatus(socket, s.now, log); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	log.Info("serving", "subsystems", len(conf.Subsystems), "configuration", sum, "status", socket)
	return s, nil
}

// listen opens a portal where places say it is.
func (s *service) listen(ctx context.Context, places agent.Places, p agent.Portal) error {
	bound := ""
	carrier := &tcp.Transport{ListenAddr: func(ctx context.Context, logical string) (net.Listener, error) {
		real, err := places.Address(logical)
		if err != nil {
			return nil, err
		}
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", real)
		if err == nil {
			bound = l.Addr().String()
		}
		return l, err
	}}
	l, err := carrier.Listen(ctx, fabric.ListenParams{
		Addr: p.Address, MaxDepth: target.MaxDepth, InCapsule: target.InCapsule, MaxTransfer: target.MaxTransfer,
	}, s.target.Accept)
	if err != nil {
		return err
	}
	s.portals = append(s.portals, portal{agent.PortalStatus{Portal: p, Bound: bound}, l})
	s.log.Info("listening", "portal", p.Address, "bound", bound)
	return nil
}

// newTarget opens the backends.
func newTarget(conf *agent.Target, places agent.Places, log *slog.Logger) (_ *target.Target, err error) {
	c := target.Config{Firmware: firmware, Generation: uint64(time.Now().Unix()), Log: log}
	for _, p := range conf.Portals {
		c.Portals = append(c.Portals, target.Portal{Transport: p.Transport, Address: p.Address})
	}
	var open []backend.Backend
	defer func() {
		if err != nil {
			for _, b := range open {
				err = errors.Join(err, b.Close())
			}
		}
	}()
	for _, s := range conf.Subsystems {
		sub := target.Subsystem{NQN: s.NQN, Serial: s.Serial, AllowHosts: s.AllowHosts}
		for _, n := range s.Namespaces {
			id, err := uuid.Parse(n.UUID)
			if err != nil {
				return nil, fmt.Errorf("subsystem %q namespace %d: %w", s.NQN, n.ID, err)
			}
			b, err := openBackend(n, places)
			if err != nil {
				return nil, fmt.Errorf("subsystem %q namespace %d: %w", s.NQN, n.ID, err)
			}
			open = append(open, b)
			sub.Namespaces = append(sub.Namespaces, target.Namespace{ID: n.ID, UUID: id, Backend: b})
		}
		c.Subsystems = append(c.Subsystems, sub)
	}
	return target.New(c)
}

// firmware is the revision that hosts see, in at most 8 characters.
const firmware = "1"

func openBackend(n agent.Namespace, places agent.Places) (backend.Backend, error) {
	if n.Backend == "memory" {
		return backend.NewMemory(n.Size, n.BlockSize)
	}
	return backend.OpenFile(places.Path(n.Path), n.Size, n.BlockSize)
}

// now is the status.
func (s *service) now() agent.TargetStatus {
	status := s.status
	status.Portals = []agent.PortalStatus{}
	for _, p := range s.portals {
		status.Portals = append(status.Portals, p.PortalStatus)
	}
	status.Subsystems = []agent.SubsystemStatus{}
	for _, t := range s.target.Stats() {
		status.Subsystems = append(status.Subsystems, agent.SubsystemStatus{
			NQN: t.NQN, Controllers: t.Controllers, BytesRead: t.BytesRead, BytesWritten: t.BytesWritten,
		})
	}
	return status
}

// stop drains, closes what is open, and returns when all of it has ended.
func (s *service) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	errs := []error{s.target.Drain(ctx)}
	for _, p := range s.portals {
		errs = append(errs, p.Close())
	}
	if s.socket != nil {
		errs = append(errs, s.socket.Close())
	}
	return errors.Join(append(errs, s.target.Close())...)
}
