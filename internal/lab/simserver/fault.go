//go:build unix

package simserver

import (
	"regexp"
	"time"
)

// NoSudo lets sudo ask for a password, or not.
func (s *Server) NoSudo(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = on
}

// Slow delays every session by d before it does anything.
func (s *Server) Slow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = d
}

// Hostile makes command lines that match fail, with a text on both streams that
// is meant for the terminal of whoever reads it; nil ends it.
func (s *Server) Hostile(lines *regexp.Regexp, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hostile, s.hostileText = lines, text
}

// StopUnit stops a service as an operator at the server would; false: there is no
// such service.
func (s *Server) StopUnit(name string) bool {
	u := s.load(unitName(name))
	if u == nil {
		return false
	}
	s.jobs.Lock()
	defer s.jobs.Unlock()
	s.stopUnit(u, stopPatience)
	return true
}

// StartUnit starts a service; false: there is no such service.
func (s *Server) StartUnit(name string) (bool, error) {
	u := s.load(unitName(name))
	if u == nil {
		return false, nil
	}
	s.jobs.Lock()
	defer s.jobs.Unlock()
	return true, s.startUnit(u)
}

// Reboot kills every service, forgets what is volatile (addresses, MTU, flow
// control, /run and /tmp), and starts the enabled services. Sessions are the
// business of who serves them.
func (s *Server) Reboot() {
	s.stopTimers()
	s.stopAll()
	s.jobs.Lock()
	defer s.jobs.Unlock()
	s.stopAll()
	v := s.rootView()
	for _, dir := range []string{"/run", "/tmp"} {
		infos, err := v.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, i := range infos {
			_ = v.RemoveAll(dir + "/" + i.Name()) // what stays is as if written after the boot
		}
	}
	s.boot()
	s.bootSoftware()
	s.mu.Lock()
	s.units = map[string]*unit{}
	s.mu.Unlock()
	for _, name := range s.enabledUnits() {
		if u := s.load(name); u != nil {
			_ = s.startUnit(u) // a unit that fails at boot says so in its state
		}
	}
}
