package pingpong

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"weft/internal/latency"
	"weft/internal/nvme/rawsock"
)

// Result is what was measured after the warm-up.
type Result struct {
	Done    int64
	Elapsed time.Duration
	Latency *latency.Histogram // of whole round trips, or, as the Shape says, of halves
}

// Measure sends requests over c, which it closes, for a time. A goroutine that
// measures with polling keeps the thread it is called on; cpu is as for Serve.
func Measure(ctx context.Context, c net.Conn, s Shape, warmup, length time.Duration, cpu int) (Result, error) {
	defer c.Close()
	r := Result{Latency: latency.New()}
	if err := s.Validate(); err != nil {
		return r, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if _, err := c.Write(s.hello()); err != nil && ctx.Err() != nil {
		return r, context.Cause(ctx)
	} else if err != nil {
		return r, fmt.Errorf("say what is wanted: %w", err)
	}
	m := meter{result: &r, warm: time.Now().Add(warmup), samples: s.Samples, parts: 1}
	if s.Half {
		m.parts = 2
	}
	m.end = m.warm.Add(length)
	if !s.Poll { // who polls looks at the time anyway
		_ = c.SetDeadline(m.end.Add(helloTime))
	}
	err := m.run(ctx, c, s, cpu)
	if e := context.Cause(ctx); e != nil {
		err = e
	}
	return r, err
}

// meter records round trips that begin and end within the time.
type meter struct {
	result    *Result
	warm, end time.Time
	begin     time.Time
	samples   int64
	parts     time.Duration // of a round trip, one of which is a latency
}

// took records a round trip and reports whether to go on: while time is left and
// more are wanted, and until there is something to report.
func (m *meter) took(start, now time.Time) bool {
	if start.After(m.warm) {
		if m.begin.IsZero() {
			m.begin = start
		}
		m.result.Latency.Record(now.Sub(start) / m.parts)
		m.result.Done++
		m.result.Elapsed = now.Sub(m.begin)
		if m.result.Done == m.samples {
			return false
		}
	}
	return now.Before(m.end) || m.result.Done == 0
}

func (m *meter) run(ctx context.Context, c net.Conn, s Shape, cpu int) error {
	if !s.Poll {
		return m.block(c, s)
	}
	if err := rawsock.Own(cpu); err != nil {
		return err
	}
	sock, err := rawsock.Detach(c)
	if err != nil {
		return err
	}
	defer sock.Close()
	return m.poll(ctx, sock, s)
}

func (m *meter) block(c net.Conn, s Shape) error {
	out, in := make([]byte, s.Request), make([]byte, s.Reply)
	for {
		start := time.Now()
		if _, err := c.Write(out); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, in); err != nil {
			return err
		}
		if !m.took(start, time.Now()) {
			return nil
		}
	}
}

func (m *meter) poll(ctx context.Context, sock *rawsock.Socket, s Shape) error {
	in, out := make([]byte, chunk), make([]byte, chunk)
	starts := make([]time.Time, s.Depth) // of requests outstanding, a ring
	next, owed, part := 0, s.Depth*s.Request, 0
	now := time.Now()
	for i := range starts {
		starts[i] = now
	}
	var idle idler
	for {
		sent := 0
		if owed > 0 {
			var err error
			if sent, err = sock.Write(out[:min(owed, chunk)]); err != nil {
				return err
			}
			owed -= sent
		}
		n, err := sock.Read(in, nil)
		if err != nil {
			return err
		}
		part += n
		if part >= s.Reply {
			now = time.Now()
		}
		for ; part >= s.Reply; part -= s.Reply {
			if !m.took(starts[next], now) {
				return nil
			}
			starts[next] = now
			next = (next + 1) % s.Depth
			owed += s.Request
		}
		if idle.is(n+sent == 0) && (ctx.Err() != nil || time.Now().After(m.end.Add(helloTime))) {
			return fmt.Errorf("no reply for %v", helloTime)
		}
	}
}
