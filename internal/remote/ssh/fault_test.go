package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/remote/remotetest"
	"weft/internal/require"
)

// relayed is a server behind a relay, and a client of it.
func relayed(t *testing.T, set func(*testServer)) (*testServer, *remotetest.Relay, *Client) {
	t.Helper()
	f := newFiles(t)
	key := edKey(t)
	s := startServer(t, []ssh.Signer{key}, set)
	f.know("server:22", key)
	relay := remotetest.NewRelay(t, s.address)
	f.host("server", relay.Address, "HostKeyAlias server")
	return s, relay, dial(t, f.dialer(), Target{Name: "server"})
}

// To read a server is two round trips, however much there is to read.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, looks := range []int{12, 240} {
		least := 0
		for quiet := 100 * time.Millisecond; quiet < 10*time.Second; quiet *= 3 { // a busy machine makes it look like more
			_, relay, c := relayed(t, nil)
			var all []remote.Look
			for i := range looks {
				all = append(all, remote.Look{Args: []string{"echo", fmt.Sprint(i)}})
			}
			relay.CountTrips(quiet)
			for range 2 {
				if _, err := remote.Read(t.Context(), c, all); err != nil {
					t.Fatal(err)
				}
			}
			if n := relay.Trips(); least == 0 || n < least {
				least = n
			}
			if least == 4 {
				break
			}
		}
		if least != 4 {
			t.Errorf("%d looks, read twice: %d round trips; want 4", looks, least)
		}
	}
}

// A user's shell may print a banner, also to those who only run a command.
func TestBanner(t *testing.T) {
	t.Parallel()
	for _, become := range []string{"", "sudo"} {
		_, d := reach(t, newFiles(t), func(s *testServer) {
			s.shell = filepath.Join(t.TempDir(), "shell")
			write(t, s.shell, "#!/bin/sh\necho 'Welcome!\nPlease mind the gap.'; printf 'no newline' >&1; echo noise >&2\nexec /bin/sh \"$@\"\n")
			s.env = fakeSudo(t, "shift 2\nexec \"$@\"")
		})
		c := dial(t, d, Target{Name: "server", Become: become})
		out, err := c.Run(t.Context(), remote.Cmd{Args: []string{"cat"}, Stdin: strings.NewReader("wanted\n")})
		if err != nil || string(out.Stdout) != "wanted\n" {
			t.Errorf("become %q: got %q, %v", become, out.Stdout, err)
		}
		name := filepath.Join(t.TempDir(), "file")
		if err := c.WriteFile(t.Context(), name, strings.NewReader("content"), 0o600); err != nil {
			t.Errorf("become %q: %v", become, err)
		}
		if got, err := c.ReadFile(t.Context(), name); err != nil || string(got) != "content" {
			t.Errorf("become %q: read %q, %v", become, got, err)
		}
	}
}

// write writes a program. No process is started meanwhile: one that inherits the open
// file has Linux refuse to run it (ETXTBSY) until it runs something else itself.
func write(t *testing.T, name, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestConformanceBusyBox runs the suite on a server with no tools but
// BusyBox's.
func TestConformanceBusyBox(t *testing.T) {
	t.Parallel()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skipf("BusyBox is not here: %v", err)
	}
	dir := t.TempDir()
	if out, err := exec.Command(busybox, "--install", "-s", dir).CombinedOutput(); err != nil {
		t.Skipf("BusyBox installs no tools: %v: %s", err, out)
	}
	_, d := reach(t, newFiles(t), func(s *testServer) {
		s.shell = filepath.Join(dir, "sh")
		s.env = []string{"PATH=" + dir}
	})
	c := dial(t, d, Target{Name: "server"})
	remotetest.Run(t, func(*testing.T) remote.Host { return c })
}

func TestCommandsRefused(t *testing.T) {
	_, d := reach(t, newFiles(t), func(s *testServer) { s.noExec = true })
	c := dial(t, d, Target{Name: "server"})
	_, err := c.Run(t.Context(), remote.Cmd{Args: []string{"true"}})
	if !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
}

// What a server does not take as one line is sent to it, also at once the next
// time; what no line may hold is never tried as one.
func TestShortLines(t *testing.T) {
	for _, longest := range []int{0, 500} {
		_, d := reach(t, newFiles(t), func(s *testServer) { s.longest = longest })
		c := dial(t, d, Target{Name: "server"})
		for text, want := range map[string]string{
			"printf '%s\\n' \"it's\" '\\x' 100% '!!'\n":            "it's\n\\x\n100%\n!!\n",
			strings.Repeat("# a line\n", 100) + "echo long\n":      "long\n",
			strings.Repeat("# a line\n", 20_000) + "echo longer\n": "longer\n",
		} {
			for range 2 {
				out, err := c.Script(t.Context(), text)
				if err != nil || string(out.Stdout) != want {
					t.Errorf("lines of %d bytes, a script of %d: %q, %v; want %q", longest, len(text), out.Stdout, err, want)
				}
			}
		}
		if c.short.Load() != (longest > 0) {
			t.Errorf("lines of %d bytes: noted as short lines only: %t", longest, c.short.Load())
		}
	}
}

// A connection of which one half is closed is lost, not waited for.
func TestHalfClosed(t *testing.T) {
	s, relay, c := relayed(t, nil)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Run(context.Background(), remote.Cmd{Args: []string{"sleep", "1000"}})
		ended <- err
	}()
	s.open.wait(1)
	relay.HalfClose()
	var unreachable *remote.UnreachableError
	if err := <-ended; !errors.As(err, &unreachable) {
		t.Errorf("got %v; want an *UnreachableError", err)
	}
}

// However far an upload gets before the network is lost, there is the old file
// or the new one, and nothing beside it.
func TestLostWhileWriting(t *testing.T) {
	t.Parallel()
	for _, bytes := range []int{0, 100, 600, 5_000, 40_000, 90_000} {
		s, relay, c := relayed(t, func(s *testServer) { s.patient = true })
		dir := t.TempDir()
		name := filepath.Join(dir, "file")
		write(t, name, "old")
		relay.CutAfter(bytes)
		err := c.WriteFile(t.Context(), name, strings.NewReader(strings.Repeat("x", 60_000)), 0o600)
		s.open.wait(0) // what the server was doing has ended
		got, readErr := os.ReadFile(name)
		entries, dirErr := os.ReadDir(dir)
		if readErr != nil || dirErr != nil {
			t.Fatal(readErr, dirErr)
		}
		var unreachable *remote.UnreachableError
		switch {
		case err == nil && len(got) != 60_000, err != nil && string(got) != "old" && len(got) != 60_000, len(entries) != 1:
			t.Errorf("after %d bytes: %v; the file has %d bytes, beside %d others", bytes, err, len(got), len(entries)-1)
		case err != nil && !errors.As(err, &unreachable):
			t.Errorf("after %d bytes: %v; want an *UnreachableError", bytes, err)
		}
	}
}

// Where a connection is lost just as a session is asked for, x/crypto/ssh may never tell.
func TestLostWhileASessionOpens(t *testing.T) {
	d := deaf{asked: make(chan struct{}), end: make(chan struct{})}
	defer close(d.end)
	c := &Client{conn: newConn(&ssh.Client{Conn: d}, time.Hour), target: Target{Name: "server"}}
	_, _, err := c.session(t.Context(), c.conn.sessions)
	var unreachable *remote.UnreachableError
	if !errors.As(err, &unreachable) || !errors.Is(err, errLost) {
		t.Errorf("got %v; want an *UnreachableError", err)
	}
	c.conn.close()
}

// deaf is a connection that is lost when a session is asked for, and does not answer that.
type deaf struct {
	ssh.Conn
	asked, end chan struct{}
}

func (d deaf) Close() error         { return nil }
func (d deaf) RemoteAddr() net.Addr { return new(net.TCPAddr) }

func (d deaf) Wait() error {
	<-d.asked
	return nil
}

func (d deaf) OpenChannel(string, []byte) (ssh.Channel, <-chan *ssh.Request, error) {
	close(d.asked)
	<-d.end
	return nil, nil, errDropped
}

// Where a host's certificate is not valid now, it may be a clock that is wrong.
func TestHostCertificateOfAnotherTime(t *testing.T) {
	authority, key := edKey(t), edKey(t)
	cert := &ssh.Certificate{
		Key: key.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"},
		ValidAfter: 1, ValidBefore: 2, KeyId: "test",
	}
	if err := cert.SignCert(zeros{}, authority); err != nil {
		t.Fatal(err)
	}
	shown, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, []ssh.Signer{shown}, nil)
	f := newFiles(t)
	f.write("known_hosts", "@cert-authority "+line(authority)(s.address))
	f.host("server", s.address)
	_, err = f.dialer().Dial(t.Context(), Target{Name: "server"})
	var unreachable *remote.UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "expired") || !strings.Contains(hint.Of(err), "clock") {
		t.Errorf("got %v (%s)", err, hint.Of(err))
	}
}

// A machine that takes the login and then says nothing ends in a message, whatever is
// asked of it, and what has waited for it is gone with the connection.
func TestMute(t *testing.T) {
	require.Long(t, "24 s of waiting")
	for _, mute := range []string{"sessions", "answers"} {
		t.Run(mute, func(t *testing.T) {
			t.Parallel()
			_, d := reach(t, newFiles(t), func(s *testServer) { s.mute = mute })
			for what, do := range map[string]func(c *Client) error{
				"Terminal": func(c *Client) error { _, err := c.Terminal(t.Context(), 511, 24); return err },
				"Run": func(c *Client) error {
					_, err := c.Run(t.Context(), remote.Cmd{Args: []string{"true"}})
					return err
				},
				"Upload": func(c *Client) error { _, err := c.Upload(t.Context(), "x", []byte("x")); return err },
				"WriteFile": func(c *Client) error {
					return c.WriteFile(t.Context(), "/tmp/x", strings.NewReader(strings.Repeat("x", sftpFrom)), 0o600)
				},
			} {
				t.Run(what, func(t *testing.T) {
					t.Parallel()
					limit := 2 * time.Second
					c, err := d.DialNew(t.Context(), Target{Name: "server", ConnectTimeout: limit, CommandTimeout: time.Second})
					for slow := new(remote.UnreachableError); errors.As(err, &slow) && limit < time.Minute; { // a busy machine
						limit *= 2
						c, err = d.DialNew(t.Context(), Target{Name: "server", ConnectTimeout: limit, CommandTimeout: time.Second})
					}
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					err = do(c)
					var unreachable *remote.UnreachableError
					switch text := fmt.Sprint(err); {
					case what == "WriteFile" && !strings.Contains(text, "not done after 5s"): // 64 KiB over a slow line
						t.Errorf("got %v", err)
					case what != "Terminal" && what != "WriteFile" && !strings.Contains(text, "not done after 1s"):
						t.Errorf("got %v", err)
					case what == "Terminal" && (!strings.Contains(text, fmt.Sprintf("no shell came within %v", limit)) || !errors.As(err, &unreachable) || hint.Of(err) == ""):
						t.Errorf("got %v", err)
					}
				})
			}
		})
	}
}

// A command that only reads is not waited for when its run is interrupted, also on a machine
// that says nothing any more.
func TestInterruptedReading(t *testing.T) {
	s, relay, c := relayed(t, nil)
	why := errors.New("Ctrl-C")
	ctx, end := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.Run(remote.Reading(ctx), remote.Cmd{Args: []string{"sleep", "1000"}})
		ended <- err
	}()
	s.open.wait(1)
	relay.Freeze()
	end(why)
	if err := <-ended; !errors.Is(err, why) || strings.Contains(err.Error(), "may still run") {
		t.Errorf("got %v", err)
	}
	relay.Cut()
}
