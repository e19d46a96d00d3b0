package tcp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
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
	c.most = turnMost
	c.turn = c.l.params.Turns.Open(c.remote)
	defer c.turn.Close()
	c.out = newOutbox(c.conn, c.l.params.Timeout, &c.l.pool, c.l.params.Turns.Open(c.remote))
	c.account(c.resume)
	if c.handler = c.l.accept(c); c.handler == nil {
		_ = c.conn.Close()
		c.out.stop()
		c.incoming.Close()
		return
	}
	err := c.read()
	if f := (*fatal)(nil); errors.As(err, &f) {
		c.sayWhy(f)
		c.out.flush()
		c.linger()
	} else if c.hangup.Load() {
		err = nil
	} else if broken := c.out.failure(); broken != nil {
		err = unread(broken, c.l.params.Timeout) // the write that failed closed the connection
	}
	_ = c.conn.Close()
	c.out.stop()
	c.bury()
	c.handler.Disconnected(err)
}

// read takes PDUs until the connection ends; it never returns nil.
func (c *targetConn) read() error {
	poller := newPoller(c.conn)
	spin := newSpinner(poller, c.l.params.Processors, &c.l.spinning)
	for {
		into := c.rx.window()
		n, err := spin.read(into)
		if n > 0 {
			c.turn.Take()
		} else if err == nil {
			n, err = poller.wait(into, c.turn)
		}
		if n > 0 {
			c.rx.filled(n)
			broken := c.drain()
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
func (c *targetConn) linger() {
	if tc, ok := c.conn.(*net.TCPConn); ok && c.out.failure() == nil {
		_ = tc.CloseWrite()
		_ = tc.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, tc, lingerBytes)
	}
}
