//go:build unix

package simserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"
)

const (
	startPatience = 90 * time.Second // as systemd's default
	stopPatience  = 10 * time.Second
)

// startUnit starts a service and waits until it is up. Starting what runs is
// no error.
func (s *Server) startUnit(u *unit) error {
	s.mu.Lock()
	svc, broken, closed := u.service, u.broken, s.closed
	running := u.active == "active" || u.active == "activating"
	if !running {
		u.active, u.stopped, u.result, u.status = "activating", false, "success", 0
	}
	s.mu.Unlock()
	switch {
	case running:
		return nil
	case closed:
		s.settle(u, "failed", "resources", 0)
		return errors.New("the server is shutting down")
	case broken != nil:
		s.settle(u, "failed", "exec-condition", 0)
		return fmt.Errorf("unit file: %w", broken)
	case svc.kind == "oneshot":
		return s.oneshot(u, svc)
	}
	return s.daemon(u, svc)
}

// settle notes how a unit is now.
func (s *Server) settle(u *unit, active, result string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.active, u.result, u.status = active, result, status
}

// journal opens the file that holds the output of a unit.
func (s *Server) journal(name string) (*os.File, error) {
	if err := os.MkdirAll(s.spec.Journal, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(s.journalPath(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}

func (s *Server) journalPath(name string) string {
	return filepath.Join(s.spec.Journal, filepath.Base(name)+".log")
}

// oneshot runs the commands of a service in turn. Those that are no agents are
// simulated.
func (s *Server) oneshot(u *unit, svc *service) error {
	log, err := s.journal(u.name)
	if err != nil {
		s.settle(u, "failed", "resources", 0)
		return err
	}
	defer log.Close()
	for _, args := range svc.start {
		if status := s.asRoot(args, log); status != 0 {
			s.settle(u, "failed", "exit-code", status)
			return fmt.Errorf("%s: exit status %d", args[0], status)
		}
	}
	active := "inactive"
	if svc.remain {
		active = "active"
	}
	s.settle(u, active, "success", 0)
	return nil
}

// daemon starts a service that stays.
func (s *Server) daemon(u *unit, svc *service) error {
	fail := func(err error) error {
		s.settle(u, "failed", "exit-code", 203) // as systemd: could not be executed
		return err
	}
	args := svc.start[0]
	if !isBelow(path.Clean(args[0]), agentDir) {
		return fail(fmt.Errorf("%s: services outside of %s are not simulated in the lab", args[0], agentDir))
	}
	p, err := s.rootView().resolve(args[0], true)
	if err != nil {
		return fail(err)
	}
	log, err := s.journal(u.name)
	if err != nil {
		return fail(err)
	}
	defer log.Close()
	for _, dir := range svc.made {
		if err := s.rootView().MkdirAll(dir, 0o755); err != nil {
			return fail(err)
		}
	}
	env := svc.env
	var ready <-chan struct{}
	if svc.kind == "notify" {
		n, err := newNotice()
		if err != nil {
			return fail(fmt.Errorf("socket for the service's notice: %w", err))
		}
		defer n.close()
		env = append(env, n.env())
		ready = n.ready(&s.background)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fail(err)
	}
	defer busy.Close()
	cmd := s.command(p, s.labArgs(args[1:], busy.Addr().String()), env)
	cmd.Stdout, cmd.Stderr = log, log
	proc, err := s.spawn(cmd, p, func(p *process) { s.began(u, p) }, func(p *process) { s.ended(u, p) })
	if err != nil {
		return fail(err)
	}
	if ready != nil {
		if err := waitReady(proc, ready); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.active == "activating" {
		u.active = "active"
	}
	return nil
}

func waitReady(proc *process, ready <-chan struct{}) error {
	t := time.NewTimer(startPatience)
	defer t.Stop()
	select {
	case <-ready:
		return nil
	case <-proc.done:
		return fmt.Errorf("ended before it was ready: %w", howEnded(proc))
	case <-t.C:
		proc.end(0)
		return errors.New("was not ready in time")
	}
}

func howEnded(p *process) error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

func (s *Server) began(u *unit, proc *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.proc = proc
}

// ended notes how a service's process ended.
func (s *Server) ended(u *unit, proc *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.proc != proc {
		return
	}
	u.proc = nil
	ws, _ := proc.cmd.ProcessState.Sys().(syscall.WaitStatus)
	u.active, u.result, u.status = "failed", "exit-code", ws.ExitStatus()
	switch {
	case ws.Signaled() && u.stopped, ws.ExitStatus() == 0 && !ws.Signaled():
		u.active, u.result = "inactive", "success"
	case ws.Signaled():
		u.result, u.status = "signal", int(ws.Signal())
	}
}

// stopUnit stops a service and waits until it is down.
func (s *Server) stopUnit(u *unit, patience time.Duration) {
	s.mu.Lock()
	proc := u.proc
	u.stopped = true
	if proc == nil {
		u.active = "inactive"
	}
	s.mu.Unlock()
	if proc == nil {
		return
	}
	proc.end(patience)
}

// stopAll kills every service.
func (s *Server) stopAll() {
	s.mu.Lock()
	var all []*unit
	for _, u := range s.units {
		all = append(all, u)
	}
	s.mu.Unlock()
	for _, u := range all {
		s.stopUnit(u, 0)
	}
}

// journalTail prints the last lines of a unit's output.
func (x *call) journalTail(name string, lines int) {
	data, err := os.ReadFile(x.server.journalPath(name))
	if err != nil {
		fmt.Fprintln(x.stdout, "-- No entries --")
		return
	}
	all := splitLines(data)
	for _, l := range all[max(0, len(all)-lines):] {
		_, _ = x.stdout.Write(l) // the session may be gone
	}
}
