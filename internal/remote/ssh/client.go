package ssh

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/remote"
)

// A Client is a machine behind an SSH connection. It is a remote.Host.
type Client struct {
	dialer *Dialer
	link   *link
	conn   *conn
	target Target
	once   sync.Once
	short  atomic.Bool // the server takes short lines only
}

func newClient(d *Dialer, l *link, t Target) *Client {
	return &Client{dialer: d, link: l, conn: l.conn, target: t}
}

// Name is the target's name.
func (c *Client) Name() string { return c.target.Name }

// Address is the address and port that was dialled, as it was resolved.
func (c *Client) Address() string { return c.conn.client.RemoteAddr().String() }

// User is who is logged in.
func (c *Client) User() string { return c.conn.client.User() }

// Close gives up the client. The connection ends with its last client; what
// still runs on it then fails.
func (c *Client) Close() error {
	c.once.Do(func() { c.dialer.leave(c.link) })
	return nil
}

var errLost = errors.New("the connection was lost")

// unreachable is the error of a connection that has ended.
func (c *Client) unreachable(err error) error {
	return &remote.UnreachableError{Name: c.Name(), Address: c.Address(), Err: err}
}

// A session is one channel of a connection, for one command or subsystem.
type session struct {
	ssh.Channel
	requests <-chan *ssh.Request // must be read
}

// session opens a session when one of the slots is free. The function that
// comes with it frees the slot when the session is over.
func (c *Client) session(ctx context.Context, slots chan struct{}) (*session, func(), error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-c.conn.lost:
		return nil, nil, c.unreachable(errLost)
	}
	release := func() { <-slots }
	type opened struct {
		session *session
		err     error
	}
	answer := make(chan opened, 1)
	c.conn.work.Go(func() {
		s, err := c.newSession(ctx)
		answer <- opened{s, err}
	})
	select {
	case o := <-answer:
		if o.err == nil {
			return o.session, release, nil
		}
		release()
		if c.conn.dead() {
			return nil, nil, c.unreachable(errLost)
		}
		return nil, nil, c.unreachable(fmt.Errorf("opening a session: %w", o.err))
	case <-ctx.Done():
		// The server may still open it; then it is closed at once.
		c.conn.work.Go(func() {
			if o := <-answer; o.err == nil {
				o.session.Close()
				o.session.discard()
			}
			release()
		})
		return nil, nil, context.Cause(ctx)
	}
}

// discard refuses what the server asks for until the session has ended.
func (s *session) discard() { ssh.DiscardRequests(s.requests) }

// newSession opens a session, patiently: OpenSSH counts a session that has
// ended until its next turn of housekeeping, and refuses one above
// MaxSessions even while others are already closed.
func (c *Client) newSession(ctx context.Context) (*session, error) {
	for pause := 20 * time.Millisecond; ; pause *= 2 {
		s, err := c.conn.open()
		if err == nil {
			return s, nil
		}
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) || refused.Reason == ssh.Prohibited || pause > 2*time.Second {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// open opens a session. OpenChannel itself may never return: what it sends may still be
// written when x/crypto/ssh (v0.58.0, mux.go: loop, openChannel) has just hung up on the
// channels that it knew, so nobody tells the new one. Its goroutine then stays, and nobody
// waits for it.
func (c *conn) open() (*session, error) {
	type opened struct {
		session *session
		err     error
	}
	answer := make(chan opened, 1)
	go func() {
		ch, requests, err := c.client.OpenChannel("session", nil)
		answer <- opened{&session{ch, requests}, err}
	}()
	select {
	case o := <-answer:
		return o.session, o.err
	case <-c.lost:
		return nil, errLost
	}
}
