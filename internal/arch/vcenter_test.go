package arch

import (
	"os/exec"
	"strings"
	"testing"
)

// TestVCenterLibrary: what speaks to vCenter is large, and stands in one package; what
// simulates it is in no program.
func TestVCenterLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "weft/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	const library, simulator = "github.com/vmware/govmomi", "weft/internal/lab/simvcenter"
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		for _, imp := range f[1:] {
			if strings.HasPrefix(imp, library) && f[0] != "weft/modules/vcenter" && f[0] != simulator || imp == simulator {
				t.Errorf("%s imports %s", f[0], imp)
			}
		}
	}
}
