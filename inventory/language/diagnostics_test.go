package language

import (
	"slices"
	"strings"
	"testing"

	"weft/inventory/problem"
)

// A mistake is made in base and must be reported with its code, at the line
// that contains at, with a text that contains says.
type mistake struct {
	name  string
	edits []string
	code  problem.Code
	at    string
	says  string
}

func languageMistakes() []mistake {
	return []mistake{
		{"syntax", []string{`weft { name`, `weft { name = = `}, problem.Syntax, "weft {", ""},
		{"unknown block", []string{`pool "flash"`, `pol "flash"`}, problem.Block, `pol "flash"`, `Did you mean "pool"?`},
		{"unknown nested block", []string{`limits {`, `limit {`}, problem.Block, `limit {`, `Did you mean "limits"?`},
		{"block for attribute", []string{`limits { iops = 1000 }`, `limits = { iops = 1000 }`}, problem.Attribute, `limits =`, "is a block"},
		{"attribute for block", []string{`  drives = ["nvme-eui.01"]`, `  drives { a = 1 }`}, problem.Block, `drives {`, "is an attribute"},
		{"unknown attribute", []string{`  user     = "admin"`, `  usr = "admin"`}, problem.Attribute, `usr =`, `Did you mean "user"?`},
		{"stray attribute", []string{`weft {`, "hosts = 3\nweft {"}, problem.Attribute, `hosts = 3`, "weft.weftvars"},
		{"observed written", []string{`connect { to`, "live_paths = 2\n  connect { to"}, problem.Attribute, `live_paths = 2`, "itself"},
		{"no label", []string{`volume "fast"`, `volume`}, problem.Labels, `volume {`, "lacks its name"},
		{"two labels", []string{`volume "fast"`, `volume "fast" "er"`}, problem.Labels, `volume "fast"`, "takes one"},
		{"label not wanted", []string{`limits {`, `limits "x" {`}, problem.Labels, `limits "x"`, "takes no label"},
		{"label not a name", []string{`volume "fast"`, `volume "1/2"`}, problem.Labels, `volume "1/2"`, "not a name"},
		{"attribute missing", []string{`  drives = ["nvme-eui.01"]`, ""}, problem.Missing, `pool "flash"`, "drives"},
		{"switch without os", []string{`  os     = "nxos"`, ""}, problem.Missing, `switch "leaf"`, `its os: "nxos" or "comware"`},
		{"switch without host", []string{`  host   = "leaf.example.net"`, "  unmanaged = 1 > 2"}, problem.Missing, `switch "leaf"`, "switch.leaf lacks host"},
		{"attribute null", []string{`drives = ["nvme-eui.01"]`, `drives = null`}, problem.Missing, `drives = null`, "is null"},
		{"block missing", []string{`metric "p99" { max = "30us" }`, ""}, problem.Missing, `validation "latency"`, "metric"},
		{"no weft", []string{`weft { name = "pod" }`, ""}, problem.Missing, "", "no weft block"},
		{"declared twice", []string{`pool "flash"`, "volume \"fast\" {\n pool = pool.flash\n size = \"1GB\"\n}\npool \"flash\""}, problem.Twice, `volume "fast"`, "already declared at main.weft.hcl:"},
		{"nested twice", []string{`plane "b"`, `plane "a"`}, problem.Twice, `plane "a" { subnet = "10.2`, "already"},
		{"local twice", []string{`weft {`, "locals { x = 1 }\nlocals { x = 2 }\nweft {"}, problem.Twice, `locals { x = 2 }`, "already"},
		{"bad function", []string{`"1TiB"`, `frmat("1TiB")`}, problem.Expr, `frmat`, `Did you mean "format"?`},
		{"bad call", []string{`cidrhost("10.1.0.0/24", each.value)`, `cidrhost("10.1.0", each.value)`}, problem.Expr, `cidrhost("10.1.0"`, "not a subnet"},
		{"file outside", []string{`content = "managed"`, `content = file("../x")`}, problem.Expr, `file("../x")`, "below the directory"},
		{"file missing", []string{`content = "managed"`, `content = file("x")`}, problem.Expr, `file("x")`, "does not exist"},
		{"env unset", []string{`content = "managed"`, `content = env("NOT_SET")`}, problem.Expr, `env("NOT_SET")`, "is not set"},
		{"wrong type", []string{`drives = ["nvme-eui.01"]`, `drives = { a = 1 }`}, problem.Type, `drives = {`, "a list of strings is required"},
		{"number wanted", []string{`priority  = 3`, `priority  = "three"`}, problem.Type, `priority  = "three"`, ""},
		{"text for reference", []string{`pool = pool.flash`, `pool = "flash"`}, problem.Type, `pool = "flash"`, "without quotes"},
		{"reference for text", []string{`host   = "leaf.example.net"`, `host = switch.leaf`}, problem.Type, `host = switch.leaf`, "a reference to switch.leaf"},
		{"reference to another type", []string{`pool = pool.flash`, `pool = server.storage`}, problem.Type, `pool = server.storage`, "is a server"},
		{"all for one", []string{`server   = server.compute[each.key]`, `server   = server.compute`}, problem.Type, `server   = server.compute`, `as in server.compute["a"]`},
		{"unknown word", []string{`os     = "nxos"`, `os     = "nxoss"`}, problem.Value, `"nxoss"`, `Did you mean "nxos"?`},
		{"size without unit", []string{`size = "1TiB"`, `size = "1"`}, problem.Value, `size = "1"`, "has no unit"},
		{"duration", []string{`max = "30us"`, `max = "30uss"`}, problem.Value, `"30uss"`, "not a unit"},
		{"rate", []string{`speed = "100G"`, `speed = "fast"`}, problem.Value, `"fast"`, "starts with a number"},
		{"probability", []string{`probability = 5`, `probability = 0`}, problem.Value, `probability = 0`, "from 1 to 100"},
		{"pci", []string{`pci = "0000:41:00.0"`, `pci = "41:00.0"`}, problem.Value, `"41:00.0"`, "PCI address"},
		{"port without pci", []string{`pci = "0000:41:00.0"`, `port = 1`}, problem.Value, `{ port = 1 }`, "port requires pci"},
		{"port number", []string{`pci = "0000:41:00.0"`, `pci = "0000:41:00.0", port = "x"`}, problem.Value, `port = "x"`, "number of a port"},
		{"reference typo", []string{`pool = pool.flash`, `pool = pool.flsh`}, problem.Reference, `pool.flsh`, `Did you mean "flash"?`},
		{"root typo", []string{`pool = pool.flash`, `pool = pol.flash`}, problem.Reference, `pol.flash`, `Did you mean "pool"?`},
		{"part typo", []string{`from  = server.storage.rnic.p0`, `from  = server.storage.rnic.p9`}, problem.Reference, `rnic.p9`, `Did you mean "p0"?`},
		{"key typo", []string{`connect { to`, "depends_on = [server.compute[\"aa\"]]\n  connect { to"}, problem.Reference, `["aa"]`, `server.compute has no "aa". Did you mean "a"?`},
		{"member typo", []string{`content = "managed"`, `content = server.storage.hst`}, problem.Reference, `server.storage.hst`, `Did you mean "host"?`},
		{"value typo", []string{`"${each.key}.example.net"`, `each.valu`}, problem.Reference, `each.valu`, `Did you mean "value"?`},
		{"takes no key", []string{`server = server.storage
`, `server = server.storage["a"]` + "\n"}, problem.Reference, `server.storage["a"]`, "one block"},
		{"each without for_each", []string{`user = "root"`, `user = each.key`}, problem.Reference, `each.key`, "for_each"},
		{"cycle", []string{`weft {`, "locals {\n  x = local.y\n  y = local.x\n}\nweft {"}, problem.Cycle, `x = local.y`, "local.y (main.weft.hcl:"},
		{"cycle of for_each", []string{`for_each = { a = 21, b = 22 }`, `for_each = { for k, v in server.compute : k => 1 }`}, problem.Cycle, `for_each`, "server.compute ("},
		{"cycle of allow_hosts", []string{`connect { to = target.nvme }`, `connect { to = length(target.nvme.subsystem["data"].allow_hosts) > 9 ? target.nvme : target.nvme }`}, problem.Cycle, `subsystem "data"`, "the initiators of all targets needs"},
		{"observed", []string{`content = "managed"`, `content = initiator.nvme["a"].live_paths`}, problem.Observed, `live_paths`, "an output, a check or"},
		{"deep", []string{`"1TiB"`, strings.Repeat("(", 2000) + `"1TiB"` + strings.Repeat(")", 2000)}, problem.TooLarge, `size =`, "nested"},
		{"long number", []string{`priority  = 3`, `priority  = 1e999999`}, problem.TooLarge, `1e999999`, ""},
		{"for_each of a list", []string{`for_each = { a = 21, b = 22 }`, `for_each = ["a", "b"]`}, problem.Repeat, `for_each = ["a"`, "toset"},
		{"for_each and count", []string{`for_each = { a = 21, b = 22 }`, "for_each = { a = 21, b = 22 }\n  count = 2"}, problem.Repeat, `count = 2`, ""},
		{"count", []string{`pool "flash" {`, "pool \"flash\" {\n  count = 1.5"}, problem.Repeat, `count = 1.5`, ""},
		{"key of for_each", []string{`for_each = { a = 21, b = 22 }`, `for_each = { "a\"" = 21 }`}, problem.Repeat, `for_each`, "quotes"},
		{"version", []string{`weft { name = "pod" }`, "weft {\n  required_version = \">= 2\"\n  name = \"pod\"\n}"}, problem.Version, `required_version`, "this is weft"},
		{"version syntax", []string{`weft { name = "pod" }`, "weft {\n  required_version = \"new\"\n  name = \"pod\"\n}"}, problem.Version, `required_version`, "invalid version constraint"},
		{"owner", []string{`name = "pod"`, `name = "Pod_1"`}, problem.Owner, `name = "Pod_1"`, "1 to 20"},
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
		{"no plane", []string{`"10.1.0.11/24"`, `"10.9.0.11/24"`}, problem.NoPlane, `"10.9.0.11/24"`, "is in no plane"},
		{"no address", []string{`address = "10.1.0.11/24"`, ""}, problem.NoPlane, `fabric  = fabric.roce`, "no address"},
		{"address twice", []string{`"10.1.0.11/24"`, `"10.1.0.21/24"`}, problem.AddrTwice, `cidrhost("10.1.0.0/24"`, "server.storage.rnic.p0"},
		{"network address", []string{`"10.1.0.11/24"`, `"10.1.0.0/24"`}, problem.NotHost, `"10.1.0.0/24"`, "broadcast"},
		{"broadcast address", []string{`"10.1.0.11/24"`, `"10.1.0.255/24"`}, problem.NotHost, `"10.1.0.255/24"`, "broadcast"},
		{"host as subnet", []string{`subnet = "10.1.0.0/24"`, `subnet = "10.1.0.1/24"`}, problem.NotHost, `subnet = "10.1.0.1/24"`, "10.1.0.0/24"},
		{"switch without plane", []string{`  plane  = "a"`, ""}, problem.Plane, `fabric = fabric.roce`, "set plane"},
		{"switch in no plane", []string{`plane  = "a"`, `plane  = "c"`}, problem.Plane, `plane  = "c"`, "no plane"},
		{"planes overlap", []string{`"10.2.0.0/24"`, `"10.1.0.0/16"`}, problem.Overlap, `subnet = "10.1.0.0/16"`, "overlaps"},
		{"crossed", []string{`from  = server.storage.rnic.p0`, `from  = server.storage.rnic.p1`}, problem.Crossed, `link "leaf"`, `switch.leaf.port["Ethernet1/1"] is in fabric.roce.plane.a (main.weft.hcl:`},
		{"two links", second("link \"other\" {\n  from = server.compute[\"a\"].rnic.p0\n  to = switch.leaf.port[\"Ethernet1/1\"]\n}"), problem.EndTwice, `to = switch.leaf.port`, "link.leaf"},
		{"unreachable initiator", []string{"  rnic \"p1\" {\n    match   = { pci = \"0000:41:00.1\" }\n    address = \"${cidrhost(\"10.2.0.0/24\", each.value)}/24\"\n    fabric  = fabric.roce\n  }\n", ""}, problem.Unreachable, `connect { to`, `no NIC in plane "b"`},
		{"several subnets in one plane", []string{`address = "${cidrhost("10.2.0.0/24", each.value)}/24"`, `address = "${cidrhost("10.2.0.0/24", each.value + 128)}/25"`}, problem.Segments, `address = `, `is in 10.2.0.128/25, and server.storage.rnic.p1 (`},
		{"unreachable target", []string{`[server.storage.rnic.p0, server.storage.rnic.p1]`, `[server.storage.rnic.p0]`}, problem.Unreachable, `portals`, `no portal in plane "b"`},
		{"NIC twice", []string{`"0000:41:00.1"`, `"0000:41:00.0"`}, problem.Match, `match   =`, "also has"},

		{"DSCP twice", []string{`[48]`, `[48, 26]`}, problem.DSCP, `[48, 26]`, "DSCP 26"},
		{"priority twice", []string{`priority = 6`, `priority = 3`}, problem.Priority, `priority = 3`, "Priority 3"},
		{"ETS", []string{`bandwidth = 60`, `bandwidth = 70`}, problem.ETS, `bandwidth = 40`, "rdma 70 + default 40 = 110"},
		{"strict share", []string{`strict   = true`, "strict = true\n    bandwidth = 10"}, problem.Share, `bandwidth = 10`, ""},
		{"no bandwidth share", []string{`    strict   = true`, ""}, problem.Share, `traffic_class "cnp"`, ""},
		{"ECN", []string{`"1500KB"`, `"100KB"`}, problem.ECN, "min ", "below max"},
		{"object name", []string{`name = "pod"`, `name = "pod-with-a-name"`}, problem.ObjectName, `traffic_class "default"`, "WEFT-pod-with-a-name-roce-default has 33"},
		{"class without DSCP", []string{`    dscp     = [48]`, ""}, problem.Class, `traffic_class "cnp"`, "dscp"},
		{"class without priority", []string{`    priority = 6`, ""}, problem.Class, `traffic_class "cnp"`, "priority"},
		{"lossy", []string{`transport = "rocev2"`, "transport = \"rocev2\"\n  mode = \"lossy\""}, problem.Lossless, `pfc       = true`, ""},
		{"lossless", []string{`    pfc       = true`, ""}, problem.Lossless, `fabric "roce"`, "No traffic class has pfc = true"},

		{"NQN", []string{`"nqn.2026-11.net.example:data"`, `"nqn.2026-13.net.example:data"`}, problem.NQN, `nqn.2026-13`, "does not look like"},
		{"long NQN", []string{`server   = server.compute[each.key]`, "server = server.compute[each.key]\n  hostnqn = format(\"nqn.2026-11.net.example:%0198d\", each.value)"}, problem.NQN, `hostnqn`, ":probe"},
		{"NQN twice", second(target("x", own, "nqn.2026-11.net.example:data", "")), problem.NQNTwice, `nqn = "nqn.2026`, "target.nvme"},
		{"host NQN twice", []string{`server   = server.compute[each.key]`, "server = server.compute[each.key]\n  hostnqn = \"nqn.2026-11.net.example:host\""}, problem.HostNQNTwice, `hostnqn`, "initiator.nvme"},
		{"long serial", []string{`nqn = "nqn.2026-11.net.example:data"`, "nqn = \"nqn.2026-11.net.example:data\"\n    serial = \"123456789012345678901\""}, problem.Serial, `serial =`, "20"},
		{"namespace ID", []string{`namespace "1"`, `namespace "0"`}, problem.NSID, `namespace "0"`, "4294967294"},
		{"namespace id twice", []string{`namespace "1" {`, "namespace \"01\" {\n      from = volume.fast\n    }\n    namespace \"1\" {"}, problem.NSID, `namespace "1"`, "also has"},
		{"volume on another server", []string{"pool \"flash\" {\n  server = server.storage", "pool \"flash\" {\n  server = server.compute[\"a\"]"}, problem.Elsewhere, `from = volume.fast`, "is on server.compute"},
		{"limits", []string{`transport = ["tcp"]`, "transport = [\"tcp\"]\n  engine = \"nvmet\""}, problem.Limits, `limits {`, "kernel"},
		{"UUID", []string{`from = volume.fast`, "from = volume.fast\n      uuid = \"1-2-3\""}, problem.UUID, `uuid =`, "not a UUID"},
		{"portal on another server", []string{`[server.storage.rnic.p0, server.storage.rnic.p1]`, `server.compute["a"].rnic`}, problem.Portal, `portals`, "not a NIC of server.storage"},
		{"literal portal", []string{`[server.storage.rnic.p0, server.storage.rnic.p1]`, `["10.1.0.11"]`}, problem.Portal, `portals`, "reference to a NIC"},
		{"bad portal", []string{`[server.storage.rnic.p0, server.storage.rnic.p1]`, `["10.1.0.311"]`}, problem.Portal, `portals`, "is not an address"},
		{"target without server", second(target("x", `portals = [server.storage.rnic.p0]`, "nqn.2026-11.net.example:x", "")), problem.Target, `target "x"`, "server is required"},
		{"external on a server", second(target("x", own+"\n  engine = \"external\"", "nqn.2026-11.net.example:x", "")), problem.Target, `server = server.storage`, "external"},
		{"volume twice", second(target("x", own, "nqn.2026-11.net.example:x", "namespace \"1\" {\n      from = volume.fast # again\n    }")), problem.VolumeTwice, `from = volume.fast # again`, "overwrite each other"},

		{"unstable drive", []string{`"nvme-eui.01"`, `"/dev/nvme0n1"`}, problem.Drive, `drives`, "after a reboot"},
		{"drive twice", second("pool \"other\" {\n  server = server.storage\n  drives = [\"nvme-eui.01\"] # again\n}"), problem.DriveTwice, `# again`, "pool.flash"},
		{"volume name", second("volume \"x\" {\n  for_each = toset([\"y\"])\n  pool = pool.flash\n  size = \"1GB\"\n}\nvolume \"x-y\" {\n  pool = pool.flash # same\n  size = \"1GB\"\n}"), problem.VolumeName, `pool = pool.flash # same`, `"x-y"`},

		{"selected twice", []string{`select = "remaining"`, `select = [switch.leaf]`}, problem.Select, `phase "rest"`, "already"},
		{"in two sites", []string{`weft {`, "site \"dc1\" {\n  select = [switch.leaf]\n}\nsite \"dc2\" {\n  select = [server.storage, switch.leaf]\n}\nweft {"}, problem.Select, `select = [server.storage, switch.leaf]`, `switch.leaf is already part of site.dc1`},
		{"site without devices", []string{`weft {`, "site \"dc1\" {\n  select = []\n}\nweft {"}, problem.Select, `select = []`, "select matches no device"},
		{"site of a label nobody has", []string{`weft {`, "site \"dc1\" {\n  select = \"@dc=9\"\n}\nweft {"}, problem.Select, `"@dc=9"`, "No server has a label dc"},
		{"nothing remains for a site", []string{`weft {`, "site \"dc1\" {\n  select = \"remaining\"\n}\nweft {"}, problem.Value, `"remaining"`, "neither"},
		{"site of a pool", []string{`weft {`, "site \"dc1\" {\n  select = [pool.flash]\n}\nweft {"}, problem.Type, `pool.flash`, "is a pool"},
		{"site of an unknown device", []string{`weft {`, "site \"dc1\" {\n  select = [switch.lef]\n}\nweft {"}, problem.Reference, `switch.lef`, "leaf"},
		{"nothing selected", []string{`select = [switch.leaf]`, `select = []`}, problem.Select, `select = []`, "select matches no instance"},
		{"unknown selection", []string{`select = "remaining"`, `select = "rest"`}, problem.Value, `select = "rest"`, "neither"},
		{"unknown metric", []string{`metric "p99"`, `metric "p98"`}, problem.Metric, `metric "p98"`, `Did you mean`},
		{"metric of another probe", []string{`metric "p99" { max = "30us" }`, `metric "iops" { max = 5 }`}, problem.Metric, `metric "iops"`, `For iops, set probe = "nvme-load"`},
		{"too few samples", []string{`metric "p99"`, "samples = 5000\n  metric \"p9999\""}, problem.Metric, `metric "p9999"`, "needs 10000 samples"},
		{"least of a latency", []string{`metric "p99" { max = "30us" }`, `metric "p99" { min = 30 }`}, problem.Metric, `min = 30`, "set max"},
		{"nothing compared", []string{`metric "p99" { max = "30us" }`, `metric "cpu_saved" { min = 0.3 }`}, problem.Metric, `metric "cpu_saved"`, `compare = ["rdma", "tcp"]`},
		{"compared to itself", []string{`metric "p99" { max = "30us" }`, "compare = [\"rdma\", \"tcp\"]\n  metric \"ratio\" { regression = \"10%\" }"}, problem.Metric, `regression =`, "no baseline"},
		{"compared with a duration", []string{`metric "p99" { max = "30us" }`, "compare = [\"rdma\", \"tcp\"]\n  metric \"ratio\" { max = \"30us\" }"}, problem.Metric, `max =`, "a number"},
		{"least over most", []string{`metric "p99" { max = "30us" }`, "compare = [\"rdma\"]\n  metric \"throughput\" {\n    min = 30\n    max = 3\n  }"}, problem.Metric, `min = 30`, "min is"},
		{"limits of what compares", []string{`metric "p99" { max = "30us" }`, "compare = [\"rdma\"]\n  metric \"throughput\" { unit = \"x\" }"}, problem.Metric, `metric "throughput"`, "needs min or max"},
		{"before nothing", []string{`metric "p99" { max = "30us" }`, "metric \"p99\" { max = \"30us\" }\n  depth = 4"}, problem.Metric, `depth = 4`, "applies only with compare"},
		{"runtime of an instant", []string{`metric "p99" { max = "30us" }`, "metric \"p99\" { max = \"30us\" }\n  compare = [\"local\"]\n  runtime = \"1ms\""}, problem.Duration, `runtime =`, "10 ms"},
		{"a system that no device has", []string{`probe = "nvme-read"`, "probe = \"nvme-read\"\n  allow_unmeasured = [\"esx\"]"}, problem.Unmeasured, `allow_unmeasured = ["esx"]`, `"esx" is not the system`},
		{"a counter that nothing counts", []string{`metric "p99" { max = "30us" }`, "metric \"x\" {\n    source = \"switch.port.smell\"\n    max = 0\n  }"}, problem.Metric, `source = "switch.port.smell"`, `counts no "smell"`},
		{"a load of reads", []string{`metric "p99" { max = "30us" }`, "metric \"p99\" { max = \"30us\" }\n  rw = \"randwrite\""}, problem.Load, `rw = "randwrite"`, "applies only with probe"},
		{"a load without room", []string{`probe = "nvme-read"`, "probe = \"nvme-load\"\n  span = \"64KiB\"\n  queues = 2"}, problem.Load, `span = "64KiB"`, "131072 bytes, but span is 65536"},
		{"a log without pages", []string{`probe = "nvme-read"`, "probe = \"nvme-load\"\n  rw = \"database\""}, problem.Load, `rw = "database"`, "queues to at least 2"},
		{"flushes of reads", []string{`probe = "nvme-read"`, "probe = \"nvme-load\"\n  fsync = 8"}, problem.Load, `fsync = 8`, "does not write"},
		{"a mix of one", []string{`probe = "nvme-read"`, "probe = \"nvme-load\"\n  read_share = 50"}, problem.Load, `read_share = 50`, "only reads or only writes"},
		{"nothing to overwrite", []string{`probe = "nvme-read"`, "probe = \"nvme-load\"\n  rw = \"randrw\""}, problem.Load, `rw = "randrw"`, "scratch = true"},
		{"a load as a gate", []string{`probe = "nvme-read"`, "probe = \"nvme-load\"\n  rw = \"randrw\""}, problem.Load, `gate   = [`, "--i-will-write"},
		{"least of what takes long", []string{`probe = "nvme-read"`, `probe = "nvme-load"`, `metric "p99" { max = "30us" }`, `metric "p99" { min = 30 }`}, problem.Metric, `min = 30`, "lower is better"},
		{"wrong type of limit", []string{`max = "30us"`, `max = 30`}, problem.Metric, `max = 30`, "latency"},
		{"size not measured", []string{`metric "p99" { max = "30us" }`, "metric \"p99\" {\n    max = \"30us\"\n    size = \"8KiB\"\n  }"}, problem.Metric, `size = "8KiB"`, ""},
	}
}

func TestMistakes(t *testing.T) {
	seen := map[problem.Code]bool{
		problem.File: true, problem.VarUnknown: true, // these take more than one file
		problem.VarPlanned: true,                      // takes a saved plan: TestPrecedence
		problem.Untrusted:  true,                      // takes files that are not trusted: TestUntrustedAsksForNothing
		problem.Readable:   true,                      // takes the mode of a file: TestSecretFilesThatOthersRead
		problem.NotManaged: true, problem.Agent: true, // package modules
		problem.Later: true, // takes a catalogue with a host system that is not managed yet: all are
	}
	// One mistake of decoding or of a reference is one problem; these are more than one mistake.
	decoding := map[problem.Code]bool{problem.Syntax: true, problem.Block: true, problem.Attribute: true, problem.Labels: true, problem.Missing: true,
		problem.Twice: true, problem.Type: true, problem.Value: true, problem.Reference: true, problem.Repeat: true, problem.Select: true}
	manifold := map[string]bool{"syntax": true, "all for one": true, "count": true}
	for _, m := range slices.Concat(languageMistakes(), variableMistakes(), ruleMistakes(),
		networkMistakes(), pvrdmaMistakes(), qosMistakes(), storageMistakes(), rolloutMistakes()) {
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
			if one := len(diags) == 1; !one && decoding[m.code] && !manifold[m.name] {
				t.Errorf("%d problems:\n%s", len(diags), diagText(model, diags))
			}
			if !strings.HasPrefix(d.Summary, string(m.code)+": ") {
				t.Errorf("summary without its code: %s", d.Summary)
			}
			for _, d := range diags {
				if d.Subject == nil || d.Context == nil || problem.CodeOf(d) == "" {
					t.Errorf("incomplete: %+v", d)
				}
			}
		})
	}
	for _, c := range problem.Codes() {
		if !seen[c.Code] {
			t.Errorf("no test for %s: %s", c.Code, c.Title)
		}
	}
}

func variableMistakes() []mistake {
	declare := func(body string) []string { return []string{`weft {`, "variable \"x\" {\n" + body + "\n}\nweft {"} }
	return []mistake{
		{"variable unset", declare(`type = string`), problem.VarUnset, `variable "x"`, "WEFT_VAR_x"},
		{"variable type", declare(`type = map(list(string` + "))\n" + `default = 3`), problem.VarType, `variable "x"`, "does not match"},
		{"variable type syntax", declare(`type = strng` + "\n" + `default = 3`), problem.VarType, `type = strng`, ""},
		{"variable validation", declare(`default = 3` + "\n" + `validation {` + "\n" + `condition = var.x > 5` + "\n" + `error_message = "x is ${var.x}"` + "\n}"), problem.VarInvalid, `condition = var.x > 5`, "x is 3"},
		{"variable unknown", []string{`user = "root"`, `user = var.nme`}, problem.Reference, `var.nme`, ""},
		{"variable default refers", declare(`default = local.x`), problem.Expr, `default = local.x`, ""},
		{"secret literal", []string{`env("SWITCH_PASSWORD")`, `"hunter2"`}, problem.Literal, `credential "switch"`, "main.weft.hcl:8"},
		{"secret literal part", []string{`env("SWITCH_PASSWORD")`, `"hunter2${env("X")}"`}, problem.Literal, `credential "switch"`, ""},
		{"secret literal default", append(declare("sensitive = true\ndefault = \"hunter2\""), `env("SWITCH_PASSWORD")`, `var.x`), problem.Literal, `variable "x"`, ""},
		{"secret in a variable", append(declare(`default = "hunter2"`), `env("SWITCH_PASSWORD")`, `var.x`), problem.Exposed, `credential "switch"`, "sensitive = true"},
		{"secret elsewhere", []string{`content = "managed"`, `content = credential.switch.password`}, problem.Shown, `credential.switch.password`, ""},
	}
}

// Files that are not trusted ask for nothing of this machine.
func TestUntrustedAsksForNothing(t *testing.T) {
	for _, call := range []string{`env("HOME")`, `exec(["id"])`} {
		text := base + "locals { x = " + call + " }\noutput \"x\" { value = local.x }\n"
		m, diags := loadText(text, Options{Untrusted: true, LookupEnv: func(string) (string, bool) {
			t.Errorf("%s reads the environment", call)
			return "", false
		}})
		if find(m, diags, problem.Untrusted, call) == nil {
			t.Errorf("%s:\n%s", call, diagText(m, diags))
		}
	}
}
