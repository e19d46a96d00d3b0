package perf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weft/internal/latency"
	"weft/internal/nvme/rdma/verbs"
)

// Result is what was measured after the warm-up.
type Result struct {
	Done    int64 // messages
	Elapsed time.Duration

	// Latency is, as with perftest, half of a round trip of sends and writes,
	// and all of a read. Of bandwidths there is none.
	Latency *latency.Histogram
}

// Rate is messages per second.
func (r *Result) Rate() float64 {
	if s := r.Elapsed.Seconds(); s > 0 {
		return float64(r.Done) / s
	}
	return 0
}

// Measure connects to an end that answers and measures for a time. Who calls it
// should own its thread: it never blocks.
func Measure(ctx context.Context, v verbs.Provider, to verbs.Route, s Shape, warmup, length time.Duration) (_ *Result, err error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	link, err := v.Resolve(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("connect to %s over RDMA: %w", to.To, err)
	}
	e, err := newEnd(ctx, link, s)
	if err != nil {
		return nil, fmt.Errorf("connect to %s over RDMA: %w", to.To, err)
	}
	defer func() { err = errors.Join(err, e.close()) }()
	reads := max(link.Domain().Limits().Reads, 1)
	answer, err := link.Connect(ctx, verbs.Hello{Private: s.hello(e.own()), Reads: reads, Issues: max(link.Domain().Limits().Issues, 1)})
	if err == nil {
		e.peer, err = readMemory(answer.Private)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s over RDMA: %w", to.To, err)
	}
	m := &meter{result: Result{Latency: latency.New()}, warm: time.Now().Add(warmup), samples: s.Samples}
	m.end = m.warm.Add(length)
	if s.Bandwidth {
		err = e.flood(m)
	} else {
		err = e.bounce(m)
	}
	if err != nil {
		return nil, fmt.Errorf("measuring with %s: %w", to.To, err)
	}
	return &m.result, nil
}

// meter records what begins and ends within the time.
type meter struct {
	result           Result
	warm, end, begin time.Time
	samples          int64
}

// took records one message and reports whether to go on: while time is left and
// more are wanted, and until there is something to report.
func (m *meter) took(start, now time.Time, d time.Duration) bool {
	if start.After(m.warm) {
		if m.begin.IsZero() {
			m.begin = start
		}
		if d > 0 {
			m.result.Latency.Record(d)
		}
		m.result.Done++
		m.result.Elapsed = now.Sub(m.begin)
		if m.result.Done == m.samples {
			return false
		}
	}
	return now.Before(m.end) || m.result.Done == 0
}

// bounce measures latency.
func (e *end) bounce(m *meter) error {
	for n := 1; ; n++ {
		start := time.Now()
		e.mark(n)
		if err := e.post(); err != nil {
			return err
		}
		parts := time.Duration(1)
		var err error
		switch e.s.Op {
		case Send:
			parts, err = 2, e.until(func() bool { return e.landed == n })
		case Write:
			parts, err = 2, e.written(n)
		default:
			err = e.until(func() bool { return e.sent == n })
		}
		now := time.Now()
		if err == nil && e.sent < n { // its place is needed
			err = e.until(func() bool { return e.sent == n })
		}
		if err != nil {
			return err
		}
		if !m.took(start, now, now.Sub(start)/parts) {
			return nil
		}
	}
}

// flood measures bandwidth.
func (e *end) flood(m *meter) error {
	posted := 0
	for more := true; more || e.sent < posted; {
		for more && posted-e.sent < e.s.Depth && e.may(posted) {
			if err := e.post(); err != nil {
				return err
			}
			posted++
		}
		before := e.sent
		start := time.Now()
		if err := e.until(func() bool { return e.sent > before || e.sent == posted && e.may(posted) }); err != nil {
			return err
		}
		now := time.Now()
		for range e.sent - before {
			more = m.took(start, now, 0) && more
		}
	}
	return nil
}
