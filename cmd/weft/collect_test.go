package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// After the first collection the heap grows as usual again: where it does not, a fleet of
// 2,000 servers takes nine times what is needed of it.
func TestCollectLate(t *testing.T) {
	percent := func() uint64 {
		one := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(one)
		return one[0].Value.Uint64()
	}
	usual := debug.SetGCPercent(100)
	defer debug.SetGCPercent(usual)
	var held []*int // small things beside it that live on
	for range 100 {
		held = append(held, new(int))
	}
	collectLate()
	for range 100 {
		held = append(held, new(int))
	}
	if percent() != 800 {
		t.Fatalf("it begins with %d percent", percent())
	}
	for end := time.Now().Add(time.Minute); percent() != 100; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatalf("it stays at %d percent", percent())
		}
	}
	runtime.KeepAlive(held)
}
