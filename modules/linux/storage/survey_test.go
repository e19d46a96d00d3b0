package storage

import (
	"fmt"
	"testing"

	"weft/internal/remote"
)

// A machine without lvm2 has no groups, and of one whose lvm2 fails nothing is known.
func TestSurveyed(t *testing.T) {
	vgs, lvs := SurveyLooks()[0], SurveyLooks()[1]
	text := func(s string) remote.Sight { return remote.Sight{Content: []byte(s)} }
	f, err := Surveyed(remote.NewSeen(
		remote.Answer{Look: vgs, Sight: text(`{"report": [{"vg": [{"vg_name":"vg0","vg_tags":""},{"vg_name":"weft-a-hand","vg_tags":"x"},{"vg_name":"weft-a-flash","vg_tags":"x,weft-a"}]}]}`)},
		remote.Answer{Look: lvs, Sight: text(`{"report": [{"lv": [{"vg_name":"vg0","lv_name":"root"},{"vg_name":"weft-a-flash","lv_name":"data"},{"vg_name":"vg0","lv_name":"swap"}]}]}`)}))
	if got := fmt.Sprint(f); err != nil || got != "&{[{vg0 [root swap]} {weft-a-hand []} {weft-a-flash [data]}]}" {
		t.Errorf("%s, %v", got, err)
	}
	f, err = Surveyed(remote.NewSeen(remote.Answer{Look: vgs, Sight: remote.Sight{Code: 127, Err: &remote.ExitError{Code: 127}}}))
	if err != nil || f == nil || f.Groups != nil {
		t.Errorf("%v, %v", f, err)
	}
	if f, err = Surveyed(remote.NewSeen(remote.Answer{Look: vgs, Sight: remote.Sight{Code: 5, Err: &remote.ExitError{Code: 5}}})); err == nil || f != nil {
		t.Errorf("%v, %v", f, err)
	}
}
