package ssh

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"
)

// A process is a command in a session of its own.
type process struct {
	session *session
	stdin   io.Reader // nil: nothing
	stdout  io.Writer
	stderr  io.Writer

	refused bool
	work    sync.WaitGroup
}

// An exitError is a command that did not exit with 0.
type exitError struct {
	code   int
	signal bool
}

func (e *exitError) Error() string { return "not 0" }

var (
	errNoStatus = errors.New("ended without an exit status")
	errRefused  = errors.New("the server refuses to run commands")
)

// run asks for a line to be run, and for its end. It does not wait until the
// server has granted what it asks for before it sends the input: to start and
// to feed a command is one round trip.
func (p *process) run(line string) error {
	ch := p.session.Channel
	// Replies that are parsed are wanted in no language but the C locale's;
	// most servers take LC_*, and the others are none the worse.
	ch.SendRequest("env", false, ssh.Marshal(struct{ Name, Value string }{"LC_ALL", "C"}))
	if _, err := ch.SendRequest("exec", false, ssh.Marshal(struct{ Line string }{line})); err != nil {
		return err
	}
	p.work.Go(p.granted)
	p.work.Go(func() {
		if p.stdin != nil {
			io.Copy(ch, p.stdin) // a command need not read its input
		}
		ch.CloseWrite()
	})
	p.work.Go(func() { io.Copy(p.stdout, ch) })
	p.work.Go(func() { io.Copy(p.stderr, ch.Stderr()) })
	err := p.wait()
	ch.Close()
	p.work.Wait()
	if p.refused {
		return errRefused
	}
	return err
}

// granted finds out whether the command runs. Only one such request can
// succeed per session (RFC 4254, 6.5): when a second one does, the first, which
// asked for no reply, was refused.
func (p *process) granted() {
	if ok, err := p.session.SendRequest("exec", true, ssh.Marshal(struct{ Line string }{":"})); ok && err == nil {
		p.refused = true
		p.session.Close()
	}
}

// wait reads how the command ended, until the session has.
func (p *process) wait() error {
	err := errNoStatus
	for req := range p.session.requests {
		switch req.Type {
		case "exit-status":
			var status struct{ Code uint32 }
			if err = ssh.Unmarshal(req.Payload, &status); err == nil && status.Code != 0 {
				err = &exitError{code: int(status.Code)}
			}
		case "exit-signal":
			err = &exitError{signal: true}
		}
		if req.WantReply {
			req.Reply(false, nil)
		}
	}
	return err
}

// signal asks the server to send a signal to the command.
func (s *session) signal(name ssh.Signal) {
	s.SendRequest("signal", false, ssh.Marshal(struct{ Signal string }{string(name)}))
}

// bounded collects output up to a limit. What does not die may write to it still while it
// is read.
type bounded struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	full func() // called when there is more
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len()+len(p) > maxOutput {
		b.full()
		return len(p), nil // the rest is dropped while the command is killed
	}
	return b.buf.Write(p)
}

// after returns what was written after the mark, or all of it without one.
func (b *bounded) after(mark string) []byte {
	text := b.all()
	if _, rest, ok := bytes.Cut(text, []byte(mark)); ok {
		return rest
	}
	return text
}

// all is what was written until now.
func (b *bounded) all() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Bytes()
}
