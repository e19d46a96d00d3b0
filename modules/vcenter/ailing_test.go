package vcenter

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/lab/simvcenter"
	"weft/modules/claim"
	"weft/plan"
)

// A task that never ends is given up, named, and where it can be looked at is said.
func TestTaskWithoutEnd(t *testing.T) {
	login := startVSAN(t, simvcenter.Spec{User: "weft@vsphere.local", Password: "p", Stuck: true})
	login.Task, login.Answer = time.Second, 300*time.Millisecond // a task may take longer than an answer
	p, in := declare(t, login, "o", &Switch{at, 9000}).make(t)
	_, err := plan.Apply(context.Background(), p, in)
	if err == nil || !strings.Contains(err.Error(), "CreateDVS_Task in DC0/network") || !strings.Contains(err.Error(), "the task task-stuck is not done after 1s") {
		t.Fatalf("it says %v", err)
	}
	if advice := hint.Of(err); !strings.Contains(advice, "Recent Tasks") {
		t.Errorf("advice: %q", advice)
	}
}

// A vCenter that starts anew while a host is empty knows no session of before, and one that
// is away is back later: the host is filled then.
func TestStartsAnew(t *testing.T) {
	const host = "esx1.example.net"
	spec := ready()
	s, err := simvcenter.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	d := New("vcenter.dc1", "o", claim.Holder{}, Login{Host: s.Host, Port: s.Port, SHA256: s.SHA256, User: spec.User, Password: func() (string, error) { return spec.Password, nil }, Settle: time.Millisecond})
	t.Cleanup(func() { _ = d.Close() })
	if _, err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Empty(t.Context(), host, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"reboot", "refuse"} {
		if err := s.Fault(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Fill(t.Context(), host); err == nil {
		t.Error("it was asked, and is away")
	}
	if _, err := d.Open(t.Context()); err == nil {
		t.Error("it answers, and is away")
	}
	if err := s.Fault("accept"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Fill(t.Context(), host); err != nil {
		t.Error(err)
	}
	if err := s.Fault("reboot"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context()); err != nil {
		t.Errorf("without being away: %v", err)
	}
}

// A host profile that may own what weft sets is named, with its hosts that weft has to do
// with.
func TestHostProfile(t *testing.T) {
	spec := simvcenter.Spec{User: "weft@vsphere.local", Password: "p"}
	for _, name := range []string{"esx1.example.net", "esx2.example.net", "esx3.example.net"} {
		spec.Hosts = append(spec.Hosts, simvcenter.Host{Name: name, NICs: []string{"0000:41:00.0"}, Profile: map[string]string{"esx1.example.net": "gold", "esx3.example.net": "gold"}[name]})
	}
	p, _ := declare(t, startVSAN(t, spec), "o", all(9000, 0)...).make(t)
	if got := p.Devices[0].Identity.Warnings; len(got) != 1 || !strings.HasPrefix(got[0], "esx1.example.net has the host profile gold: ") {
		t.Errorf("warnings: %q", got)
	}
}

// A vCenter says what it has, and how what weft keeps there is: members with their uplinks,
// and hosts with a profile.
func TestFactsAndHealth(t *testing.T) {
	const pci = "0000:41:00.0"
	spec := simvcenter.Spec{User: "weft@vsphere.local", Password: "p"}
	for _, name := range []string{"esx1.example.net", "esx2.example.net"} {
		spec.Hosts = append(spec.Hosts, simvcenter.Host{Name: name, NICs: []string{pci}, RDMA: []string{pci}, Profile: map[string]string{"esx1.example.net": "gold"}[name]})
	}
	login := startVSAN(t, spec)
	declare(t, login, "o", all(9000, 0)[:3]...).apply(t) // without the second host
	things := append(all(9000, 0), &Member{at, "esx9.example.net", pci}, &Member{at, "esx1.example.net", "0000:99:00.0"}, &Member{at + "-other", "esx1.example.net", pci})
	f := declare(t, login, "o", things...)
	facts, err := f.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(facts.Hosts) != 2 || facts.Serial == "" || len(facts.Warnings) != 1 {
		t.Fatalf("facts: %+v", facts)
	}
	want := []NICFacts{{Name: "vmnic0", PCI: "0000:01:00.0", Uplink: "vSwitch0"}, {Name: "vmnic1", PCI: pci, RDMA: true, Uplink: at}}
	if h := facts.Hosts[0]; h.Name != "esx1.example.net" || h.Release != "8.0.2" || !slices.Equal(h.NICs, want) {
		t.Errorf("of a host: %+v", h)
	}
	health, err := f.Health(t.Context())
	if err != nil || health.Silent != nil || health.Blind != nil || len(health.Profiled) != 1 {
		t.Fatalf("health: %+v, %v", health, err)
	}
	var wrong []string
	for _, m := range health.Members {
		wrong = append(wrong, m.Wrong)
	}
	says := []string{"", "it is no member", "vCenter has no such host", "it has no NIC at PCI address 0000:99:00.0", "there is no such switch"}
	if !slices.Equal(wrong, says) {
		t.Errorf("members: %q, want %q", wrong, says)
	}
}
