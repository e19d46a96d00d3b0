package leaf

import (
	"strings"
	"testing"

	"weft/plan"
	"weft/switches"
	"weft/switches/systems"
)

// A port keeps a larger MTU, and is refused where the switch has none.
func TestPort(t *testing.T) {
	d := &Device{cfg: Config{OS: systems.Named("nxos")}, want: switches.Intent{Name: "WEFT-o-f",
		Classes: []switches.Class{{Name: "default", Bandwidth: 100}},
		Ports:   []switches.Port{{Name: "Ethernet1/1", MTU: 9000, Classify: true}}}}
	have, err := d.cfg.OS.Parse(map[string]string{"show version": "", "show running-config": "interface Ethernet1/1\n  mtu 9216\n"})
	if err != nil {
		t.Fatal(err)
	}
	have = have.For(d.want)
	r := &port{d, d.want.Ports[0]}
	for _, c := range r.Diff(&have).Changes {
		if c.Path == "mtu" {
			t.Errorf("the MTU would be lowered: %+v", c)
		}
	}
	missing := &port{d, switches.Port{Name: "Ethernet1/2"}}
	if diff := missing.Diff(&have); diff.Err == nil || !strings.Contains(diff.Err.Error(), "no port Ethernet1/2") {
		t.Errorf("diff of a missing port: %+v", diff)
	}
	var _ plan.Resource = missing
}
