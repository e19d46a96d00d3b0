package modules

import (
	"strings"
	"testing"
	"testing/fstest"

	"weft/inventory"
	"weft/inventory/language"
)

// What the language describes and no kind keeps is refused with its place.
func TestNotYetManaged(t *testing.T) {
	text := `
weft { name = "pod" }
removed {
  from = switch.old
  mode = "prune"
}
server "s" {
  host         = "s"
  ignore_drift = [host]
}
`
	m, diags := language.Load(fstest.MapFS{"a.weft.hcl": {Data: []byte(text)}}, language.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	_, diags = Expand(m, offline(t))
	var all []string
	for _, d := range diags {
		line := strings.TrimSpace(strings.Split(text, "\n")[d.Subject.Start.Line-1])
		all = append(all, line+" | "+d.Summary+" | "+d.Detail)
	}
	for _, want := range []string{
		`ignore_drift = [host] | WF-PLAN-001: described, not yet managed | server.s: ignore_drift of host`,
	} {
		if !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(all, "\n"))
		}
	}
	if len(diags) != 1 {
		t.Errorf("%d problems:\n%s", len(diags), strings.Join(all, "\n"))
	}
}

func TestNamesInModules(t *testing.T) {
	for addr, want := range map[string][2]string{
		`pool.flash`:                                      {"pool.flash", "flash"},
		`pool.flash["st1"]`:                               {"pool.flash", "flash"},
		`module.x.pool.flash["a"]`:                        {"module.x.pool.flash", "x.flash"},
		`module.x["k"].pool.flash`:                        {`module.x["k"].pool.flash`, "x[k].flash"},
		`module.x["../k"].module.y[3].volume.fast["a.b"]`: {`module.x["../k"].module.y[3].volume.fast`, "x[..%2Fk].y[3].fast"},
	} {
		if b, l := inventory.BlockOf(addr), inventory.LabelOf(addr); b != want[0] || l != want[1] {
			t.Errorf("%s is %q, %q", addr, b, l)
		}
	}
}
