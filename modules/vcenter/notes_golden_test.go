package vcenter

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"weft/modules/claim"
)

// A vCenter holds these texts in custom attributes and descriptions, and what they say
// becomes the entries that plans prune by. Neither changes.
func TestKeptNotes(t *testing.T) {
	for text, want := range map[string]note{
		"pilot mtu=9000":                       {"pilot", mtuText(9000)},
		"pilot vlan=711":                       {"pilot", vlanText(711)},
		"pilot vsan_rdma=true was=false":       {"pilot", vsanText(true, false)},
		"pilot vmk2":                           {"pilot", "vmk2"},
		"pilot dc1/network/weft with a name/x": {"pilot", "dc1/network/weft with a name/x"},
	} {
		if got := readNote(text); got != want || got.String() != text {
			t.Errorf("%q is read as %+v and written as %q", text, got, got.String())
		}
	}
	if got := madeBy("pilot", "dc1/network/dvs"); got != "made by weft for pilot: dc1/network/dvs" {
		t.Errorf("a description is %q", got)
	}
	if mark != "weft" || leaseMark != "weft-lease" {
		t.Errorf("the custom attributes are %s and %s", mark, leaseMark)
	}

	own := func(text string) note { return note{"pilot", text} }
	ref := types.ManagedObjectReference{Type: "HostSystem", Value: "host-1"}
	d := New("vcenter.dc1", "pilot", claim.Holder{}, Login{})
	d.have = &reading{
		switches: map[string]*dvs{"dc1/network/dvs": {path: "dc1/network/dvs", note: own("mtu=9000"),
			groups:  map[string]*group{"rdma": {note: own("vlan=711")}, "other": {}},
			members: map[types.ManagedObjectReference][]string{ref: {"vmnic4"}}}},
		hosts:    map[string]*host{"esx1.example.net": {ref: ref, name: "esx1.example.net", notes: []note{own("dc1/network/dvs"), own("vmk2")}, ports: map[string]port{"vmk2": {}}}},
		clusters: map[string]*cluster{"dc1/host/c1": {path: "dc1/host/c1", note: own("vsan_rdma=true was=false")}},
		vms:      map[string]*vm{"dc1/vm/m1": {path: "dc1/vm/m1", note: readVMNote("pilot eth1=4001 reserved"), adapters: []adapter{{key: 4001}}}},
	}
	var got []string
	for _, e := range d.Kept().Entries {
		got = append(got, fmt.Sprintf("%s %s %s needs %v", e.Kind, e.Name, e.State, e.Needs))
		if _, err := d.Restore(e); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{
		"dvportgroup dc1/network/dvs/rdma created needs [vcenter.dc1/dvswitch.dc1/network/dvs]",
		"dvswitch dc1/network/dvs created needs []",
		"dvswitch_member dc1/network/dvs@esx1.example.net created needs [vcenter.dc1/dvswitch.dc1/network/dvs]",
		"dvswitch_vmkernel esx1.example.net/vmk2 created needs []",
		"vm_pvrdma dc1/vm/m1/eth1 created needs []",
		"vsan_rdma dc1/host/c1 created needs []",
	}, got); d != "" {
		t.Error(d)
	}
}
