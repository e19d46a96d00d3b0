package prove

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	// As Linux 6.12 prints it: user nice system idle iowait irq softirq steal guest guest_nice.
	b, err := parseStat([]byte("cpu  100 20 30 4000 500 6 70 800 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\n"))
	if err != nil || b != (busyness{100 + 20 + 30 + 6 + 70, 100 + 20 + 30 + 4000 + 500 + 6 + 70 + 800}) {
		t.Errorf("%+v, %v", b, err)
	}
	if got := (busyness{7, 30}).less(busyness{2, 10}); got != (busyness{5, 20}) || got.share() != 0.25 {
		t.Errorf("%+v, %v", got, got.share())
	}
	if (busyness{}).share() != 0 {
		t.Error("no time was busy")
	}
	for _, bad := range []string{"", "cpu", "cpu 1 2 3 4 5 6 7", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x", "cpu 1 2 3 -4 5 6 7 8", "cpu 9999999999999999999 2 3 4 5 6 7 8"} {
		if b, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, b)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("cpu  100 20 30 4000 500 6 70 800 9 9\n"))
	f.Add([]byte("cpu 1152921504606846975 1152921504606846975 1152921504606846975 1152921504606846975 1152921504606846975 1152921504606846975 1152921504606846975 1152921504606846975"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if b, err := parseStat(text); err == nil && (b.busy < 0 || b.busy > b.whole) {
			t.Errorf("%q: %+v", text, b)
		}
	})
}

// A command over SSH that takes 0.15 s of a slow machine is far below the 5 % that it may do
// otherwise, whatever the runtime that files say; long runtimes are not drawn out.
func TestRestFor(t *testing.T) {
	for runtime, want := range map[time.Duration]time.Duration{
		time.Millisecond: 5 * time.Millisecond, 2 * time.Second: 10 * time.Second, 4 * time.Second: 10 * time.Second, time.Minute: time.Minute,
	} {
		if got := restFor(runtime); got != want {
			t.Errorf("%v: %v, want %v", runtime, got, want)
		}
	}
}
