package modules

import (
	"testing"

	"weft/modules/host"
	"weft/modules/leaf"
	"weft/switches"
)

func TestNameNeighbours(t *testing.T) {
	server := func(name string, macs ...string) *Facts {
		f := &Facts{Server: &host.ServerFacts{}}
		for _, mac := range macs {
			f.Server.NICs = append(f.Server.NICs, host.NICFacts{Interface: name, MAC: mac})
		}
		return f
	}
	sw := &Facts{Switch: &leaf.Facts{}}
	for _, id := range []string{"0200.0000.0001", "02:00:00:00:00:02", "02:00:00:00:00:03"} {
		sw.Switch.Neighbours = append(sw.Switch.Neighbours, switches.Neighbour{PortID: id})
	}
	NameNeighbours([]*Facts{sw, server("ens1", "02:00:00:00:00:01"), server("ens2", "02:00:00:00:00:02"), server("ens3", "02:00:00:00:00:02"), {}})
	for i, want := range []string{"ens1", "", ""} {
		if got := sw.Switch.Neighbours[i].Interface; got != want {
			t.Errorf("%s is %q, want %q", sw.Switch.Neighbours[i].PortID, got, want)
		}
	}
}
