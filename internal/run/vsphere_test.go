package run

import (
	"context"
	"errors"
	"strings"
	"testing"

	"weft/internal/prove"
	"weft/inventory"
	"weft/modules"
	"weft/modules/vcenter"
)

// A teller is a vCenter that knows what the hosts of clusters speak.
type teller struct {
	modules.Device
	says []vcenter.VSANState
	err  error
}

func (t teller) VCenter() (*vcenter.Device, error) { return nil, nil }

func (t teller) VSAN(context.Context) ([]vcenter.VSANState, error) { return t.says, t.err }

// One host that speaks TCP takes a cluster of vSAN with it: gates see that.
func TestGateSeesVSAN(t *testing.T) {
	fell := vcenter.VSANState{Cluster: "dc1/host/c1", Hosts: 4, On: true, Told: true, Why: "esx2 speaks TCP, which takes the whole cluster to TCP"}
	off := vcenter.VSANState{Cluster: "dc1/host/c1", Hosts: 4, Told: true, Why: "RDMA is switched off there"}
	for name, test := range map[string]struct {
		says     teller
		underWay bool
		want     prove.Verdict // "": nothing is judged
	}{
		"all speak RoCE":             {teller{says: []vcenter.VSANState{{Cluster: "dc1/host/c1", Hosts: 4, On: true, Told: true}}}, true, prove.Pass},
		"one speaks TCP":             {teller{says: []vcenter.VSANState{fell}}, true, prove.Fail},
		"one does not say":           {teller{says: []vcenter.VSANState{{Cluster: "dc1/host/c1", On: true}}}, true, prove.Inconclusive},
		"vCenter is away":            {teller{err: errors.New("no route")}, true, prove.Inconclusive},
		"its phase is yet to come":   {teller{says: []vcenter.VSANState{off}}, true, ""},
		"somebody switched RDMA off": {teller{says: []vcenter.VSANState{off}}, false, prove.Fail},
	} {
		v := &inventory.VCenter{Block: inventory.Block{Addr: "vcenter.dc1"}, Clusters: []*inventory.Cluster{{Path: "dc1/host/c1", VSANRDMA: true}}}
		s := &Site{Model: &inventory.Model{VCenters: []*inventory.VCenter{v}}}
		test.says.Device = unsupported()
		s.Fleet = &modules.Fleet{Devices: map[string]modules.Device{"vcenter.dc1": test.says}}
		got := s.clusters(t.Context(), test.underWay)
		switch {
		case test.want == "" && len(got) == 0:
		case len(got) != 1 || got[0].Verdict != test.want:
			t.Errorf("%s: %+v, want %q", name, got, test.want)
		case test.want == prove.Fail && !strings.Contains(got[0].Why, test.says.says[0].Why):
			t.Errorf("%s: it says %q", name, got[0].Why)
		}
	}
}

// What carries adapters for PVRDMA is not measured, and that is said where they have a peer.
func TestVirtualMachinesNotMeasured(t *testing.T) {
	g, alone := &inventory.DVPortGroup{}, &inventory.DVPortGroup{}
	vm := func(name string, on *inventory.DVPortGroup) *inventory.VM {
		return &inventory.VM{Block: inventory.Block{Addr: name}, Adapters: []*inventory.PVRDMA{{Name: "eth1", PortGroup: on}}}
	}
	s := &Site{Model: &inventory.Model{VMs: []*inventory.VM{vm("vm.a", g), vm("vm.b", g), vm("vm.c", alone)}}}
	got := s.clusters(t.Context(), false)
	if len(got) != 2 || got[0].Pair != "vm.a eth1" || got[0].Verdict != prove.NotMeasured || !strings.Contains(got[0].Why, "counters of both hosts") {
		t.Errorf("%+v", got)
	}
	if got := s.clusters(t.Context(), true); len(got) != 0 {
		t.Errorf("of a rollout under way: %+v", got)
	}
}
