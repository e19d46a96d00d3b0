package simvcenter

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// A state is what faults change.
type state struct {
	mu       sync.Mutex
	password string          // the only one that is taken; "": the first that comes
	also     string          // but for this one
	away     bool            // nobody is answered
	seen     map[string]bool // sessions; false: of before a restart
	shift    time.Duration   // of its clock
}

// Fault makes something break, or mends it: vCenter answers nobody, and answers again; it
// starts anew, and knows no session of before; its clock jumps.
func (s *Server) Fault(name string) error {
	name, value, _ := strings.Cut(name, "=")
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	switch name {
	case "refuse", "accept":
		s.state.away = name == "refuse"
	case "reboot":
		for id := range s.state.seen {
			s.state.seen[id] = false
		}
	case "clock":
		by, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("clock: %w", err)
		}
		s.state.shift = by
	default:
		return fmt.Errorf("fault %s: not one that a simulated vCenter has", name)
	}
	return nil
}

// takes reports whether a password is the right one. Where none was made up, that is the
// first that comes.
func (s *state) takes(password string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.also != "" && password == s.also {
		return true
	}
	if s.password == "" {
		s.password = password
	}
	return password != "" && s.password == password
}

// in serves while vCenter is there, and has it forget sessions.
func (s *state) in(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		away := s.away
		if c, err := r.Cookie(soap.SessionCookieName); err == nil {
			known, seen := s.seen[c.Value]
			if !seen {
				s.seen[c.Value] = true
			} else if !known {
				r.Header.Del("Cookie")
			}
		}
		s.mu.Unlock()
		if away {
			panic(http.ErrAbortHandler) // the connection ends without an answer
		}
		next.ServeHTTP(w, r)
	})
}

// A clock is the service that tells the time.
type clock struct {
	*simulator.ServiceInstance
	shift time.Duration
}

// CurrentTime tells it.
func (c *clock) CurrentTime(*types.CurrentTime) soap.HasFault {
	return &methods.CurrentTimeBody{Res: &types.CurrentTimeResponse{Returnval: time.Now().Add(c.shift)}}
}

// now is how far the clock is off.
func (s *state) now() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shift
}
