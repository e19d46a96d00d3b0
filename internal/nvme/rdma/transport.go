// Package rdma carries queue pairs over NVMe/RDMA: both ends, on verbs.
//
// A command is one send, with its data behind it where a capsule has room.
// Other data is moved by the target: it reads from the host's memory what is to
// be written, and writes to the host's memory what was read, in one chain with
// the response.
//
// The hardware only ever touches memory of the transport's own, and data is
// copied from and to it: a peer holds keys to buffers of the queue, never to
// memory of the program.
//
// Not even the memory of a backend is sent from, although it could be registered.
// A block must not change while it is sent, so its lock would be held until the
// host has acknowledged: with a host that has vanished until the hardware gives
// up, which takes many seconds, and meanwhile nobody could write there, not even
// the same host over another path. Read into it can be still less: a connection
// that ends in the middle would leave a torn block. One copy of 4 KiB takes less
// than a microsecond; it is between memory that was registered once, and files
// are read straight into that.
//
// A target's connections complete together, in a hub for each processor, and one
// goroutine for each hub works for them (poller.go). A host's queue has a hub of its
// own: who waits for it waits for no other.
package rdma

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
)

// Transport is NVMe/RDMA over what Verbs finds. The other fields may stay zero.
type Transport struct {
	Verbs verbs.Provider

	// Address is where a logical address really is; nil takes it as it is.
	Address func(logical string) (string, error)

	From netip.Addr // to dial from; the zero Addr leaves it to the system
	ToS  uint8      // type of service of connections that are dialled; DSCP × 4

	// Reached is told the own address of every connection that is dialled; it
	// may be nil.
	Reached func(local netip.AddrPort)

	// Poll has the I/O queues that are dialled look for completions without
	// ever blocking: their Wait spins. Whoever waits should own its thread.
	// Admin queues stay event driven.
	Poll bool
}

var _ fabric.Transport = (*Transport)(nil)

// Name is "rdma".
func (t *Transport) Name() string { return "rdma" }

// Register does nothing: data passes through registered memory of the queue.
func (t *Transport) Register(b []byte) (fabric.Region, error) { return fabric.Plain(b), nil }

// real is where a logical address really is.
func (t *Transport) real(logical string) (netip.AddrPort, error) {
	at := logical
	if t.Address != nil {
		var err error
		if at, err = t.Address(logical); err != nil {
			return netip.AddrPort{}, err
		}
	}
	a, err := netip.ParseAddrPort(at)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is no IP address with a port", at)
	}
	return a, nil
}

// mostDepth is the largest queue: what the field for its size holds.
const mostDepth = 1<<16 - 1

// Listen opens a portal.
func (t *Transport) Listen(ctx context.Context, p fabric.ListenParams, accept func(fabric.Conn) fabric.Handler) (fabric.Listener, error) {
	p = p.WithDefaults()
	switch {
	case p.MaxDepth < 1 || p.MaxDepth > mostDepth:
		return nil, fmt.Errorf("listen on %s: queues of depth %d", p.Addr, p.MaxDepth)
	case p.InCapsule < 0 || p.InCapsule%16 != 0:
		return nil, fmt.Errorf("listen on %s: %d bytes of data in a capsule, want a multiple of 16", p.Addr, p.InCapsule)
	case p.MaxTransfer > maxKeyed:
		return nil, fmt.Errorf("listen on %s: %d bytes in one command, %d is the most", p.Addr, p.MaxTransfer, maxKeyed)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", p.Addr, context.Cause(ctx))
	}
	at, err := t.real(p.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", p.Addr, err)
	}
	a, err := t.Verbs.Listen(at)
	if err != nil {
		return nil, fmt.Errorf("listen on %s over RDMA: %w", p.Addr, err)
	}
	return newListener(t.Verbs, a, p, accept), nil
}

// maxKeyed is the largest length in a keyed descriptor.
const maxKeyed = 1<<24 - 1

// logicalAddr is what a connection to the logical address has reached: the
// address itself, or where that is a wildcard or has port 0, what is real.
func logicalAddr(logical string, real netip.AddrPort) string {
	host, port, err := net.SplitHostPort(logical)
	if err != nil {
		return real.String()
	}
	if host == "" || strings.Trim(host, "0.:") == "" {
		host = real.Addr().String()
	}
	if port == "0" {
		port = fmt.Sprint(real.Port())
	}
	return net.JoinHostPort(host, port)
}
