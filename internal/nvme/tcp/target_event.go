package tcp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"weft/internal/hint"
	"weft/internal/nvme/tls13"
)

// What ends a connection that was told why: how long, and for how many bytes,
// the peer is listened to so that it can read the reason.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// serve runs the connection until it ends.
func (c *targetConn) serve() {
	_ = c.conn.SetReadDeadline(time.Now().Add(c.l.params.Timeout))
	stream, err := c.handshake()
	if err != nil {
		if h := c.l.accept(c); h != nil && !c.hangup.Load() {
			h.Disconnected(err)
		}
		return
	}
	c.most = turnMost
	c.turn = c.l.params.Turns.Open(c.remote)
	defer c.turn.Close()
	writes := c.l.params.Turns.Open(c.remote)
	if c.secure != nil {
		c.secure.SealIn(writes)
	}
	c.out = newOutbox(stream, c.l.params.Timeout, &c.l.pool, writes)
	c.account(c.resume)
	if c.handler = c.l.accept(c); c.handler == nil {
		_ = stream.Close()
		c.out.stop()
		c.incoming.Close()
		return
	}
	err = c.read(stream)
	if f := (*fatal)(nil); errors.As(err, &f) {
		c.sayWhy(f)
		c.out.flush()
		c.linger(stream)
	} else if c.hangup.Load() {
		err = nil
	} else if broken := c.out.failure(); broken != nil {
		err = unread(broken, c.l.params.Timeout) // the write that failed closed the connection
	}
	_ = stream.Close()
	c.out.stop()
	c.bury()
	c.handler.Disconnected(err)
}

// handshake is what is read and written from now on: the connection, or TLS over it.
// One whose host has no key is closed.
func (c *targetConn) handshake() (net.Conn, error) {
	if c.l.keys == nil {
		return c.conn, nil
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.l.params.Timeout))
	secure, err := tls13.Server(c.conn, c.l.keys)
	_ = c.conn.SetWriteDeadline(time.Time{})
	if err != nil {
		_ = c.conn.Close()
		return nil, withoutKey(err)
	}
	c.secure = secure
	return secure, nil
}

// withoutKey says what helps a host that gets no further.
func withoutKey(err error) error {
	switch {
	case errors.Is(err, tls13.ErrKey):
		return hint.Wrap(err, "give the host and this target the same TLS key for this host and subsystem")
	case errors.Is(err, tls13.ErrNotTLS):
		return hint.Wrap(err, "have the host connect with TLS (Linux: nvme connect --tls), or to a portal without")
	}
	return err
}

// read takes PDUs until the connection ends; it never returns nil.
func (c *targetConn) read(stream net.Conn) error {
	poller := newPoller(stream)
	spin := newSpinner(poller, c.l.params.Processors, &c.l.params.Turns.Spinning)
	defer spin.keepQuiet(false)
	for {
		into := c.rx.window()
		n, err := spin.read(into)
		if n > 0 {
			c.turn.Take()
		} else if err == nil {
			n, err = poller.wait(into, c.turn)
		}
		if n > 0 {
			broken := net.ErrClosed // what was closed while it waited for its turn does nothing more
			if !c.hangup.Load() {
				c.rx.filled(n)
				broken = c.drain()
			}
			if n == len(into) { // there is more
				c.turn.Pass()
			}
			c.turn.Leave()
			if broken != nil {
				return broken
			}
		}
		if err != nil {
			return err
		}
	}
}

// drain takes all PDUs that were read, as there is room for them, in as many turns
// as that takes.
func (c *targetConn) drain() error {
	for {
		c.begun = 0
		c.out.hold()
		err := c.rx.drain(c)
		c.out.release()
		switch {
		case err != errFull:
			return err
		case !c.out.full.Load(): // the turn is over
			c.turn.Pass()
			continue
		}
		c.turn.Leave()
		<-c.resumed
		c.turn.Take()
		if c.hangup.Load() {
			return net.ErrClosed
		}
		if broken := c.out.failure(); broken != nil {
			return broken
		}
	}
}

// unread says of a write that has timed out what that means.
func unread(err error, timeout time.Duration) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("nothing of the answers was read for %v: %w", timeout, err)
	}
	return err
}

// linger gives the host a moment to read why the connection ends: a socket
// closed over unread data resets the connection.
func (c *targetConn) linger(stream net.Conn) {
	if half, ok := stream.(interface{ CloseWrite() error }); ok && c.out.failure() == nil {
		if c.secure != nil {
			c.out.settle() // without a socket of its own it is sent by another goroutine
		}
		_ = half.CloseWrite()
		_ = stream.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, stream, lingerBytes)
	}
}
