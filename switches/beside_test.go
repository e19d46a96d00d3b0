package switches

import (
	"reflect"
	"testing"
)

// What is not of the one who plans is named, whoever it belongs to.
func TestBeside(t *testing.T) {
	for name, tt := range map[string]struct {
		driver  *OS
		running string
		text    string
		want    map[string][]string
	}{
		"NX-OS": {NXOS(), nxosRunning, `class-map type qos match-any VOICE
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
		"Comware": {Comware(), comwareRunning, `#
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
		want := Intent{Name: "WEFT-me-roce", Owner: Owner{Name: "me", Others: []string{"you"}}}
		if got := have.For(want).Beside(want); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := (Reading{}).PortNames(); got != nil {
		t.Errorf("ports of nothing that was read: %v", got)
	}
	if got := (Reading{}).Beside(Intent{}); got != nil {
		t.Errorf("of nothing that was read: %v", got)
	}
}
