package language

import (
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"weft/inventory/problem"

	"github.com/zclconf/go-cty/cty"
)

func TestYAML(t *testing.T) {
	files := fstest.MapFS{"hosts.yaml": {Data: []byte(`# a comment
defaults: &d { mtu: 9000, tags: [a, b] }
hosts:
  - <<: *d
    name: st1
    mtu: 4096
  - { <<: [*d, { name: no, x: 0x1F }], name: "st2", up: true, none: ~ }
text: |
  two
  lines
big: 12345678901234567890123
half: 0.5
octal: 0o17
1: one
when: 2026-11-21
`)}}
	for _, c := range []struct{ expr, want string }{
		{`hosts[0].name`, "st1"},
		{`hosts[0].mtu`, "4096"},
		{`hosts[0].tags[1]`, "b"},
		{`hosts[1].mtu`, "9000"},
		{`hosts[1].name`, "st2"},
		{`hosts[1].x`, "31"},
		{`hosts[1].up ? "up" : "down"`, "up"},
		{`text`, "two\nlines\n"},
		{`big`, "12345678901234567890123"},
		{`half`, "0.5"},
		{`octal`, "15"},
		{`["1"]`, "one"},
		{`when`, "2026-11-21"},
	} {
		expr := `yamldecode(file("hosts.yaml"))`
		if !strings.HasPrefix(c.expr, "[") {
			expr += "."
		}
		if got := textOf(t, expr+c.expr, files); got != c.want {
			t.Errorf("%s is %q, want %q", c.expr, got, c.want)
		}
	}
	// The text of go.yaml.in/yaml/v3, see classifyYAML.
	if _, err := decodeYAML("a: ["); err == nil || !strings.HasPrefix(err.Error(), "not YAML: line ") {
		t.Errorf("%v", err)
	}
	for _, c := range []struct{ text, says string }{
		{"a: [", "not YAML"},
		{"a: 1\na: 2", "line 2: duplicate key"},
		{"a: 1\n---\nb: 1", "more than one document"},
		{"[a]: 1", "a key is not a string"},
		{"a: &a [*a]", "nested"},
		{"a: .inf", "not a number"},
		{"a: " + strings.Repeat("9", 100), "too large"},
		{"a: *b", "unknown anchor"},
		{"<<: 1", "not a mapping"},
		{strings.Repeat("[", 400) + strings.Repeat("]", 400), "nested"},
		{"a0: &a0 [1,1,1,1,1,1,1,1,1]\n" + bomb(), "with its aliases"},
	} {
		if _, err := decodeYAML(c.text); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.40q: %v", c.text, err)
		}
	}
	if v, err := decodeYAML("# nothing"); err != nil || !v.IsNull() {
		t.Errorf("an empty document is %#v, %v", v, err)
	}
}

// bomb is a document of a few lines that stands for 9^9 numbers.
func bomb() string {
	var b strings.Builder
	for i := range 8 {
		name, next := string(rune('0'+i)), string(rune('1'+i))
		b.WriteString("a" + next + ": &a" + next + " [" + strings.Repeat("*a"+name+",", 8) + "*a" + name + "]\n")
	}
	return b.String()
}

func FuzzYAML(f *testing.F) {
	for _, text := range []string{"", "a: 1", "- {<<: {a: 1}, b: *x}", "a: &a [*a]", "\x00", "? [a]\n: b", "!!binary aGk=", "!!int x", "a: 0x", "a: 1_000", "<<: [1]", bomb()} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := decodeYAML(text); err == nil && !v.IsWhollyKnown() {
			t.Errorf("%q is not known", text)
		}
	})
}

func TestExec(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh here: ", err)
	}
	read := func(expr string) (string, string, error) {
		t.Helper()
		m, diags := loadText(edited(t, `env("SWITCH_PASSWORD")`, expr), Options{})
		if len(diags) > 0 {
			t.Fatal(diagText(m, diags))
		}
		s := m.Credentials[0].Password
		text, err := s.Read()
		return s.From, text, err
	}
	from, text, err := read(`exec("sh", "-c", "echo ' ` + secretText + ` '; echo more >&2")`)
	if text != secretText || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	same(t, "source", from, `exec("sh", …)`)
	for expr, says := range map[string]string{
		`exec("sh", "-c", "echo ` + secretText + `; exit 3")`:     "run sh: exit status 3",
		`exec("there-is-no-such-command", "` + secretText + `")`:  "run there-is-no-such-command: command not found",
		`exec("sh", "-c", "yes ` + secretText + `")`:              "printed more than",
		`exec("sh", "-c", "printf '` + secretText + `\\377'")`:    "not UTF-8",
		`jsondecode(exec("sh", "-c", "echo ` + secretText + `"))`: "at main.weft.hcl:",
		`exec("")`: "needs a command",
	} {
		if _, _, err := read(expr); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), secretText) {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

// A command runs only for a secret, and never while an inventory is loaded.
func TestMisplacedExec(t *testing.T) {
	for name, c := range map[string]struct{ from, to, at string }{
		"attribute": {`content = "managed"`, `content = exec("touch", "x")`, `exec("touch"`},
		"try":       {`content = "managed"`, `content = try(exec("touch", "x"), "")`, `exec("touch"`},
		"local":     {`weft {`, "locals { x = exec(\"touch\") }\nweft {", `exec("touch")`},
		"output":    {`value = { for k, i in initiator.nvme : k => i.devices }`, `value = exec("touch")`, `exec("touch")`},
		"for_each":  {`for_each = { a = 21, b = 22 }`, `for_each = { a = exec("touch") }`, `exec("touch")`},
		"template":  {`content = "managed"`, `content = templatefile("t", {})`, `templatefile("t"`},
	} {
		m, diags := Load(fstest.MapFS{
			"main.weft.hcl": {Data: []byte(edited(t, c.from, c.to))},
			"t":             {Data: []byte(`${exec("touch")}`)},
		}, Options{})
		if find(m, diags, problem.Expr, c.at) == nil {
			t.Errorf("%s: %s", name, diagText(m, diags))
		}
	}
	module := "variable \"p\" { sensitive = true }\ncredential \"c\" {\n user = \"x\"\n password = var.p\n}\n"
	call := "\nmodule \"m\" {\n  source = \"./m\"\n  p = exec(\"echo\", \"" + secretText + "\")\n}\n"
	m, diags := inModules(call, map[string]string{"m/a.weft.hcl": module})
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	if _, err := exec.LookPath("echo"); err == nil {
		if text, err := m.Credentials[1].Password.Read(); text != secretText || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	for _, more := range []string{"server \"s\" {\n host = \"s\"\n file \"/x\" { content = var.p }\n}\n", ""} {
		text := module + more
		if more == "" {
			text = strings.Replace(text, "{ sensitive = true }", "{}", 1)
		}
		m, diags := inModules(call, map[string]string{"m/a.weft.hcl": text})
		if d := find(m, diags, problem.Expr, `p = exec(`); d == nil {
			t.Error(diagText(m, diags))
		}
	}
	if v := (&evaluator{}).newOutside(nil, nil).functions()["exec"]; v.Params()[0].Type != cty.String {
		t.Error("exec takes no texts")
	}
}
