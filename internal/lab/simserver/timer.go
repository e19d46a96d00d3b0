//go:build unix

package simserver

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"time"
)

// systemdRun is a part of systemd's: systemd-run --unit=NAME --on-active=SECONDS
// COMMAND... starts a timer, which runs the command once as root.
func systemdRun(x *call) int {
	opts, args, ok := x.options("qGu:T:", long{"quiet": 'q', "collect": 'G', "unit": 'u', "on-active": 'T'})
	after, err := time.ParseDuration(opts.last('T') + "s")
	if !ok || opts.last('u') == "" || err != nil || len(args) == 0 {
		return x.notSimulated(1)
	}
	if !x.user.root {
		return x.fail(1, "Failed to start transient timer unit: Interactive authentication required.")
	}
	name := strings.TrimSuffix(opts.last('u'), ".timer") + ".timer"
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timers[name] != nil {
		return x.fail(1, "Failed to start transient timer unit: Unit %s was already loaded or has a fragment file.", name)
	}
	s.timers[name] = &timer{args: args, stop: time.AfterFunc(after, func() { s.fire(name, args) }).Stop}
	if !opts.has('q') {
		fmt.Fprintf(x.stderr, "Running timer as unit: %s\n", name)
	}
	return 0
}

// A timer runs a command when it is due.
type timer struct {
	args []string
	stop func() bool
}

// fire runs the command of a timer, unless it was stopped meanwhile.
func (s *Server) fire(name string, args []string) {
	s.mu.Lock()
	known := s.timers[name] != nil && !s.closed
	delete(s.timers, name)
	if known {
		s.background.Add(1)
	}
	s.mu.Unlock()
	if !known {
		return
	}
	defer s.background.Done()
	s.asRoot(args, io.Discard)
}

// FireTimers runs now what timers are to run later.
func (s *Server) FireTimers() {
	s.mu.Lock()
	all := maps.Clone(s.timers)
	s.mu.Unlock()
	for name, t := range all {
		if t.stop() {
			s.fire(name, t.args)
		}
	}
}

// stopTimers forgets every timer: a reboot does, and the end.
func (s *Server) stopTimers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.timers {
		t.stop()
		delete(s.timers, name)
	}
}

// aboutTimer answers systemctl about a unit of type timer.
func (x *call) aboutTimer(verb, name string, quiet bool) int {
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.timers[name]
	switch verb {
	case "is-active":
		state, status := "inactive", 4
		if t != nil {
			state, status = "active", 0
		}
		if !quiet {
			fmt.Fprintln(x.stdout, state)
		}
		return status
	case "stop":
		if t == nil {
			return x.fail(5, "Failed to stop %s: Unit %s not loaded.", name, name)
		}
		t.stop()
		delete(s.timers, name)
		return 0
	}
	return x.notSimulated(1)
}
