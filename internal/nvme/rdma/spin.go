package rdma

import "time"

// A blocked thread is woken late: by microseconds on some machines, by tens of
// them on virtual ones. So whoever waits for completions first looks for a
// moment whether one comes, as long as that has paid off lately.
const (
	spinTime  = 25 * time.Microsecond // for which it looks
	spinWorth = 8                     // failures in a row after which it stops
	spinRetry = 64                    // waits after which it tries again
)

// A spinner is for one goroutine. The zero spinner is ready.
type spinner struct {
	never  bool      // there is but one processor
	since  time.Time // of the look in progress
	failed int       // in a row
	waits  int       // since it stopped
}

// again reports whether to look once more before blocking.
func (s *spinner) again() bool {
	if s.never {
		return false
	}
	if s.since.IsZero() {
		if s.failed >= spinWorth {
			if s.waits++; s.waits < spinRetry {
				return false
			}
			s.waits, s.failed = 0, spinWorth-1
		}
		s.since = time.Now()
		return true
	}
	if time.Since(s.since) < spinTime {
		return true
	}
	s.since = time.Time{}
	s.failed++
	return false
}

// found says how the look went on.
func (s *spinner) found(something bool) {
	if something {
		if !s.since.IsZero() {
			s.failed = 0
		}
		s.since = time.Time{}
	}
}
