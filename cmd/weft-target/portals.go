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
	"weft/internal/nvme/tls13"
)

// rdmaLoader loads RDMA once it is wanted. What was missing may be there the
// next time.
type rdmaLoader struct {
	mu sync.Mutex
	v  verbs.Provider
}

func (r *rdmaLoader) load(places agent.Places) (verbs.Provider, error) {
	if err := places.RDMA(); err != nil {
		return nil, err
	}
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
	if !slices.ContainsFunc(conf.Portals, isRDMA) {
		return nil, nil
	}
	_, why := s.rdma.load(s.places)
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

func isRDMA(p agent.Portal) bool { return p.Transport == "rdma" }

// listen opens portals where places say they are: all or none, but for those of
// RDMA that cannot be opened at an address where TCP serves instead.
func (s *service) listen(ctx context.Context, want []agent.Portal, others []portal) (open []portal, missing []agent.PortalStatus, err error) {
	served := func(address string) bool {
		return slices.ContainsFunc(slices.Concat(others, open), func(p portal) bool { return isRDMA(p.Portal) && p.Address == address })
	}
	for _, p := range slices.SortedStableFunc(slices.Values(want), rdmaFirst) {
		if p.Instead && served(p.Address) {
			continue
		}
		one, err := s.listenAt(ctx, p)
		switch {
		case err == nil:
			open = append(open, one)
			s.log.Info("listening", "portal", p.Address, "transport", p.Transport, "bound", one.Bound)
			if p.TLS && s.pollers != nil {
				s.log.Info("TLS is not polled: this portal waits for events", "portal", p.Address)
			}
		case isRDMA(p) && ctx.Err() == nil && slices.ContainsFunc(want, func(o agent.Portal) bool { return !isRDMA(o) && o.Address == p.Address }):
			missing = append(missing, agent.PortalStatus{Portal: p, Error: err.Error()})
			s.log.Warn("degraded: a portal of RDMA stays closed", "portal", p.Address, "why", err, "hint", hint.Of(err))
		default:
			return nil, nil, errors.Join(err, closePortals(open))
		}
	}
	return open, missing, nil
}

func rdmaFirst(a, b agent.Portal) int {
	rank := map[bool]int{true: 0, false: 1}
	return rank[isRDMA(a)] - rank[isRDMA(b)]
}

// listenAt opens one portal.
func (s *service) listenAt(ctx context.Context, p agent.Portal) (portal, error) {
	opened := &portal{PortalStatus: agent.PortalStatus{Portal: p}}
	carrier, err := s.carrier(opened)
	if err != nil {
		return portal{}, err
	}
	opened.Listener, err = carrier.Listen(ctx, fabric.ListenParams{
		Addr: p.Address, MaxDepth: target.MaxDepth, InCapsule: target.InCapsule, MaxTransfer: target.MaxTransfer, Budget: s.budget,
		Waiting: s.waiting, Processors: s.processors, Turns: s.turns,
	}, s.target.Accept)
	if err != nil {
		return portal{}, err
	}
	return *opened, nil
}

// present are the portals of a configuration that are there.
func present(all []agent.Portal, open []portal) []agent.Portal {
	return slices.DeleteFunc(slices.Clone(all), func(p agent.Portal) bool {
		return !slices.ContainsFunc(open, func(o portal) bool { return o.Same(p) })
	})
}

// carrier is the transport of a portal. Once it listens the portal has its real address,
// and can be marked.
func (s *service) carrier(p *portal) (fabric.Transport, error) {
	if p.Transport == "rdma" {
		v, err := s.rdma.load(s.places)
		if err != nil {
			return nil, err
		}
		return &rdma.Transport{Verbs: v, Address: func(logical string) (real string, err error) {
			real, err = s.places.Address(logical)
			p.Bound = real
			return real, err
		}}, nil
	}
	t := &tcp.Transport{Pollers: s.pollers}
	if p.TLS {
		t.Keys = s.tlsKey
	}
	t.ListenAddr = func(ctx context.Context, logical string) (net.Listener, error) {
		real, err := s.places.Address(logical)
		if err != nil {
			return nil, err
		}
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", real)
		if err != nil {
			return nil, err
		}
		p.Bound = l.Addr().String()
		p.mark = func(tos uint8) error { return tcp.Mark(l, tos) } // connections have what the listener has
		if p.ToS != 0 {
			if err := p.mark(p.ToS); err != nil {
				return nil, errors.Join(err, l.Close())
			}
		}
		return l, nil
	}
	return t, nil
}

// tlsKey is the key of an identity, as the newest configuration has it.
func (s *service) tlsKey(identity string) (tls13.Key, bool) {
	k, ok := (*s.tls.Load())[identity]
	return k, ok
}
