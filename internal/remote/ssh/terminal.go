package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"

	"weft/internal/hint"
	"weft/internal/remote"
)

// Terminal opens an interactive shell on a terminal of that many columns and
// rows, as switches expect it. The context is that of opening it, which takes as
// long as a login may. Reads return what the machine says as it comes, and io.EOF
// when the shell has ended. Close may be called more than once, also during a Read.
func (c *Client) Terminal(ctx context.Context, width, height int) (io.ReadWriteCloser, error) {
	limit := pick(c.target.ConnectTimeout, defaultConnectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the login was taken, and then no shell came within %s", limit))
	defer cancel()
	session, release, err := c.session(ctx, c.conn.sessions)
	if err != nil {
		return nil, c.speechless(fmt.Errorf("opening a terminal: %w", err))
	}
	c.conn.work.Go(session.discard)
	t := &terminal{session: session, release: release}
	started := make(chan error, 1)
	c.conn.work.Go(func() { started <- t.start(width, height) })
	select {
	case err = <-started:
		err = c.lostOr(err)
	case <-ctx.Done():
		err = context.Cause(ctx) // what asks ends with the connection
	}
	if err != nil {
		t.Close()
		return nil, c.speechless(fmt.Errorf("opening a terminal: %w", err))
	}
	return t, nil
}

// speechless is the error of a machine that let us in and gives no terminal.
func (c *Client) speechless(err error) error {
	if errors.Is(err, context.Canceled) || isTyped(err) {
		return err
	}
	return hint.Wrap(c.unreachable(err), "log in by hand: ssh %s; where that hangs, too, all its terminals may be taken", remote.Quote(c.Name()))
}

// lostOr is err, unless the connection is gone.
func (c *Client) lostOr(err error) error {
	if err != nil && c.conn.dead() {
		return c.unreachable(errLost)
	}
	return err
}

type terminal struct {
	session *session
	release func()
	once    sync.Once
}

func (t *terminal) start(width, height int) error {
	modes := ssh.Marshal(struct {
		Echo    byte
		On      uint32
		In      byte
		InRate  uint32
		Out     byte
		OutRate uint32
		End     byte
	}{ssh.ECHO, 1, ssh.TTY_OP_ISPEED, 115200, ssh.TTY_OP_OSPEED, 115200, 0})
	pty := ssh.Marshal(struct {
		Term                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}{"vt100", uint32(width), uint32(height), uint32(width) * 8, uint32(height) * 8, string(modes)})
	for _, request := range []struct {
		name    string
		payload []byte
	}{{"pty-req", pty}, {"shell", nil}} {
		ok, err := t.session.SendRequest(request.name, true, request.payload)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("the server refuses %s", request.name)
		}
	}
	return nil
}

func (t *terminal) Read(p []byte) (int, error)  { return t.session.Read(p) }
func (t *terminal) Write(p []byte) (int, error) { return t.session.Write(p) }

func (t *terminal) Close() error {
	var err error
	t.once.Do(func() {
		err = t.session.Close()
		if errors.Is(err, io.EOF) {
			err = nil // the shell was first
		}
		t.release()
	})
	return err
}
