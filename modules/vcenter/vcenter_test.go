package vcenter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/lab/simvcenter"
	"weft/modules/claim"
	"weft/plan"
)

const at = simvcenter.Datacenter + "/network/weft-rdma"

// start makes a SIMULATED vCenter with two hosts answer.
func start(t *testing.T) Login {
	t.Helper()
	s, err := simvcenter.Start(simvcenter.Spec{User: "weft@vsphere.local", Password: "p", Hosts: []simvcenter.Host{
		{Name: "esx1.example.net", NICs: []string{"0000:41:00.0"}}, {Name: "esx2.example.net", NICs: []string{"0000:41:00.0"}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return Login{Host: s.Host, Port: s.Port, SHA256: s.SHA256, User: "weft@vsphere.local", Password: func() (string, error) { return "p", nil }, Settle: time.Millisecond}
}

// A fleet is a device with the resources that are declared of it.
type fleet struct {
	*Device
	items []plan.Item
}

func declare(t *testing.T, login Login, owner string, things ...interface{ key() (string, string) }) *fleet {
	f := &fleet{Device: New("vcenter.dc1", owner, claim.Holder{Who: "ann@ws", Machine: "m1", PID: 7, Started: "1"}, login)}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, x := range things {
		id, r := f.Resource(x)
		item := plan.Item{ID: id, Resource: r}
		if id.Kind != SwitchKind {
			item.Needs = []plan.ID{{Device: "vcenter.dc1", Kind: SwitchKind, Name: at}}
		}
		f.items = append(f.items, item)
	}
	return f
}

// make plans.
func (f *fleet) make(t *testing.T) (*plan.Plan, plan.Input) {
	t.Helper()
	in := plan.Input{Owner: f.owner, Items: f.items, Devices: map[string]plan.Device{"vcenter.dc1": f.Device}, Roster: []plan.Member{}, Parallelism: 1}
	p, err := plan.Make(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p, in
}

// apply carries out what is planned, and returns the steps.
func (f *fleet) apply(t *testing.T) (lines []string) {
	t.Helper()
	p, in := f.make(t)
	for _, s := range p.Steps {
		lines = append(lines, s.Send...)
	}
	if len(p.Refusals) > 0 {
		t.Fatalf("refused: %+v", p.Refusals)
	}
	res, err := plan.Apply(context.Background(), p, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range res.Devices {
		if d.Err != nil {
			t.Fatal(d.Err)
		}
	}
	if again, _ := f.make(t); len(again.Steps) > 0 || len(again.Refusals) > 0 {
		t.Fatalf("the next plan: %+v %+v", again.Steps, again.Refusals)
	}
	return lines
}

func all(mtu, vlan int) []interface{ key() (string, string) } {
	return []interface{ key() (string, string) }{&Switch{at, mtu}, &Group{at, "weft-rdma-storage", vlan},
		&Member{at, "esx1.example.net", "0000:41:00.0"}, &Member{at, "ESX2.example.net", "0000:41:00.0"}}
}

// A switch is made, changed and taken away again, with all that is on it.
func TestSwitch(t *testing.T) {
	login := start(t)
	made := declare(t, login, "o", all(9000, 0)...).apply(t)
	for i, want := range []string{"CreateDVS_Task in DC0/network: name=\"weft-rdma\" maxMtu=9000", "AddDVPortgroup_Task of " + at + ": name=\"weft-rdma-storage\" vlanId=0",
		"ReconfigureDvs_Task of " + at + ": host add esx1.example.net pnicDevice=vmnic1", "ReconfigureDvs_Task of " + at + ": host add esx2.example.net pnicDevice=vmnic1"} {
		if i >= len(made) || made[i] != want {
			t.Fatalf("%q, want %q in place %d", made, want, i)
		}
	}
	if changed := declare(t, login, "o", all(4200, 7)...).apply(t); len(changed) != 2 || !strings.HasSuffix(changed[0], "maxMtu=4200") || !strings.HasSuffix(changed[1], "vlanId=7") {
		t.Errorf("%q", changed)
	}
	// One host leaves.
	if gone := declare(t, login, "o", all(4200, 7)[:3]...).apply(t); len(gone) != 1 || !strings.HasSuffix(gone[0], "host remove esx2.example.net") {
		t.Errorf("%q", gone)
	}
	gone := declare(t, login, "o").apply(t)
	if len(gone) != 3 || gone[2] != "Destroy_Task of "+at {
		t.Errorf("%q", gone)
	}
}

// What others have made is theirs.
func TestForeign(t *testing.T) {
	login := start(t)
	declare(t, login, "other", all(9000, 0)[:3]...).apply(t)
	p, _ := declare(t, login, "o", all(9000, 0)[:2]...).make(t)
	if len(p.Refusals) != 2 || !strings.Contains(fmt.Sprint(p.Refusals), "belongs to the owner other") {
		t.Errorf("%+v", p.Refusals)
	}
	// Nothing of it is pruned, and a NIC is not taken from it.
	if lines := declare(t, login, "o").apply(t); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
	for _, test := range []struct {
		member Member
		want   string
	}{
		{Member{at, "esx3.example.net", "0000:41:00.0"}, "vCenter has no host esx3.example.net"},
		{Member{at, "esx2.example.net", "0000:99:00.0"}, "has no NIC at PCI address 0000:99:00.0"},
		{Member{at, "esx2.example.net", "0000:01:00.0"}, "vmnic0 (0000:01:00.0) of esx2.example.net is an uplink of vSwitch0 already"},
		{Member{at, "esx1.example.net", "0000:01:00.0"}, "is a member with vmnic1, and its uplink is to be vmnic0"},
	} {
		p, _ := declare(t, login, "other", append(all(9000, 0)[:2], &test.member)...).make(t)
		if !strings.Contains(fmt.Sprint(p.Refusals), test.want) {
			t.Errorf("%+v, want %q", p.Refusals, test.want)
		}
	}
}

// What was begun and fails is undone.
func TestAbort(t *testing.T) {
	login := start(t)
	f := declare(t, login, "o", all(9000, 0)[:2]...)
	p, in := f.make(t)
	// Somebody takes the name of the port group meanwhile: no plan knows that.
	c, err := login.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := simvcenter.Datacenter + "/network/other"
	for _, o := range []op{createSwitch(other, 1500, "x"), createGroup(other, "weft-rdma-storage", 0, "x")} {
		if err := o.do(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	res, err := plan.Apply(context.Background(), p, in)
	if err == nil && len(res.Devices) == 1 {
		err = res.Devices[0].Err
	}
	var no *plan.RefusedError
	if !errors.As(err, &no) || !strings.Contains(no.Reply, "DuplicateName") {
		t.Errorf("%v", err)
	}
	r, err := c.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.switches[at] != nil || r.switches[other] == nil {
		t.Errorf("what was begun is still there: %+v", r.switches)
	}
	if err := c.end(t.Context()); err != nil {
		t.Error(err)
	}
}

// What somebody else makes between plan and apply is not undone with it.
func TestMeanwhile(t *testing.T) {
	login := start(t)
	f := declare(t, login, "o", all(9000, 0)[:1]...)
	p, in := f.make(t)
	c, err := login.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Past the plan that apply makes again: the device itself has to see it.
	if _, err := f.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps := []plan.Step{{ID: p.Steps[0].ID, Resource: in.Items[0].Resource, Have: f.state()}}
	if err := f.Begin(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	if err := createSwitch(at, 1500, "x").do(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := f.Apply(t.Context(), steps[0]); err == nil {
		t.Error("a second switch of that name was made")
	}
	if err := f.Abort(t.Context()); err == nil || !strings.Contains(err.Error(), "is not as it was before") {
		t.Errorf("the undo says %v", err)
	}
	for _, o := range []op{destroySwitch(at, "o"), removeMember(at, "esx1.example.net", "o")} {
		if err := o.do(t.Context(), c); err == nil {
			t.Errorf("%s: it takes away what is not ours", o.text)
		}
	}
	if d, err := c.find(t.Context(), at); err != nil || d.note.owner != "x" {
		t.Errorf("the other owner's switch: %+v, %v", d, err)
	}
	if err := c.end(t.Context()); err != nil {
		t.Error(err)
	}
}

// Who is not let in, and who is not trusted, is said with what to do.
func TestLogin(t *testing.T) {
	login := start(t)
	for _, test := range []struct {
		name       string
		is         func(*Login)
		want, hint string
	}{
		{"a wrong password", func(l *Login) { l.Password = func() (string, error) { return "x", nil } }, "does not let weft@vsphere.local in", "administrator@vsphere.local"},
		{"whose", func(l *Login) {
			l.From, l.Password = "credential.vc (main.weft.hcl:3)", func() (string, error) { return "x", nil }
		}, "(InvalidLogin)", "are user and password those of credential.vc (main.weft.hcl:3)?"},
		{"another certificate", func(l *Login) { l.SHA256 = strings.Repeat("0a", 32) }, "another certificate: its SHA-256 is " + login.SHA256, "renewed on purpose"},
		{"an unknown authority", func(l *Login) { l.SHA256 = "" }, "certificate", login.SHA256},
		{"nobody there", func(l *Login) { l.Port = 1 }, "port 1", ""},
		{"closed", func(l *Login) { l.Refused = errors.New("not simulated") }, "not simulated", ""},
	} {
		l := login
		test.is(&l)
		_, err := l.connect(t.Context())
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(hint.Of(err), test.hint) {
			t.Errorf("%s: %v (%s)", test.name, err, hint.Of(err))
		}
	}
}

// Names may have spaces and dots, of switches, port groups and machines.
func TestNamesWithSpacesAndDots(t *testing.T) {
	const path, group, machine = simvcenter.Datacenter + "/network/Weft RDMA v1.0", "Weft RDMA v1.0-storage a", simvcenter.Datacenter + "/vm/hpc 1.lab"
	login := machines(t, simvcenter.VM{Path: machine, Host: "esx1.example.net"}, simvcenter.VM{Path: simvcenter.Datacenter + "/vm/hpc 2.lab", Host: "esx2.example.net"})
	a := adapterOf(1, "rocev1")
	a.VM, a.Name, a.Switch, a.Group, a.Peers = machine, "eth1", path, group, []string{simvcenter.Datacenter + "/vm/hpc 2.lab"}
	things := []interface{ key() (string, string) }{&Switch{path, 9000}, &Group{path, group, 0}, &Member{path, "esx1.example.net", "0000:41:00.0"}, &Member{path, "esx2.example.net", "0000:41:00.0"}, a}
	f := declare(t, login, "o", things...)
	for i := range f.items {
		if f.items[i].Needs != nil {
			f.items[i].Needs[0].Name = path
		}
	}
	made := f.apply(t) // and plans again, which is to be empty
	if last := made[len(made)-1]; !strings.HasPrefix(last, "ReconfigVM_Task of "+machine+": add VirtualVmxnet3Vrdma portgroup=") {
		t.Errorf("%q", made)
	}
	if gone := declare(t, login, "o").apply(t); len(gone) != len(made) {
		t.Errorf("it leaves something: %q, of %q", gone, made)
	}
}
