package comware

import (
	"reflect"
	"testing"

	"weft/switches"
)

func TestPFCStates(t *testing.T) {
	ports := []string{"HundredGigE1/0/1", "HundredGigE1/0/2", "TwoHundredGigE1/0/4", "Ten-GigabitEthernet1/0/11"}
	for name, c := range map[string]struct {
		text string
		want map[string]switches.Running
	}{
		"one line each": {`Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv       Send       Inpps      Outpps
---------------------------------------------------------------------------------------------------
HGE1/0/1                         Enabled    Enabled   3           3     18         0          0          0
HGE1/0/2                         Auto       Disabled              0     0          0          0          0
200GE1/0/4                       Enabled    Enabled   3,5         3     18         0          0          0
200GE1/0/4                       Enabled    Enabled   3,5         5     18         0          0          0
`, map[string]switches.Running{"HundredGigE1/0/1": {On: true, Priorities: []int{3}}, "HundredGigE1/0/2": {Priorities: []int{}}, "TwoHundredGigE1/0/4": {On: true, Priorities: []int{3, 5}}}},
		"wrapped": {`Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv
   Send       Inpps      Outpps
--------------------------------------------------------------------------------
-------------------
HGE1/0/1                         Enabled    Disabled  3           3     5
   5          3          3
`, map[string]switches.Running{"HundredGigE1/0/1": {Priorities: []int{3}}}},
		"another layout": {`Conf -- Configured mode   Ne -- Negotiated mode   P -- Priority
Interface                 Conf  Ne    Dot1pList   P  Recv  Send  Inpps  Outpps
HGE1/0/1                  Auto  On    3           3  5     5     3      3
`, map[string]switches.Running{}},
	} {
		if got := pfcStates(c.text, ports); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := numbered([]string{"HundredGigE1/0/1", "FortyGigE1/0/1"}, "HGE1/0/1"); got != "" {
		t.Errorf("two ports have one number, and it is %s", got)
	}
}
