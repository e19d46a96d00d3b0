//go:build unix

package windows

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/lab/simwindows"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/windows/powershell"
	"weft/plan"
)

// A part is a resource whatever its kind is.
type part struct {
	name  string
	looks []remote.Look
	read  func(remote.Seen) error     // what is there
	diff  func() []plan.Change        // from it to what is wanted
	there func() []remote.Step        // the way there
	back  func() func() []remote.Step // the way back from what is wanted to what is there now
}

func partOf[T any](k *host.Kind[T], want *T) *part {
	var have *T
	return &part{
		name: k.Name, looks: k.Looks(want),
		read:  func(s remote.Seen) (err error) { have, err = k.Parse(want, s); return err },
		diff:  func() []plan.Change { return k.Diff(want, have) },
		there: func() []remote.Step { return k.Steps(want, have) },
		back:  func() func() []remote.Step { was := have; return func() []remote.Step { return k.Steps(was, want) } },
	}
}

const nicA, nicB = "0000:3b:00.0", "0000:3b:00.1"

// roceParts are what a host with two NICs in a fabric of RDMA is to have.
func roceParts() []*part {
	const prefix = "WEFT-o-roce-"
	list := []*part{partOf(FeatureKind(), &Feature{Name: "Data-Center-Bridging"}),
		partOf(DCBKind(), &DCB{Lossless: []int{3}, Prefix: prefix, Classes: []Class{{prefix + "cnp", 6, 0}, {prefix + "rdma", 3, 50}}}),
		partOf(PolicyKind(), &Policy{Name: prefix + "smb", Port: 445, Priority: 3}),
		partOf(SMBKind(), &SMB{true, true})}
	for _, pci := range []string{nicA, nicB} {
		list = append(list, partOf(AdapterKind(), &Adapter{PCI: pci, Values: map[string]string{kwJumbo: "9014", kwVLAN: "711", kwTag: "3", kwPause: "0", kwRSS: "1", kwTechnology: "4", kwRDMA: "1"}}),
			partOf(AdapterQoSKind(), &AdapterQoS{PCI: pci, Enabled: true, Lossless: []int{3}, Shares: map[int]string{3: "50%", 6: "strict"}, Port: 445, Priority: 3}))
	}
	return list
}

// read reads all of them, and says what differs.
func read(t *testing.T, way transport, parts []*part) (changes []string) {
	t.Helper()
	var looks []remote.Look
	for _, p := range parts {
		looks = append(looks, p.looks...)
	}
	seen, err := way.Read(t.Context(), looks)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := p.read(seen); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		for _, c := range p.diff() {
			changes = append(changes, fmt.Sprintf("%s.%s %s → %s", p.name, c.Path, c.Before, c.After))
		}
	}
	return changes
}

func doAll(t *testing.T, way transport, steps []remote.Step) {
	t.Helper()
	for _, s := range steps {
		if err := way.Do(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// All of RDMA on a host: what is sent leads there, each NIC restarts once, and the way back
// leads back.
func TestRoCE(t *testing.T) {
	b := newBox(t, simwindows.NIC{PCI: nicA, RDMA: true}, simwindows.NIC{PCI: nicB, RDMA: true})
	log := &logged{box: b}
	way := transport{Host: log}
	if err := b.Fault("one-channel"); err != nil {
		t.Fatal(err)
	}
	doAll(t, way, []remote.Step{host.Run("Disable-NetAdapterRdma", "-Name", nicName(nicA), "-Confirm:$false")})
	parts := roceParts()
	before := read(t, way, parts)
	restarts := b.Restarts(nicA)
	var back [][]remote.Step
	for _, p := range parts {
		was := p.back()
		doAll(t, way, p.there())
		back = append(back, was())
	}
	if left := read(t, way, parts); len(left) > 0 {
		t.Errorf("after all steps: %s", strings.Join(left, "; "))
	}
	if n := b.Restarts(nicA) - restarts; n != 1 || b.Restarts(nicB) != 1 {
		t.Errorf("the adapters restart %d and %d times, want once", n, b.Restarts(nicB))
	}
	for _, steps := range slices.Backward(back) {
		doAll(t, way, steps)
	}
	if after := read(t, way, parts); !slices.Equal(after, before) {
		t.Errorf("before:\n%s\nback:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	for _, s := range log.scripts {
		if err := powershell.Check(s); err != nil {
			t.Errorf("%v in\n%s", err, s)
		}
	}
}

// A class that Windows did not send, and a DCBX that is willing, are found by reading what
// the NIC does; what is configured is as wanted.
func TestNotSent(t *testing.T) {
	for fault, want := range map[string]string{
		"few-classes": "adapter_qos.class.3 none of its own → 50%",
		"willing":     "adapter_qos.pfc none → 3",
	} {
		b := newBox(t, simwindows.NIC{PCI: nicA, RDMA: true}, simwindows.NIC{PCI: nicB, RDMA: true})
		way := b.transport()
		parts := roceParts()
		read(t, way, parts)
		for _, p := range parts {
			doAll(t, way, p.there())
		}
		if fault == "willing" {
			doAll(t, way, []remote.Step{host.Run("Set-NetQosDcbxSetting", "-Willing", "true", "-Confirm:$false")})
		} else if err := b.Fault(fault); err != nil {
			t.Fatal(err)
		}
		if got := read(t, way, parts); !slices.Contains(got, want) {
			t.Errorf("%s: %s", fault, strings.Join(got, "; "))
		}
	}
}
