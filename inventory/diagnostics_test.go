package inventory

import (
	"slices"
	"strings"
	"testing"
)

// A mistake is made in base and must be reported with its code, at the line
// that contains at, with a text that contains says.
type mistake struct {
	name  string
	edits []string
	code  Code
	at    string
	says  string
}

func languageMistakes() []mistake {
	return []mistake{
		{"syntax", []string{`weft { name`, `weft { name = = `}, codeSyntax, "weft {", ""},
		{"unknown block", []string{`pool "flash"`, `pol "flash"`}, codeBlock, `pol "flash"`, `Did you mean "pool"?`},
		{"unknown nested block", []string{`limits {`, `limit {`}, codeBlock, `limit {`, `Did you mean "limits"?`},
		{"block for attribute", []string{`limits { iops = 1000 }`, `limits = { iops = 1000 }`}, codeAttribute, `limits =`, "is a block"},
		{"attribute for block", []string{`  drives = ["nvme-eui.01"]`, `  drives { a = 1 }`}, codeBlock, `drives {`, "is an attribute"},
		{"unknown attribute", []string{`  user     = "admin"`, `  usr = "admin"`}, codeAttribute, `usr =`, `Did you mean "user"?`},
		{"stray attribute", []string{`weft {`, "hosts = 3\nweft {"}, codeAttribute, `hosts = 3`, "weft.weftvars"},
		{"observed written", []string{`connect { to`, "live_paths = 2\n  connect { to"}, codeAttribute, `live_paths = 2`, "by itself"},
		{"windows", []string{`host = "storage.example.net"`, `host = "s"` + "\n  os = \"windows\""}, codeLater, `os = "windows"`, "described, not yet managed"},
		{"esxi", []string{`host = "storage.example.net"`, `host = "s"` + "\n  os = \"esxi\""}, codeLater, `os = "esxi"`, ""},
		{"no label", []string{`volume "fast"`, `volume`}, codeLabels, `volume {`, "lacks its name"},
		{"two labels", []string{`volume "fast"`, `volume "fast" "er"`}, codeLabels, `volume "fast"`, "takes one"},
		{"label not wanted", []string{`limits {`, `limits "x" {`}, codeLabels, `limits "x"`, "takes no label"},
		{"label not a name", []string{`volume "fast"`, `volume "1/2"`}, codeLabels, `volume "1/2"`, "not a name"},
		{"attribute missing", []string{`  drives = ["nvme-eui.01"]`, ""}, CodeMissing, `pool "flash"`, "drives"},
		{"switch without os", []string{`  os     = "nxos"`, ""}, CodeMissing, `switch "leaf"`, `its os: "nxos" or "comware". One that it shall not touch`},
		{"switch without host", []string{`  host   = "leaf.example.net"`, "  unmanaged = 1 > 2"}, CodeMissing, `switch "leaf"`, "switch.leaf lacks host"},
		{"attribute null", []string{`drives = ["nvme-eui.01"]`, `drives = null`}, CodeMissing, `drives = null`, "is null"},
		{"block missing", []string{`metric "p99" { max = "30us" }`, ""}, CodeMissing, `validation "latency"`, "metric"},
		{"no weft", []string{`weft { name = "pod" }`, ""}, CodeMissing, "", "no weft block"},
		{"declared twice", []string{`pool "flash"`, "volume \"fast\" {\n pool = pool.flash\n size = \"1GB\"\n}\npool \"flash\""}, codeTwice, `volume "fast"`, "already declared at main.weft.hcl:"},
		{"nested twice", []string{`plane "b"`, `plane "a"`}, codeTwice, `plane "a" { subnet = "10.2`, "already"},
		{"local twice", []string{`weft {`, "locals { x = 1 }\nlocals { x = 2 }\nweft {"}, codeTwice, `locals { x = 2 }`, "already"},
		{"bad function", []string{`"1TiB"`, `frmat("1TiB")`}, codeExpr, `frmat`, `Did you mean "format"?`},
		{"bad call", []string{`cidrhost("10.1.0.0/24", each.value)`, `cidrhost("10.1.0", each.value)`}, codeExpr, `cidrhost("10.1.0"`, "not a subnet"},
		{"file outside", []string{`content = "managed"`, `content = file("../x")`}, codeExpr, `file("../x")`, "below the directory"},
		{"file missing", []string{`content = "managed"`, `content = file("x")`}, codeExpr, `file("x")`, "does not exist"},
		{"env unset", []string{`content = "managed"`, `content = env("NOT_SET")`}, codeExpr, `env("NOT_SET")`, "is not set"},
		{"wrong type", []string{`drives = ["nvme-eui.01"]`, `drives = { a = 1 }`}, codeType, `drives = {`, "a list of texts is needed"},
		{"number wanted", []string{`priority  = 3`, `priority  = "three"`}, codeType, `priority  = "three"`, ""},
		{"text for reference", []string{`pool = pool.flash`, `pool = "flash"`}, codeType, `pool = "flash"`, "without quotes"},
		{"reference for text", []string{`host   = "leaf.example.net"`, `host = switch.leaf`}, codeType, `host = switch.leaf`, "a reference to switch.leaf"},
		{"reference to another type", []string{`pool = pool.flash`, `pool = server.storage`}, codeType, `pool = server.storage`, "is a server"},
		{"all for one", []string{`server   = server.compute[each.key]`, `server   = server.compute`}, codeType, `server   = server.compute`, `as in server.compute["a"]`},
		{"unknown word", []string{`os     = "nxos"`, `os     = "nxoss"`}, codeValue, `"nxoss"`, `Did you mean "nxos"?`},
		{"size without unit", []string{`size = "1TiB"`, `size = "1"`}, codeValue, `size = "1"`, "has no unit"},
		{"duration", []string{`max = "30us"`, `max = "30uss"`}, codeValue, `"30uss"`, "not a unit"},
		{"rate", []string{`speed = "100G"`, `speed = "fast"`}, codeValue, `"fast"`, "starts with a number"},
		{"probability", []string{`probability = 5`, `probability = 0`}, codeValue, `probability = 0`, "from 1 to 100"},
		{"pci", []string{`pci = "0000:41:00.0"`, `pci = "41:00.0"`}, codeValue, `"41:00.0"`, "PCI address"},
		{"reference typo", []string{`pool = pool.flash`, `pool = pool.flsh`}, codeReference, `pool.flsh`, `Did you mean "flash"?`},
		{"root typo", []string{`pool = pool.flash`, `pool = pol.flash`}, codeReference, `pol.flash`, `Did you mean "pool"?`},
		{"part typo", []string{`from  = server.storage.rnic.p0`, `from  = server.storage.rnic.p9`}, codeReference, `rnic.p9`, `Did you mean "p0"?`},
		{"key typo", []string{`connect { to`, "depends_on = [server.compute[\"aa\"]]\n  connect { to"}, codeReference, `["aa"]`, `server.compute has no "aa". Did you mean "a"?`},
		{"member typo", []string{`content = "managed"`, `content = server.storage.hst`}, codeReference, `server.storage.hst`, `Did you mean "host"?`},
		{"value typo", []string{`"${each.key}.example.net"`, `each.valu`}, codeReference, `each.valu`, `Did you mean "value"?`},
		{"no instances", []string{`server = server.storage
`, `server = server.storage["a"]` + "\n"}, codeReference, `server.storage["a"]`, "one block"},
		{"each without for_each", []string{`user = "root"`, `user = each.key`}, codeReference, `each.key`, "for_each"},
		{"cycle", []string{`weft {`, "locals {\n  x = local.y\n  y = local.x\n}\nweft {"}, codeCycle, `x = local.y`, "local.y (main.weft.hcl:"},
		{"cycle of for_each", []string{`for_each = { a = 21, b = 22 }`, `for_each = { for k, v in server.compute : k => 1 }`}, codeCycle, `for_each`, "server.compute ("},
		{"cycle of allow_hosts", []string{`connect { to = target.nvme }`, `connect { to = length(target.nvme.subsystem["data"].allow_hosts) > 9 ? target.nvme : target.nvme }`}, codeCycle, `subsystem "data"`, "the initiators of all targets needs"},
		{"observed", []string{`content = "managed"`, `content = initiator.nvme["a"].live_paths`}, codeObserved, `live_paths`, "An output, a check or"},
		{"deep", []string{`"1TiB"`, strings.Repeat("(", 2000) + `"1TiB"` + strings.Repeat(")", 2000)}, codeTooLarge, `size =`, "nested"},
		{"long number", []string{`priority  = 3`, `priority  = 1e999999`}, codeTooLarge, `1e999999`, ""},
		{"for_each of a list", []string{`for_each = { a = 21, b = 22 }`, `for_each = ["a", "b"]`}, codeRepeat, `for_each = ["a"`, "toset"},
		{"for_each and count", []string{`for_each = { a = 21, b = 22 }`, "for_each = { a = 21, b = 22 }\n  count = 2"}, codeRepeat, `count = 2`, ""},
		{"count", []string{`pool "flash" {`, "pool \"flash\" {\n  count = 1.5"}, codeRepeat, `count = 1.5`, ""},
		{"key of for_each", []string{`for_each = { a = 21, b = 22 }`, `for_each = { "a\"" = 21 }`}, codeRepeat, `for_each`, "quotes"},
		{"version", []string{`weft { name = "pod" }`, "weft {\n  required_version = \">= 2\"\n  name = \"pod\"\n}"}, codeVersion, `required_version`, "this is weft"},
		{"version syntax", []string{`weft { name = "pod" }`, "weft {\n  required_version = \"new\"\n  name = \"pod\"\n}"}, codeVersion, `required_version`, "not a version"},
		{"owner", []string{`name = "pod"`, `name = "Pod_1"`}, codeOwner, `name = "Pod_1"`, "1 to 20"},
	}
}

func ruleMistakes() []mistake {
	second := func(more string) []string {
		return []string{`rollout "all"`, more + "\nrollout \"all\""}
	}
	target := func(name, body, nqn, subsystem string) string {
		return "target \"" + name + "\" {\n  " + body + "\n  subsystem \"x\" {\n    nqn = \"" + nqn + "\"\n    " + subsystem + "\n  }\n}"
	}
	own := `server = server.storage
  portals = [for p in ["p0", "p1"] : server.storage.rnic[p]]`
	return []mistake{
		{"no plane", []string{`"10.1.0.11/24"`, `"10.9.0.11/24"`}, codeNoPlane, `"10.9.0.11/24"`, "lies in no plane"},
		{"no address", []string{`address = "10.1.0.11/24"`, ""}, codeNoPlane, `fabric  = fabric.roce`, "no address"},
		{"address twice", []string{`"10.1.0.11/24"`, `"10.1.0.21/24"`}, codeAddrTwice, `cidrhost("10.1.0.0/24"`, "server.storage.rnic.p0"},
		{"network address", []string{`"10.1.0.11/24"`, `"10.1.0.0/24"`}, codeNotHost, `"10.1.0.0/24"`, "broadcast"},
		{"broadcast address", []string{`"10.1.0.11/24"`, `"10.1.0.255/24"`}, codeNotHost, `"10.1.0.255/24"`, "broadcast"},
		{"host as subnet", []string{`subnet = "10.1.0.0/24"`, `subnet = "10.1.0.1/24"`}, codeNotHost, `subnet = "10.1.0.1/24"`, "10.1.0.0/24"},
		{"switch without plane", []string{`  plane  = "a"`, ""}, codePlane, `fabric = fabric.roce`, "plane is needed"},
		{"switch in no plane", []string{`plane  = "a"`, `plane  = "c"`}, codePlane, `plane  = "c"`, "no plane"},
		{"planes overlap", []string{`"10.2.0.0/24"`, `"10.1.0.0/16"`}, codeOverlap, `subnet = "10.1.0.0/16"`, "overlaps"},
		{"crossed", []string{`from  = server.storage.rnic.p0`, `from  = server.storage.rnic.p1`}, codeCrossed, `link "leaf"`, `switch.leaf.port["Ethernet1/1"] is in fabric.roce.plane.a (main.weft.hcl:`},
		{"two links", second("link \"other\" {\n  from = server.compute[\"a\"].rnic.p0\n  to = switch.leaf.port[\"Ethernet1/1\"]\n}"), codeEndTwice, `to = switch.leaf.port`, "link.leaf"},
		{"unreachable initiator", []string{"  rnic \"p1\" {\n    match   = { pci = \"0000:41:00.1\" }\n    address = \"${cidrhost(\"10.2.0.0/24\", each.value)}/24\"\n    fabric  = fabric.roce\n  }\n", ""}, codeUnreachable, `connect { to`, `no NIC in plane "b"`},
		{"unreachable target", []string{`[server.storage.rnic.p0, server.storage.rnic.p1]`, `[server.storage.rnic.p0]`}, codeUnreachable, `portals`, `no portal in plane "b"`},
		{"NIC twice", []string{`"0000:41:00.1"`, `"0000:41:00.0"`}, codeMatch, `match   =`, "as well"},

		{"DSCP twice", []string{`[48]`, `[48, 26]`}, codeDSCP, `[48, 26]`, "DSCP 26"},
		{"priority twice", []string{`priority = 6`, `priority = 3`}, codePriority, `priority = 3`, "Priority 3"},
		{"ETS", []string{`bandwidth = 60`, `bandwidth = 70`}, codeETS, `bandwidth = 40`, "rdma 70 + default 40 = 110"},
		{"strict share", []string{`strict   = true`, "strict = true\n    bandwidth = 10"}, codeShare, `bandwidth = 10`, ""},
		{"no share", []string{`    strict   = true`, ""}, codeShare, `traffic_class "cnp"`, ""},
		{"ECN", []string{`"1500KB"`, `"100KB"`}, codeECN, "min ", "below max"},
		{"object name", []string{`name = "pod"`, `name = "pod-with-a-name"`}, codeObjectName, `traffic_class "default"`, "WEFT-pod-with-a-name-roce-default has 33"},
		{"class without DSCP", []string{`    dscp     = [48]`, ""}, codeClass, `traffic_class "cnp"`, "dscp"},
		{"class without priority", []string{`    priority = 6`, ""}, codeClass, `traffic_class "cnp"`, "priority"},
		{"lossy", []string{`transport = "rocev2"`, "transport = \"rocev2\"\n  mode = \"lossy\""}, codeLossless, `pfc       = true`, ""},
		{"lossless", []string{`    pfc       = true`, ""}, codeLossless, `fabric "roce"`, "nothing is lossless"},

		{"NQN", []string{`"nqn.2026-11.net.example:data"`, `"nqn.2026-13.net.example:data"`}, codeNQN, `nqn.2026-13`, "does not look like"},
		{"long NQN", []string{`server   = server.compute[each.key]`, "server = server.compute[each.key]\n  hostnqn = format(\"nqn.2026-11.net.example:%0198d\", each.value)"}, codeNQN, `hostnqn`, ":probe"},
		{"NQN twice", second(target("x", own, "nqn.2026-11.net.example:data", "")), codeNQNTwice, `nqn = "nqn.2026`, "target.nvme"},
		{"host NQN twice", []string{`server   = server.compute[each.key]`, "server = server.compute[each.key]\n  hostnqn = \"nqn.2026-11.net.example:host\""}, codeNQNTwice, `hostnqn`, "initiator.nvme"},
		{"long serial", []string{`nqn = "nqn.2026-11.net.example:data"`, "nqn = \"nqn.2026-11.net.example:data\"\n    serial = \"123456789012345678901\""}, codeSerial, `serial =`, "20"},
		{"namespace id", []string{`namespace "1"`, `namespace "0"`}, codeNSID, `namespace "0"`, "4294967294"},
		{"namespace id twice", []string{`namespace "1" {`, "namespace \"01\" {\n      from = volume.fast\n    }\n    namespace \"1\" {"}, codeNSID, `namespace "1"`, "as well"},
		{"volume elsewhere", []string{"pool \"flash\" {\n  server = server.storage", "pool \"flash\" {\n  server = server.compute[\"a\"]"}, codeElsewhere, `from = volume.fast`, "lies on server.compute"},
		{"limits", []string{`transport = ["tcp"]`, "transport = [\"tcp\"]\n  engine = \"nvmet\""}, codeLimits, `limits {`, "kernel"},
		{"UUID", []string{`from = volume.fast`, "from = volume.fast\n      uuid = \"1-2-3\""}, codeUUID, `uuid =`, "not a UUID"},
		{"portal elsewhere", []string{`[server.storage.rnic.p0, server.storage.rnic.p1]`, `server.compute["a"].rnic`}, codePortal, `portals`, "not a NIC of server.storage"},
		{"literal portal", []string{`[server.storage.rnic.p0, server.storage.rnic.p1]`, `["10.1.0.11"]`}, codePortal, `portals`, "reference to a NIC"},
		{"bad portal", []string{`[server.storage.rnic.p0, server.storage.rnic.p1]`, `["10.1.0.311"]`}, codePortal, `portals`, "neither an address"},
		{"target without server", second(target("x", `portals = [server.storage.rnic.p0]`, "nqn.2026-11.net.example:x", "")), codeTarget, `target "x"`, "server is needed"},
		{"external on a server", second(target("x", own+"\n  engine = \"external\"", "nqn.2026-11.net.example:x", "")), codeTarget, `server = server.storage`, "external"},
		{"volume twice", second(target("x", own, "nqn.2026-11.net.example:x", "namespace \"1\" {\n      from = volume.fast # again\n    }")), codeVolumeTwice, `from = volume.fast # again`, "two writers"},

		{"unstable drive", []string{`"nvme-eui.01"`, `"/dev/nvme0n1"`}, codeDrive, `drives`, "after a reboot"},
		{"drive twice", second("pool \"other\" {\n  server = server.storage\n  drives = [\"nvme-eui.01\"] # again\n}"), codeDriveTwice, `# again`, "pool.flash"},
		{"volume name", second("volume \"x\" {\n  for_each = toset([\"y\"])\n  pool = pool.flash\n  size = \"1GB\"\n}\nvolume \"x-y\" {\n  pool = pool.flash # same\n  size = \"1GB\"\n}"), codeVolumeName, `pool = pool.flash # same`, `"x-y"`},

		{"selected twice", []string{`select = "remaining"`, `select = [switch.leaf]`}, codeSelect, `phase "rest"`, "already"},
		{"nothing selected", []string{`select = [switch.leaf]`, `select = []`}, codeSelect, `select = []`, "No instance"},
		{"unknown selection", []string{`select = "remaining"`, `select = "rest"`}, codeValue, `select = "rest"`, "neither"},
		{"unknown metric", []string{`metric "p99"`, `metric "p98"`}, codeMetric, `metric "p98"`, `Did you mean`},
		{"limit of another kind", []string{`max = "30us"`, `max = 30`}, codeMetric, `max = 30`, "latency"},
		{"size not measured", []string{`metric "p99" { max = "30us" }`, "metric \"p99\" {\n    max = \"30us\"\n    size = \"8KiB\"\n  }"}, codeMetric, `size = "8KiB"`, ""},
	}
}

func TestMistakes(t *testing.T) {
	seen := map[Code]bool{
		codeFile: true, codeVarUnknown: true, // these take more than one file
		codeVarPlanned: true,                  // takes a saved plan: TestPrecedence
		codeReadable:   true,                  // takes the mode of a file: TestSecretFilesThatOthersRead
		CodeLater:      true, CodeAgent: true, // package modules
	}
	for _, m := range slices.Concat(languageMistakes(), variableMistakes(), ruleMistakes(),
		networkMistakes(), qosMistakes(), storageMistakes(), rolloutMistakes()) {
		seen[m.code] = true
		t.Run(m.name, func(t *testing.T) {
			text := edited(t, m.edits...)
			model, diags := loadText(text, Options{})
			d := find(model, diags, m.code, m.at)
			if d == nil {
				t.Fatalf("no %s at %q:\n%s", m.code, m.at, diagText(model, diags))
			}
			if !strings.Contains(d.Summary+" "+d.Detail, m.says) {
				t.Errorf("%q is not in %s\n%s", m.says, d.Summary, d.Detail)
			}
			if !strings.HasPrefix(d.Summary, string(m.code)+": ") {
				t.Errorf("summary without its code: %s", d.Summary)
			}
			for _, d := range diags {
				if d.Subject == nil || d.Context == nil || CodeOf(d) == "" {
					t.Errorf("incomplete: %+v", d)
				}
			}
		})
	}
	for _, c := range Codes() {
		if !seen[c.Code] {
			t.Errorf("no test for %s: %s", c.Code, c.Title)
		}
	}
}

func variableMistakes() []mistake {
	declare := func(body string) []string { return []string{`weft {`, "variable \"x\" {\n" + body + "\n}\nweft {"} }
	return []mistake{
		{"variable unset", declare(`type = string`), codeVarUnset, `variable "x"`, "WEFT_VAR_x"},
		{"variable type", declare(`type = map(list(string` + "))\n" + `default = 3`), codeVarType, `variable "x"`, "does not fit"},
		{"variable type syntax", declare(`type = strng` + "\n" + `default = 3`), codeVarType, `type = strng`, ""},
		{"variable validation", declare(`default = 3` + "\n" + `validation {` + "\n" + `condition = var.x > 5` + "\n" + `error_message = "x is ${var.x}"` + "\n}"), codeVarInvalid, `condition = var.x > 5`, "x is 3"},
		{"variable unknown", []string{`user = "root"`, `user = var.nme`}, codeReference, `var.nme`, ""},
		{"variable default refers", declare(`default = local.x`), codeExpr, `default = local.x`, ""},
		{"secret literal", []string{`env("SWITCH_PASSWORD")`, `"hunter2"`}, codeLiteral, `credential "switch"`, "main.weft.hcl:8"},
		{"secret literal part", []string{`env("SWITCH_PASSWORD")`, `"hunter2${env("X")}"`}, codeLiteral, `credential "switch"`, ""},
		{"secret literal default", append(declare("sensitive = true\ndefault = \"hunter2\""), `env("SWITCH_PASSWORD")`, `var.x`), codeLiteral, `variable "x"`, ""},
		{"secret in a variable", append(declare(`default = "hunter2"`), `env("SWITCH_PASSWORD")`, `var.x`), codeExposed, `credential "switch"`, "sensitive = true"},
		{"secret elsewhere", []string{`content = "managed"`, `content = credential.switch.password`}, codeShown, `credential.switch.password`, ""},
	}
}
