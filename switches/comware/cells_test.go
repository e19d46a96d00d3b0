package comware

import (
	"strings"
	"testing"

	"weft/switches"
)

// How long a cell is was read of one model; of its relatives it is assumed, and
// of others it is not known.
func TestCell(t *testing.T) {
	for model, want := range map[string]struct {
		size    int
		assumed bool
	}{
		"S9820-64H": {208, false}, "S9820-8C": {208, true}, "S9855-48CD8D": {208, true}, "S6800-54QF": {208, true}, "S6850-56HF": {208, true},
		"5900AF-48XG-4QSFP+": {}, "": {},
	} {
		if size, assumed := cell(model); size != want.size || assumed != want.assumed {
			t.Errorf("%s: %d bytes, assumed %v; want %+v", model, size, assumed, want)
		}
	}
}

// A curve whose ends are the same number of cells is refused before the switch
// would do that.
func TestCellsOfACurve(t *testing.T) {
	for ecn, refused := range map[switches.ECN]bool{{Min: 2080, Max: 2287, Probability: 5}: true, {Min: 2080, Max: 2288, Probability: 5}: false} {
		_, err := red(switches.Class{Name: "rdma", Priority: 3, ECN: &ecn}, switches.Facts{CellBytes: 208})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "class rdma: ecn min of 2080 and max of 2287 bytes are the same number of cells") {
			t.Errorf("%+v: %v", ecn, err)
		}
	}
}
