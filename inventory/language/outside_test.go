package language

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const plannedFiles = `
weft { name = "pod" }
variable "site" {
  type    = string
  default = "x"
}
variable "token" {
  type      = string
  sensitive = true
}
locals {
  entry = "switch/${var.site}"
  motd  = file("motd")
}
credential "leaf" {
  user     = "admin"
  password = exec("pass", "show", local.entry)
}
server "s" {
  for_each = { a = "one", b = "two" }
  host     = each.value
  file "/etc/motd" { content = "${local.motd} of ${each.key}" }
  file "/etc/key" { content = env("KEY_${each.key}") }
  file "/etc/token" { content = var.token }
  file "/etc/text" { content = templatefile("t.tpl", { name = "x" }) }
  dynamic "file" {
    for_each = { "/etc/more" = "MORE" }
    labels   = [file.key]
    content { content = env(file.value) }
  }
}
module "m" {
  source = "./m"
  key    = file("secret")
  plain  = "plain"
}
`

const plannedModule = `
variable "key" { sensitive = true }
variable "plain" { default = "" }
credential "c" {
  user     = "u"
  password = var.key
}
server "t" {
  host = "t"
  file "/etc/y" { content = env(var.plain) }
}
`

func fsOf(main, module, template string) fstest.MapFS {
	return fstest.MapFS{
		"main.weft.hcl":  {Data: []byte(main)},
		"m/m.weft.hcl":   {Data: []byte(module)},
		"t.tpl":          {Data: []byte(template)},
		"motd":           {Data: []byte("hello")},
		"weft.weftvars":  {Data: []byte("token = \"t\"\n")},
		"other.txt":      {Data: []byte("${env(")},
		"deep/empty.txt": {},
	}
}

func ownNothing(string) (string, bool) { return "", false }

// Whatever an operator changes in a plan that decides what is read of the machine
// which applies it is found, and nothing else is.
func TestStrangers(t *testing.T) {
	const template = "text ${name}\n"
	inputs := map[string]json.RawMessage{"site": json.RawMessage(`"x"`)}
	for name, c := range map[string]struct {
		was, is string   // in the plan; beside that it is as the checkout
		in      string   // which file; "": main
		want    []string // places
	}{
		"nothing":                     {},
		"another program":             {was: `exec("pass"`, is: `exec("sh"`, want: []string{"credential.leaf.password"}},
		"the argument's local":        {was: `"switch/${var.site}"`, is: `"bank/${var.site}"`, want: []string{"local.entry"}},
		"the key of a block":          {was: `{ a = "one"`, is: `{ HOME = "one"`, want: []string{"server.s.for_each"}},
		"a dynamic block":             {was: `= "MORE"`, is: `= "HOME"`, want: []string{"server.s.dynamic.file.for_each"}},
		"another iterator":            {was: "labels   = [file.key]", is: "labels   = [x.key]\n    iterator = x", want: []string{"server.s.dynamic.file.iterator"}},
		"a new file":                  {was: `host     = each.value`, is: `host = env("X")`, want: []string{"server.s.host"}},
		"a new block":                 {was: `module "m"`, is: "credential \"z\" {\n user = \"z\"\n password = file(\"id_rsa\")\n}\nmodule \"m\"", want: []string{"credential.z.password"}},
		"a sensitive variable":        {was: `"/etc/token" { content = var.token }`, is: `"/etc/token2" { content = var.token }`, want: []string{`server.s.file."/etc/token2".content`}},
		"one that was none":           {was: "type    = string\n", is: "sensitive = true\n", want: []string{"var.site"}},
		"an input":                    {was: `key    = file("secret")`, is: `key = file("other")`, want: []string{"module.m.key"}},
		"an input that names":         {was: `plain  = "plain"`, is: `plain = "HOME"`, want: []string{"module.m.plain"}},
		"in a module":                 {in: "m", was: `env(var.plain)`, is: `env("HOME")`, want: []string{`m: server.t.file."/etc/y".content`}},
		"a default in a module":       {in: "m", was: `default = ""`, is: `default = "HOME"`, want: []string{"m: var.plain.default"}},
		"another template":            {in: "t", was: "${name}", is: `${env("HOME")}`, want: []string{"t.tpl"}},
		"a twin":                      {was: `password = exec("pass"`, is: "password = env(\"A\")\n  password = exec(\"pass\"", want: nil}, // no file at all: it cannot be loaded
		"what is not read":            {was: `user     = "admin"`, is: `user = "root"`},
		"another text":                {in: "t", was: "text", is: "words"},
		"a host":                      {was: `"one"`, is: `"three"`, want: []string{"server.s.for_each"}}, // each.key comes from there
		"text of the plan elsewhere":  {was: `"${local.motd} of`, is: `"${local.motd} in`, want: []string{`server.s.file."/etc/motd".content`}},
		"a local that hides the rest": {was: `entry = `, is: "other = env(\"X\")\n  entry = ", want: []string{"local.other"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"": plannedFiles, "m": plannedModule, "t": template}
			here := fsOf(files[""], files["m"], files["t"])
			if !strings.Contains(files[c.in], c.was) {
				t.Fatalf("there is no %q", c.was)
			}
			files[c.in] = strings.Replace(files[c.in], c.was, c.is, 1)
			var got []string
			for _, s := range Strangers(fsOf(files[""], files["m"], files["t"]), here, inputs, OwnValues(here, ownNothing)) {
				got = append(got, s.Place)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, wanted %q", got, c.want)
			}
		})
	}
}

// Blocks may move to other files of their directory; values decide as
// expressions do; a checkout without the files has nothing.
func TestStrangersElsewhere(t *testing.T) {
	inputs := map[string]json.RawMessage{"site": json.RawMessage(`"x"`)}
	plan := fsOf(plannedFiles, plannedModule, "text")
	from := strings.Index(plannedFiles, `credential "leaf"`)
	to := strings.Index(plannedFiles, `server "s"`)
	moved := fsOf(plannedFiles[:from]+plannedFiles[to:], plannedModule, "text")
	moved["logins.weft.hcl"] = &fstest.MapFile{Data: []byte("# new\n\n" + plannedFiles[from:to])}
	if list := Strangers(plan, moved, inputs, OwnValues(moved, ownNothing)); len(list) > 0 {
		t.Errorf("moved: %+v", list)
	}
	other := map[string]json.RawMessage{"site": json.RawMessage(`"y"`)}
	list := Strangers(plan, plan, other, OwnValues(plan, ownNothing))
	if len(list) != 1 || list[0].Place != "var.site" || list[0].For != "credential.leaf.password" || list[0].Planned != `"y"` || list[0].Here != `"x"` {
		t.Errorf("another value: %+v", list)
	}
	own := OwnValues(plan, func(name string) (string, bool) { return "y", name == "WEFT_VAR_site" })
	if list := Strangers(plan, plan, other, own); len(list) > 0 {
		t.Errorf("a value from the environment: %+v", list)
	}
	broken := maps.Clone(plan)
	broken["main.weft.hcl"] = &fstest.MapFile{Data: []byte("credential \"leaf\" {")}
	for _, here := range []fstest.MapFS{{}, broken} {
		found := false
		for _, s := range Strangers(plan, here, inputs, OwnValues(here, ownNothing)) {
			found = found || s.Place == "credential.leaf.password" && s.Here == ""
		}
		if !found {
			t.Error("a checkout without the expression has it")
		}
	}
}

// The environment gives a saved plan no values that it does not hold itself.
func TestSavedValuesOnly(t *testing.T) {
	text := "variable \"site\" { default = \"d\" }\n" + base
	env := func(name string) (string, bool) { return "stolen", name == "WEFT_VAR_site" }
	m, _ := loadText(text, Options{LookupEnv: env})
	same(t, "planned", string(m.Inputs["site"]), `"stolen"`)
	m, _ = loadText(text, Options{LookupEnv: env, Values: map[string]json.RawMessage{}})
	same(t, "applied", string(m.Inputs["site"]), `"d"`)
}

func TestUses(t *testing.T) {
	var got []string
	for _, u := range Uses(fsOf(plannedFiles, plannedModule, "text"), map[string]json.RawMessage{"site": json.RawMessage(`"x"`)}) {
		for _, c := range u.Calls {
			line := u.Place + " " + c.Text
			for _, g := range u.With {
				line += " " + g.Place + "=" + g.Text
			}
			got = append(got, line)
		}
		for _, v := range u.Sensitive {
			got = append(got, u.Place+" "+v)
		}
	}
	slices.Sort(got)
	want := []string{
		`credential.leaf.password exec("pass", "show", local.entry) local.entry="switch/${var.site}" var.site="x"`,
		`local.motd file("motd")`,
		`m: server.t.file."/etc/y".content env(var.plain) m: var.plain.default="" module.m.plain="plain"`,
		`module.m.key file("secret")`,
		`server.s.dynamic.file.content.content env(file.value) server.s.for_each={ a = "one", b = "two" } server.s.dynamic.file.for_each={ "/etc/more" = "MORE" }`,
		`server.s.file."/etc/key".content env("KEY_${each.key}") server.s.for_each={ a = "one", b = "two" }`,
		`server.s.file."/etc/text".content templatefile("t.tpl", { name = "x" })`,
		`server.s.file."/etc/token".content token`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwanted\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
