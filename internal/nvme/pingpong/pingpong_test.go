package pingpong_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weft/internal/nvme/pingpong"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers until the test ends and returns where.
func serve(t *testing.T, told func(error)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := pingpong.Serve(ctx, l, -1, told); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return l.Addr().String()
}

func TestShapes(t *testing.T) {
	addr := serve(t, func(err error) { t.Error(err) })
	for _, s := range []pingpong.Shape{
		{Request: 72, Reply: 4120, Depth: 1},
		{Request: 72, Reply: 4120, Depth: 1, Poll: true},
		{Request: 72, Reply: 4120, Depth: 32, Poll: true},
		{Request: 128 << 10, Reply: 24, Depth: 8, Poll: true},
		{Request: 1, Reply: 1 << 20, Depth: 3, Poll: true},
	} {
		if s.Poll && runtime.GOOS != "linux" {
			continue
		}
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		r, err := pingpong.Measure(t.Context(), c, s, 0, 30*time.Millisecond, -1)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if r.Done == 0 || r.Done != r.Latency.Count() || r.Elapsed <= 0 || r.Latency.Quantile(0.5) <= 0 {
			t.Errorf("%+v: %+v", s, r)
		}
	}
}

func TestRefusals(t *testing.T) {
	said := make(chan error, 1)
	addr := serve(t, func(err error) { said <- err })
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\n", 3)))
	if err := <-said; !strings.Contains(err.Error(), "ping-pong") {
		t.Error(err)
	}
	for _, s := range []pingpong.Shape{{}, {Request: 1, Reply: 1, Depth: 2}, {Request: 1, Reply: 1 << 30, Depth: 1}} {
		here, there := net.Pipe()
		defer there.Close()
		if _, err := pingpong.Measure(t.Context(), here, s, 0, time.Second, -1); err == nil {
			t.Errorf("%+v was measured", s)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("no longer wanted")
	cancel(gone)
	c, err = net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pingpong.Measure(ctx, c, pingpong.Shape{Request: 1, Reply: 1, Depth: 1}, 0, time.Hour, -1); !errors.Is(err, gone) {
		t.Error(err)
	}
}
