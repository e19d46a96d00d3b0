package arch

import (
	"os/exec"
	"strings"
	"testing"
)

// TestVCenterLibrary: one package uses the large client library of vCenter, and only weft-lab
// its larger simulator. weft and its agents link no simulator at all.
func TestVCenterLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "weft/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	const library, simulator, program = "github.com/vmware/govmomi", "weft/internal/lab/simvcenter", "weft/cmd/weft-lab"
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
		for _, dep := range strings.Fields(string(deps)) {
			if dep == library+"/simulator" || dep == "weft/internal/lab" || strings.HasPrefix(dep, "weft/internal/lab/") {
				t.Errorf("%s links %s", weft, dep)
			}
		}
	}
}
