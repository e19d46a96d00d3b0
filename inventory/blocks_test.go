package inventory

import (
	"strings"
	"testing"
)

func TestRemoved(t *testing.T) {
	m := mustLoad(t, `weft {`, `removed {
  from = switch.leaf-old
  mode = "prune"
}
removed {
  from = server.compute["gone"]
  mode = "forget"
}
removed {
  from = module.row[1].server.node["st1"]
  mode = "forget"
}
removed {
  from = pool.old
  mode = "prune"
}
weft {`)
	var from []string
	for _, r := range m.Removed {
		from = append(from, r.From+" "+r.Mode)
	}
	sameList(t, "removed", from, []string{"switch.leaf-old prune", `server.compute["gone"] forget`, `module.row[1].server.node["st1"] forget`, "pool.old prune"})
	same(t, "range", m.Removed[0].Range.Start.Line, 2)

	m, diags := inModules("\nmodule \"m\" { source = \"./m\" }\n", map[string]string{"m/a.weft.hcl": "removed {\n from = server.s\n mode = \"prune\"\n}\n"})
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	same(t, "in a module", m.Removed[0].From, "module.m.server.s")
}

func TestProtectAndIgnoreDrift(t *testing.T) {
	m := mustLoad(t,
		`pool = pool.flash`, "protect = 1 < 2\n  ignore_drift = [size, \"mirror\"]\n  pool = pool.flash",
		`  host   = "leaf.example.net"`, "  host = \"leaf.example.net\"\n  ignore_drift = [host, safety.save]",
		`  transport = "rocev2"`, "  transport = \"rocev2\"\n  ignore_drift = [traffic_class.rdma.dscp, traffic_class[\"cnp\"].ecn.min, pfc_watchdog]")
	same(t, "protected", m.Volumes[0].Protect, true)
	same(t, "not protected", m.Pools[0].Protect, false)
	sameList(t, "texts and names", m.Volumes[0].IgnoreDrift, []string{"size", "mirror"})
	sameList(t, "nested", m.Switches[0].IgnoreDrift, []string{"host", "safety.save"})
	sameList(t, "with labels", m.Fabrics[0].IgnoreDrift, []string{"traffic_class.rdma.dscp", "traffic_class.cnp.ecn.min", "pfc_watchdog"})
}

func blockMistakes() []mistake {
	removed := func(from string) []string {
		return []string{`weft {`, "removed {\n  from = " + from + "\n  mode = \"prune\"\n}\nweft {"}
	}
	drift := func(list string) []string {
		return []string{`pool = pool.flash`, "ignore_drift = " + list + "\n  pool = pool.flash"}
	}
	return []mistake{
		{"removed without from", []string{`weft {`, "removed {\n mode = \"prune\"\n}\nweft {"}, codeMissing, `removed {`, "lacks from"},
		{"removed mode", []string{`weft {`, "removed {\n  from = switch.x\n  mode = \"prun\"\n}\nweft {"}, codeValue, `mode = "prun"`, `Did you mean "prune"?`},
		{"removed and declared", removed(`switch.leaf`), codeTwice, `from = switch.leaf`, "switch.leaf stands at main.weft.hcl:"},
		{"removed instance", removed(`server.compute["a"]`), codeTwice, `from = server.compute["a"]`, "enabled = false"},
		{"all instances removed", removed(`server.compute`), codeTwice, `from = server.compute`, "stands at"},
		{"removed twice", append(removed(`switch.x`), `connection "default"`, "removed {\n  from = switch.x # again\n  mode = \"forget\"\n}\nconnection \"default\""), codeTwice, `# again`, "first one"},
		{"removed text", removed(`"switch.x"`), codeReference, `from = "switch.x"`, "without quotes"},
		{"removed call", removed(`switch[local.x]`), codeReference, `from = switch[`, "written out"},
		{"removed type", removed(`swtch.x`), codeReference, `from = swtch.x`, `Did you mean "switch"?`},
		{"removed part", removed(`server.x.rnic.p0`), codeReference, `from = server.x.rnic.p0`, "as a whole"},
		{"removed alone", removed(`server`), codeReference, `from = server`, "name must follow"},

		{"protect", []string{`pool = pool.flash`, "protect = \"yes\"\n  pool = pool.flash"}, codeType, `protect = "yes"`, "true or false"},
		{"drift typo", drift(`[siez]`), codeAttribute, `[siez]`, `Did you mean "size"?`},
		{"drift of how", drift(`[count]`), codeAttribute, `[count]`, "can drift"},
		{"drift list", drift(`size`), codeType, `ignore_drift = size`, "list of names"},
		{"drift twice", drift(`[size, size]`), codeTwice, `[size, size]`, "already"},
		{"drift too long", drift(`[size.x]`), codeAttribute, `[size.x]`, "nothing follows"},
		{"drift computed", drift(`[upper("size")]`), codeType, `[upper(`, "as it is written"},
	}
}

func TestBlockMistakes(t *testing.T) {
	for _, m := range blockMistakes() {
		t.Run(m.name, func(t *testing.T) {
			model, diags := loadText(edited(t, m.edits...), Options{})
			d := find(model, diags, m.code, m.at)
			if d == nil {
				t.Fatalf("no %s at %q:\n%s", m.code, m.at, diagText(model, diags))
			}
			if !strings.Contains(d.Summary+" "+d.Detail, m.says) {
				t.Errorf("%q is not in %s\n%s", m.says, d.Summary, d.Detail)
			}
		})
	}
}
