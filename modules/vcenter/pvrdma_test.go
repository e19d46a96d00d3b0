package vcenter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"weft/internal/hint"
	"weft/internal/lab/simvcenter"
	"weft/modules/claim"
	"weft/plan"
)

// machines makes a SIMULATED vCenter answer with three hosts, the last of which has no RDMA
// device, and virtual machines that may differ.
func machines(t *testing.T, vms ...simvcenter.VM) Login {
	t.Helper()
	spec := simvcenter.Spec{User: "weft@vsphere.local", Password: "p", VMs: vms}
	for i := range 3 {
		h := simvcenter.Host{Name: fmt.Sprintf("esx%d.example.net", i+1), NICs: []string{"0000:41:00.0"}}
		if i < 2 {
			h.RDMA = h.NICs
		}
		spec.Hosts = append(spec.Hosts, h)
	}
	s, err := simvcenter.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return Login{Host: s.Host, Port: s.Port, SHA256: s.SHA256, User: "weft@vsphere.local", Password: func() (string, error) { return "p", nil }, Settle: time.Millisecond}
}

func onSwitch() []interface{ key() (string, string) } {
	list := []interface{ key() (string, string) }{&Switch{at, 9000}, &Group{at, "weft-rdma-storage", 0}}
	for i := range 3 {
		list = append(list, &Member{at, fmt.Sprintf("esx%d.example.net", i+1), "0000:41:00.0"})
	}
	return list
}

const hpc = simvcenter.Datacenter + "/vm/hpc"

func adapterOf(n int, protocol string, peers ...int) *Adapter {
	a := &Adapter{VM: fmt.Sprint(hpc, n), Name: "eth1", Switch: at, Group: "weft-rdma-storage", Protocol: protocol, Uplinks: map[string]string{}}
	for i := range 3 {
		a.Uplinks[fmt.Sprintf("esx%d.example.net", i+1)] = "0000:41:00.0"
	}
	for _, p := range peers {
		a.Peers = append(a.Peers, fmt.Sprint(hpc, p))
	}
	return a
}

func machine(n, host int) simvcenter.VM {
	return simvcenter.VM{Path: fmt.Sprint(hpc, n), Host: fmt.Sprintf("esx%d.example.net", host)}
}

// Adapters are made, changed and taken away again; the plan says how each pair talks.
func TestAdapters(t *testing.T) {
	login := machines(t, machine(1, 1), machine(2, 2), machine(3, 1))
	things := append(onSwitch(), adapterOf(1, "rocev1", 2, 3), adapterOf(2, "rocev1", 1, 3))
	f := declare(t, login, "o", things...)
	p, _ := f.make(t)
	told := fmt.Sprintf("%+v", p.Steps)
	for _, want := range []string{"Path:to hpc2 Before: After:RDMA, esx1.example.net to esx2.example.net", "Path:to hpc3 Before: After:memory copy, both on esx1.example.net", "Path:memory_reserved Before:false After:true"} {
		if !strings.Contains(told, want) {
			t.Errorf("%q does not stand in %s", want, told)
		}
	}
	made := f.apply(t)
	if want := "ReconfigVM_Task of " + hpc + "1: add VirtualVmxnet3Vrdma portgroup=weft-rdma-storage deviceProtocol=rocev1 memoryReservationLockedToMax=true"; !strings.Contains(strings.Join(made, "\n"), want) {
		t.Errorf("%q, want %s", made, want)
	}
	// Another protocol takes another device, and other hardware.
	changed := adapterOf(1, "rocev2", 2, 3)
	changed.Hardware = 14
	up := append(onSwitch(), &Hardware{hpc + "1", 14}, changed, adapterOf(2, "rocev1", 1, 3))
	lines := declare(t, login, "o", up...).apply(t)
	if len(lines) != 3 || lines[0] != "UpgradeVM_Task of "+hpc+"1: version=vmx-14" || !strings.Contains(lines[1], "remove VirtualVmxnet3Vrdma eth1") || !strings.HasSuffix(lines[2], "deviceProtocol=rocev2 memoryReservationLockedToMax=true") {
		t.Errorf("%q", lines)
	}
	// All of it goes, adapters first, and what was reserved with them.
	gone := declare(t, login, "o").apply(t)
	if len(gone) != 7 || !strings.HasPrefix(gone[0], "ReconfigVM_Task") || gone[6] != "Destroy_Task of "+at {
		t.Errorf("%q", gone)
	}
	c, err := login.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, v, err := c.findVM(t.Context(), hpc+"1")
	if err != nil || v.locked || len(v.adapters) > 0 || v.note.owner != "" {
		t.Errorf("left: %+v, %v", v, err)
	}
	if err := c.end(t.Context()); err != nil {
		t.Error(err)
	}
}

// What PVRDMA lacks is refused, with the reason.
func TestLacks(t *testing.T) {
	windows, mac, old, on := machine(1, 1), machine(2, 1), machine(3, 1), machine(4, 1)
	windows.Guest, mac.Guest, old.Hardware, on.On = "windows2019srv_64Guest", "other3xLinuxGuest", 12, true
	login := machines(t, windows, mac, old, on, machine(5, 3), machine(6, 1))
	declare(t, login, "o", onSwitch()...).apply(t)
	stranger := adapterOf(6, "rocev1")
	delete(stranger.Uplinks, "esx1.example.net")
	tcp := adapterOf(5, "rocev1", 6)
	tcp.Degraded = true
	for _, test := range []struct {
		a    *Adapter
		want string
	}{
		{adapterOf(1, "rocev1"), `"windows2019srv_64Guest", and PVRDMA is for Linux of 64 bits`},
		{adapterOf(2, "rocev1"), `"other3xLinuxGuest", and PVRDMA is for Linux of 64 bits`},
		{adapterOf(3, "rocev1"), "has virtual hardware 12, and rocev1 wants 13"},
		{adapterOf(6, "rocev2"), "has virtual hardware 13, and rocev2 wants 14"},
		{adapterOf(4, "rocev1"), "runs, and it must be off when adapters for PVRDMA are changed"},
		{adapterOf(5, "rocev1"), "esx3.example.net, where DC0/vm/hpc5 is, has no RDMA device on its uplink (0000:41:00.0): to other hosts it would be TCP"},
		{stranger, "esx1.example.net, where DC0/vm/hpc6 is, has no uplink in DC0/network/weft-rdma"},
		{adapterOf(7, "rocev1"), "vCenter has no virtual machine DC0/vm/hpc7"},
	} {
		p, _ := declare(t, login, "o", append(onSwitch(), test.a)...).make(t)
		if len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Text, test.want) {
			t.Errorf("%s: %+v, want %q", test.a.VM, p.Refusals, test.want)
		}
	}
	p, _ := declare(t, login, "o", append(onSwitch(), tcp)...).make(t)
	if told := fmt.Sprintf("%+v", p.Steps); len(p.Refusals) > 0 || !strings.Contains(told, "TCP, as esx3.example.net has no RDMA device on its uplink") {
		t.Errorf("%+v %s", p.Refusals, told)
	}
	hardware := &Hardware{hpc + "4", 14}
	if p, _ := declare(t, login, "o", append(onSwitch(), hardware)...).make(t); len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Text, "must be off when its hardware is raised") {
		t.Errorf("%+v", p.Refusals)
	}
}

// Where a machine is must be known: of an orphaned one, or one that the account may not see
// whole, vCenter does not tell it.
func TestLacksHost(t *testing.T) {
	f := declare(t, machines(t, machine(1, 1)), "o", append(onSwitch(), adapterOf(1, "rocev1"))...)
	if _, err := f.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.have.vms[hpc+"1"].host = types.ManagedObjectReference{}
	got := f.items[len(f.items)-1].Resource.Diff(f.state())
	if got.Err == nil || got.Err.Error() != "vCenter does not tell on which host DC0/vm/hpc1 is" || hint.Of(got.Err) == "" || len(got.Send) > 0 {
		t.Errorf("%+v, hint %q", got, hint.Of(got.Err))
	}
}

// A host whose release has no PVRDMA, or none of that protocol, is refused by its release.
func TestLacksRelease(t *testing.T) {
	for protocol, release := range map[string]string{"rocev1": "6.0.0", "rocev2": "6.5.0"} {
		spec := simvcenter.Spec{User: "weft@vsphere.local", Password: "p", VMs: []simvcenter.VM{machine(1, 1)}}
		spec.VMs[0].Hardware = 14
		spec.Hosts = []simvcenter.Host{{Name: "esx1.example.net", NICs: []string{"0000:41:00.0"}, RDMA: []string{"0000:41:00.0"}, Release: release}}
		things := append(onSwitch()[:3], adapterOf(1, protocol))
		p, _ := declare(t, startVSAN(t, spec), "o", things...).make(t)
		want := map[string]string{"rocev1": "has ESXi 6.0.0, and rocev1 wants 6.5", "rocev2": "has ESXi 6.5.0, and rocev2 wants 6.7"}[protocol]
		if len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Text, want) {
			t.Errorf("%s: %+v, want %q", protocol, p.Refusals, want)
		}
	}
}

// Releases are compared by their numbers.
func TestOlder(t *testing.T) {
	for release, want := range map[string]bool{"6.5.0": false, "6.4.9": true, "6.10.0": false, "8.0.2": false, "5.5": true, "": true, "x": true, "7": false, "6": true} {
		if got := older(release, pvrdmaRelease); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}

// What a mark says is what was written.
func TestVMNote(t *testing.T) {
	n := vmNote{"o", map[string]int32{"eth1": 4001, "eth0": 4000}, map[string][]int32{"eth2": {4000, 4001}, "eth3": {}}, true}
	if text := n.String(); text != "o eth0=4000 eth1=4001 eth2>4000,4001 eth3> reserved" || fmt.Sprint(readVMNote(text)) != fmt.Sprint(n) {
		t.Errorf("%q, %+v", text, readVMNote(text))
	}
	if n := readVMNote("o eth0=x reserved"); len(n.keys) > 0 || n.String() != "" {
		t.Errorf("%+v", n)
	}
}

// A description says whose something is where it stands, and where no mark says otherwise.
func TestDescription(t *testing.T) {
	for _, test := range []struct {
		mark, description, want string
	}{
		{"", madeBy("o", at), "o"},
		{"p mtu=9000", madeBy("o", at), "p"},
		{"", madeBy("o", at+"-copy"), ""},
		{"", "made by weft for o", ""},
		{"", "", ""},
	} {
		if got := readNote(test.mark).or(test.description, at).owner; got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// The engine finds the kinds of what is kept.
func TestRestore(t *testing.T) {
	d := New("vcenter.dc1", "o", claim.Holder{}, Login{})
	for _, kind := range []string{SwitchKind, GroupKind, MemberKind, AdapterKind} {
		if _, err := d.Restore(plan.Entry{Kind: kind}); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.Restore(plan.Entry{Kind: HardwareKind}); err == nil {
		t.Error("hardware that was raised is to be restored")
	}
}

// What a weft has made that was killed before it could mark it is known again.
func TestUnfinished(t *testing.T) {
	login := machines(t, machine(1, 1))
	things := append(onSwitch(), adapterOf(1, "rocev1"))
	declare(t, login, "o", things...).apply(t)
	c, err := login.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, v, err := c.findVM(t.Context(), hpc+"1")
	if err != nil {
		t.Fatal(err)
	}
	d := r.switches[at]
	for ref, text := range map[types.ManagedObjectReference]string{d.ref: "", d.groups["weft-rdma-storage"].ref: "", v.ref: "o eth1> reserved"} {
		if err := c.own(t.Context(), ref, text); err != nil {
			t.Fatal(err)
		}
	}
	if p, _ := declare(t, login, "o", things...).make(t); len(p.Steps)+len(p.Refusals) > 0 {
		t.Errorf("%+v %+v", p.Steps, p.Refusals)
	}
	if p, _ := declare(t, login, "p", things...).make(t); len(p.Refusals) == 0 {
		t.Error("another owner takes it")
	}
	if gone := declare(t, login, "o").apply(t); len(gone) != 6 {
		t.Errorf("%q", gone)
	}
	if err := c.end(t.Context()); err != nil {
		t.Error(err)
	}
}
