// Package tcp carries queue pairs over NVMe/TCP: both ends, on event driven
// connections.
//
// What a peer makes a target hold is bounded (see fabric.Budget): a command begins
// when there is room for it, and data is asked for when there is room for that.
//
// There is no goroutine and no allocation per command. A target has one
// goroutine per connection that reads, calls the handler and sends; a host's
// queue reads and sends in its caller's goroutine. On either end a second
// goroutine sleeps until the peer reads more slowly than it is written to.
//
// With Pollers a target, and with Poll a host, polls its sockets instead: on
// threads of their own, without the scheduler, many commands in one call.
//
// On Linux a connection that sends much finds out what send buffer suits its path (see
// fitting).
//
// A target takes the digests that the host asks for. More than one R2T per command
// is not offered.
//
// With Offers, or Keys, connections are TLS ones, and nothing is said in clear. They are
// event driven, Poll and Pollers or not.
package tcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/tls13"
)

// Transport is NVMe/TCP. The zero Transport dials and listens where the
// addresses say.
type Transport struct {
	// DialAddr opens the connection to a logical address; nil dials it.
	DialAddr func(ctx context.Context, addr string) (net.Conn, error)

	// ListenAddr opens the socket for a logical address; nil listens on it.
	ListenAddr func(ctx context.Context, addr string) (net.Listener, error)

	// MaxH2CData is the most bytes that a target of this transport accepts in
	// one H2CData PDU: a multiple of 4, at least 4096. 0 is 128 KiB.
	MaxH2CData int

	// ToS is the type of service (or IPv6 traffic class) of what is sent, the DSCP
	// in its upper six bits; 0 leaves it to the system. Unix only.
	ToS uint8

	// Poll has the I/O queues that are dialled read and send without ever
	// blocking: their Wait spins. Whoever waits should own its thread (see
	// rawsock.Own). Admin queues stay event driven. Linux only.
	Poll bool

	// Pollers serve the connections of listeners; nil is event driven. They
	// belong to the caller.
	Pollers *Pollers

	// Offers makes what is dialled TLS connections with one of these keys: the target
	// chooses, and the first is liked best (see tls13.Client).
	Offers []tls13.Key

	// Secured, where it is not nil, is told of each TLS connection that was dialled.
	// It may be called concurrently.
	Secured func(tls13.Suite)

	// Keys makes a listener take TLS connections only, of hosts that have shown to
	// have a key that it returns. It may be called concurrently.
	Keys func(identity string) (tls13.Key, bool)

	spinning fabric.Spinning // queues that were dialled and wait for events
}

var _ fabric.Transport = (*Transport)(nil)

const defaultMaxH2CData = 128 << 10

// Name is "tcp".
func (t *Transport) Name() string { return "tcp" }

// Register does nothing: TCP copies.
func (t *Transport) Register(b []byte) (fabric.Region, error) { return fabric.Plain(b), nil }

// Dial connects and agrees on the protocol.
func (t *Transport) Dial(ctx context.Context, p fabric.DialParams) (fabric.Queue, error) {
	if p.Depth < 1 || p.Depth > 1<<16-1 {
		return nil, fmt.Errorf("%s: queue of depth %d", p.Addr, p.Depth)
	}
	dial := t.DialAddr
	if dial == nil {
		dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	conn, err := dial(ctx, p.Addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", p.Addr, err)
	}
	noDelay(conn)
	if err := t.mark(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w", p.Addr, err)
	}
	if conn, err = t.secure(ctx, conn, p.Timeout); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Addr, err)
	}
	agreed := digests{header: p.HeaderDigest, data: p.DataDigest}
	most, err := introduce(ctx, conn, p.Timeout, agreed)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w", p.Addr, err)
	}
	if !t.Poll || p.QID == 0 || t.Offers != nil {
		return newQueue(conn, p, most, agreed, &t.spinning), nil
	}
	sock, err := rawsock.Detach(conn)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w", p.Addr, err)
	}
	return newPolledQueue(sock, p, most, agreed), nil
}

// secure makes a connection a TLS one, where it is to be one, and closes it where that
// fails.
func (t *Transport) secure(ctx context.Context, conn net.Conn, timeout time.Duration) (net.Conn, error) {
	if t.Offers == nil {
		return conn, nil
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	secured, err := tls13.Client(ctx, conn, t.Offers[0], t.Offers[1:]...)
	switch {
	case err == nil:
		if t.Secured != nil {
			t.Secured(secured.Key().Suite)
		}
		return secured, nil
	case tls13.Rejects(err):
		err = hint.Wrap(err, "the target has no TLS key for this host and subsystem, or another: give both the same")
	case errors.Is(err, tls13.ErrNotTLS):
		err = hint.Wrap(err, "the portal is one without TLS: connect without a TLS key, or have the target serve it with TLS")
	}
	_ = conn.Close()
	return nil, err
}

// Listen opens a portal.
func (t *Transport) Listen(ctx context.Context, p fabric.ListenParams, accept func(fabric.Conn) fabric.Handler) (fabric.Listener, error) {
	p = p.WithDefaults()
	maxData := cmp.Or(t.MaxH2CData, defaultMaxH2CData)
	switch {
	case maxData < 4096 || maxData%4 != 0:
		return nil, fmt.Errorf("listen on %s: %d bytes per H2CData, want a multiple of 4, at least 4096", p.Addr, maxData)
	case p.MaxDepth < 1 || p.MaxDepth > 1<<16-1:
		return nil, fmt.Errorf("listen on %s: queues of depth %d", p.Addr, p.MaxDepth)
	case p.InCapsule < 0 || p.InCapsule%16 != 0:
		return nil, fmt.Errorf("listen on %s: %d bytes of data in a capsule, want a multiple of 16", p.Addr, p.InCapsule)
	}
	open := t.ListenAddr
	if open == nil {
		open = func(ctx context.Context, addr string) (net.Listener, error) {
			var lc net.ListenConfig
			return lc.Listen(ctx, "tcp", addr)
		}
	}
	nl, err := open(ctx, p.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", p.Addr, err)
	}
	if err := t.mark(nl); err != nil { // the answer to SYN goes with it, too
		_ = nl.Close()
		return nil, fmt.Errorf("listen on %s: %w", p.Addr, err)
	}
	return newListener(nl, p, maxData, t, accept), nil
}

// Mark sets the type of service of what a connection sends, or of the connections
// that a listener takes from now on.
func Mark(socket any, tos uint8) error { return setToS(socket, tos) }

// mark sets the type of service of the transport, if it has one.
func (t *Transport) mark(socket any) error {
	if t.ToS == 0 {
		return nil
	}
	return setToS(socket, t.ToS)
}

func noDelay(c net.Conn) {
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetNoDelay(true)
	}
}

// logicalAddr is what a connection to the logical address has reached: the
// address itself, or where that is a wildcard or has port 0, what the socket
// says.
func logicalAddr(logical string, real net.Addr) string {
	host, port, err := net.SplitHostPort(logical)
	if err != nil {
		return real.String()
	}
	realHost, realPort, err := net.SplitHostPort(real.String())
	if err != nil {
		return logical
	}
	if host == "" || strings.Trim(host, "0.:") == "" {
		host = realHost
	}
	if port == "0" {
		port = realPort
	}
	return net.JoinHostPort(host, port)
}
