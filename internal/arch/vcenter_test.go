package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestVCenterLibrary: what speaks to vCenter is large, and stands in one package; what
// simulates it is larger, and in a program of its own.
func TestVCenterLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "weft/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	const library, simulator, program = "github.com/vmware/govmomi", "weft/internal/lab/simvcenter", "weft/cmd/weft-lab-vcenter"
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		for _, imp := range f[1:] {
			if strings.HasPrefix(imp, library) && f[0] != "weft/modules/vcenter" && f[0] != simulator || imp == simulator && f[0] != program {
				t.Errorf("%s imports %s", f[0], imp)
			}
		}
	}
	for _, weft := range []string{"weft/cmd/weft", "weft/cmd/weft-target", "weft/cmd/weft-initiator"} {
		deps, err := exec.Command("go", "list", "-deps", weft).Output()
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(strings.Fields(string(deps)), library+"/simulator") {
			t.Errorf("%s links the simulator", weft)
		}
	}
}
