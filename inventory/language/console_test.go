package language

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"weft/inventory"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ask computes an expression and returns what is shown: the value in HCL, or
// what is wrong.
func ask(m *inventory.Model, text string) string {
	r, diags := EvaluateText(m, []byte(text), "console", hcl.InitialPos)
	if diags.HasErrors() {
		return diagText(m, diags)
	}
	return r.HCL()
}

func TestEvaluateText(t *testing.T) {
	m := loadPilot(t, Options{})
	for text, want := range map[string]string{
		`cidrhost("10.0.0.0/8", 5)`:                  `"10.0.0.5"`,
		`server.node["st1"].rnic.p0.address`:         `"10.40.1.11/24"`,
		`server.node["st1"].labels.role`:             `"storage"`,
		`[for s in values(server.node) : s.host][0]`: `"cn1.mgmt.example.net"`,
		`var.transport`:                              `["rdma"]`,
		`local.hosts.cn2.node + 1`:                   `23`,
		`initiator.nvme["cn1"].probe_nqn`:            `"nqn.2014-08.org.nvmexpress:uuid:b6a79df2-4b50-5c38-b23d-a0802d21f4a5:probe"`,
		`switch.leaf-a`:                              `switch.leaf-a`,
		`switch.leaf-a.port["Ethernet1/3"]`:          `switch.leaf-a.port["Ethernet1/3"]`,
		`target.nvme["st1"].subsystem.data`:          `target.nvme["st1"].subsystem.data`,
		`target.nvme`:                                "{\n  st1 = target.nvme[\"st1\"]\n  st2 = target.nvme[\"st2\"]\n}",
		`fabric.roce.traffic_class.rdma.ecn.max`:     `"1500KB"`,
		`link.plane-a["cn1"].from.address`:           `"10.40.1.21/24"`,
		`{ a = 1, "b c" = [true, null], long = {} }`: "{\n  a     = 1\n  \"b c\" = [true, null]\n  long  = {}\n}",
		`toset(["b", "a", "b"])`:                     `toset(["a", "b"])`,
		`"two\nlines $${x}"`:                         `"two\nlines $${x}"`,
		`1 / 4`:                                      `0.25`,
		`[1 / 0, -1 / 0]`:                            `[1 / 0, -1 / 0]`,
		`null`:                                       `null`,
		`range(40)`:                                  "[\n  0,\n",
		`[[{ a = 1 }]]`:                              "[\n  [\n    {\n      a = 1\n    },\n  ],\n]",
	} {
		if got := ask(m, text); got != want && !(strings.HasSuffix(want, ",\n") && strings.HasPrefix(got, want)) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestEvaluateTextRefuses(t *testing.T) {
	m := loadPilot(t, Options{})
	for text, want := range map[string]string{
		`1 +`:                              "WF-LANG-001",
		``:                                 "WF-LANG-001",
		`a = 1`:                            "WF-LANG-001",
		`var.transprt`:                     `Did you mean "transport"`,
		`server.nod["st1"]`:                `Did you mean "node"`,
		`each.key`:                         "each without for_each",
		`initiator.nvme["cn1"].live_paths`: "WF-LANG-013",
		`credential.switch.password`:       "WF-SEC-003",
		`exec("touch", "x")`:               "exec()", // it does not run here
		`nothing(1)`:                       "WF-LANG-008",
		`cidrhost("10.0.0.0/33", 1)`:       "is not a subnet",
		strings.Repeat("(", 5000):          "WF-LANG-014",
		strings.Repeat("[", 400) + "1":     "WF-LANG-014",
		`[for i in values(initiator.nvme) : i.devices]`: "no device is read here",
	} {
		if got := ask(m, text); !strings.Contains(got, want) {
			t.Errorf("%.40s\ngot  %s\nwant %s", text, got, want)
		}
	}
	// What went wrong before does not spoil what comes after.
	same(t, "afterwards", ask(m, "1 + 1"), "2")
}

func TestEvaluateTextHides(t *testing.T) {
	m, diags := loadText(edited(t)+`
variable "pin" {
  type      = string
  sensitive = true
}`, Options{Vars: []string{"pin=geheim"}})
	if diags.HasErrors() {
		t.Fatal(diagText(m, diags))
	}
	for text, want := range map[string]string{
		`var.pin`:                            hidden,
		`"x${var.pin}"`:                      hidden,
		`[1, var.pin]`:                       "[1, (sensitive)]",
		`{ a = var.pin }`:                    "{\n  a = (sensitive)\n}",
		`length(var.pin)`:                    hidden,
		`var.pin == "geheim" ? "yes" : "no"`: hidden,
		`[for c in split("h", var.pin) : c]`: hidden,
	} {
		same(t, text, ask(m, text), want)
	}
	for _, text := range []string{
		`tonumber(var.pin)`, `var.pin + 1`, `{ a = 1 }[var.pin]`, `{ a = 1 }.a[var.pin]`, `server.nothing[var.pin]`,
		`file(var.pin)`, `templatefile(var.pin, {})`, `env(var.pin)`, `regex("[", var.pin)`, `cidrhost(var.pin, 1)`,
		`parseint(var.pin, 10)`, `{ (var.pin) = 1 }`, `{ for x in [1, 2] : var.pin => x }`, `var.pin ? 1 : 2`, `range(var.pin)`,
		`try(tonumber(var.pin))`, `jsondecode(var.pin)`, `!var.pin`, `var.pin.x`, `var.pin[0]`, `uuidv5(var.pin, "a")`,
		`toset([var.pin])`, `{ a = var.pin }.b`, `zipmap([var.pin], [1])`, `format(var.pin, 1)`, `format("%d", var.pin)`,
	} {
		r, diags := EvaluateText(m, []byte(text), "console", hcl.InitialPos)
		if got := diagText(m, diags); strings.Contains(got, "geheim") {
			t.Errorf("%s shows it:\n%s", text, got)
		}
		if diags.HasErrors() {
			continue
		}
		if got := r.HCL(); strings.Contains(got, "geheim") {
			t.Errorf("%s shows it: %s", text, got)
		}
		if got, err := json.Marshal(r); err != nil || strings.Contains(string(got), "geheim") {
			t.Errorf("%s shows it: %s %v", text, got, err)
		}
	}
}

func TestEvaluateTextAsJSON(t *testing.T) {
	m := loadPilot(t, Options{})
	r, diags := EvaluateText(m, []byte(`{ t = toset(["<a>"]), n = 1e3, x = null, r = pool.flash["st1"], l = [], b = true, h = 0.5, z = 1 / 0 }`), "console", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diagText(m, diags))
	}
	got, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "JSON", string(got), `{"b":true,"h":0.5,"l":[],"n":1000,"r":"pool.flash[\"st1\"]","t":["<a>"],"x":null,"z":"+Inf"}`)
}

func TestEvaluateTextOfDisabledBlocks(t *testing.T) {
	m := loadExample(t, "pod64")
	same(t, "a chosen group", ask(m, `[for t in initiator.nvme["cn48"].connect.to : t.server.host][0]`), `"st01.pod64.mgmt.example.net"`)

	m, diags := loadText(edited(t)+`
credential "off" {
  enabled = false
  user    = tonumber("x")
}`, Options{})
	if diags.HasErrors() {
		t.Fatal(diagText(m, diags))
	}
	if got := ask(m, `credential.off.user`); !strings.Contains(got, "WF-LANG-008") {
		t.Errorf("the first time: %s", got)
	}
	if got := ask(m, `credential.off.user`); !strings.Contains(got, "shown above") {
		t.Errorf("the second time: %s", got)
	}
}

func TestEvaluateTextWithoutInventory(t *testing.T) {
	m, _ := Load(fstest.MapFS{}, Options{LookupEnv: func(string) (string, bool) { return "here", true }})
	same(t, "a function", ask(m, `upper(env("X"))`), `"HERE"`)
	for _, text := range []string{"var.x", "local.x", "server.node", "switch.a.port[1]"} {
		if got := ask(m, text); !strings.Contains(got, "WF-LANG-011") {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzEvaluateText(f *testing.F) {
	for _, text := range []string{
		`cidrhost("10.0.0.0/8", 5)`, `server.node["st1"].rnic.p0`, `{ for k, v in server.node : k => v.host... }`,
		`[for s in server.node : s.labels["role"] if s.rnic.p0 != null]`, `"${var.transport[0]}%{if true}x%{endif}"`,
		`initiator.nvme[*].live_paths`, `values(link.plane-a)[*].from.address`, `switch.leaf-a.port["x"].y`, `1e99999999`, "\xff", `((`,
	} {
		f.Add(text)
	}
	m, diags := Load(os.DirFS("../../examples/pilot"), Options{})
	if diags.HasErrors() {
		f.Fatal(diagText(m, diags))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, diags := EvaluateText(m, []byte(text), "console", hcl.InitialPos)
		if diags.HasErrors() {
			diagText(m, diags)
			return
		}
		if _, diags := hclsyntax.ParseExpression([]byte(r.HCL()), "shown", hcl.InitialPos); diags.HasErrors() {
			t.Errorf("%q gives %q, which is not HCL: %v", text, r.HCL(), diags)
		}
		if got, err := r.MarshalJSON(); err != nil || !json.Valid(got) {
			t.Errorf("%q gives %q as JSON, %v", text, got, err)
		}
	})
}
