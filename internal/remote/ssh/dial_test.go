package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/remote/remotetest"
	"weft/internal/require"
)

func TestMain(m *testing.M) {
	// Whose agent runs here is no concern of the tests. It is said once, so that
	// they can run side by side.
	if err := os.Unsetenv("SSH_AUTH_SOCK"); err != nil {
		panic(err)
	}
	require.Patience(8)
	// conn.open says who stays there.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("golang.org/x/crypto/ssh.(*mux).openChannel"))
}

func TestDroppedConnectionsAreTriedAgain(t *testing.T) {
	t.Parallel()
	s, d := reach(t, newFiles(t), func(s *testServer) { s.dropFirst.Store(3) })
	d.pause = time.Millisecond
	dial(t, d, Target{Name: "server"})
	if n := s.connections.Load(); n != 4 {
		t.Errorf("%d connections; want 4", n)
	}
	s.dropFirst.Store(1000)
	_, err := d.DialNew(context.Background(), Target{Name: "server"})
	var unreachable *remote.UnreachableError
	if !errors.As(err, &unreachable) || !errors.Is(err, errDropped) {
		t.Errorf("got %v; want an *UnreachableError", err)
	}
}

func TestNothingListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	f := newFiles(t)
	f.host("server", l.Addr().String())
	_, err = f.dialer().Dial(context.Background(), Target{Name: "server"})
	var unreachable *remote.UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "refused") || unreachable.Name != "server" {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(hint.Of(err), "SSH server") {
		t.Errorf("the hint is %q", hint.Of(err))
	}
}

// mute accepts connections and says nothing.
func mute(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestConnectTimeout(t *testing.T) {
	f := newFiles(t)
	f.host("server", mute(t))
	d := f.dialer()
	_, err := d.Dial(context.Background(), Target{Name: "server", ConnectTimeout: 50 * time.Millisecond})
	var unreachable *remote.UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(hint.Of(err), "ssh -v server") {
		t.Errorf("the hint is %q", hint.Of(err))
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := d.Dial(ctx, Target{Name: "server"}); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFewUnprovenConnections(t *testing.T) {
	s, d := reach(t, newFiles(t), nil)
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			c, err := d.DialNew(context.Background(), Target{Name: "server"})
			if err != nil {
				t.Error(err)
				return
			}
			c.Close()
		})
	}
	all.Wait()
	// The server may notice the end of a login after we do, so its own count
	// is only a hint; ours is exact.
	if n := cap(d.gate(s.address)); n != maxUnproven {
		t.Errorf("gate for %d", n)
	}
	if top := s.unproven.highest(); top > 2*maxUnproven {
		t.Errorf("%d connections were unproven at a time", top)
	}
}

func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	s, d := reach(t, newFiles(t), nil)
	var all sync.WaitGroup
	clients := make([]*Client, 20)
	for i := range clients {
		all.Go(func() {
			c, err := d.Dial(context.Background(), Target{Name: "server"})
			if err != nil {
				t.Error(err)
				return
			}
			clients[i] = c
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	if n := s.connections.Load(); n != 1 {
		t.Errorf("%d connections for one target", n)
	}
	own, err := d.DialNew(context.Background(), Target{Name: "server"})
	if err != nil {
		t.Fatal(err)
	}
	if n := s.connections.Load(); n != 2 {
		t.Errorf("a login of its own made %d connections", n)
	}
	own.Close()
	for i, c := range clients {
		if _, err := c.Run(context.Background(), remote.Cmd{Args: []string{"true"}}); err != nil {
			t.Errorf("client %d: %v", i, err)
		}
		c.Close()
		c.Close() // once is enough, twice no harm
	}
	if len(d.links) != 0 {
		t.Errorf("%d links are left", len(d.links))
	}
	dial(t, d, Target{Name: "server"})
	if n := s.connections.Load(); n != 3 {
		t.Errorf("%d connections after all were closed", n)
	}
}

func TestLostConnection(t *testing.T) {
	s, d := reach(t, newFiles(t), nil)
	c := dial(t, d, Target{Name: "server"})
	ended := make(chan error, 1)
	go func() {
		_, err := c.Run(context.Background(), remote.Cmd{Args: []string{"sleep", "1000"}})
		ended <- err
	}()
	s.open.wait(1)
	s.hangUp()
	var unreachable *remote.UnreachableError
	if err := <-ended; !errors.As(err, &unreachable) {
		t.Errorf("running: %v; want an *UnreachableError", err)
	}
	if _, err := c.Run(context.Background(), remote.Cmd{Args: []string{"true"}}); !errors.As(err, &unreachable) {
		t.Errorf("afterwards: %v; want an *UnreachableError", err)
	}
	again := dial(t, d, Target{Name: "server"})
	if _, err := again.Run(context.Background(), remote.Cmd{Args: []string{"true"}}); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}

// A peer that stops answering is noticed, though its connection stays open.
func TestKeepAlive(t *testing.T) {
	f := newFiles(t)
	key := edKey(t)
	s := startServer(t, []ssh.Signer{key}, nil)
	f.know("server:22", key)
	relay := remotetest.NewRelay(t, s.address)
	f.host("relayed", relay.Address, "HostKeyAlias server")
	d := f.dialer()
	d.config.KeepAlive = 20 * time.Millisecond
	c := dial(t, d, Target{Name: "relayed"})
	relay.Freeze()
	_, err := c.Run(context.Background(), remote.Cmd{Args: []string{"true"}})
	var unreachable *remote.UnreachableError
	if !errors.As(err, &unreachable) {
		t.Errorf("got %v; want an *UnreachableError", err)
	}
}

func TestProxyJump(t *testing.T) {
	f := newFiles(t)
	inner, outer, middle := edKey(t), edKey(t), edKey(t)
	forward := func(s *testServer) { s.forwards = true }
	target := startServer(t, []ssh.Signer{inner}, nil)
	jump1 := startServer(t, []ssh.Signer{outer}, forward)
	jump2 := startServer(t, []ssh.Signer{middle}, forward)
	f.know(target.address, inner)
	f.know(jump1.address, outer)
	f.know(jump2.address, middle)
	f.host("target", target.address, "ProxyJump jump1,jump2")
	f.host("other", target.address, "ProxyJump jump1,jump2")
	f.host("jump1", jump1.address)
	f.host("jump2", jump2.address)
	f.host("loop", target.address, "ProxyJump loop")
	d := f.dialer()
	c := dial(t, d, Target{Name: "target"})
	out, err := c.Run(context.Background(), remote.Cmd{Args: []string{"echo", "through"}})
	if err != nil || string(out.Stdout) != "through\n" {
		t.Errorf("got %q, %v", out.Stdout, err)
	}
	second := dial(t, d, Target{Name: "other"})
	if a, b := jump1.connections.Load(), jump2.connections.Load(); a != 1 || b != 1 {
		t.Errorf("%d and %d connections to the jump hosts; want them shared", a, b)
	}
	second.Close()
	c.Close()
	if len(d.links) != 0 {
		t.Errorf("%d links are left", len(d.links))
	}
	if _, err := d.Dial(context.Background(), Target{Name: "loop"}); err == nil || !strings.Contains(err.Error(), "leads back") {
		t.Errorf("loop: %v", err)
	}
	if len(d.links) != 0 {
		t.Errorf("%d links are left after an error", len(d.links))
	}
}

func TestCommandTimeout(t *testing.T) {
	_, d := reach(t, newFiles(t), nil)
	c := dial(t, d, Target{Name: "server", CommandTimeout: 50 * time.Millisecond})
	_, err := c.Run(context.Background(), remote.Cmd{Args: []string{"sleep", "1000"}})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fmt.Sprint(err), "sleep 1000: not done after 50ms") {
		t.Errorf("got %v", err)
	}
}

// A command that takes long by itself has that time, too.
func TestCommandThatTakesLonger(t *testing.T) {
	_, d := reach(t, newFiles(t), nil)
	c := dial(t, d, Target{Name: "server", CommandTimeout: 50 * time.Millisecond})
	if _, err := c.Run(remote.Longer(context.Background(), time.Hour), remote.Cmd{Args: []string{"sleep", "0.2"}}); err != nil {
		t.Error(err)
	}
}

func TestTooMuchOutput(t *testing.T) {
	t.Parallel()
	_, d := reach(t, newFiles(t), nil)
	c := dial(t, d, Target{Name: "server"})
	_, err := c.Run(context.Background(), remote.Cmd{Args: []string{"cat", "/dev/zero"}})
	if err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestSudoRefuses(t *testing.T) {
	for _, said := range []string{
		"sudo: a password is required",
		"weft is not in the sudoers file.  This incident will be reported.",
		"sudo: sorry, you must have a tty to run sudo",
		"sh: 1: sudo: not found",
		"bash: line 1: sudo: command not found",
	} {
		_, d := reach(t, newFiles(t), func(s *testServer) { s.env = fakeSudo(t, "echo "+remote.Quote(said)+" >&2; exit 1") })
		c := dial(t, d, Target{Name: "server", User: "weft", Become: "sudo"})
		_, err := c.Run(context.Background(), remote.Cmd{Args: []string{"true"}})
		var become *remote.BecomeError
		if !errors.As(err, &become) || become.Reply != said || become.User != "weft" || !strings.Contains(hint.Of(err), "NOPASSWD") {
			t.Errorf("%s: got %v (%s)", said, err, hint.Of(err))
		}
		if _, err := c.ReadFile(context.Background(), "/etc/passwd"); !errors.As(err, &become) {
			t.Errorf("%s: read file: %v", said, err)
		}
		if err := c.WriteFile(context.Background(), t.TempDir()+"/x", strings.NewReader(""), 0o644); !errors.As(err, &become) {
			t.Errorf("%s: write file: %v", said, err)
		}
	}
}

func TestTerminal(t *testing.T) {
	_, d := reach(t, newFiles(t), nil)
	c := dial(t, d, Target{Name: "server"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	term, err := c.Terminal(ctx, 511, 24)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want string) {
		t.Helper()
		got := ""
		for buf := make([]byte, 64); !strings.Contains(got, want); {
			n, err := term.Read(buf)
			if got += string(buf[:n]); err != nil {
				t.Fatalf("after %q: %v", got, err)
			}
		}
	}
	expect("switch# ")
	if _, err := term.Write([]byte("show version\n")); err != nil {
		t.Fatal(err)
	}
	expect("show version\n")
	cancel() // a switch is reverted over the terminal that was open when somebody gave up
	if _, err := term.Write([]byte("show clock\n")); err != nil {
		t.Fatal(err)
	}
	expect("show clock\n")
	if err := term.Close(); err != nil {
		t.Error(err)
	}
	if _, err := term.Read(make([]byte, 1)); err == nil {
		t.Error("a terminal outlives its end")
	}
	term.Close()
	if _, err := c.Terminal(ctx, 80, 24); !errors.Is(err, context.Canceled) {
		t.Errorf("a dead context: %v", err)
	}
}
