package run

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"weft/plan"
)

func TestEach(t *testing.T) {
	s := &Site{Input: plan.Input{Parallelism: 3}}
	devices := make([]string, 20)
	for i := range devices {
		devices[i] = fmt.Sprint("d", i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	now, most, done := 0, 0, 0
	s.Each(ctx, devices, "working", func(_ context.Context, i int, device string) {
		if devices[i] != device {
			t.Errorf("device %d is %s", i, device)
		}
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		runtime.Gosched() // lets others begin
		mu.Lock()
		now--
		done++
		mu.Unlock()
	})
	if done != len(devices) || most > 3 {
		t.Errorf("%d done, %d at once", done, most)
	}
	done = 0
	cancel()
	s.Each(ctx, devices, "working", func(context.Context, int, string) { done++ })
	if done != 0 {
		t.Errorf("%d begun after the end", done)
	}
}

func TestBusyNamesTheSlowest(t *testing.T) {
	b := &busy{what: "working", since: map[string]time.Time{}}
	start := time.Unix(1000, 0)
	if _, alive := b.beat(start); alive {
		t.Error("it beats though nothing runs")
	}
	end := b.begin("gone", start)
	for i := range 7 {
		b.begin(fmt.Sprint("d", i), start.Add(time.Duration(i)*time.Second))
	}
	end()
	e, alive := b.beat(start.Add(10 * time.Second))
	const want = "still busy with 7: d0 working (10s), d1 working (9s), d2 working (8s), d3 working (7s), d4 working (6s)"
	if !alive || e.Message != want || e.Type != plan.EventHeartbeat || e.Data["busy"] != 7 {
		t.Errorf("%+v", e)
	}
}
