package sshd

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/crypto/ssh"
)

// A channel is one session: it collects what the client asks for, starts the
// command once, and reports how it ended.
type channel struct {
	machine Machine
	session *Session
	ch      ssh.Channel
	ctx     context.Context
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	started bool
	ended   sync.Once
}

func newChannel(ctx context.Context, m Machine, s *Session, ch ssh.Channel) *channel {
	c := &channel{machine: m, session: s, ch: ch}
	c.ctx, c.cancel = context.WithCancelCause(context.WithValue(ctx, sessionKey{}, s))
	return c
}

// serve answers the requests of the channel until it is closed.
func (c *channel) serve(reqs <-chan *ssh.Request) {
	defer c.ch.Close()
	defer c.running.Wait()
	defer c.cancel(context.Canceled) // the client is gone: so is its command
	for req := range reqs {
		ok := c.request(req)
		if req.WantReply {
			_ = req.Reply(ok, nil) // a lost client is noticed by the loop
		}
		if ok {
			c.begin(req)
		}
	}
}

// request says whether a request is granted, and notes what it tells.
func (c *channel) request(req *ssh.Request) bool {
	switch req.Type {
	case "env":
		var v struct{ Name, Value string }
		if ssh.Unmarshal(req.Payload, &v) != nil {
			return false
		}
		c.session.setEnv(v.Name, v.Value)
		return true
	case "pty-req":
		var v struct {
			Term                         string
			Columns, Rows, Width, Height uint32
			Modes                        string
		}
		if ssh.Unmarshal(req.Payload, &v) != nil {
			return false
		}
		c.session.setPTY(v.Term, v.Columns, v.Rows)
		return true
	case "window-change":
		var v struct{ Columns, Rows, Width, Height uint32 }
		if ssh.Unmarshal(req.Payload, &v) != nil {
			return false
		}
		c.session.setPTY("", v.Columns, v.Rows)
		return true
	case "signal":
		var v struct{ Name string }
		if ssh.Unmarshal(req.Payload, &v) != nil {
			return false
		}
		switch v.Name {
		case "KILL", "TERM", "INT", "HUP", "QUIT", "ABRT":
			c.kill(v.Name)
		}
		return true
	case "shell":
		return !c.started
	case "exec":
		var v struct{ Line string }
		return !c.started && ssh.Unmarshal(req.Payload, &v) == nil
	case "subsystem":
		var v struct{ Name string }
		_, serves := c.machine.(FileServer)
		return !c.started && serves && ssh.Unmarshal(req.Payload, &v) == nil && v.Name == "sftp"
	}
	return false
}

// begin starts what a granted request asked for. It comes after the reply, so
// that no output overtakes it.
func (c *channel) begin(req *ssh.Request) {
	user := c.session.User
	switch req.Type {
	case "shell":
		c.run(func() int { return c.machine.Shell(c.ctx, user, c.ch) })
	case "exec":
		var v struct{ Line string }
		_ = ssh.Unmarshal(req.Payload, &v) // was checked before it was granted
		c.run(func() int {
			stdout, stderr := newPipe(c.ch), newPipe(c.ch.Stderr())
			defer stdout.end()
			defer stderr.end()
			return c.machine.Exec(c.ctx, user, v.Line, c.ch, stdout, stderr)
		})
	case "subsystem":
		files := c.machine.(FileServer)
		c.run(func() int {
			if files.SFTP(c.ctx, user, c.ch) != nil {
				return 1
			}
			return 0
		})
	}
}

// run starts the session's command and closes the channel after it.
func (c *channel) run(command func() int) {
	c.started = true
	c.running.Go(func() {
		status := command()
		c.end("exit-status", ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
	})
}

// kill ends a running command. The channel is closed at once, which also wakes
// a command that waits for input and does not look at its context.
func (c *channel) kill(signal string) {
	if !c.started {
		return
	}
	// The client hears of the signal first: a command that is cancelled may
	// end with a status of its own at once.
	c.end("exit-signal", ssh.Marshal(struct {
		Name       string
		CoreDumped bool
		Message    string
		Language   string
	}{Name: signal}))
	c.cancel(fmt.Errorf("signal %s from the client", signal))
}

// end tells the client, once, how the command ended.
func (c *channel) end(how string, payload []byte) {
	c.ended.Do(func() {
		_, _ = c.ch.SendRequest(how, false, payload) // nobody may be listening any more
		_ = c.ch.Close()
	})
}

func (s *Session) setEnv(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.env == nil {
		s.env = make(map[string]string)
	}
	s.env[name] = value
}

// setPTY notes the terminal; an empty name keeps the one it has.
func (s *Session) setPTY(term string, columns, rows uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pty == nil {
		s.pty = &PTY{}
	}
	if term != "" {
		s.pty.Term = term
	}
	s.pty.Columns, s.pty.Rows = int(columns), int(rows)
}
