package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"weft/internal/agent"
	"weft/internal/hint"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/target"
	"weft/internal/nvme/tcp"
)

// rdmaLoader loads RDMA once it is wanted. What was missing may be there the
// next time.
type rdmaLoader struct {
	mu sync.Mutex
	v  verbs.Provider
}

func (r *rdmaLoader) load() (verbs.Provider, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.v != nil {
		return r.v, nil
	}
	v, err := verbs.Load()
	if err == nil {
		r.v = v
	}
	return v, err
}

// sortOut takes the portals out of a configuration that this machine cannot
// have: those of RDMA, where there is none. That is said in one line, and the
// others serve. Without others it is an error.
func (s *service) sortOut(conf *agent.Target) (missing []agent.PortalStatus, err error) {
	isRDMA := func(p agent.Portal) bool { return p.Transport == "rdma" }
	if !slices.ContainsFunc(conf.Portals, isRDMA) {
		return nil, nil
	}
	_, why := s.rdma.load()
	if why == nil {
		return nil, nil
	}
	var rest []agent.Portal
	for _, p := range conf.Portals {
		if isRDMA(p) {
			missing = append(missing, agent.PortalStatus{Portal: p, Error: why.Error()})
		} else {
			rest = append(rest, p)
		}
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("no portal can be opened: %w", why)
	}
	s.log.Warn("degraded: portals of RDMA stay closed", "portals", len(missing), "why", why, "hint", hint.Of(why))
	conf.Portals = rest
	return missing, nil
}

// listen opens portals where places say they are: all or none.
func (s *service) listen(ctx context.Context, tos uint8, want []agent.Portal) (open []portal, err error) {
	for _, p := range want {
		carrier, bound, err := s.carrier(p, tos)
		if err != nil {
			return nil, errors.Join(err, closePortals(open))
		}
		l, err := carrier.Listen(ctx, fabric.ListenParams{
			Addr: p.Address, MaxDepth: target.MaxDepth, InCapsule: target.InCapsule, MaxTransfer: target.MaxTransfer,
		}, s.target.Accept)
		if err != nil {
			return nil, errors.Join(err, closePortals(open))
		}
		open = append(open, portal{agent.PortalStatus{Portal: p, Bound: *bound}, l})
		s.log.Info("listening", "portal", p.Address, "transport", p.Transport, "bound", *bound)
	}
	return open, nil
}

// carrier is the transport of a portal, and where it says, once it listens, at
// which real address.
func (s *service) carrier(p agent.Portal, tos uint8) (fabric.Transport, *string, error) {
	bound := new(string)
	if p.Transport == "rdma" {
		v, err := s.rdma.load()
		if err != nil {
			return nil, nil, err
		}
		return &rdma.Transport{Verbs: v, Address: func(logical string) (real string, err error) {
			real, err = s.places.Address(logical)
			*bound = real
			return real, err
		}}, bound, nil
	}
	return &tcp.Transport{Pollers: s.pollers, ToS: tos, ListenAddr: func(ctx context.Context, logical string) (net.Listener, error) {
		real, err := s.places.Address(logical)
		if err != nil {
			return nil, err
		}
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", real)
		if err == nil {
			*bound = l.Addr().String()
		}
		return l, err
	}}, bound, nil
}
