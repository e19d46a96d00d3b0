package switches_test

import (
	"reflect"
	"testing"

	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

// What is not of the one who plans is named, whoever it belongs to.
func TestUnmanaged(t *testing.T) {
	for name, tt := range map[string]struct {
		driver  *switches.OS
		running string
		text    string
		want    map[string][]string
	}{
		"NX-OS": {nxos.OS(), "show running-config", `class-map type qos match-any VOICE
  match dscp 46
class-map type qos match-any WEFT-me-roce-rdma
  match dscp 26
class-map type qos match-any WEFT-you-roce-rdma
  match dscp 26
policy-map type qos WEFT-me-roce-in
  class WEFT-me-roce-rdma
    set qos-group 3
policy-map LEGACY
`, map[string][]string{
			"class-map":  {"type qos match-any VOICE", "type qos match-any WEFT-you-roce-rdma"},
			"policy-map": {"type qos LEGACY"},
		}},
		"Comware": {comware.OS(), "display current-configuration", `#
traffic classifier voice operator and
 if-match dscp ef
#
qos wred queue table theirs
#
qos wred queue table WEFT-me-roce
#
`, map[string][]string{
			"traffic classifier":   {"voice operator and"},
			"qos wred queue table": {"theirs"},
		}},
	} {
		have, err := tt.driver.Parse(map[string]string{tt.running: tt.text})
		if err != nil {
			t.Fatal(err)
		}
		want := switches.Intent{Name: "WEFT-me-roce", Owner: switches.Owner{Name: "me", Others: []string{"you"}}}
		if got := have.For(want).Unmanaged(want); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := (switches.Reading{}).PortNames(); got != nil {
		t.Errorf("ports of nothing that was read: %v", got)
	}
	if got := (switches.Reading{}).Unmanaged(switches.Intent{}); got != nil {
		t.Errorf("of nothing that was read: %v", got)
	}
}
