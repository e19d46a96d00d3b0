package language

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// storageModule is a module with a server, its pool and its volumes.
const storageModule = `
variable "host" { type = string }
variable "node" { type = number }
variable "fabric" {}
variable "sizes" {
  type    = map(string)
  default = { data = "1GB" }
}

locals { subnet = var.fabric.plane["a"].subnet }

server "node" {
  for_each = toset(["x"])
  host     = "${var.host}-${each.key}"
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "${cidrhost(local.subnet, var.node)}/24"
    fabric  = var.fabric
  }
  file "/etc/motd" { content = file("motd") }
}

pool "flash" {
  server = server.node["x"]
  drives = ["nvme-eui.${var.node}"]
}

volume "v" {
  for_each = var.sizes
  pool     = pool.flash
  size     = each.value
}

output "server" { value = server.node["x"] }
output "volumes" { value = volume.v }
output "host" { value = upper(server.node["x"].host) }
`

// inModules loads base with more text and the files of modules.
func inModules(more string, files map[string]string) (*inventory.Model, hcl.Diagnostics) {
	dir := fstest.MapFS{"main.weft.hcl": {Data: []byte(base + more)}}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Load(dir, Options{LookupEnv: func(n string) (string, bool) { return secretText, n == "SECRET" }})
}

func TestModule(t *testing.T) {
	m, diags := inModules(`
module "st" {
  source   = "./storage"
  for_each = { one = 101, two = 102 }
  host     = "st-${each.key}"
  node     = each.value
  fabric   = fabric.roce
}
module "alone" {
  source     = "./storage"
  host       = "alone"
  node       = 103
  fabric     = fabric.roce
  sizes      = {}
  depends_on = [module.st["one"], switch.leaf]
}
connection "of-modules" { user = "${module.alone.host}-${module.st["two"].server.host}" }
locals { hosts = join(",", [for k, m in module.st : "${k}=${m.host}"]) }
connection "all" { user = replace(replace(local.hosts, "=", "_"), ",", ".") }
rollout "modules" {
  phase "all" { select = [module.st["one"].server, values(module.st["two"].volumes)] }
}
`, map[string]string{"storage/main.weft.hcl": storageModule, "storage/motd": "hello"})
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	same(t, "address", m.Servers[3].Addr, `module.st["one"].server.node["x"]`)
	same(t, "name", m.Servers[3].Name, `module.st["one"].node["x"]`)
	same(t, "part", m.Servers[3].RNICs[0].Addr, `module.st["one"].server.node["x"].rnic.p0`)
	same(t, "host", m.Servers[4].Host, "st-two-x")
	same(t, "NIC", m.Servers[5].RNICs[0].Address.String(), "10.1.0.103/24")
	same(t, "its plane", m.Servers[5].RNICs[0].Plane, m.Fabrics[0].Planes[0])
	same(t, "file", m.Servers[5].FileBlocks[0].Content, "hello")
	same(t, "pool", m.Pools[3].Server, m.Servers[5])
	same(t, "volumes", len(m.Volumes), 3)
	same(t, "outputs", m.Connections[1].User, "ALONE-X-st-two-x")
	same(t, "all outputs", m.Connections[2].User, "one_ST-ONE-X.two_ST-TWO-X")
	sameList(t, "selected", m.Rollouts[1].Phases[0].Select, []string{`module.st["one"].server.node["x"]`, `module.st["two"].volume.v["data"]`})
	sameList(t, "dependencies", m.Pools[3].DependsOn, []string{`module.st["one"].server.node["x"]`, `module.st["one"].pool.flash`, `module.st["one"].volume.v["data"]`, "switch.leaf"})
	same(t, "outputs of the root alone", len(m.Outputs), 1)
	same(t, "range", m.Servers[5].Range.Filename, "storage/main.weft.hcl")
	sameList(t, "sources", sortedKeys(m.Sources), []string{"main.weft.hcl", "storage/main.weft.hcl", "storage/motd"})

	again, diags := Load(memory(m.Sources), Options{})
	if len(diags) > 0 {
		t.Fatal(diagText(again, diags))
	}
	same(t, "again", again.Servers[5].Addr, "module.alone.server.node[\"x\"]")
}

func TestModulesWithin(t *testing.T) {
	m, diags := inModules(`
module "row" {
  source = "./site/row"
  count  = 2
  name   = "row${count.index}"
}
connection "deep" { user = module.row[1].first }
`, map[string]string{
		"site/row/a.weft.hcl": `
variable "name" {}
module "rack" {
  source   = "../rack"
  for_each = toset(["a", "b"])
  name     = "${var.name}-${each.key}"
}
output "first" { value = module.rack["a"].host }
`,
		"site/rack/a.weft.hcl": `
variable "name" { type = string }
server "s" { host = "${var.name}-s" }
output "host" { value = server.s.host }
`,
	})
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	same(t, "servers", len(m.Servers), 3+4)
	same(t, "address", m.Servers[6].Addr, `module.row[1].module.rack["b"].server.s`)
	same(t, "output", m.Connections[1].User, "row1-a-s")
}

func TestDisabledModule(t *testing.T) {
	m, diags := inModules(`
module "off" {
  source  = "./m"
  enabled = false
}
pool "gone" {
  server = module.off.server
  drives = ["nvme-eui.09"]
}
`, map[string]string{"m/a.weft.hcl": "server \"s\" { host = \"s\" }\noutput \"server\" { value = server.s }\ncheck \"c\" {\n  assert {\n    condition = true\n    error_message = \"\"\n  }\n}"})
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	same(t, "servers", len(m.Servers), 3)
	same(t, "pools", len(m.Pools), 1)
	same(t, "checks", len(m.Checks), 1)
}

// Observed values pass through the outputs of modules, but only to where they
// are known.
func TestObservedInModules(t *testing.T) {
	files := map[string]string{"m/a.weft.hcl": `
variable "i" {}
output "paths" { value = var.i.live_paths }
check "enough" {
  assert {
    condition     = var.i.live_paths >= 2
    error_message = "too few"
  }
}
`}
	call := "module \"m\" {\n  source = \"./m\"\n  i = initiator.nvme[\"a\"]\n}\n"
	m, diags := inModules(call+`output "paths" { value = module.m.paths + 1 }`, files)
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	three := func(string, string) (cty.Value, error) { return cty.NumberIntVal(3), nil }
	v, diags := m.Evaluate(m.Outputs[1].Value, three)
	if diags.HasErrors() || !v.RawEquals(cty.NumberIntVal(4)) {
		t.Errorf("%#v %v", v, diags)
	}
	same(t, "check", m.Checks[1].Addr, "module.m.check.enough")
	if v, diags = m.Evaluate(m.Checks[1].Asserts[0].Condition, three); diags.HasErrors() || v.False() {
		t.Errorf("%#v %v", v, diags)
	}
	m, diags = inModules(call+`connection "x" { user = module.m.paths }`, files)
	if d := find(m, diags, problem.Observed, "value = var.i.live_paths"); d == nil {
		t.Error(diagText(m, diags))
	}
}

// A secret that goes into a module is read when connecting, and is in nothing
// that a plan keeps.
func TestSecretsInModules(t *testing.T) {
	module := `
variable "password" { sensitive = true }
credential "c" {
  user     = "x"
  password = var.password
}
`
	load := func(password, module string) (*inventory.Model, hcl.Diagnostics) {
		return inModules("\nmodule \"m\" {\n  source   = \"./m\"\n  password = "+password+"\n}\n", map[string]string{"m/a.weft.hcl": module, "pw": secretText, "m/pw": "wrong"})
	}
	for _, expr := range []string{`env("SECRET")`, `file("pw")`} {
		m, diags := load(expr, module)
		if len(diags) > 0 {
			t.Fatal(diagText(m, diags))
		}
		if v, err := m.Credentials[1].Password.Read(); v != secretText || err != nil {
			t.Errorf("%s is %q, %v", expr, v, err)
		}
		if strings.Contains(fmt.Sprint(m.Sources), secretText) || m.Sources["pw"] != nil {
			t.Errorf("%s is in the sources", expr)
		}
	}
	m, diags := load(`env("UNSET")`, module)
	if len(diags) > 0 {
		t.Errorf("a secret is read at once: %s", diagText(m, diags))
	}
	if _, err := m.Credentials[1].Password.Read(); err == nil {
		t.Error("no error for a variable that is not set")
	}
	m, diags = load(`"`+secretText+`"`, module)
	if d := find(m, diags, problem.Literal, `module "m"`); d == nil || strings.Contains(d.Detail, secretText) {
		t.Error(diagText(m, diags))
	}
	m, diags = load(`file("pw")`, "variable \"password\" { sensitive = true }\noutput \"p\" { value = var.password }\n")
	if d := find(m, diags, problem.Shown, `value = var.password`); d == nil || strings.Contains(diagText(m, diags), secretText) {
		t.Error(diagText(m, diags))
	}
}

func TestModuleMistakes(t *testing.T) {
	server := "server \"s\" { host = \"s\" }\n"
	for _, c := range []struct {
		name, call string
		files      map[string]string
		code       problem.Code
		at, says   string
	}{
		{"no source", `module "m" {}`, nil, problem.Missing, `module "m"`, "source"},
		{"no label", `module {}`, nil, problem.Labels, `module {`, "lacks its name"},
		{"computed source", "module \"m\" { source = \"./${1}\" }", nil, problem.Value, `source =`, "without ${ }"},
		{"registry", `module "m" { source = "weft/storage" }`, nil, problem.File, `source =`, "fetches no modules"},
		{"absolute", `module "m" { source = "/etc" }`, nil, problem.File, `source =`, "starts with"},
		{"outside", `module "m" { source = "../m" }`, nil, problem.File, `source =`, "leads out of the directory"},
		{"missing", `module "m" { source = "./m" }`, nil, problem.File, `source =`, "does not exist"},
		{"empty", `module "m" { source = "./m" }`, map[string]string{"m/x": ""}, problem.File, `source =`, "has no file"},
		{"broken", `module "m" { source = "./m" }`, map[string]string{"m/a.weft.hcl": "server {\n = }"}, problem.Syntax, ` = }`[1:], ""},
		{"itself", `module "m" { source = "./m" }`, map[string]string{"m/a.weft.hcl": `module "n" { source = "../m" }`}, problem.Cycle, `module "n"`, "./m needs (m/a.weft.hcl:1)\n./m"},
		{"cycle", `module "m" { source = "./m" }`, map[string]string{"m/a.weft.hcl": `module "n" { source = "../n" }`, "n/a.weft.hcl": `module "back" { source = "../m" }`}, problem.Cycle, `module "back"`, "./m needs (m/a.weft.hcl:1)\n./n needs (n/a.weft.hcl:1)\n./m."},
		{"cycle with the root", `module "m" { source = "./m" }`, map[string]string{"m/a.weft.hcl": `module "n" { source = "../" }`}, problem.Cycle, `module "n"`, "the root directory needs (main.weft.hcl:"},
		{"cycle of values", "module \"m\" {\n  source = \"./m\"\n  x = module.m.x\n}", map[string]string{"m/a.weft.hcl": "variable \"x\" {}\noutput \"x\" { value = var.x }"}, problem.Cycle, `variable "x"`, "module.m.x (main.weft.hcl:133) needs\nmodule.m.output.x (m/a.weft.hcl:2) needs"},
		{"unknown input", "module \"m\" {\n  source = \"./m\"\n  hots = 1\n}", map[string]string{"m/a.weft.hcl": `variable "host" { default = "x" }`}, problem.VarUnknown, "hots = 1", `Did you mean "host"?`},
		{"missing input", "module \"m\" { source = \"./m\" }", map[string]string{"m/a.weft.hcl": `variable "host" {}`}, problem.VarUnset, `module "m"`, "host"},
		{"wrong input", "module \"m\" {\n  source = \"./m\"\n  n = \"x\"\n}", map[string]string{"m/a.weft.hcl": `variable "n" { type = number }`}, problem.VarType, `variable "n"`, "main.weft.hcl:"},
		{"unknown output", "module \"m\" { source = \"./m\" }\nlocals { x = module.m.hots }", map[string]string{"m/a.weft.hcl": `output "host" { value = 1 }`}, problem.Reference, `module.m.hots`, `Did you mean "host"?`},
		{"inside", "module \"m\" { source = \"./m\" }\nlocals { x = module.m.server.s }", map[string]string{"m/a.weft.hcl": server}, problem.Reference, `module.m.server`, "Only outputs of a module"},
		{"outer names", `module "m" { source = "./m" }`, map[string]string{"m/a.weft.hcl": `server "s" { host = server.storage.host }`}, problem.Reference, `server.storage.host`, "no server.storage"},
		{"unknown module", `locals { x = module.mm }`, nil, problem.Reference, `module.mm`, "no module.mm"},
		{"weft", `module "m" { source = "./m" }`, map[string]string{"m/a.weft.hcl": `weft { name = "x" }`}, problem.Block, `weft {`, "owner"},
		{"twice", "module \"m\" { source = \"./m\" }\nmodule \"m\" { source = \"./m\" } # again", map[string]string{"m/a.weft.hcl": server}, problem.Twice, `# again`, "already"},
		{"rule", "module \"m\" {\n  source = \"./m\"\n  fabric = fabric.roce\n}", map[string]string{"m/a.weft.hcl": "variable \"fabric\" {}\nserver \"s\" {\n  host = \"s\"\n  rnic \"p0\" {\n    match = { pci = \"0000:41:00.0\" }\n    address = \"10.1.0.11/24\" # twice\n    fabric = var.fabric\n  }\n}"}, problem.AddrTwice, `# twice`, "module.m.server.s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, diags := inModules("\n"+c.call+"\n", c.files)
			d := find(m, diags, c.code, c.at)
			if d == nil {
				t.Fatalf("no %s at %q:\n%s", c.code, c.at, diagText(m, diags))
			}
			if !strings.Contains(d.Summary+" "+d.Detail, c.says) {
				t.Errorf("%q is not in %s\n%s", c.says, d.Summary, d.Detail)
			}
		})
	}
}

// A module block in many instances stays within bounds, and so does a chain of
// directories.
func TestManyModules(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("m%d/a.weft.hcl", i)] = fmt.Sprintf("module \"a\" { source = \"../m%d\" }\nmodule \"b\" { source = \"../m%d\" }\n", i+1, i+1)
	}
	m, diags := inModules("\nmodule \"m\" { source = \"./m0\" }\n", files)
	if find(m, diags, problem.TooLarge, "") == nil {
		t.Errorf("%.2000s", diagText(m, diags))
	}
	m, diags = inModules("\nmodule \"m\" {\n  source = \"./m\"\n  count = 20000\n}\n", map[string]string{"m/a.weft.hcl": `locals { x = 1 }`})
	if find(m, diags, problem.TooLarge, `module "m"`) == nil {
		t.Errorf("%.2000s", diagText(m, diags))
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
