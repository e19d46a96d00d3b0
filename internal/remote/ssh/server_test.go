package ssh

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// A testServer is an SSH server that runs commands with /bin/sh, each in a
// session of its own as OpenSSH does.
type testServer struct {
	t        *testing.T
	address  string
	config   *ssh.ServerConfig
	listener net.Listener
	env      []string // beside our own
	deaf     bool     // takes no signals, as when the process is root's
	shell    string   // "": /bin/sh
	noExec   bool     // the first command of a session is refused
	longest  int      // bytes of a line; longer ones are refused; 0: any
	patient  bool     // commands outlive their connection, as OpenSSH's do
	mute     string   // "sessions": takes the login and opens none; "answers": opens them and says nothing more

	dropFirst   atomic.Int32 // connections to hang up on at once
	connections atomic.Int32
	unproven    gauge // connections not logged in yet
	open        gauge // sessions
	forwards    bool  // direct-tcpip is allowed

	work sync.WaitGroup
	mu   sync.Mutex
	live map[net.Conn]bool
}

// A gauge remembers its highest value.
type gauge struct {
	mu       sync.Mutex
	now, top int
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.top = max(g.top, g.now)
}

func (g *gauge) value() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}

// wait waits until the gauge has a value.
func (g *gauge) wait(want int) {
	for g.value() != want {
		time.Sleep(10 * time.Millisecond)
	}
}

func (g *gauge) highest() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.top
}

// startServer serves on loopback until the test ends.
func startServer(t *testing.T, hostKeys []ssh.Signer, set func(*testServer)) *testServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{
		t: t, address: listener.Addr().String(), listener: listener, live: map[net.Conn]bool{},
		config: &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
			return nil, nil
		}},
	}
	for _, k := range hostKeys {
		s.config.AddHostKey(k)
	}
	if set != nil {
		set(s)
	}
	s.work.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			if s.dropFirst.Add(-1) >= 0 {
				c.Close()
				continue
			}
			s.track(c, true)
			s.work.Go(func() {
				defer s.track(c, false)
				defer c.Close()
				s.serve(c)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		s.hangUp()
		s.work.Wait()
	})
	return s
}

func (s *testServer) track(c net.Conn, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on {
		s.live[c] = true
	} else {
		delete(s.live, c)
	}
}

// hangUp ends all connections without a word.
func (s *testServer) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.live {
		c.Close()
	}
}

func (s *testServer) serve(c net.Conn) {
	s.unproven.add(1)
	conn, channels, requests, err := ssh.NewServerConn(c, s.config)
	s.unproven.add(-1)
	if err != nil {
		return
	}
	defer conn.Close()
	s.work.Go(func() { ssh.DiscardRequests(requests) })
	for n := range channels {
		switch {
		case s.mute == "sessions":
		case s.mute == "answers":
			s.mutely(conn, n)
		case n.ChannelType() == "session" && s.open.value() >= 10:
			n.Reject(ssh.ConnectionFailed, "open failed") // OpenSSH's words
		case n.ChannelType() == "session":
			s.open.add(1)
			ch, reqs, err := n.Accept()
			if err != nil {
				return
			}
			s.work.Go(func() { s.session(ch, reqs) })
		case n.ChannelType() == "direct-tcpip" && s.forwards:
			s.work.Go(func() { s.forward(n) })
		default:
			n.Reject(ssh.Prohibited, "no")
		}
	}
}

// mutely opens a session and answers nothing there, not even that it is closed.
func (s *testServer) mutely(conn *ssh.ServerConn, n ssh.NewChannel) {
	ch, reqs, err := n.Accept()
	if err != nil {
		return
	}
	_ = ch // to close it would be an answer
	s.work.Go(func() {
		for range reqs { // nothing is replied to
		}
	})
}

func (s *testServer) forward(n ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		Origin     string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(n.ExtraData(), &to); err != nil {
		n.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	out, err := net.Dial("tcp", net.JoinHostPort(to.Host, fmt.Sprint(to.Port)))
	if err != nil {
		n.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	ch, reqs, err := n.Accept()
	if err != nil {
		out.Close()
		return
	}
	s.work.Go(func() { ssh.DiscardRequests(reqs) })
	s.work.Go(func() { io.Copy(out, ch); out.Close() })
	io.Copy(ch, out)
	ch.Close()
}

func (s *testServer) session(ch ssh.Channel, reqs <-chan *ssh.Request) {
	defer s.open.add(-1)
	defer ch.Close()
	var cmd *exec.Cmd
	refuse := s.noExec
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // kills what still runs
	if s.patient {
		defer running.Wait()
	}
	for req := range reqs {
		ok := true
		switch req.Type {
		case "exec":
			line := string(req.Payload[4:])
			if refuse = refuse || cmd == nil && s.longest > 0 && len(line) > s.longest; cmd != nil || refuse {
				ok, refuse = false, false
				break
			}
			cmd = exec.CommandContext(ctx, cmp.Or(s.shell, "/bin/sh"), "-c", line)
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
			cmd.Env = append(os.Environ(), s.env...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, ch, ch.Stderr()
			in, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				ok = false
				break
			}
			req.Reply(true, nil) // before the command can end
			req.WantReply = false
			s.work.Go(func() { io.Copy(in, ch); in.Close() })
			running.Go(func() { s.finish(ch, cmd) })
		case "signal":
			if cmd != nil && !s.deaf {
				syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			}
		case "pty-req":
		case "shell": // says what it hears
			running.Go(func() {
				io.WriteString(ch, "switch# ")
				io.Copy(ch, ch)
				ch.Close()
			})
		default:
			ok = false
		}
		if req.WantReply {
			req.Reply(ok, nil)
		}
	}
}

func (s *testServer) finish(ch ssh.Channel, cmd *exec.Cmd) {
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 0 {
		ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal    string
			Core      bool
			Msg, Lang string
		}{"KILL", false, "", ""}))
	} else {
		ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(cmd.ProcessState.ExitCode())}))
	}
	ch.Close()
}

// clientFiles are the client's side: ssh_config, known_hosts and a key below a directory.
type clientFiles struct {
	t    *testing.T
	dir  string
	text bytes.Buffer // of ssh_config
}

func newFiles(t *testing.T) *clientFiles {
	t.Helper()
	f := &clientFiles{t: t, dir: t.TempDir()}
	f.writeKey("key", newEd25519(t), "")
	return f
}

func (f *clientFiles) path(name string) string { return filepath.Join(f.dir, name) }

func (f *clientFiles) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// host adds a Host to ssh_config.
func (f *clientFiles) host(name, address string, more ...string) {
	f.t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		f.t.Fatal(err)
	}
	fmt.Fprintf(&f.text, "Host %s\n  HostName %s\n  Port %s\n  %s\n", name, host, port, strings.Join(more, "\n  "))
}

// know adds keys to known_hosts.
func (f *clientFiles) know(address string, keys ...ssh.Signer) {
	f.t.Helper()
	var lines strings.Builder
	old, _ := os.ReadFile(f.path("known_hosts"))
	lines.Write(old)
	for _, k := range keys {
		lines.WriteString(knownhosts.Line([]string{address}, k.PublicKey()) + "\n")
	}
	f.write("known_hosts", lines.String())
}

// dialer writes ssh_config and reads it.
func (f *clientFiles) dialer() *Dialer {
	f.t.Helper()
	f.write("config", f.text.String()+fmt.Sprintf(
		"Host *\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile none\n  IdentityFile %s\n  IdentityAgent none\n",
		f.path("known_hosts"), f.path("key")))
	return NewDialer(Config{ConfigFile: f.path("config")})
}
