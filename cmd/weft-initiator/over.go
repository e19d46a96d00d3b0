package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/tls13"
)

// carriage is what NVMe went over, of the transports that were wanted.
type carriage struct {
	told func(string) // of what people should know at once

	mu       sync.Mutex
	used     string // by the newest admin queue
	degraded string // why it was not the first choice
	suite    string // by which TLS was spoken last; "": it was not
}

// transports adds the choice.
func (h *host) transports(c *cobra.Command) {
	c.Flags().StringSliceVar(&h.way.Transports, "transport", []string{"tcp"}, "rdma, tcp, or rdma,tcp: RDMA where it can be had, else TCP, which is then said to be degraded")
	h.by.told = func(s string) { fmt.Fprintln(c.ErrOrStderr(), s) }
}

// result is which transport was used, and why it was not the first choice.
func (h *host) result() (used, degraded string) {
	if used, degraded = h.by.result(); used == "" {
		used = h.way.Transports[0]
	}
	return used, degraded
}

func (o *carriage) result() (used, degraded string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.used, o.degraded
}

// secured notes a TLS connection.
func (o *carriage) secured(s tls13.Suite) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.suite = s.String()
}

// tls is the cipher suite by which all that was said is encrypted; "": it was said in clear.
func (o *carriage) tls() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.suite
}

func (o *carriage) note(used, degraded string) {
	o.mu.Lock()
	news := degraded != "" && degraded != o.degraded
	o.used, o.degraded = used, degraded
	o.mu.Unlock()
	if news {
		o.told("degraded: " + used + " instead of rdma: " + degraded)
	}
}

// over is the transport for any portal of a subsystem.
func (h *host) over(places agent.Places, subsystem string, poll bool) (fabric.Transport, error) {
	t, err := h.carrier(places)
	if err != nil {
		return nil, err
	}
	if t.Offers, err = h.tlsKeys(places, subsystem); err != nil {
		return nil, err
	}
	t.Poll, t.Secured = poll, h.by.secured
	switch want := strings.Join(h.way.Transports, ","); want {
	case "tcp":
		if t.Offers != nil && poll {
			return nil, errors.New("--poll with --tls-key-file: TLS waits for events")
		}
		return t, nil
	case "rdma", "rdma,tcp":
		if t.Offers != nil {
			return nil, fmt.Errorf("--tls-key-file with --transport %s: TLS is for tcp; there is none for RDMA", want)
		}
	default:
		return nil, fmt.Errorf("--transport %q is not rdma, tcp or rdma,tcp", want)
	}
	v, err := loadVerbs(places)
	both := slices.Contains(h.way.Transports, "tcp")
	switch {
	case err == nil:
	case !both:
		return nil, err
	default:
		h.by.note("tcp", err.Error())
		return t, nil
	}
	r := &rdma.Transport{Verbs: v, Address: places.Address, ToS: h.way.ToS, Poll: poll, Reached: h.reached()}
	if h.way.From != "" {
		r.From = netip.MustParseAddr(h.way.From) // carrier has checked it
	}
	if !both {
		h.by.note("rdma", "")
		return r, nil
	}
	return &preference{rdma: r, tcp: t, by: &h.by, chosen: map[string]fabric.Transport{}}, nil
}

// loadVerbs loads RDMA where places leave any.
func loadVerbs(places agent.Places) (verbs.Provider, error) {
	if err := places.RDMA(); err != nil {
		return nil, err
	}
	return verbs.Load()
}

// reached notes the own address.
func (h *host) reached() func(netip.AddrPort) {
	return func(local netip.AddrPort) { h.local.CompareAndSwap(nil, net.TCPAddrFromAddrPort(local)) }
}

// preference is RDMA where a portal offers it, else TCP. Every admin queue
// tries again; I/O queues follow it.
type preference struct {
	rdma *rdma.Transport
	tcp  *tcp.Transport
	by   *carriage

	mu     sync.Mutex
	chosen map[string]fabric.Transport // by address
}

var _ fabric.Transport = (*preference)(nil)

// Name is that of the transport in use.
func (p *preference) Name() string {
	if used, _ := p.by.result(); used != "" {
		return used
	}
	return p.rdma.Name()
}

// Register is for both.
func (p *preference) Register(b []byte) (fabric.Region, error) { return p.rdma.Register(b) }

// Listen is for targets.
func (p *preference) Listen(context.Context, fabric.ListenParams, func(fabric.Conn) fabric.Handler) (fabric.Listener, error) {
	return nil, errors.ErrUnsupported
}

// Dial chooses.
func (p *preference) Dial(ctx context.Context, d fabric.DialParams) (fabric.Queue, error) {
	if d.QID != 0 {
		p.mu.Lock()
		t := p.chosen[d.Addr]
		p.mu.Unlock()
		return t.Dial(ctx, d)
	}
	q, err := p.rdma.Dial(ctx, d)
	if err == nil {
		p.choose(d.Addr, p.rdma, "")
		return q, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	instead, second := p.tcp.Dial(ctx, d)
	if second != nil {
		return nil, errors.Join(err, second)
	}
	// Nobody had the address a moment ago, and now a host has: what failed was
	// the way, which is no reason to stay with TCP.
	if errors.Is(err, verbs.ErrNobody) {
		if q, again := p.rdma.Dial(ctx, d); again == nil {
			p.choose(d.Addr, p.rdma, "")
			_ = instead.Close() // nothing was sent yet
			return q, nil
		}
	}
	p.choose(d.Addr, p.tcp, err.Error())
	return instead, nil
}

func (p *preference) choose(addr string, t fabric.Transport, degraded string) {
	p.mu.Lock()
	p.chosen[addr] = t
	p.mu.Unlock()
	p.by.note(t.Name(), degraded)
}
