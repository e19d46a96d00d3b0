package discover

import (
	"maps"
	"strings"
	"testing"

	"weft/inventory"
)

// Discovered blocks never refer to a fabric, switch or credential inside a module, because a
// reference from outside a module is not valid.
func TestBesideModule(t *testing.T) {
	first, err := rack(2, 4).Discover(t.Context(), judged(t, nil))
	if err != nil || first.Failed != nil {
		t.Fatalf("%+v %v", first, err)
	}
	files := map[string][]byte{}
	for name, text := range first.Files {
		if head, rest, ok := strings.Cut(string(text), "\nweft {"); ok {
			body, after, _ := strings.Cut(rest, "\n}\n")
			files["weft.weft.hcl"] = []byte("weft {" + body + "\n}\nmodule \"m\" { source = \"./m\" }\n")
			text = []byte(head + after)
		}
		if strings.HasSuffix(name, ".hcl") {
			files["m/"+name] = text
		}
	}
	if files["weft.weft.hcl"] == nil {
		t.Fatalf("no weft block in %v", maps.Keys(first.Files))
	}
	again := rack(2, 5)
	r, err := again.Discover(t.Context(), beside(t, files, nil))
	if err != nil || r.Failed != nil {
		t.Fatalf("%v: %+v", err, r.Failed)
	}
	text := string(r.Files[AdditionsFile])
	if !strings.Contains(text, `server "`) || strings.Contains(text, "fabric.") || strings.Contains(text, "credential.module") {
		t.Errorf("beside a module it writes\n%s", text)
	}
	told := false
	for _, f := range r.Findings {
		told = told || strings.Contains(f.Text, "is in a module and cannot be referenced")
	}
	if !told {
		t.Errorf("nobody is told of the fabric: %+v", r.Findings)
	}
}

// Two vCenters may have a virtual machine at the same path: the adapters of a block tell which
// vCenter it is of.
func TestStandingVM(t *testing.T) {
	one, two := &inventory.VCenter{}, &inventory.VCenter{}
	of := func(v *inventory.VCenter) *inventory.VM {
		return &inventory.VM{Path: "dc/vm/hpc1", Adapters: []*inventory.PVRDMA{{PortGroup: &inventory.DVPortGroup{Switch: &inventory.DVSwitch{VCenter: v}}}}}
	}
	first, second := of(one), of(two)
	d := &draft{base: &inventory.Model{VMs: []*inventory.VM{first, second}}}
	if d.standingVM(&center{declared: one}, "dc/vm/hpc1") != first || d.standingVM(&center{declared: two}, "dc/vm/hpc1") != second {
		t.Error("the path of one vCenter finds the machine of the other")
	}
	if d.standingVM(&center{}, "dc/vm/hpc1") != nil {
		t.Error("a vCenter that stands in no files has a machine in them")
	}
}
