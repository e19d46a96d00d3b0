package vcenter

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"weft/plan"
)

func vmk1(address string, mtu int) *VMKernel {
	return &VMKernel{Host: "esx1.example.net", ID: "vmk1", Switch: at, Group: "weft-rdma-storage", Address: netip.MustParsePrefix(address), MTU: mtu}
}

func declareVMK(t *testing.T, login Login, owner string, w *VMKernel) *fleet {
	f := declare(t, login, owner, &Switch{Path: at, MTU: 9000}, &Group{Switch: at, Name: "weft-rdma-storage"}, &Member{Switch: at, Host: "esx1.example.net", PCI: "0000:41:00.0"})
	if w != nil {
		id, r := f.Resource(w)
		f.items = append(f.items, plan.Item{ID: id, Resource: r, Needs: []plan.ID{f.items[1].ID, f.items[2].ID}})
	}
	return f
}

// A port of the VMkernel is made, changed, and goes before what it is on.
func TestVMKernel(t *testing.T) {
	login := start(t)
	f := declareVMK(t, login, "o", vmk1("10.50.1.21/24", 9000))
	f.apply(t)
	if p, _ := f.make(t); len(p.Steps) > 0 || len(p.Refusals) > 0 {
		t.Fatalf("applied, and still: %+v %+v", p.Steps, p.Refusals)
	}
	f = declareVMK(t, login, "o", vmk1("10.50.1.31/24", 4200))
	if lines := f.apply(t); len(lines) != 1 || lines[0] != "UpdateVirtualNic of esx1.example.net: vmk1 ip=10.50.1.31/24 mtu=4200" {
		t.Errorf("changed by %q", lines)
	}
	if p, _ := f.make(t); len(p.Steps) > 0 {
		t.Fatalf("changed, and still: %+v", p.Steps)
	}
	if lines := declare(t, login, "o").apply(t); len(lines) != 4 || !strings.HasPrefix(lines[0], "RemoveVirtualNic of esx1.example.net: vmk1") {
		t.Errorf("taken away by %q", lines)
	}
}

// A name that the host does not give out, and a port of somebody else, are refused, and
// nothing of them stays.
func TestVMKernelRefused(t *testing.T) {
	login := start(t)
	w := vmk1("10.50.1.21/24", 9000)
	w.ID = "vmk7"
	p, in := declareVMK(t, login, "o", w).make(t)
	if _, err := plan.Apply(context.Background(), p, in); err == nil || !strings.Contains(err.Error(), "esx1.example.net called the new port vmk1, and the files call it vmk7") {
		t.Errorf("another name: %v", err)
	}
	h := open(t, login)
	r, err := h.read(context.Background())
	if err != nil || len(r.hosts["esx1.example.net"].ports) != 1 || len(r.hosts["esx1.example.net"].notes) != 0 {
		t.Errorf("left: %+v, %v", r.hosts["esx1.example.net"], err)
	}
	w.ID = "vmk0"
	if p, _ := declareVMK(t, login, "o", w).make(t); len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Text, "has a vmk0 already, which weft has not made") {
		t.Errorf("somebody else's: %+v", p.Refusals)
	}
}
