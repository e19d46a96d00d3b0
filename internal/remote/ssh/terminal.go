package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Terminal opens an interactive shell on a terminal of that many columns and
// rows, as switches expect it. Reads return what the machine says as it
// comes, and io.EOF when the shell has ended; a context that ends closes the
// terminal. Close may be called more than once, also during a Read.
func (c *Client) Terminal(ctx context.Context, width, height int) (io.ReadWriteCloser, error) {
	session, release, err := c.session(ctx, c.conn.sessions)
	if err != nil {
		return nil, fmt.Errorf("opening a terminal: %w", err)
	}
	c.conn.work.Go(session.discard)
	t := &terminal{session: session, release: release}
	stop := context.AfterFunc(ctx, func() { session.Close() })
	if err := t.start(width, height); err != nil {
		stop()
		t.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("opening a terminal: %w", c.lostOr(err))
	}
	t.stop = stop
	return t, nil
}

// lostOr is err, unless the connection is gone.
func (c *Client) lostOr(err error) error {
	if c.conn.dead() {
		return c.unreachable(errLost)
	}
	return err
}

type terminal struct {
	session *session
	stop    func() bool
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
		if t.stop != nil {
			t.stop()
		}
		err = t.session.Close()
		if errors.Is(err, io.EOF) {
			err = nil // the shell was first
		}
		t.release()
	})
	return err
}
