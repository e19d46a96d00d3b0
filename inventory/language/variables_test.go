package language

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
)

// withVariables declares variables in base; the owner of a file shows x.
func withVariables(t *testing.T, declarations string) fstest.MapFS {
	t.Helper()
	text := edited(t, `weft {`, declarations+"\nweft {", `{ content = "managed" }`, "{\ncontent = jsonencode(var.x)\n}")
	return fstest.MapFS{"main.weft.hcl": {Data: []byte(text)}}
}

func TestPrecedence(t *testing.T) {
	dir := withVariables(t, "variable \"x\" {\n  type = number\n  default = 0\n}")
	o := Options{}
	expect := func(want string) {
		t.Helper()
		m, diags := Load(dir, o)
		if len(diags) > 0 {
			t.Fatal(diagText(m, diags))
		}
		same(t, "x", m.Servers[1].FileBlocks[0].Content, want)
		same(t, "input", string(m.Inputs["x"]), want)
	}
	expect("0")
	o.LookupEnv = func(name string) (string, bool) { return "1", name == "WEFT_VAR_x" }
	expect("1")
	dir["weft.weftvars"] = &fstest.MapFile{Data: []byte("x = 2")}
	expect("2")
	dir["a.auto.weftvars"] = &fstest.MapFile{Data: []byte("x = 3")}
	expect("3")
	dir["b.auto.weftvars"] = &fstest.MapFile{Data: []byte("x = 4")}
	dir["other.weftvars"] = &fstest.MapFile{Data: []byte("x = 40")}
	expect("4")
	o.VarFiles = []VarFile{{"one", []byte("x = 5")}, {"two", []byte("x = 6")}}
	expect("6")
	o.Vars = []string{"x=7", "x=8"}
	expect("8")
	o.Values = map[string]json.RawMessage{"x": json.RawMessage("9"), "gone": json.RawMessage("1")}
	m, diags := Load(dir, o)
	if text := diagText(m, diags); !strings.Contains(text, string(problem.VarPlanned)) || !strings.Contains(text, "--var x sets 8, but the running plan has 9") {
		t.Errorf("a flag that gives something else than the plan holds: %s", text)
	}
	o.Vars = []string{"x=9"}
	expect("9")
	o.Vars, o.VarFiles = nil, []VarFile{{"one", []byte("x = 9")}}
	expect("9")
	o.VarFiles = nil
	expect("9")
}

func TestTypesOfVariables(t *testing.T) {
	for _, c := range []struct{ ty, given, want string }{
		{"string", `12`, `"12"`},
		{"string", `a = "b"`, `"a = \"b\""`},
		{"number", `12`, `12`},
		{"bool", `true`, `true`},
		{"list(string)", `["a", 1]`, `["a","1"]`},
		{"map(number)", `{ a = "1" }`, `{"a":1}`},
		{"object({ a = string, b = optional(number, 5) })", `{ a = "x" }`, `{"a":"x","b":5}`},
		{"any", `{ a = [1] }`, `{"a":[1]}`},
	} {
		dir := withVariables(t, "variable \"x\" {\n  type = "+c.ty+"\n}")
		m, diags := Load(dir, Options{Vars: []string{"x=" + c.given}})
		if len(diags) > 0 {
			t.Errorf("%s: %s", c.ty, diagText(m, diags))
			continue
		}
		same(t, c.ty, m.Servers[1].FileBlocks[0].Content, c.want)
	}
}

func TestValuesForNothing(t *testing.T) {
	dir := withVariables(t, `variable "x" { default = 1 }`)
	dir["weft.weftvars"] = &fstest.MapFile{Data: []byte("xx = 2\nblock {}\n")}
	m, diags := Load(dir, Options{Vars: []string{"y=1", "z"}})
	text := diagText(m, diags)
	for _, want := range []string{`Did you mean "x"?`, `--var y=`, "NAME=VALUE", "A variables file contains only lines"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if find(m, diags, problem.VarUnknown, "xx = 2") == nil {
		t.Errorf("no %s in\n%s", problem.VarUnknown, text)
	}
}

// secretText stands for what nobody may see.
const secretText = "hunter2-hunter2"

func TestSensitiveValuesAreNotShown(t *testing.T) {
	declare := "variable \"x\" {\n  type = string\n  sensitive = true\n}\nlocals { y = \"pre-${var.x}\" }\n"
	for _, c := range []struct{ name, more, ty string }{
		{"host", `server "s" { host = var.x }`, "string"},
		{"through a local", `server "s" { host = local.y }`, "string"},
		{"for_each", "server \"s\" {\n for_each = toset([var.x])\n host = \"h\"\n}", "string"},
		{"size", "server \"s\" {\n host = \"h\"\n file \"/x\" {\n content = \"a\"\n mode = var.x\n}\n}", "string"},
		{"function", `server "s" { host = cidrhost(var.x, 1) }`, "string"},
		{"nested function", `server "s" { host = upper(cidrhost("${var.x}", 1)) }`, "string"},
		{"conversion", `server "s" { host = tonumber(local.y) }`, "string"},
		{"regular expression", `server "s" { host = regex(var.x, var.x) }`, "string"},
		{"key", `server "s" { host = { a = 1 }[var.x] }`, "string"},
		{"instance", `server "s" { host = server.compute[var.x].host }`, "string"},
		{"template", `server "s" { host = templatefile("t", { v = var.x }) }`, "string"},
		{"duplicate keys", `server "s" { host = { for i in [1, 2] : var.x => i } }`, "string"},
		{"operator", `server "s" { host = var.x + 1 }`, "string"},
		{"output", `output "o" { value = var.x }`, "string"},
		{"type", ``, "number"},
		{"validation", "variable \"z\" {\n default = 1\n validation {\n condition = var.x == \"\"\n error_message = \"it is ${var.x}\"\n}\n}", "string"},
		{"error", `server "s" { host = jsondecode(var.x) }`, "string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(declare, "type = string", "type = "+c.ty, 1) + c.more
			dir := withVariables(t, text)
			dir["t"] = &fstest.MapFile{Data: []byte("${v + 1}")}
			for _, o := range []Options{
				{Vars: []string{"x=" + secretText}},
				{VarFiles: []VarFile{{"secret.weftvars", []byte("x = \"" + secretText + "\"")}}},
				{LookupEnv: func(n string) (string, bool) { return secretText, n == "WEFT_VAR_x" }},
			} {
				m, diags := Load(dir, o)
				if !diags.HasErrors() {
					t.Error("no error")
				}
				if shown := diagText(m, diags) + fmt.Sprintf("%+v", diags); strings.Contains(shown, secretText) || strings.Contains(shown, strings.ToUpper(secretText)) {
					t.Errorf("shown:\n%s", shown)
				}
				for _, d := range diags {
					if d.EvalContext != nil || d.Expression != nil {
						t.Errorf("%s keeps its values", d.Summary)
					}
				}
				if slices.ContainsFunc(slices.Collect(valuesOf(m)), func(s string) bool { return strings.Contains(s, secretText) }) {
					t.Error("in the inputs")
				}
			}
		})
	}
}

// valuesOf are the texts that go into a plan.
func valuesOf(m *inventory.Model) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m.Inputs {
			if !yield(string(v)) {
				return
			}
		}
		for _, v := range m.Sources {
			if !yield(string(v)) {
				return
			}
		}
	}
}

func TestSecretFile(t *testing.T) {
	dir := withVariables(t, "variable \"x\" {\n  sensitive = true\n}")
	m, diags := Load(dir, Options{Vars: []string{"x=" + secretText}})
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	f := m.Servers[1].FileBlocks[0]
	same(t, "content", f.Content, `"`+secretText+`"`)
	same(t, "secret", f.Secret, true)
	if _, ok := m.Inputs["x"]; ok {
		t.Error("the plan would hold the secret")
	}
}

// A file with a secret that everybody may read is warned of, as an SSH key is,
// wherever its name comes from. It is not opened for that.
func TestSecretFilesThatOthersRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of files say nothing on Windows")
	}
	for _, c := range []struct {
		expr string
		mode fs.FileMode
		warn bool
	}{
		{`file("pw")`, 0o644, true},
		{`trimspace(file("./${local.dir}/../pw"))`, 0o604, true},
		{`templatefile("pw", {})`, 0o644, true},
		{`file("pw")`, 0o640, false},
		{`file("pw")`, 0o600, false},
		{`file("none")`, 0o644, false},
		{`file("../pw")`, 0o644, false},
		{`env("pw")`, 0o644, false},
	} {
		text := edited(t, `env("SWITCH_PASSWORD")`, c.expr, `weft {`, "locals { dir = \"x\" }\nweft {")
		dir := fstest.MapFS{"main.weft.hcl": {Data: []byte(text)}, "pw": {Data: []byte(secretText), Mode: c.mode}}
		m, diags := Load(dir, Options{})
		d := find(m, diags, problem.Readable, `credential "switch"`)
		if (d != nil) != c.warn || c.warn && (d.Severity != hcl.DiagWarning || !strings.Contains(d.Detail, "chmod 600 pw")) {
			t.Errorf("%s with %04o:\n%s", c.expr, c.mode, diagText(m, diags))
		}
		if m.Sources["pw"] != nil || strings.Contains(diagText(m, diags), secretText) {
			t.Errorf("%s was read", c.expr)
		}
	}
}

func TestReadingSecrets(t *testing.T) {
	read := func(expr string) (*inventory.Secret, string, error) {
		t.Helper()
		text := edited(t, `env("SWITCH_PASSWORD")`, expr, `weft {`, "variable \"x\" {\n  sensitive = true\n  default = null\n}\nlocals { user = env(\"USER\") }\nweft {")
		dir := fstest.MapFS{"main.weft.hcl": {Data: []byte(text)}, "pw": {Data: []byte(secretText + "\n")}, "json": {Data: []byte("{")}}
		m, diags := Load(dir, Options{Vars: []string{"x=" + secretText}, LookupEnv: func(n string) (string, bool) { return "me", n == "USER" }})
		if len(diags) > 0 {
			t.Fatal(diagText(m, diags))
		}
		s := m.Credentials[0].Password
		v, err := s.Read()
		return s, v, err
	}
	for _, expr := range []string{`trimspace(file("pw"))`, `var.x`, `try(env("UNSET"), var.x)`} {
		s, v, err := read(expr)
		if v != secretText || err != nil {
			t.Errorf("%s is %q, %v", expr, v, err)
		}
		if strings.Contains(fmt.Sprintf("%v %+v %#v %s", s, s, s, s.From), secretText) {
			t.Errorf("%s is shown", expr)
		}
	}
	if _, v, err := read(`"${local.user}"`); v != "me" || err != nil {
		t.Errorf("a local is %q, %v", v, err)
	}
	for expr, want := range map[string]string{
		`env("UNSET")`:             "the environment variable UNSET is not set",
		`file("none")`:             "none",
		`jsondecode(file("json"))`: "at main.weft.hcl:",
		`[var.x]`:                  "not a string",
	} {
		if _, _, err := read(expr); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secretText) {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

// A saved plan has the inventory's text, but the secrets' files stay where
// they are.
func TestSecretsOfASavedPlan(t *testing.T) {
	text := edited(t, `env("SWITCH_PASSWORD")`, `file("pw")`, `{ content = "managed" }`, `{ content = file("motd") }`)
	dir := fstest.MapFS{
		"main.weft.hcl": {Data: []byte(text)}, "motd": {Data: []byte("hello")}, "pw": {Data: []byte(secretText)},
	}
	first, diags := Load(dir, Options{})
	if len(diags) > 0 {
		t.Fatal(diagText(first, diags))
	}
	if _, err := first.Credentials[0].Password.Read(); err != nil {
		t.Fatal(err)
	}
	if first.Sources["pw"] != nil || string(first.Sources["motd"]) != "hello" {
		t.Errorf("the sources are %q", first.Sources)
	}
	again, diags := Load(memory(first.Sources), Options{Values: first.Inputs, Secrets: dir})
	if len(diags) > 0 {
		t.Fatal(diagText(again, diags))
	}
	if v, err := again.Credentials[0].Password.Read(); v != secretText || err != nil {
		t.Errorf("read %q, %v", v, err)
	}
}
