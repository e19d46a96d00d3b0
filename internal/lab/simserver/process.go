//go:build unix

package simserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// agentDir holds the only files that the lab really executes.
const agentDir = "/usr/local/lib/weft"

// nowhere is where a portal is mapped to that nobody listens on: nothing can
// be reached at port 0.
const nowhere = "127.0.0.1:0"

// A starter starts processes from one thread that lives as long as the lab:
// on Linux a child is told to die with the thread that started it.
type starter struct {
	jobs chan func()
	done chan struct{}
	once sync.Once
	stop chan struct{}
}

func newStarter() *starter {
	s := &starter{jobs: make(chan func()), done: make(chan struct{}), stop: make(chan struct{})}
	go s.loop()
	return s
}

func (s *starter) loop() {
	defer close(s.done)
	runtime.LockOSThread() // and never unlocked: the thread ends with the loop
	for {
		select {
		case job := <-s.jobs:
			job()
		case <-s.stop:
			return
		}
	}
}

func (s *starter) close() {
	s.once.Do(func() { close(s.stop) })
	<-s.done
}

// start starts a command. A file that was just written may still be open in a
// child that is being started elsewhere in this process, so "busy" is tried
// again.
func (s *starter) start(cmd *exec.Cmd) error {
	const tries, interval = 100, 20 * time.Millisecond
	result := make(chan error, 1)
	job := func() {
		var err error
		for range tries {
			if err = cmd.Start(); !errors.Is(err, syscall.ETXTBSY) {
				break
			}
			again := exec.Command(cmd.Path, cmd.Args[1:]...)
			again.Dir, again.Env, again.Stdin, again.Stdout, again.Stderr, again.SysProcAttr = cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr
			*cmd = *again
			time.Sleep(interval)
		}
		result <- err
	}
	select {
	case s.jobs <- job:
		return <-result
	case <-s.done:
		return errors.New("the lab is shutting down")
	}
}

// A process is a running agent.
type process struct {
	cmd  *exec.Cmd
	path string        // below the root
	done chan struct{} // closed when it has ended and err is set
	err  error

	mu    sync.Mutex
	bound map[string]string // portal → where it really listens; learnt when asked for
}

// command prepares an agent to run in the server's root.
func (s *Server) command(p string, args, env []string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.spec.Root, filepath.FromSlash(p)), args...)
	cmd.Dir = s.spec.Root
	cmd.Env = append([]string{"PATH=" + rootPath, "HOME=/root", "LANG=C"}, env...)
	cmd.SysProcAttr = ownGroup()
	return cmd
}

// spawn starts a service's process, its output going to the journal. began is
// told before and ended after it ran, both before anybody else can see it.
func (s *Server) spawn(cmd *exec.Cmd, p string, began, ended func(*process)) (*process, error) {
	if err := s.net.start.start(cmd); err != nil {
		return nil, err
	}
	proc := &process{cmd: cmd, path: p, done: make(chan struct{})}
	began(proc)
	s.background.Go(func() {
		proc.err = cmd.Wait()
		ended(proc)
		close(proc.done)
	})
	return proc, nil
}

// signal sends a signal to the process and what it started.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, sig) // it may have ended meanwhile
	}
}

// end stops the process: politely, then not.
func (p *process) end(patience time.Duration) {
	p.signal(syscall.SIGTERM)
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// run runs an agent to its end.
func (s *Server) run(ctx context.Context, p string, args []string, stdin []byte, stdout, stderr io.Writer) (int, error) {
	cmd := s.command(p, args, nil)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), stdout, stderr
	return s.net.run(ctx, cmd)
}

// run runs a command to its end, or to that of ctx.
func (n *Network) run(ctx context.Context, cmd *exec.Cmd) (int, error) {
	cmd.WaitDelay = 5 * time.Second // for output pipes that a grandchild holds
	if err := n.start.start(cmd); err != nil {
		return 126, err
	}
	kill := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer kill()
	err := cmd.Wait()
	if status := cmd.ProcessState; status != nil {
		if ws, ok := status.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal()), nil
		}
		return status.ExitCode(), nil
	}
	return 126, err
}

// agent runs an uploaded agent for a session.
func (x *call) agent(p string) int {
	info, err := x.view().Stat(p)
	switch {
	case err != nil:
		return x.errorf("%s", strerror(err)) + 126
	case info.IsDir(), info.Mode().Perm()&0o111 == 0, !x.user.root && info.Mode().Perm()&0o1 == 0:
		return x.fail(126, "sh: %s: Permission denied", x.name)
	}
	args := []string{"--root", "."}
	if isTarget(p) { // asked for its status it needs no map of others
		if slices.Equal(x.args, []string{"reload"}) {
			if err := x.server.reloads(); err != nil {
				return x.errorf("%v", err)
			}
			defer x.server.forget()
		}
		return x.ended(x.server.run(x.ctx, p, append(args, x.args...), nil, x.stdout, x.stderr))
	}
	q, err := readAsked(x.args, x.in)
	if err != nil {
		return x.errorf("%v", err)
	}
	out, said := &listener{Writer: x.stdout}, &listener{Writer: x.stderr}
	maps := x.server.net.portals(x.ctx)
	switch {
	case q.listen != "":
		if _, own := x.server.holder(host(q.listen)); !own {
			return x.errorf("listen tcp %s: bind: cannot assign requested address", q.listen)
		}
		maps = []string{q.listen + "=" + nowhere} // a port that is free
		line := func(line string) {
			if real, ok := strings.CutPrefix(line, "listening on "); ok {
				x.server.net.answers(q.listen, real)
			}
		}
		out.line, said.line = line, line
		defer x.server.net.answers(q.listen, "")
	case q.probe && len(q.to) > 0:
		maps = []string{x.server.net.answering(x.ctx, x.server, q.to[0])}
	case len(q.to) > 1:
		r, err := x.server.newRelays(x.ctx, maps)
		if err != nil {
			return x.errorf("relays of the lab: %v", err)
		}
		defer r.close()
		maps = r.maps
	}
	for _, m := range maps {
		args = append(args, "--map", m)
	}
	status, err := x.server.run(x.ctx, p, append(args, x.args...), q.input, out, said)
	x.server.moved(q.tos, out.heard.Bytes())
	return x.ended(status, err)
}

// ended is the status of an agent, which may not have begun.
func (x *call) ended(status int, err error) int {
	if err != nil {
		fmt.Fprintf(x.stderr, "sh: %s: cannot execute binary file: %s\n", x.name, strerror(err))
	}
	return status
}

func isTarget(p string) bool { return filepath.Base(p) == "weft-target" }

// portals maps every portal of the lab to where it listens, or to nowhere.
// There is always at least one map: with none an agent would dial the real
// network.
func (n *Network) portals(ctx context.Context) []string {
	var maps []string
	for _, s := range n.all() {
		if len(s.spec.Portals) == 0 {
			continue
		}
		bound := s.bound(ctx)
		for _, p := range s.spec.Portals {
			real, ok := bound[p.String()]
			if !ok {
				real = nowhere
			}
			maps = append(maps, p.String()+"="+real)
		}
	}
	if len(maps) == 0 {
		maps = []string{"192.0.2.1:1=" + nowhere}
	}
	return maps
}

// bound is where the server's portals listen that are up.
func (s *Server) bound(ctx context.Context) map[string]string {
	s.mu.Lock()
	procs := s.targets()
	s.mu.Unlock()
	all := map[string]string{}
	for _, p := range procs {
		maps.Copy(all, s.ask(ctx, p))
	}
	return all
}

// targets are the weft-targets that run. The caller holds s.mu.
func (s *Server) targets() (procs []*process) {
	for _, u := range s.units {
		if u.proc != nil && u.active == "active" && isTarget(u.proc.path) {
			procs = append(procs, u.proc)
		}
	}
	return procs
}

// forget forgets where weft-target listens: it may have gone over to other portals.
func (s *Server) forget() {
	s.mu.Lock()
	procs := s.targets()
	s.mu.Unlock()
	for _, p := range procs {
		p.mu.Lock()
		p.bound = nil
		p.mu.Unlock()
	}
}

// ask lets a running target say where it listens; the answer is kept when it
// is complete. Answers outside of loopback are not believed.
func (s *Server) ask(ctx context.Context, p *process) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.bound) == len(s.spec.Portals) {
		return p.bound
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var out bytes.Buffer
	code, err := s.run(ctx, p.path, []string{"--root", ".", "status", "--json"}, nil, &out, io.Discard)
	var status struct {
		Portals []struct{ Address, Bound string }
	}
	if err != nil || code != 0 || json.Unmarshal(out.Bytes(), &status) != nil {
		return nil
	}
	p.bound = map[string]string{}
	for _, portal := range status.Portals {
		real, err := netip.ParseAddrPort(portal.Bound)
		if err == nil && real.Addr().IsLoopback() && real.Port() != 0 {
			p.bound[portal.Address] = portal.Bound
		}
	}
	return p.bound
}

// labArgs adds the lab's arguments to those of a service. Where the kernel's target
// listens, the service is sent to busy: an address on which somebody listens already.
func (s *Server) labArgs(args []string, busy string) []string {
	all := []string{"--root", "."}
	for _, p := range s.spec.Portals {
		real := nowhere
		if s.nvmetListens(p) {
			real = busy
		}
		all = append(all, "--map", p.String()+"="+real)
	}
	if len(s.spec.Portals) == 0 {
		all = append(all, "--map", "192.0.2.1:1="+nowhere)
	}
	return append(all, args...)
}

// nvmetListens reports whether the kernel's target listens on an address with TCP. RDMA
// counts its ports apart.
func (s *Server) nvmetListens(at netip.AddrPort) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, p := range s.nvmet.ports {
		if len(p.exports) > 0 && p.transport == "tcp" && p.at() == at.String() {
			return true
		}
	}
	return false
}

// reloads says why weft-target cannot go over to its configuration: it would listen where
// the kernel's target does, which its own end of the lab does not see.
func (s *Server) reloads() error {
	text, err := s.rootView().ReadFile("/etc/weft/target.toml")
	if err != nil {
		return nil // it says so itself
	}
	for _, p := range s.spec.Portals {
		if strings.Contains(string(text), p.String()) && s.nvmetListens(p) {
			return fmt.Errorf("listen tcp %s: bind: %w", p, syscall.EADDRINUSE)
		}
	}
	return nil
}
