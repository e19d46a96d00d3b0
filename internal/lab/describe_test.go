//go:build unix

package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weft/internal/lab/simwindows"
	"weft/internal/labctl"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules"
)

// TestDescribe holds that a lab gets to know, as JSON, all of a model that it simulates: the
// devices of each example are the same as those of its own model.
func TestDescribe(t *testing.T) {
	dirs, err := filepath.Glob("../../examples/*/*.weft.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	systems := map[string]bool{}
	for _, dir := range slices.Compact(dirs) {
		o := language.Options{Blocks: modules.Blocks()}
		if text, err := os.ReadFile(filepath.Join(dir, "lab.weftvars")); err == nil {
			o.VarFiles = []language.VarFile{{Name: "lab.weftvars", Content: text}}
		}
		m, diags := language.Load(os.DirFS(dir), o)
		if diags.HasErrors() {
			t.Fatalf("%s: %v", dir, diags)
		}
		for _, s := range m.Servers {
			systems[s.OS] = true
		}
		text, err := json.Marshal(labctl.Describe(m))
		if err != nil {
			t.Fatal(err)
		}
		var described labctl.Devices
		if err := json.Unmarshal(text, &described); err != nil {
			t.Fatal(err)
		}
		want, guests := made(t, m)
		got, its := made(t, described.Model())
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: as described\n%+v\nwant\n%+v", dir, got, want)
		}
		if !reflect.DeepEqual(its, guests) {
			t.Errorf("%s: guests as described\n%+v\nwant\n%+v", dir, its, guests)
		}
	}
	if len(systems) != 3 {
		t.Errorf("the examples have servers with %v", systems)
	}
}

// made is the twin of a model, and the guests of it.
func made(t *testing.T, m *inventory.Model) (*twin, any) {
	t.Helper()
	tw, err := newTwin(m)
	if err != nil {
		t.Fatal(err)
	}
	guests, err := guestSpecs(m, tw)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tw.servers {
		tw.servers[i].of = nil // the model's
	}
	return tw, guests
}

// TestFaultsOfHelp: help names each fault of a Windows host.
func TestFaultsOfHelp(t *testing.T) {
	help := strings.Join(labctl.Faults(), "\n")
	if want := strings.Join(simwindows.Faults(), ", ") + "  of a Windows host"; !strings.Contains(help, want) {
		t.Errorf("no %q in\n%s", want, help)
	}
}
