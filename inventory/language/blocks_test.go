package language

import (
	"errors"
	"strings"
	"testing"
	"time"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
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

// What was moved keeps the names on devices that follow from its first address.
func TestMoved(t *testing.T) {
	plain := mustLoad(t, `weft {`, `weft {`)
	m := mustLoad(t, `weft {`, `moved {
  from = server.node
  to   = server.compute
}
moved {
  from = fabric.old
  to   = fabric.`+plain.Fabrics[0].Name+`
}
weft {`)
	same(t, "moved", len(m.Moved), 2)
	same(t, "of an instance", m.Servers[0].Origin(), strings.Replace(m.Servers[0].Addr, "server.compute", "server.node", 1))
	same(t, "of a fabric", m.Fabrics[0].OnDevices(), "old")
	same(t, "of what was not moved", plain.Fabrics[0].OnDevices(), plain.Fabrics[0].Name)
	same(t, "not moved", m.Switches[0].Origin(), m.Switches[0].Addr)
	if m.Initiators[0].HostNQN == plain.Initiators[0].HostNQN {
		t.Errorf("the host NQN follows from the new name: %s", m.Initiators[0].HostNQN)
	}

	m, diags := inModules("\nmodule \"m\" { source = \"./m\" }\nmoved {\n from = module.was\n to = module.m\n}\n",
		map[string]string{"m/a.weft.hcl": "server \"s\" { host = \"a.b\" }\nmoved {\n from = server.t\n to = server.s\n}\n"})
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	same(t, "in a module", m.Moved[1].From, "module.m.server.t")
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

func TestServerBlocks(t *testing.T) {
	m := mustLoad(t, `  file "/etc/motd"`, `  sysctl "net.core.rmem_max" { value = 4194304 }
  kernel_module "nvme-rdma" { options = { register_always = "Y" } }
  package "nvme-cli" { version = "2.4+really2.4-1" }
  package "tuned" { state = "absent" }
  service "irqbalance" { enabled = false }
  command "mst" {
    run    = ["mst", "start", each.key]
    unless = ["mst", "status"]
    undo   = ["mst", "stop"]
  }
  command "touch" {
    run     = ["touch", "/etc/weft"]
    creates = "/etc/weft"
  }
  file "/etc/motd"`)
	s := m.Servers[2]
	same(t, "sysctl", s.Settings[0].Label+" = "+s.Settings[0].Values["value"], "net.core.rmem_max = 4194304")
	same(t, "address", s.Settings[0].Addr, `server.compute["b"].sysctl["net.core.rmem_max"]`)
	same(t, "module", s.KernelModules[0].Options["register_always"], "Y")
	same(t, "package", s.Packages[0].Version, "2.4+really2.4-1")
	same(t, "absent", s.Packages[1].Absent, true)
	same(t, "enabled", s.Services[0].Enabled, false)
	same(t, "running", s.Services[0].Running, true)
	sameList(t, "run", s.Commands[0].Run, []string{"mst", "start", "b"})
	sameList(t, "unless", s.Commands[0].Unless, []string{"mst", "status"})
	sameList(t, "undo", s.Commands[0].Undo, []string{"mst", "stop"})
	same(t, "creates", s.Commands[1].Creates, "/etc/weft")
}

func TestDynamic(t *testing.T) {
	m := mustLoad(t, `  file "/etc/motd" { content = "managed" }`, `  dynamic "file" {
    for_each = { one = each.key, two = server.storage.host }
    labels   = ["/etc/${file.key}"]
    content { content = "${each.key}: ${file.value}" }
  }
  file "/etc/motd" { content = "managed" }
  dynamic "sysctl" {
    for_each = each.key == "a" ? ["x.y", "x.z"] : []
    iterator = key
    labels   = [key.value]
    content { value = key.key }
  }`,
		`    ecn {
      min         = "150KB"
      max         = "1500KB"
      probability = 5
    }
`, `    dynamic "ecn" {
      for_each = toset(["150KB"])
      content {
        min         = ecn.key
        max         = "1500KB"
        probability = 5
      }
    }
`,
		`connect { to = target.nvme }`, `dynamic "connect" {
    for_each = [target.nvme]
    content { to = connect.value }
  }`)
	s := m.Servers[1]
	same(t, "files", len(s.FileBlocks), 3)
	same(t, "path", s.FileBlocks[1].Path, "/etc/two")
	same(t, "content", s.FileBlocks[1].Content, "a: storage.example.net")
	same(t, "address", s.FileBlocks[0].Addr, `server.compute["a"].file["/etc/one"]`)
	same(t, "order", s.FileBlocks[2].Path, "/etc/motd")
	same(t, "sysctls", len(s.Declared("sysctl")), 2)
	same(t, "iterator", s.Settings[1].Label+s.Settings[1].Values["value"], "x.z1")
	same(t, "sysctls of b", len(m.Servers[2].Settings), 0)
	same(t, "ECN", m.Fabrics[0].Classes[0].ECN.Min, 150_000)
	same(t, "connected", m.Initiators[0].Connects[0].To[0], m.Targets[0])
	same(t, "allowed hosts", len(m.Targets[0].Subsystems[0].AllowHosts), 4)
}

// What a dynamic block makes can be referred to.
func TestReferencesToDynamic(t *testing.T) {
	m := mustLoad(t, `  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "10.2.0.11/24"
    fabric  = fabric.roce
  }
`, `  dynamic "rnic" {
    for_each = { p1 = 1 }
    labels   = [rnic.key]
    content {
      match   = { pci = "0000:41:00.${rnic.value}" }
      address = "10.2.0.11/24"
      fabric  = fabric.roce
    }
  }
`)
	same(t, "NICs", len(m.Servers[0].RNICs), 2)
	same(t, "portal", m.Targets[0].Portals[1].RNIC, m.Servers[0].RNICs[1])
	same(t, "address", m.Servers[0].RNICs[1].Addr, "server.storage.rnic.p1")
}

func TestSelectByLabel(t *testing.T) {
	m := mustLoad(t,
		`  host = "storage.example.net"`, "  host = \"storage.example.net\"\n  labels = { role = \"storage\", row = 1 }",
		`  for_each = { a = 21, b = 22 }
`, "  for_each = { a = 21, b = 22 }\n  labels = { role = \"compute-${each.key}\" }\n",
		`select = [switch.leaf]`, `select = ["@role=compute-*", switch.leaf, "@row=1", server.compute["b"]]`)
	sameList(t, "selected", m.Rollouts[0].Phases[0].Select, []string{"switch.leaf", "server.storage", `server.compute["a"]`, `server.compute["b"]`})
}

// The limit of a metric may use what devices report; it stays an expression.
func TestObservedLimit(t *testing.T) {
	m := mustLoad(t, `max = "30us"`, `max = "${initiator.nvme["a"].live_paths * 10}us"`)
	l := m.Validations[0].Metrics[0]
	same(t, "limit of a latency", l.HasMax, true)
	for _, test := range []struct {
		live cty.Value
		err  error
		max  time.Duration
		why  string
	}{
		{live: cty.NumberIntVal(2), max: 20 * time.Microsecond},
		{live: cty.NumberFloatVal(1.00004), max: 10 * time.Microsecond}, // rounded to nanoseconds
		{err: errors.New("it is away"), why: "it is away"},
		{live: cty.NumberIntVal(-1), why: `max is "-10us"`},
		{live: cty.UnknownVal(cty.Number), why: "depends on an unknown value"},
		{live: cty.NumberIntVal(1).Mark("secret"), why: "sensitive"},
		{live: cty.MustParseNumberVal("1e30"), why: "max is"},
	} {
		max, err := m.LimitOf(l, func(addr, attr string) (cty.Value, error) {
			same(t, "asked for", addr+"."+attr, `initiator.nvme["a"].live_paths`)
			return test.live, test.err
		})
		if time.Duration(max) != test.max || (err == nil) != (test.why == "") || err != nil && !strings.Contains(err.Error(), test.why) {
			t.Errorf("%#v: %v, %v", test.live, time.Duration(max), err)
		}
	}
	plain := mustLoad(t).Validations[0].Metrics[0]
	if max, err := mustLoad(t).LimitOf(plain, nil); plain.Limit != nil || max != 30e3 || err != nil {
		t.Errorf("a plain limit is %v, %v", max, err)
	}
}

// for_each, count and what they give take these forms.
func TestRepeating(t *testing.T) {
	m := mustLoad(t, `weft {`, `locals { n = 2 }
connection "set" {
  for_each = toset(["x", "y"])
  user     = "${each.key}${each.value}"
}
connection "object" {
  for_each = { x = { user = "u", port = 1 }, y = { user = "v", port = 2 } }
  user     = each.value.user
  port     = each.value.port
}
connection "counted" {
  count   = local.n * 1
  user    = "u${count.index + 1}"
  enabled = count.index == 0
}
connection "none" {
  count = 0
  user  = "x"
}
connection "text" {
  count = "1"
  user  = join("-", connection.counted[*].user)
}
connection "pairs" {
  for_each = { for k, c in connection.object : upper(k) => c.port if c.port > 1 }
  user     = "${each.key}${each.value}${length(connection.none)}"
}
weft {`)
	var all []string
	for _, c := range m.Connections {
		all = append(all, c.Addr+" "+c.User)
	}
	sameList(t, "connections", all, []string{
		`connection.set["x"] xx`, `connection.set["y"] yy`, `connection.object["x"] u`, `connection.object["y"] v`,
		`connection.counted[0] u1`, `connection.text[0] u1-u2`, `connection.pairs["Y"] Y20`, "connection.default root",
	})
}

func TestDependsOnForms(t *testing.T) {
	m := mustLoad(t, `pool = pool.flash`, `depends_on = [values(server.compute)[0], server.compute["a"], initiator.nvme, fabric.roce]
  pool = pool.flash`)
	sameList(t, "dependencies", m.Volumes[0].DependsOn, []string{`server.compute["a"]`, `initiator.nvme["a"]`, `initiator.nvme["b"]`, "fabric.roce"})
}

func blockMistakes() []mistake {
	file := func(text string) []string {
		return []string{`file "/etc/motd" { content = "managed" }`, text + "\n  file \"/etc/motd\" { content = \"managed\" }"}
	}
	block := func(from, to string) string {
		return "moved {\n  from = " + from + "\n  to   = " + to + "\n}\n"
	}
	moved := func(from, to string) []string { return []string{`weft {`, block(from, to) + "weft {"} }
	moved2 := func(from, to string) []string {
		return []string{`connection "default"`, block(from, to) + `connection "default"`}
	}
	removed := func(from string) []string {
		return []string{`weft {`, "removed {\n  from = " + from + "\n  mode = \"prune\"\n}\nweft {"}
	}
	drift := func(list string) []string {
		return []string{`pool = pool.flash`, "ignore_drift = " + list + "\n  pool = pool.flash"}
	}
	return []mistake{
		{"removed without from", []string{`weft {`, "removed {\n mode = \"prune\"\n}\nweft {"}, problem.Missing, `removed {`, "lacks from"},
		{"removed mode", []string{`weft {`, "removed {\n  from = switch.x\n  mode = \"prun\"\n}\nweft {"}, problem.Value, `mode = "prun"`, `Did you mean "prune"?`},
		{"removed and declared", removed(`switch.leaf`), problem.Twice, `from = switch.leaf`, "switch.leaf is declared at main.weft.hcl:"},
		{"removed instance", removed(`server.compute["a"]`), problem.Twice, `from = server.compute["a"]`, "enabled = false"},
		{"all instances removed", removed(`server.compute`), problem.Twice, `from = server.compute`, "is declared at"},
		{"removed twice", append(removed(`switch.x`), `connection "default"`, "removed {\n  from = switch.x # again\n  mode = \"forget\"\n}\nconnection \"default\""), problem.Twice, `# again`, "first one"},
		{"removed text", removed(`"switch.x"`), problem.Reference, `from = "switch.x"`, "without quotes"},
		{"removed call", removed(`switch[local.x]`), problem.Reference, `from = switch[`, "without quotes"},
		{"removed type", removed(`swtch.x`), problem.Reference, `from = swtch.x`, `Did you mean "switch"?`},
		{"removed part", removed(`server.x.rnic.p0`), problem.Reference, `from = server.x.rnic.p0`, "as a whole"},
		{"moved without to", []string{`weft {`, "moved {\n from = switch.x\n}\nweft {"}, problem.Missing, `moved {`, "lacks to"},
		{"moved from what is there", moved("switch.leaf", "switch.leaf"), problem.Twice, `from = switch.leaf`, "no longer declared"},
		{"moved to nothing", moved("switch.x", "switch.y"), problem.Reference, `to   = switch.y`, "must name a declared block"},
		{"moved to no instance", moved("server.x", `server.compute["zz"]`), problem.Reference, `to   = server`, "is not declared"},
		{"moved to another type", moved("server.x", "switch.leaf"), problem.Reference, `to   = switch.leaf`, "keeps its type"},
		{"moved in a chain", append(moved("switch.x", "switch.y"), moved2("switch.y", "switch.leaf")...), problem.Twice, `from = switch.y`, "from the first name to the last"},
		{"moved in a loop", append(moved("switch.x", "switch.y"), moved2("switch.y", "switch.x")...), problem.Twice, `from = switch.y`, "moved in two steps"},
		{"two become one", append(moved("switch.x", "switch.leaf"), moved2("switch.y", "switch.leaf")...), problem.Twice, `to   = switch.leaf`, "only one of them"},
		{"one becomes two", append(moved("server.x", `server.compute["a"]`), moved2("server.x", `server.compute["b"]`)...), problem.Twice, `from = server.x`, "first one"},
		{"moved and removed", append(moved("switch.x", "switch.leaf"), `connection "default"`, "removed {\n  from = switch.x\n  mode = \"forget\"\n}\nconnection \"default\""), problem.Twice, `from = switch.x`, "first one"},
		{"moved text", moved(`"switch.x"`, "switch.leaf"), problem.Reference, `from = "switch.x"`, "without quotes"},
		{"removed alone", removed(`server`), problem.Reference, `from = server`, "Add a name after"},

		{"sysctl key", file(`sysctl "--all" { value = 1 }`), problem.Labels, `sysctl "--all"`, "a key of sysctl"},
		{"sysctl value", file(`sysctl "vm.x" {}`), problem.Missing, `sysctl "vm.x"`, "lacks value"},
		{"sysctl lines", file(`sysctl "vm.x" { value = "1\n2" }`), problem.Value, `sysctl "vm.x"`, "single-line"},
		{"package state", file(`package "x" { state = "latest" }`), problem.Value, `state = "latest"`, `"present" or "absent"`},
		{"package name", file(`package "-y" {}`), problem.Labels, `package "-y"`, "the name of a package"},
		{"service", file(`service "x" { enabled = "maybe" }`), problem.Type, `enabled = "maybe"`, "true or false"},
		{"module options", file(`kernel_module "x" { options = "a=b" }`), problem.Type, `options =`, "a map of strings"},
		{"command as text", file("command \"x\" {\n    run = \"ls\"\n    creates = \"/x\"\n  }"), problem.Type, `run = "ls"`, `["modprobe", "nvmet"]`},
		{"command always", file(`command "x" { run = ["ls"] }`), problem.Missing, `command "x"`, "creates or unless"},
		{"command with both", file("command \"x\" {\n    run = [\"ls\"]\n    creates = \"/x\"\n    unless = [\"true\"]\n  }"), problem.Attribute, `unless =`, "one of the two"},
		{"command of nothing", file("command \"x\" {\n    run = []\n    creates = \"/x\"\n  }"), problem.Value, `run = []`, "the list is empty"},
		{"relative path", file("command \"x\" {\n    run = [\"ls\"]\n    creates = \"x\"\n  }"), problem.Value, `creates = "x"`, "an absolute path"},

		{"dynamic of nothing", file("dynamic \"fiel\" {\n    for_each = []\n    content {}\n  }"), problem.Block, `dynamic "fiel"`, `Did you mean "file"?`},
		{"dynamic without label", file("dynamic {\n    for_each = []\n    content {}\n  }"), problem.Labels, `dynamic {`, "lacks its type"},
		{"dynamic without for_each", file("dynamic \"file\" {\n    labels = []\n    content { content = \"\" }\n  }"), problem.Missing, `dynamic "file"`, "for_each"},
		{"dynamic without labels", file("dynamic \"file\" {\n    for_each = []\n    content { content = \"\" }\n  }"), problem.Missing, `dynamic "file"`, "labels"},
		{"dynamic without content", file("dynamic \"file\" {\n    for_each = []\n    labels = []\n  }"), problem.Missing, `dynamic "file"`, "content"},
		{"dynamic of a text", file("dynamic \"file\" {\n    for_each = \"x\"\n    labels = []\n    content { content = \"\" }\n  }"), problem.Repeat, `for_each = "x"`, "a list, a set or a map"},
		{"dynamic labels", file("dynamic \"file\" {\n    for_each = [1]\n    labels = [\"a\", \"b\"]\n    content { content = \"\" }\n  }"), problem.Labels, `labels =`, "one string"},
		{"dynamic twice", file("dynamic \"file\" {\n    for_each = [1, 2]\n    labels = [\"/a\"]\n    content { content = \"\" }\n  }"), problem.Twice, `dynamic "file"`, `file "/a" was already created in server.compute["a"]`},
		{"dynamic and written", file("dynamic \"file\" {\n    for_each = [1]\n    labels = [\"/etc/motd\"]\n    content { content = \"\" }\n  }"), problem.Twice, `file "/etc/motd"`, "already"},
		{"dynamic label", file("dynamic \"package\" {\n    for_each = [1]\n    labels = [\"-y\"]\n    content {}\n  }"), problem.Labels, `labels = ["-y"]`, "the name of a package"},
		{"dynamic iterator", file("dynamic \"file\" {\n    for_each = []\n    iterator = \"x\"\n    labels = []\n    content { content = \"\" }\n  }"), problem.Expr, `iterator =`, "without quotes"},
		{"dynamic content typo", file("dynamic \"file\" {\n    for_each = []\n    labels = []\n    content { contnt = \"\" }\n  }"), problem.Attribute, `contnt`, `Did you mean "content"?`},
		{"dynamic value typo", file("dynamic \"file\" {\n    for_each = [1]\n    labels = [\"/x\"]\n    content { content = fil.value }\n  }"), problem.Reference, `fil.value`, "unknown name"},
		{"dynamic cycle", file("dynamic \"file\" {\n    for_each = server.compute[each.key].file\n    labels = [\"/x\"]\n    content { content = \"\" }\n  }"), problem.Cycle, `for_each = server.compute`, "dynamic.file (main.weft.hcl:"},
		{"dynamic creates none", []string{`metric "p99" { max = "30us" }`, "dynamic \"metric\" {\n    for_each = []\n    labels = [\"x\"]\n    content {}\n  }"}, problem.Missing, `validation "latency"`, "dynamic creates none"},
		{"dynamic in a link", []string{`speed = "100G"`, "dynamic \"x\" {}"}, problem.Block, `dynamic "x"`, "no block dynamic"},

		{"label of nobody", []string{`select = [switch.leaf]`, `select = ["@role=storage"]`}, problem.Select, `select = ["@role`, "No server has a label role"},
		{"label typo", []string{`  host = "storage.example.net"`, "  host = \"s\"\n  labels = { role = \"storage\" }", `select = [switch.leaf]`, `select = ["@role=storge"]`}, problem.Select, `select = ["@role`, `Did you mean "storage"?`},
		{"label without value", []string{`select = [switch.leaf]`, `select = ["@role"]`}, problem.Value, `select = ["@role"]`, `"@KEY=VALUE"`},
		{"bad pattern", []string{`select = [switch.leaf]`, `select = ["@role=[a"]`}, problem.Value, `select = ["@role=[a"]`, `"@KEY=VALUE"`},
		{"neither", []string{`select = [switch.leaf]`, `select = ["switch.leaf"]`}, problem.Value, `select = ["switch.leaf"]`, "labels such as"},

		{"observed in a validation", []string{`probe = "nvme-read"`, "probe = \"nvme-read\"\n  samples = initiator.nvme[\"a\"].live_paths"}, problem.Observed, `samples =`, "the limit of a metric"},
		{"typo beside an observed value", []string{`max = "30us"`, `max = initiator.nvme["a"].live_paths + local.x`}, problem.Reference, `max =`, "no local.x"},
		{"latency limited by a count", []string{`max = "30us"`, `max = initiator.nvme["a"].live_paths * 2`}, problem.Metric, `max =`, "a duration such as"},
		{"limit of a list", []string{`max = "30us"`, `max = [1]`}, problem.Value, `max = [1]`, "a number or a duration"},

		{"count of a text", []string{`pool "flash" {`, "pool \"flash\" {\n  count = \"many\""}, problem.Repeat, `count = "many"`, "a whole number"},
		{"count below zero", []string{`pool "flash" {`, "pool \"flash\" {\n  count = -1"}, problem.Repeat, `count = -1`, "between 0 and"},
		{"count null", []string{`pool "flash" {`, "pool \"flash\" {\n  count = null"}, problem.Repeat, `count = null`, "a whole number"},
		{"for_each null", []string{`for_each = { a = 21, b = 22 }`, `for_each = null`}, problem.Repeat, `for_each = null`, "a map or a set"},
		{"for_each of numbers", []string{`for_each = { a = 21, b = 22 }`, `for_each = toset([1])`}, problem.Repeat, `for_each = toset`, "a set of strings"},
		{"for_each with an empty key", []string{`for_each = { a = 21, b = 22 }`, `for_each = { "" = 1 }`}, problem.Repeat, `for_each`, "not be empty"},
		{"count.index without count", []string{`user = "root"`, `user = "${count.index}"`}, problem.Reference, `count.index`, "count without count"},
		{"each in count", []string{`pool "flash" {`, "pool \"flash\" {\n  count = 1\n  protect = each.key == \"\""}, problem.Reference, `each.key`, "each without for_each"},
		{"count.indx", []string{`pool "flash" {`, "pool \"flash\" {\n  count = 1\n  protect = count.indx == 0"}, problem.Reference, `count.indx`, `Did you mean "index"?`},
		{"own count", []string{`pool "flash" {`, "pool \"flash\" {\n  count = length(pool.flash)"}, problem.Cycle, `count = length`, "pool.flash depends on itself"},
		{"dependency as text", []string{`pool = pool.flash`, "depends_on = [\"pool.flash\"]\n  pool = pool.flash"}, problem.Type, `depends_on`, "without quotes"},
		{"dependency on a value", []string{`pool = pool.flash`, "depends_on = [pool.flash.drives]\n  pool = pool.flash"}, problem.Type, `depends_on`, "not a reference"},
		{"dependency on a part", []string{`pool = pool.flash`, "depends_on = [server.storage.rnic.p0]\n  pool = pool.flash"}, problem.Type, `depends_on`, "is a rnic"},

		{"protect", []string{`pool = pool.flash`, "protect = \"yes\"\n  pool = pool.flash"}, problem.Type, `protect = "yes"`, "true or false"},
		{"protected connection", []string{`{ user = "root" }`, "{\n  user = \"root\"\n  protect = true\n}"}, problem.Attribute, `protect = true`, "applies only to blocks that change devices"},
		{"protected credential", []string{`  user     = "admin"`, "  user     = \"admin\"\n  protect = true"}, problem.Attribute, `protect = true`, `credential "switch" has no attribute protect`},
		{"drift of a validation", []string{`probe = "nvme-read"`, "probe = \"nvme-read\"\n  ignore_drift = [probe]"}, problem.Attribute, `ignore_drift`, "applies only to blocks that change devices"},
		{"protected rollout", []string{`rollout "all" {`, "rollout \"all\" {\n  protect = false"}, problem.Attribute, `protect = false`, "applies only to blocks that change devices"},
		{"protected NIC", []string{`rnic "p0" {`, "rnic \"p0\" {\n    protect = true"}, problem.Attribute, `protect = true`, "applies only to blocks that change devices"},
		{"protected spine", more("switch \"spine\" {\n  unmanaged = true\n  protect = true\n}\n"), problem.Attribute, `protect = true`, "switch.spine has no attribute protect"},
		{"protected array", more("target \"array\" {\n  engine = \"external\"\n  ignore_drift = [portals]\n  portals = [\"10.1.0.50\"]\n  subsystem \"x\" { nqn = \"nqn.2026-11.net.example:x\" }\n}\n"), problem.Attribute, `ignore_drift`, "applies only to blocks that change devices"},
		{"drift typo", drift(`[siez]`), problem.Attribute, `[siez]`, `Did you mean "size"?`},
		{"drift of how", drift(`[count]`), problem.Attribute, `[count]`, "can drift"},
		{"drift list", drift(`size`), problem.Type, `ignore_drift = size`, "list of names"},
		{"drift twice", drift(`[size, size]`), problem.Twice, `[size, size]`, "already"},
		{"drift too long", drift(`[size.x]`), problem.Attribute, `[size.x]`, "no nested names"},
		{"drift computed", drift(`[upper("size")]`), problem.Type, `[upper(`, "as in the block"},
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

// A kind may declare its block for itself: its words, what they must be, and what
// holds where one is not written.
func TestOwnBlocks(t *testing.T) {
	own := []*inventory.BlockType{{
		Name: "knob", About: "A knob.", Label: "name", Named: inventory.Form{Is: "the name of a knob", Pattern: `[a-z]+`},
		Attributes: []inventory.Attribute{
			{Name: "turn", About: "How far.", Needed: true, Form: inventory.Form{Is: "a number", Pattern: `[0-9]+`}},
			{Name: "unit", About: "Of the turn.", Default: "degrees", Form: inventory.Form{Is: "a word", Pattern: `[a-z]+`}},
		},
	}}
	load := func(text string) (*inventory.Model, hcl.Diagnostics) {
		return loadText(base+"server \"s\" {\n  host = \"h\"\n"+text+"\n}\n", Options{Blocks: own})
	}
	m, diags := load(`knob "a" { turn = 3 }`)
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	s := m.Servers[len(m.Servers)-1]
	if len(s.Declared("knob")) != 1 || len(s.Declared("sysctl")) != 0 {
		t.Fatalf("%+v", s.Settings)
	}
	is := s.Settings[0]
	same(t, "knob", is.Addr+" "+is.Label+" "+is.Values["turn"]+" "+is.Values["unit"], `server.s.knob.a a 3 degrees`)
	for text, want := range map[string]string{
		`knob "A" { turn = 3 }`: "the name of a knob", `knob "a" {}`: "lacks turn", `knob "a" { turn = "x" }`: "a number", `sysctl "a.b" { value = 1 }`: "sysctl",
	} {
		if m, diags := load(text); !strings.Contains(diagText(m, diags), want) {
			t.Errorf("%s: %s", text, diagText(m, diags))
		}
	}
	d := Describe(own).Blocks["server"].Blocks["knob"]
	same(t, "not yet managed", d.Description+" "+d.Attributes["unit"].Description, "A knob. Of the turn.")
}
