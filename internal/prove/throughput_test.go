package prove

import (
	"testing"
	"time"
)

func TestThroughputOfAResult(t *testing.T) {
	good := `{"jobs":[{"error":0,"read":{"bw_bytes":125000000,"iops":1907,"total_ios":1907}}],"weft":{"mode":"event","cpu_us_per_gbit":1234.5}}`
	var tp Throughput
	if why := tp.take([]byte(good)); why != "" || tp.BitsPerSec != 1e9 || tp.IOPS != 1907 || tp.CPUPerGbit != 1234.5 || tp.Mode != "event" {
		t.Errorf("%+v %s", tp, why)
	}
	for _, bad := range []string{"", "{}", `{"jobs":[]}`, `{"jobs":[{"read":{"total_ios":0}}]}`} {
		if why := new(Throughput).take([]byte(bad)); why == "" {
			t.Errorf("%q is a result", bad)
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
