package sshd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A toy is a machine with just enough commands to see what the server does.
type toy struct {
	waiting chan struct{} // told when "wait" or "read" has begun
	ended   chan error    // told why it ended
}

func newToy() *toy { return &toy{waiting: make(chan struct{}, 16), ended: make(chan error, 16)} }

func (t *toy) Exec(ctx context.Context, user, line string, stdin io.Reader, stdout, stderr io.Writer) int {
	switch line {
	case "who":
		v, _ := SessionFrom(ctx).Env("LANG")
		pty, has := SessionFrom(ctx).PTY()
		fmt.Fprintf(stdout, "%s %s %v %d", user, v, has, pty.Columns)
		return 0
	case "cat":
		_, _ = io.Copy(stdout, stdin)
		return 0
	case "wait":
		t.waiting <- struct{}{}
		<-ctx.Done()
		t.ended <- context.Cause(ctx)
		return 1
	case "read": // looks at nothing but its input
		t.waiting <- struct{}{}
		_, err := io.ReadAll(stdin)
		t.ended <- err
		return 1
	case "drop":
		SessionFrom(ctx).Drop()
		return 0
	}
	fmt.Fprintf(stderr, "no %s here", line)
	return 127
}

func (t *toy) Shell(_ context.Context, _ string, term io.ReadWriter) int {
	_, _ = io.Copy(term, term)
	return 3
}

// files is a toy with an sftp subsystem that echoes.
type files struct{ *toy }

func (files) SFTP(_ context.Context, _ string, ch io.ReadWriteCloser) error {
	_, err := io.Copy(ch, ch)
	return err
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func serve(t *testing.T, cfg Config, m Machine) string {
	t.Helper()
	key, err := NewHostKey()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.HostKey == nil {
		cfg.HostKey = key
	}
	if cfg.Password == nil && cfg.AuthorizedKeys == nil {
		cfg.Password = func(_, pw string) bool { return pw == "right" }
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, ln, cfg, m) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	return ln.Addr().String()
}

func dial(addr string, auth ...ssh.AuthMethod) (*ssh.Client, error) {
	return ssh.Dial("tcp", addr, &ssh.ClientConfig{
		User: "netops", Auth: auth, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute,
	})
}

func login(t *testing.T, addr string) *ssh.Client {
	t.Helper()
	c, err := dial(addr, ssh.Password("right"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func session(t *testing.T, c *ssh.Client) *ssh.Session {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestExec(t *testing.T) {
	c := login(t, serve(t, Config{}, newToy()))

	s := session(t, c)
	if err := s.Setenv("LANG", "C"); err != nil {
		t.Fatal(err)
	}
	if err := s.RequestPty("vt100", 24, 80, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.WindowChange(24, 511); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Output("who"); err != nil || string(out) != "netops C true 511" {
		t.Errorf("who: %q, %v", out, err)
	}

	s = session(t, c)
	var stderr bytes.Buffer
	s.Stderr = &stderr
	var exit *ssh.ExitError
	if err := s.Run("nothing"); !errors.As(err, &exit) || exit.ExitStatus() != 127 || stderr.String() != "no nothing here" {
		t.Errorf("nothing: %v, %q", err, stderr.String())
	}

	s = session(t, c)
	big := strings.Repeat("0123456789", 500_000)
	s.Stdin = strings.NewReader(big)
	if out, err := s.Output("cat"); err != nil || string(out) != big {
		t.Errorf("cat: %d of %d bytes, %v", len(out), len(big), err)
	}
}

func TestShell(t *testing.T) {
	s := session(t, login(t, serve(t, Config{}, newToy())))
	s.Stdin = strings.NewReader("hello")
	var out bytes.Buffer
	s.Stdout = &out
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	var exit *ssh.ExitError
	if err := s.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 3 || out.String() != "hello" {
		t.Errorf("shell: %v, %q", err, out.String())
	}
}

func TestSubsystem(t *testing.T) {
	plain := session(t, login(t, serve(t, Config{}, newToy())))
	if err := plain.RequestSubsystem("sftp"); err == nil {
		t.Error("a machine without files granted sftp")
	}
	c := login(t, serve(t, Config{}, files{newToy()}))
	s := session(t, c)
	in, _ := s.StdinPipe()
	out, _ := s.StdoutPipe()
	if err := s.RequestSubsystem("sftp"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, "init")
	_ = in.Close()
	if got, err := io.ReadAll(out); err != nil || string(got) != "init" {
		t.Errorf("sftp: %q, %v", got, err)
	}
	if err := session(t, c).RequestSubsystem("netconf"); err == nil {
		t.Error("netconf granted")
	}
}

func TestCancel(t *testing.T) {
	tests := map[string]func(*ssh.Client, *ssh.Session) error{
		"signal": func(_ *ssh.Client, s *ssh.Session) error { return s.Signal(ssh.SIGKILL) },
		"close":  func(_ *ssh.Client, s *ssh.Session) error { return s.Close() },
		"gone":   func(c *ssh.Client, _ *ssh.Session) error { return c.Close() },
	}
	for name, end := range tests {
		for _, command := range []string{"wait", "read"} {
			t.Run(name+"/"+command, func(t *testing.T) {
				m := newToy()
				c := login(t, serve(t, Config{}, m))
				s := session(t, c)
				in, err := s.StdinPipe() // stays open
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				if err := s.Start(command); err != nil {
					t.Fatal(err)
				}
				<-m.waiting
				if err := end(c, s); err != nil {
					t.Fatal(err)
				}
				<-m.ended
				var exit *ssh.ExitError
				if err := s.Wait(); name == "signal" && (!errors.As(err, &exit) || exit.Signal() != "KILL") {
					t.Errorf("the client saw %v", err)
				}
			})
		}
	}
}

func TestStopEndsSessions(t *testing.T) {
	key, err := NewHostKey()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	m := newToy()
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, ln, Config{HostKey: key, Password: func(_, _ string) bool { return true }}, m)
	}()
	s := session(t, login(t, ln.Addr().String()))
	if err := s.Start("wait"); err != nil {
		t.Fatal(err)
	}
	<-m.waiting
	cancel()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
	if len(m.ended) != 1 {
		t.Error("serve returned before its session ended")
	}
}

func TestDrop(t *testing.T) {
	c := login(t, serve(t, Config{}, newToy()))
	var missing *ssh.ExitMissingError
	if err := session(t, c).Run("drop"); err == nil {
		t.Error("a dropped session ended well")
	} else if exit := (*ssh.ExitError)(nil); errors.As(err, &exit) && !errors.As(err, &missing) {
		t.Errorf("a dropped session reported a status: %v", err)
	}
	if err := c.Wait(); err == nil {
		t.Error("the connection ended in good order")
	}
}

func TestAuthentication(t *testing.T) {
	signer, err := NewHostKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewHostKey()
	if err != nil {
		t.Fatal(err)
	}
	both := Config{
		AuthorizedKeys: []ssh.PublicKey{signer.PublicKey()},
		Password:       func(user, pw string) bool { return user == "netops" && pw == "right" },
	}
	ask := ssh.KeyboardInteractive(func(_, _ string, q []string, _ []bool) ([]string, error) {
		return []string{"right"}[:len(q)], nil
	})
	tests := map[string]struct {
		auth ssh.AuthMethod
		want bool
	}{
		"key":                  {ssh.PublicKeys(signer), true},
		"other key":            {ssh.PublicKeys(other), false},
		"password":             {ssh.Password("right"), true},
		"wrong password":       {ssh.Password("wrong"), false},
		"keyboard-interactive": {ask, true},
	}
	addr := serve(t, both, newToy())
	for name, tt := range tests {
		c, err := dial(addr, tt.auth)
		if (err == nil) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = c.Close()
		}
	}
}

func TestSessionLimit(t *testing.T) {
	m := newToy()
	c := login(t, serve(t, Config{MaxSessions: 2}, m))
	for range 2 {
		if err := session(t, c).Start("wait"); err != nil {
			t.Fatal(err)
		}
		<-m.waiting
	}
	if _, err := c.NewSession(); err == nil {
		t.Error("a third session was let in")
	}
}

// elsewhere is a listener that claims an address outside loopback.
type elsewhere struct{ net.Listener }

func (elsewhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 22} }

func TestRefusals(t *testing.T) {
	key, err := NewHostKey()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	yes := func(_, _ string) bool { return true }
	if err := Serve(testContext(t), elsewhere{ln}, Config{HostKey: key, Password: yes}, newToy()); err == nil {
		t.Error("served outside loopback")
	}
	if err := Serve(testContext(t), ln, Config{Password: yes}, newToy()); err == nil {
		t.Error("served without a host key")
	}
	if err := Serve(testContext(t), ln, Config{HostKey: key}, newToy()); err == nil {
		t.Error("served without any way to log in")
	}
}
