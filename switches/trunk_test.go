package switches_test

import (
	"slices"
	"strings"
	"testing"

	"weft/switches"
)

func TestTrunk(t *testing.T) {
	for _, c := range []struct {
		of   switches.Trunk
		want string
	}{
		{switches.Trunk{}, "it is no trunk"},
		{switches.Trunk{On: true, All: true, Native: 1}, ""},
		{switches.Trunk{On: true, All: true, Native: 711}, "native VLAN"},
		{switches.Trunk{On: true, Allowed: []int{1, 710}, Native: 1}, "does not allow it"},
		{switches.Trunk{On: true, Allowed: []int{711}, Native: 1}, ""},
		{switches.Trunk{All: true}, "it is no trunk"},
	} {
		err := c.of.Tags("Ethernet1/1", 711)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.of, err, c.want)
		}
	}
	for text, want := range map[string][]int{"1-3,711": {1, 2, 3, 711}, "": nil, "none": nil, "5": {5}, "0-1,9999999": {1}, "4094-4096": {4094}, "x-3": nil} {
		if got := switches.VLANs(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
