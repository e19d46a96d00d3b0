package fabric_test

import (
	"runtime"
	"sync"
	"testing"

	"weft/internal/nvme/fabric"
)

// TestSpinningIsBounded: as many as may spin do, and one that has ended makes room.
func TestSpinningIsBounded(t *testing.T) {
	var s fabric.Spinning
	if got := []bool{s.Begin(2), s.Begin(2), s.Begin(2)}; !got[0] || !got[1] || got[2] {
		t.Errorf("of two that may spin began %v", got)
	}
	s.End()
	s.End()
	if !s.Begin(2) {
		t.Error("none may spin though two have ended")
	}
}

// TestRest: many rest at a time, again and again, and each goes on.
func TestRest(t *testing.T) {
	var s fabric.Spinning
	var all sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for range 200 {
				s.Rest()
			}
		})
	}
	all.Wait()
	if n := testing.AllocsPerRun(100, s.Rest); n > 0 {
		t.Errorf("a rest allocates %v times", n)
	}
}
