package tcp

import (
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
)

// A blocked reader is woken late: by microseconds on some machines, by tens of
// them on virtual ones. So a reader of an event driven connection first looks
// for a moment whether something comes, as long as that has paid off lately: for
// longer than its peer takes to be woken, else two that have slept once sleep each
// time.
//
// Between looks it gives way to other threads: the one that it waits for may be among
// them, on the same processor; not where others keep the processor then. And while its looks find something, the kernel tells the
// runtime of nothing (see rawsock.Hush).
const (
	spinTime  = 50 * time.Microsecond // for which it looks
	spinAlone = 25 * time.Microsecond // the same where it does not yield
	spinWorth = 8                     // failures in a row after which it stops
	spinRetry = 64                    // blocking reads after which it tries again
	restAfter = time.Millisecond      // for which it reads and never blocks
)

// A spinner reads from one connection. It is for one goroutine.
type spinner struct {
	poller  *poller
	others  *fabric.Spinning
	most    int32     // may spin: one processor is left to those that wait to be woken
	credit  int       // failures that it can afford
	blocked int       // reads since it stopped
	awake   time.Time // since then it may not have blocked
	hushed  bool      // nobody is told of what comes
	hush    func(fd uintptr)
}

func newSpinner(p *poller, processors int, others *fabric.Spinning) *spinner {
	s := &spinner{poller: p, others: others, most: int32(processors - 1), credit: spinWorth}
	if p.raw == nil {
		s.most = 0
	}
	s.hush = func(fd uintptr) { _ = rawsock.Hush(fd, s.hushed) } // where it cannot, threads are woken in vain
	return s
}

// read returns 0 and no error when it is time to block. Who blocks looks once more
// before that.
func (s *spinner) read(b []byte) (int, error) {
	if s.most < 1 {
		return 0, nil
	}
	n, err := s.spin(b)
	s.keepQuiet(n > 0 && err == nil)
	return n, err
}

// keepQuiet has the kernel tell the runtime of what comes, or not. It tells again before
// anything else reads from the connection: a blocked read would not wake for a few bytes.
func (s *spinner) keepQuiet(hushed bool) {
	if hushed != s.hushed {
		s.hushed = hushed
		_ = s.poller.raw.Control(s.hush)
	}
}

func (s *spinner) spin(b []byte) (int, error) {
	if s.credit == 0 {
		if s.blocked++; s.blocked < spinRetry {
			return 0, nil
		}
		s.blocked, s.credit = 0, 1
	}
	start := time.Now()
	if s.awake.IsZero() {
		s.awake = start
	} else if start.Sub(s.awake) > restAfter {
		s.others.Rest()
		start = time.Now()
		s.awake = start
	}
	defer s.others.End()
	if !s.others.Begin(s.most) {
		return 0, nil
	}
	yields, most := s.others.MayYield(start), spinTime
	if !yields {
		most = spinAlone
	}
	for now := start; ; {
		n, err := s.poller.look(b)
		if n > 0 || err != nil {
			s.credit = spinWorth
			return n, err
		}
		if now.Sub(start) > most {
			s.credit--
			s.awake = time.Time{}
			return 0, nil
		}
		if before := now; yields {
			rawsock.Yield()
			now = time.Now()
			yields = s.others.Yielded(now, now.Sub(before))
		} else {
			now = time.Now()
		}
	}
}
