package simswitch

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"weft/internal/lab/sshd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves sw on loopback for the length of the test.
func start(t *testing.T, sw *Switch) string {
	t.Helper()
	key, err := sshd.NewHostKey()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- sshd.Serve(ctx, ln, sshd.Config{
			HostKey: key, Password: func(_, pw string) bool { return pw == "secret" },
		}, sw)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
		sw.Close()
	})
	return ln.Addr().String()
}

// A client is a person at a terminal: it types and reads up to a prompt.
type client struct {
	t   *testing.T
	in  io.Writer
	out chan string // what the device wrote, in pieces; closed at its end
	got string
}

// login opens a shell as user. Its terminal has the given number of rows.
func login(t *testing.T, addr, user string, rows int) *client {
	t.Helper()
	conn, err := ssh.Dial("tcp", addr, &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.Password("secret")},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := conn.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RequestPty("vt100", rows, 511, nil); err != nil {
		t.Fatal(err)
	}
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, in: in, out: make(chan string, 1)}
	ended := make(chan struct{})
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		defer close(c.out)
		buf := make([]byte, 4096)
		for {
			n, err := out.Read(buf)
			select {
			case c.out <- string(buf[:n]):
			case <-ended:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(ended)
		_ = conn.Close()
		<-reading
	})
	return c
}

// until reads up to and including want and returns all of it, without carriage
// returns.
func (c *client) until(want string) string {
	c.t.Helper()
	deadline := time.After(time.Minute)
	for {
		if i := strings.Index(c.got, want); i >= 0 {
			all := c.got[:i+len(want)]
			c.got = c.got[i+len(want):]
			return strings.ReplaceAll(all, "\r", "")
		}
		select {
		case piece, ok := <-c.out:
			if !ok {
				c.t.Fatalf("the session ended before %q; it said %q", want, c.got)
			}
			c.got += piece
		case <-deadline:
			c.t.Fatalf("no %q; it said %q", want, c.got)
		}
	}
}

// send types bytes as they are.
func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, s); err != nil {
		c.t.Fatal(err)
	}
}

// run types a line and returns what is printed before the prompt, which is
// awaited with a line end before it.
func (c *client) run(line, prompt string) string {
	c.t.Helper()
	c.send(line + "\n")
	all := c.until("\n" + prompt)
	_, reply, _ := strings.Cut(strings.TrimSuffix(all, prompt), "\n") // the echo goes first
	return reply
}

// closed waits for the end of the session.
func (c *client) closed() {
	c.t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case _, ok := <-c.out:
			if !ok {
				return
			}
		case <-deadline:
			c.t.Fatal("the session did not end")
		}
	}
}

// has fails the test for each of want that is not in got.
func has(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("no %q in:\n%s", w, got)
		}
	}
}

// hasNot fails the test for each of unwanted that is in got.
func hasNot(t *testing.T, got string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(got, w) {
			t.Errorf("there is %q in:\n%s", w, got)
		}
	}
}
