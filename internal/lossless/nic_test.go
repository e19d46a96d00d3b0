package lossless

import (
	"strings"
	"testing"

	"weft/internal/slice"
	"weft/inventory"
	"weft/modules/host"
)

// A lossless class has a traffic class of its NIC for itself: PFC of one would stop the others.
func TestTrafficClasses(t *testing.T) {
	f := &inventory.Fabric{Transport: "rocev2", Classes: []*inventory.TrafficClass{
		{Name: "rdma", DSCP: []int{26}, Priority: 3, PFC: true, Bandwidth: 50}, {Name: "cnp", DSCP: []int{48}, Priority: 6, Strict: true}, {Name: "default", Bandwidth: 50}}}
	for _, test := range []struct {
		classes [8]int
		want    string
	}{
		{[8]int{0, 0, 0, 1, 0, 0, 2, 0}, ""},
		{[8]int{0, 0, 0, 0, 0, 0, 2, 0}, "class rdma: ets is in traffic class 0 together with priority 0-2,4-5,7, declared a traffic class of its own"},
		{[8]int{0, 0, 0, 1, 0, 1, 2, 0}, "class rdma: ets is in traffic class 1 together with priority 5, declared a traffic class of its own"},
		{[8]int{0, 0, 0, 2, 0, 0, 2, 0}, "class rdma: ets is strict, declared 50%; class rdma: ets is in traffic class 2 together with priority 6, declared a traffic class of its own"},
	} {
		shares := host.Shares{50, 50, -1, -1, -1, -1, -1, -1}
		got := judgeNIC(f, host.NICReading{PFC: []int{3}, DSCP: map[int]int{26: 3, 48: 6}, ETS: &shares, Classes: &test.classes, Pause: &host.GlobalPause{}})
		if text := strings.Join(slice.Map(got, Finding.String), "; "); text != test.want {
			t.Errorf("%v: %q", test.classes, text)
		}
	}
}
