package language

import (
	"strings"
	"testing"
	"testing/fstest"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// textOf computes an expression in base as the content of a file.
func textOf(t *testing.T, expr string, files fstest.MapFS) string {
	t.Helper()
	dir := fstest.MapFS{"main.weft.hcl": {Data: []byte(edited(t, `{ content = "managed" }`, "{\ncontent = "+expr+"\n}"))}}
	for name, f := range files {
		dir[name] = f
	}
	m, diags := Load(dir, Options{LookupEnv: func(name string) (string, bool) { return "of " + name, name == "SET" }})
	if len(diags) > 0 {
		t.Fatalf("%s:\n%s", expr, diagText(m, diags))
	}
	return m.Servers[1].FileBlocks[0].Content
}

func TestExpressions(t *testing.T) {
	files := fstest.MapFS{
		"motd":     {Data: []byte("hello\n")},
		"motd.tpl": {Data: []byte("%{ for n, p in nics }${n}=${p.address} %{ endfor }${upper(who)}")},
	}
	for _, c := range []struct{ expr, want string }{
		// references
		{`server.storage.host`, "storage.example.net"},
		{`server.compute["b"].host`, "b.example.net"},
		{`server.compute[each.key].host`, "a.example.net"},
		{`server.compute.b.host`, "b.example.net"},
		{`server.storage.rnic.p0.address`, "10.1.0.11/24"},
		{`server.storage.rnic["p1"].address`, "10.2.0.11/24"},
		{`join(",", [for p in ["p0", "p1"] : server.storage.rnic[p].address])`, "10.1.0.11/24,10.2.0.11/24"},
		{`join(",", values(server.compute)[*].host)`, "a.example.net,b.example.net"},
		{`join(",", [for k, s in server.compute : "${k}:${s.rnic.p0.address}"])`, "a:10.1.0.21/24,b:10.1.0.22/24"},
		{`join(",", keys(server.compute))`, "a,b"},
		{`length(server.compute)`, "2"},
		{`{ for s in values(server.compute) : s.host => s }["b.example.net"].rnic.p0.match.pci`, "0000:41:00.0"},
		{`server.storage == server.storage ? "same" : "other"`, "same"},
		{`(server.compute["a"] == server.compute["b"] ? server.storage : server.compute["b"]).host`, "b.example.net"},
		{`target.nvme.subsystem["data"].namespace["1"].limits.iops`, "1000"},
		{`fabric.roce.mtu`, "9216"},
		{`fabric.roce.plane["b"].subnet`, "10.2.0.0/24"},
		{`initiator.nvme["a"].connect.keep_alive_tmo`, "5s"},
		{`target.nvme.subsystem.data.serial == "" ? "no" : "yes"`, "yes"},
		{`length(target.nvme.subsystem.data.allow_hosts)`, "4"},
		{`substr(initiator.nvme[each.key].hostnqn, 0, 37)`, "nqn.2014-08.org.nvmexpress:uuid:" + uuidStart(t)},
		{`[for server in ["x"] : server][0]`, "x"},
		{`{ server = "bare" }.server`, "bare"},
		{`{ (server.storage.host) = "y" }["storage.example.net"]`, "y"},
		{`try(server.compute["zz"].host, "none")`, "none"},
		{`can(server.compute["zz"]) ? "there" : "does not exist"`, "does not exist"},
		{"<<-EOT\n    ${server.storage.host}\n  EOT", "storage.example.net\n"},
		{`"${-7}:${1e3}:${0.5}:${10 / 4}:${9223372036854775808}"`, "-7:1000:0.5:2.5:9223372036854775808"},
		{`"%{ for i in [1, 2] }${i};%{ endfor }"`, "1;2;"},
		// functions
		{`uuidv5("dns", "fast.st1.pilot.example.net")`, "2d484ed8-f84b-5648-97f5-3fd34015dfa1"},
		{`cidrhost("10.40.1.0/24", -2)`, "10.40.1.254"},
		{`cidrsubnet("10.0.0.0/8", 8, 3)`, "10.3.0.0/16"},
		{`cidrhost("fd00::/64", 11)`, "fd00::b"},
		{`join(",", port_range("Ethernet1/9-11, mgmt0"))`, "Ethernet1/9,Ethernet1/10,Ethernet1/11,mgmt0"},
		{`file("motd")`, "hello\n"},
		{`file("./motd")`, "hello\n"},
		{`templatefile("motd.tpl", { nics = server.storage.rnic, who = "me" })`, "p0=10.1.0.11/24 p1=10.2.0.11/24 ME"},
		{`env("SET")`, "of SET"},
		{`try(env("UNSET"), "default")`, "default"},
		{`csvdecode("a,b\n1,2")[0].b`, "2"},
		{`jsonencode({ a = [1, true, null] })`, `{"a":[1,true,null]}`},
		{`jsondecode("{\"a\": 7}").a`, "7"},
		{`merge({ a = "1" }, { b = "2" }).b`, "2"},
		{`lookup({ a = "1" }, "b", "3")`, "3"},
		{`flatten([["a"], ["b"]])[1]`, "b"},
		{`join("", sort(toset(["b", "a", "b"])))`, "ab"},
		{`sum([1, 2, 3.5])`, "6.5"},
		{`max(1, 5, 3)`, "5"},
		{`alltrue([true, true]) && !anytrue([]) ? "y" : "n"`, "y"},
		{`one(["x"])`, "x"},
		{`length("häuser") + length({ a = 1 })`, "7"},
		{`zipmap(["a"], ["z"]).a`, "z"},
		{`replace("a1b22", "/[0-9]+/", "-")`, "a-b-"},
		{`replace("a.b", ".", "-")`, "a-b"},
		{`regex("[0-9]+", "ab42")`, "42"},
		{`format("%03d", 7)`, "007"},
		{`join("", [for i in range(3) : i])`, "012"},
		{`startswith("weft", "we") && endswith("weft", "ft") ? "y" : "n"`, "y"},
		{`coalesce(null, "c")`, "c"},
		{`trimspace("  x ")`, "x"},
		{`tostring(tonumber("12"))`, "12"},
		{`join("", setunion(["a"], ["b"]))`, "ab"},
		{`join(" ", [for p in setproduct(["a", "b"], ["x", "y"]) : join("", p)])`, "ax ay bx by"},
		{`join("", setsymmetricdifference(["a", "b"], ["b", "c"]))`, "ac"},
		{`int(7.9)`, "7"},
		{`formatdate("YYYY-MM-DD", timeadd("2026-11-20T23:30:00Z", "1h"))`, "2026-11-21"},
		{`join(",", formatlist("%s-%d", ["a", "b"], [1, 2]))`, "a-1,b-2"},
		{`indent(2, "a\nb")`, "a\n  b"},
		{`sha256("x") == sha256("x") ? "y" : "n"`, "y"},
	} {
		if got := textOf(t, c.expr, files); got != c.want {
			t.Errorf("%s is %q, want %q", c.expr, got, c.want)
		}
	}
}

// uuidStart is the start of the UUID of server.compute["a"] of owner pod.
func uuidStart(t *testing.T) string {
	t.Helper()
	m := mustLoad(t)
	return strings.TrimPrefix(m.Initiators[0].HostNQN, "nqn.2014-08.org.nvmexpress:uuid:")[:5]
}

func TestCountAndEmptyForEach(t *testing.T) {
	m := mustLoad(t, `pool "flash" {`, `server "spare" {
  count = 2
  host  = "spare-${count.index}"
}
server "none" {
  for_each = {}
  host     = "none"
}
connection "jump" { user = server.spare[1].host }
pool "flash" {`)
	same(t, "servers", len(m.Servers), 5)
	same(t, "address", m.Servers[3].Addr, "server.spare[0]")
	same(t, "name", m.Servers[4].Name, "spare[1]")
	same(t, "indexed", m.Connections[1].User, "spare-1")
}

func TestDisabled(t *testing.T) {
	m := mustLoad(t,
		`for_each = { a = 21, b = 22 }`, "for_each = { a = 21, b = 22 }\n  enabled = each.key != \"b\"",
		`pool = pool.flash`, "enabled = false\n  pool = pool.flash")
	same(t, "servers", len(m.Servers), 2)
	same(t, "volumes", len(m.Volumes), 0)
	// What cannot do without them is disabled, too.
	same(t, "initiators", len(m.Initiators), 1)
	same(t, "namespaces", len(m.Targets[0].Subsystems[0].Namespaces), 0)
	sameList(t, "allowed hosts", m.Targets[0].Subsystems[0].AllowHosts, []string{m.Initiators[0].HostNQN, m.Initiators[0].ProbeNQN})
}

func TestDefaults(t *testing.T) {
	m := mustLoad(t)
	same(t, "mode", m.Fabrics[0].Mode, "lossless")
	same(t, "OS", m.Servers[0].OS, "linux")
	same(t, "mode of a file", m.Servers[1].FileBlocks[0].Mode, 0o644)
	same(t, "port", m.Targets[0].Portals[0].Address.Port(), 4420)
	same(t, "on existing data", m.Pools[0].OnExistingData, "refuse")
	same(t, "save", m.Switches[0].Safety.Save, "after-soak")
	same(t, "engine", m.Initiators[0].Engine, "kernel")
	same(t, "pairs", m.Validations[0].Pairs, "all")
	same(t, "size", m.Validations[0].Sizes[0], 4096)
	same(t, "connect", m.DefaultConnection().ConnectTimeout, inventory.DefaultConnectTimeout)
	same(t, "UUID", len(m.Targets[0].Subsystems[0].Namespaces[0].UUID), 36)
	same(t, "without connections", (&inventory.Model{}).DefaultConnection().CommandTimeout, inventory.DefaultCommandTimeout)
}

func TestExternalTarget(t *testing.T) {
	m := mustLoad(t, `initiator "nvme" {`, `target "array" {
  engine  = "external"
  portals = ["10.1.0.50", "10.2.0.50:4421", "[fd00::1]:4420"]
  subsystem "lun" { nqn = "nqn.1992-08.com.example:array" }
}
initiator "nvme" {`)
	p := m.Targets[1].Portals
	same(t, "portal", p[0].Address.String(), "10.1.0.50:4420")
	same(t, "plane", p[1].Plane, m.Fabrics[0].Plane("b"))
	same(t, "port", p[1].Address.Port(), 4421)
	same(t, "outside", p[2].Plane, nil)
}

func TestDependsOn(t *testing.T) {
	m := mustLoad(t, `pool = pool.flash`, "pool = pool.flash\n  depends_on = [server.compute, link.leaf]")
	sameList(t, "dependencies", m.Volumes[0].DependsOn, []string{`server.compute["a"]`, `server.compute["b"]`, "link.leaf"})
}

func TestObservedValues(t *testing.T) {
	m := mustLoad(t)
	paths := func(n int64) inventory.Observed {
		return func(addr, attr string) (cty.Value, error) {
			if attr == "devices" {
				return cty.ListVal([]cty.Value{cty.StringVal("nvme0n1 of " + addr)}), nil
			}
			return cty.NumberIntVal(n), nil
		}
	}
	for n, want := range map[int64]bool{1: false, 2: true} {
		v, diags := m.Evaluate(m.Checks[0].Asserts[0].Condition, paths(n))
		if diags.HasErrors() || v.True() != want {
			t.Errorf("%d paths: %#v %v", n, v, diags)
		}
	}
	v, diags := m.Evaluate(m.Outputs[0].Value, paths(2))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	same(t, "device", v.GetAttr("b").Index(cty.Zero).AsString(), `nvme0n1 of initiator.nvme["b"]`)
}

func TestFormOfChecks(t *testing.T) {
	for _, c := range []struct{ from, to, says string }{
		{`i.live_paths >= 2`, `i.live_pths >= 2`, "live_pths"},
		{`values(initiator.nvme)`, `values(initiator.nvmee)`, `Did you mean "nvme"`},
		{`i.devices`, `i.devices + server`, "server"},
	} {
		m, diags := loadText(edited(t, c.from, c.to), Options{})
		if len(diags) == 0 || !strings.Contains(diagText(m, diags), c.says) {
			t.Errorf("%s: %v", c.to, diags)
		}
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	m, diags := loadText(edited(t,
		`[48]`, `[26]`, `bandwidth = 60`, `bandwidth = 70`, `"10.1.0.11/24"`, `"10.9.0.11/24"`, `pool = pool.flash`, `pool = pool.flsh`), Options{})
	for _, code := range []problem.Code{problem.DSCP, problem.ETS, problem.NoPlane, problem.Reference, problem.NoCNP} {
		if find(m, diags, code, "") == nil {
			t.Errorf("%s is missing", code)
		}
	}
	if len(diags) != 5 {
		t.Errorf("%d problems:\n%s", len(diags), diagText(m, diags))
	}
}

func TestOrderOfProblemsIsStable(t *testing.T) {
	text := edited(t, `[48]`, `[26]`, `pool = pool.flash`, `pool = pool.flsh`, `weft {`, "locals {\n  x = local.y\n  y = local.z\n  z = local.x\n}\nweft {")
	m, first := loadText(text, Options{})
	for range 10 {
		_, diags := loadText(text, Options{})
		if got, want := diagText(m, diags), diagText(m, first); got != want {
			t.Fatalf("%s\nis not\n%s", got, want)
		}
	}
}

func TestPlaceWithinAText(t *testing.T) {
	m, diags := loadText(edited(t, `"1TiB"`, `"1TiBB"`), Options{})
	d := find(m, diags, problem.Value, `size = "1TiBB"`)
	if d == nil {
		t.Fatal(diagText(m, diags))
	}
	same(t, "subject", string(d.Subject.SliceBytes([]byte(edited(t, `"1TiB"`, `"1TiBB"`)))), "TiBB")
}

func TestRanges(t *testing.T) {
	m := mustLoad(t)
	at := func(r hcl.Range) string { return strings.TrimSpace(strings.Split(base, "\n")[r.Start.Line-1]) }
	ns := m.Targets[0].Subsystems[0].Namespaces[0]
	same(t, "header", at(ns.Range), `namespace "1" {`)
	same(t, "attribute", at(ns.At("from")), "from = volume.fast")
	same(t, "nested", at(ns.At("limits.iops")), "limits { iops = 1000 }")
	same(t, "not set", at(ns.At("uuid")), `namespace "1" {`)
}
