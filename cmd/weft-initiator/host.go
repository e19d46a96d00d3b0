package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/nvme/tcp"
)

// host is who connects to a portal, and how.
type host struct {
	portal string // logical address of the target
	way    agent.Way
	by     carriage

	local atomic.Pointer[net.TCPAddr] // of the first connection, where it is real
}

const tosHelp = "type of service of what is sent (IPv6: traffic class), DSCP × 4; 0: the system's"

// flags adds what every command that connects needs.
func (h *host) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&h.portal, "traddr", "", "address and port of the target, like 10.40.1.11:4420")
	f.StringVar(&h.way.HostNQN, "hostnqn", "", "NQN of this host")
	f.StringVar(&h.way.From, "host-traddr", "", "address of this host to connect from")
	f.Uint8Var(&h.way.ToS, "tos", 0, tosHelp)
	h.transports(c)
	f.DurationVar(&h.way.Connect, "connect-timeout", 10*time.Second, "how long connecting may take")
}

// transport dials where places say. The own address is bound unless addresses
// are mapped: then it is only a name.
func (h *host) transport(places agent.Places) (*tcp.Transport, error) {
	if _, err := places.Address(h.portal); err != nil {
		return nil, err
	}
	return h.carrier(places)
}

// carrier is transport for any portal.
func (h *host) carrier(places agent.Places) (*tcp.Transport, error) {
	var dialer net.Dialer
	if h.way.From != "" {
		own, err := netip.ParseAddr(h.way.From)
		if err != nil {
			return nil, fmt.Errorf("--host-traddr %q is no IP address", h.way.From)
		}
		if len(places.Maps) == 0 {
			dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(own, 0))
		}
	}
	return &tcp.Transport{ToS: h.way.ToS, DialAddr: func(ctx context.Context, logical string) (net.Conn, error) {
		real, err := places.Address(logical)
		if err != nil {
			return nil, err
		}
		conn, err := dialer.DialContext(ctx, "tcp", real)
		if err == nil && len(places.Maps) == 0 {
			if a, ok := conn.LocalAddr().(*net.TCPAddr); ok {
				h.local.CompareAndSwap(nil, a)
			}
		}
		return conn, err
	}}, nil
}

// own is this end's address as the fabric names it, "" where nothing is known.
func (h *host) own() string {
	if a := h.local.Load(); h.way.From == "" && a != nil {
		return a.IP.String()
	}
	return h.way.From
}

// patience bounds connecting.
func (h *host) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, h.way.Connect, fmt.Errorf("%s did not answer within %v", h.portal, h.way.Connect))
}
