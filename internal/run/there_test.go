package run

import (
	"testing"

	"weft/inventory"
	"weft/plan"
)

// A pair is judged by gates once nothing is left to do that it is measured by.
func TestThere(t *testing.T) {
	id := func(device, kind, name string) plan.ID { return plan.ID{Device: device, Kind: kind, Name: name} }
	linux := &inventory.Server{Block: inventory.Block{Addr: "server.cn"}, OS: "linux"}
	esxi := &inventory.Server{Block: inventory.Block{Addr: "server.esx"}, OS: "esxi"}
	target := &inventory.Target{Engine: "weft", Server: &inventory.Server{Block: inventory.Block{Addr: "server.st"}}}
	array := &inventory.Target{Engine: "external"}
	for _, test := range []struct {
		name string
		from *inventory.Server
		to   *inventory.Target
		left []plan.ID
		want bool
	}{
		{"nothing is left", linux, target, nil, true},
		{"the probe", linux, target, []plan.ID{id("server.cn", "agent", "weft-initiator")}, false},
		{"what probes do not need", linux, target, []plan.ID{id("server.cn", "nvme_connection", "x")}, true},
		{"the target", linux, target, []plan.ID{id("server.st", "agent", "weft-target")}, false},
		{"connections of a host without probes", esxi, target, []plan.ID{id("server.esx", "nvme_connection", "x")}, false},
		{"the same to an array", esxi, array, []plan.ID{id("server.esx", "nvme_connection", "x")}, false},
		{"an option of that host", esxi, array, []plan.ID{id("server.esx", "advanced_option", "x")}, true},
		{"the target of that host", esxi, target, []plan.ID{id("server.st", "agent", "weft-target")}, false},
	} {
		left := remainder{}
		for _, x := range test.left {
			left[x.Device] = append(left[x.Device], x)
		}
		if got := left.there(test.from, test.to); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
