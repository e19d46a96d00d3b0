package prove

import (
	"testing"
	"time"

	"weft/internal/agent"
)

func TestThroughputOfAResult(t *testing.T) {
	good := &agent.Reply{Load: &agent.LoadResult{BytesPerSec: 125000000, IOPS: 1907, Reads: 1907, Mode: "event", CPUPerGbit: 1234.5}}
	var tp Throughput
	if why := tp.take(good); why != "" || tp.BitsPerSec != 1e9 || tp.IOPS != 1907 || tp.CPUPerGbit != 1234.5 || tp.Mode != "event" {
		t.Errorf("%+v %s", tp, why)
	}
	for _, bad := range []*agent.Reply{{}, {Error: "no device"}, {Load: &agent.LoadResult{}}} {
		if why := new(Throughput).take(bad); why == "" {
			t.Errorf("%+v is a result", bad)
		}
	}
}

// What a gigabit costs a target is known only where it is the same process, and
// has served something.
func TestCosts(t *testing.T) {
	before := &spending{1, time.Second, 1e9}
	for _, test := range []struct {
		after *spending
		want  float64
	}{
		{&spending{1, time.Second + 300*time.Microsecond, 1e9 + 125e6}, 300},
		{&spending{2, 2 * time.Second, 2e9}, 0},
		{&spending{1, 2 * time.Second, 1e9}, 0},
		{nil, 0},
	} {
		if got := costs(before, test.after); got != test.want {
			t.Errorf("%+v: %v, want %v", test.after, got, test.want)
		}
	}
	if costs(nil, before) != 0 {
		t.Error("what was not known before costs something")
	}
}
