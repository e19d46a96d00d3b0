package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/agent"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/target"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/tls13"
	"weft/internal/slice"
)

// A service is a target that is being served.
type service struct {
	log        *slog.Logger
	places     agent.Places
	options    options
	pollers    *tcp.Pollers   // nil: event driven
	processors int            // that the process may keep busy
	budget     *fabric.Budget // of all portals
	turns      *fabric.Turns  // likewise
	waiting    int            // connections of strangers at a portal; 0 is as many as it likes
	rdma       rdmaLoader
	socket     *statusServer
	metrics    *metricsServer                       // nil: nowhere
	tls        atomic.Pointer[map[string]tls13.Key] // by identity

	// target is nil only in start. What follows changes with a reload, under mu;
	// reloads come one after the other.
	target  *target.Target
	mu      sync.Mutex
	conf    *agent.Target
	keys    map[string]map[string]target.Keys // by subsystem and host
	stores  stores
	portals []portal
	missing []agent.PortalStatus // that cannot be here
	status  agent.TargetStatus   // what is not asked from the target
}

type portal struct {
	agent.PortalStatus
	fabric.Listener
	mark func(tos uint8) error // of connections to come
}

// start opens everything or nothing: the backends first, then all portals, so
// that a host which reaches one finds everything there. Then the status
// socket, so that who reads a status knows the target is ready.
func start(ctx context.Context, places agent.Places, o options, log *slog.Logger) (*service, error) {
	l, err := load(places, places.Path(o.config))
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
	s := &service{log: log, places: places, options: o, conf: l.conf, keys: l.keys, budget: fabric.NewBudget(fabric.DefaultBudget), processors: runtime.GOMAXPROCS(0), status: agent.TargetStatus{
		Version: agent.Version(), Binary: binary, Config: l.sum, PID: os.Getpid(), Root: places.Root, Started: time.Now().UTC(),
	}}
	s.tls.Store(&l.tls)
	if err := s.open(ctx, l); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if s.socket, err = serveStatus(socket, s.now, log); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	log.Info("serving", "subsystems", len(l.conf.Subsystems), "configuration", l.sum, "status", socket)
	return s, nil
}

// open makes the target and its portals.
//
// Go runs on more processors than there are. Threads that poll keep one each for
// good, and a call that waits in the kernel keeps one until Go notices, which may
// take it ten milliseconds: meanwhile the commands of other hosts would stay where
// no thread looks for them. Which of the threads goes on is up to the kernel.
func (s *service) open(ctx context.Context, l *loaded) (err error) {
	if s.options.poll > 0 {
		if s.pollers, err = tcp.NewPollers(tcp.PollerOptions{Threads: s.options.poll, CPUs: s.options.cpus}); err != nil {
			return err
		}
	}
	s.turns = fabric.NewTurns(s.processors, yielding())
	runtime.GOMAXPROCS(2*s.processors + s.options.poll)
	if s.missing, err = s.sortOut(l.conf); err != nil {
		return err
	}
	if n := descriptors(); n > 0 { // besides those that target.Config has them for
		s.waiting = max(4, n/8/max(1, len(l.conf.Portals)))
	}
	all, fresh, err := stores(nil).open(l.conf, s.places, s.log)
	if err != nil {
		return err
	}
	s.stores = all
	c := l.configuration(all)
	c.Firmware, c.Generation, c.Log, c.Descriptors, c.Processors = firmware, uint64(time.Now().Unix()), s.log, descriptors(), s.processors
	c.Yield = s.turns.Yield
	if s.target, err = target.New(c); err != nil {
		return errors.Join(err, fresh.close())
	}
	open, missing, err := s.listen(ctx, l.conf.Portals, nil)
	if err != nil {
		return err
	}
	s.portals, s.missing = open, append(s.missing, missing...)
	if there := present(l.conf.Portals, open); len(there) < len(l.conf.Portals) { // hosts are told of what is there
		l.conf.Portals = there
		if err := s.target.Reload(l.configuration(all)); err != nil {
			return err
		}
	}
	s.metrics, err = serveMetrics(s.places, l.conf.Metrics, s.writeMetrics, s.log)
	return err
}

// yielding lets other threads go on, if the kernel can have the threads of the process
// yield for little: else it takes as much from who yields as it gives to one in
// milliseconds. It asks for that when it is first called, as one host alone has no use
// for it.
func yielding() func() {
	short := sync.OnceValue(func() bool { return rawsock.ShortSlices(fabric.TurnTime) })
	return func() {
		if short() {
			rawsock.Yield()
		}
	}
}

// firmware is the revision that hosts see, in at most 8 characters.
const firmware = "1"

func closePortals(all []portal) error {
	errs := slice.Map(all, func(p portal) error { return p.Close() })
	return errors.Join(errs...)
}

// reload reads the configuration again. With an error everything is as before.
func (s *service) reload(ctx context.Context) error {
	s.log.Info("reading the configuration again")
	s.target.Hold()
	err := s.change(ctx)
	s.target.Resume()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Reloads++
	s.status.ReloadError = ""
	if err != nil {
		s.status.ReloadError = err.Error()
	}
	return err
}

// change opens what is new, has the target serve the new configuration, and
// closes what is no longer there.
func (s *service) change(ctx context.Context) error {
	l, err := load(s.places, s.places.Path(s.options.config))
	if err != nil {
		return err
	}
	if l.conf.Metrics != s.conf.Metrics {
		return fmt.Errorf("metrics moves from %q to %q, which needs a restart", s.conf.Metrics, l.conf.Metrics)
	}
	for _, p := range l.conf.Portals {
		other := p
		other.TLS = !p.TLS
		if slices.ContainsFunc(s.conf.Portals, other.Same) {
			return fmt.Errorf("tls of portal %s changes, which needs a restart", p.Address)
		}
	}
	missing, err := s.sortOut(l.conf)
	if err != nil {
		return err
	}
	all, fresh, err := s.stores.open(l.conf, s.places, s.log)
	if err != nil {
		return err
	}
	kept, gone, added := sortPortals(s.portals, l.conf.Portals)
	// Who comes to a new portal now is asked to come again.
	opened, closed, err := s.listen(ctx, added, kept)
	if err != nil {
		return errors.Join(err, fresh.close())
	}
	l.conf.Portals = present(l.conf.Portals, slices.Concat(kept, opened))
	if err := markAll(kept, l.conf.Portals); err != nil {
		return errors.Join(err, markAll(kept, s.conf.Portals), closePortals(opened), fresh.close())
	}
	if err := s.target.Reload(l.configuration(all)); err != nil {
		return errors.Join(err, markAll(kept, s.conf.Portals), closePortals(opened), fresh.close())
	}
	s.tls.Store(&l.tls)
	if err := closePortals(gone); err != nil {
		s.log.Error("closing portals", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conf, s.keys, s.stores, s.portals, s.missing, s.status.Config = l.conf, l.keys, all, append(kept, opened...), append(missing, closed...), l.sum
	s.log.Info("serving", "subsystems", len(l.conf.Subsystems), "configuration", l.sum)
	return nil
}

// sortPortals says which portals stay, which go and which are new.
func sortPortals(have []portal, want []agent.Portal) (kept, gone []portal, added []agent.Portal) {
	for _, p := range have {
		if slices.ContainsFunc(want, p.Same) {
			kept = append(kept, p)
		} else {
			gone = append(gone, p)
		}
	}
	added = slice.Filter(want, func(p agent.Portal) bool {
		return !slices.ContainsFunc(have, func(h portal) bool { return h.Same(p) })
	})
	return kept, gone, added
}

// markAll gives portals the type of service that they are to have. Connections that
// hosts have already keep theirs until they are made again.
func markAll(open []portal, want []agent.Portal) error {
	var errs []error
	for i := range open {
		p := &open[i]
		at := slices.IndexFunc(want, p.Same)
		if at < 0 || want[at].ToS == p.ToS {
			continue
		}
		if err := p.mark(want[at].ToS); err != nil {
			errs = append(errs, fmt.Errorf("portal %s: %w", p.Address, err))
			continue
		}
		p.ToS = want[at].ToS
	}
	return errors.Join(errs...)
}

// stop drains, closes what is open, and returns when all of it has ended.
func (s *service) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var errs []error
	if s.target != nil {
		errs = append(errs, s.target.Drain(ctx))
	}
	errs = append(errs, closePortals(s.portals))
	if s.pollers != nil {
		s.pollers.Close()
	}
	if s.socket != nil {
		errs = append(errs, s.socket.Close())
	}
	if s.metrics != nil {
		errs = append(errs, s.metrics.Close())
	}
	if s.target != nil {
		errs = append(errs, s.target.Close())
	}
	return errors.Join(errs...)
}

// notify tells the service manager that listens on socket (NOTIFY_SOCKET) what
// has become of this process: "READY=1", "STOPPING=1". Without a socket nobody
// asked.
func notify(socket, state string) error {
	if socket == "" {
		return nil
	}
	if name, abstract := strings.CutPrefix(socket, "@"); abstract {
		socket = "\x00" + name
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("telling the service manager %s: %w", state, err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("telling the service manager %s: %w", state, err)
	}
	return nil
}
