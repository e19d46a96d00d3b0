package vcenter

import (
	"context"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/lab/simvcenter"
	"weft/plan"
)

// A task that never ends is given up, named, and where it can be looked at is said.
func TestTaskWithoutEnd(t *testing.T) {
	login := startVSAN(t, simvcenter.Spec{User: "weft@vsphere.local", Password: "p", Stuck: true})
	login.Task = time.Second
	p, in := declare(t, login, "o", &Switch{at, 9000}).make(t)
	_, err := plan.Apply(context.Background(), p, in)
	if err == nil || !strings.Contains(err.Error(), "CreateDVS_Task in DC0/network") || !strings.Contains(err.Error(), "the task task-stuck is not done after 1s") {
		t.Fatalf("it says %v", err)
	}
	if advice := hint.Of(err); !strings.Contains(advice, "Recent Tasks") {
		t.Errorf("advice: %q", advice)
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
