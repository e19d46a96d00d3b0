package linux

import (
	"testing"

	"weft/modules/host"
)

func TestTakeECN(t *testing.T) {
	text := ""
	for _, side := range []string{"roce_np", "roce_rp"} {
		for p := range 8 {
			value := "1"
			if side == "roce_rp" && p == 5 {
				value = "0"
			}
			text += "/sys/class/net/ens1/ecn/" + side + "/enable/" + string(rune('0'+p)) + ":" + value + "\n"
		}
	}
	var n host.NICHealth
	if takeECN(&n, text); n.ECN == nil || !n.ECN[3] || n.ECN[5] {
		t.Errorf("%v", n.ECN)
	}
	n.ECN = nil
	if takeECN(&n, text[:len(text)/2]); n.ECN != nil {
		t.Errorf("half of it is told: %v", n.ECN)
	}
	if takeECN(&n, ""); n.ECN != nil {
		t.Errorf("nothing is told: %v", n.ECN)
	}
}
