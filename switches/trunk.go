package switches

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
)

// A Trunk is what VLANs a port carries, as far as its lines say. Weft sets none.
type Trunk struct {
	On      bool // it is one
	Native  int  // whose frames have no tag
	All     bool
	Allowed []int // where it is not All
}

// Tags says why the frames of a VLAN do not leave a port with their tag, which is where
// their 802.1p priority stands; nil: they do.
func (t Trunk) Tags(port string, vlan int) error {
	why := ""
	switch {
	case !t.On:
		why = "it is no trunk"
	case t.Native == vlan:
		why = "that one goes without, as it is the native VLAN of the trunk"
	case !t.All && !slices.Contains(t.Allowed, vlan):
		why = "the trunk does not allow it"
	default:
		return nil
	}
	return hint.Wrap(fmt.Errorf("%s does not carry VLAN %d with a tag: %s", port, vlan, why),
		"a host of the fabric marks its RDMA in the tag; make the port a trunk of that VLAN by hand, as weft sets none")
}

// VLANs reads a list of ranges: 1-10,711.
func VLANs(text string) (list []int) {
	const most = 4094
	for word := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(word), "-")
		from, err := strconv.Atoi(low)
		to := from
		if isRange && err == nil {
			to, err = strconv.Atoi(high)
		}
		for n := max(from, 1); err == nil && n <= min(to, most); n++ {
			list = append(list, n)
		}
	}
	return list
}
