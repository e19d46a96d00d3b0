package fabric_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

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

// TestYieldsThatAreDear: after one nobody yields for a while, for twice as long where
// the next is dear again, and for as short as at first where it is long after that.
func TestYieldsThatAreDear(t *testing.T) {
	var s fabric.Spinning
	now := time.Now()
	if !s.MayYield(now) || !s.Yielded(now, 50*time.Microsecond) || !s.MayYield(now) {
		t.Error("a yield that is not dear ends them")
	}
	quiet := func() (lasts time.Duration) {
		if s.Yielded(now, 4*time.Millisecond) {
			t.Error("one may yield again at once")
		}
		for begin := now; !s.MayYield(now); now = now.Add(time.Millisecond) {
			lasts = now.Sub(begin)
		}
		return lasts
	}
	var got []time.Duration
	for range 9 {
		got = append(got, quiet())
	}
	const ms = time.Millisecond
	if want := []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1000 * ms, 1000 * ms}; !slices.Equal(got, want) {
		t.Errorf("nobody yields for %v, want %v", got, want)
	}
	now = now.Add(time.Minute)
	if got := quiet(); got != 10*ms {
		t.Errorf("a minute later nobody yields for %v", got)
	}
}
