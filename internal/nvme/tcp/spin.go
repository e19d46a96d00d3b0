package tcp

import (
	"sync/atomic"
	"time"
)

// A blocked reader is woken late: by microseconds on some machines, by tens of
// them on virtual ones. So a reader of an event driven connection first looks
// for a moment whether something comes, as long as that has paid off lately.
const (
	spinTime  = 25 * time.Microsecond // for which it looks
	spinWorth = 8                     // failures in a row after which it stops
	spinRetry = 64                    // blocking reads after which it tries again
)

// A spinner reads from one connection. It is for one goroutine.
type spinner struct {
	poller  *poller
	others  *atomic.Int32 // how many spin; nil: nobody else
	most    int32         // may
	credit  int           // failures that it can afford
	blocked int           // reads since it stopped
}

func newSpinner(p *poller, processors int, others *atomic.Int32) *spinner {
	return &spinner{poller: p, others: others, most: int32(processors - 1), credit: spinWorth}
}

// read returns 0 and no error when it is time to block.
func (s *spinner) read(b []byte) (int, error) {
	if s.most < 1 || s.poller.raw == nil {
		return 0, nil
	}
	if s.credit == 0 {
		if s.blocked++; s.blocked < spinRetry {
			return 0, nil
		}
		s.blocked, s.credit = 0, 1
	}
	if s.others != nil {
		defer s.others.Add(-1)
		if s.others.Add(1) > s.most {
			return 0, nil
		}
	}
	for start := time.Now(); ; {
		n, err := s.poller.look(b)
		if n > 0 || err != nil {
			s.credit = spinWorth
			return n, err
		}
		if time.Since(start) > spinTime {
			s.credit--
			return 0, nil
		}
	}
}
