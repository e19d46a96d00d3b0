package prove

import "testing"

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
