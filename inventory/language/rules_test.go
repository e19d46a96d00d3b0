package language

import (
	"slices"
	"strings"
	"testing"

	"weft/inventory/problem"
	"weft/inventory/rules"

	"github.com/hashicorp/hcl/v2"
)

// more puts text before the rollout of base.
func more(text string) []string {
	return []string{"rollout \"all\"", text + "\nrollout \"all\""}
}

// probing is one more initiator, which is weft's own host.
func probing(name, line string) string {
	return `initiator "` + name + `" {
  server  = server.compute["a"]
  engine  = "none"
  hostnqn = "nqn.2026-11.net.example:` + name + `"
  ` + line + `
  connect {
    to = target.nvme # ` + name + `
  }
}`
}

// esxi makes hosts of base ESXi.
func esxi() []string {
	return []string{`host     = "${each.key}.example.net"`, "host     = \"${each.key}.example.net\"\n  os       = \"esxi\""}
}

const (
	secondLeaf = `
switch "other" {
  os     = "nxos"
  host   = "other.example.net"
  fabric = fabric.roce
  plane  = "b"
}
`
	comware = `
switch "h3c" {
  os     = "comware"
  host   = "h3c.example.net"
  fabric = fabric.roce
  plane  = "a"
}
`
	vcenter = `
vcenter "dc1" {
  host       = "vc.example.net"
  credential = credential.switch
}
`
	elsewhere = `
pool "far" {
  server = server.compute["a"]
  drives = ["nvme-eui.03"]
}
`
	farTarget = `
target "far" {
  server  = server.compute["a"]
  portals = [server.compute["a"].rnic.p0, server.compute["a"].rnic.p1]
  subsystem "far" {
    nqn = "nqn.2026-11.net.example:far"
    namespace "1" { from = volume.fast }
  }
}
`
	array = `
target "array" {
  engine  = "external"
  portals = ["10.1.0.50", "10.2.0.50"]
  subsystem "x" { nqn = "nqn.2026-11.net.example:x" }
}
`
	spine = `
switch "spine" {
  os        = "nxos"
  host      = "spine.example.net"
  unmanaged = true
}
`
)

func networkMistakes() []mistake {
	link := func(name, from, to, speed string) string {
		return "link \"" + name + "\" {\n  from = " + from + "\n  to = " + to + "\n  speed = \"" + speed + "\"\n}\n"
	}
	return []mistake{
		{"three planes overlap", []string{`plane "b" {`, "plane \"c\" { subnet = \"10.1.0.128/25\" }\n  plane \"b\" {"}, problem.Overlap, `plane "c"`, "10.1.0.128/25 overlaps 10.1.0.0/24 of fabric.roce.plane.a (main.weft.hcl:"},
		{"switches crossed", more(secondLeaf + link("up", `switch.leaf.port["Ethernet1/49"]`, `switch.other.port["Ethernet1/49"]`, "100G")), problem.Crossed, `link "up"`, `switch.other.port["Ethernet1/49"] is in fabric.roce.plane.b`},
		{"NICs crossed", more(link("back", `server.storage.rnic.p1`, `server.compute["a"].rnic.p0`, "100G")), problem.Crossed, `link "back"`, `server.compute["a"].rnic.p0`},
		{"link faster than its port", more(comware + link("fast", `server.storage.rnic.p0`, `switch.h3c.port["Twenty-FiveGigE1/0/1"]`, "100G")), problem.Speed, `speed = "100G"`, `switch.h3c.port["Twenty-FiveGigE1/0/1"] supports at most 25G`},
		{"planes of two speeds", more(secondLeaf + link("slow", `server.storage.rnic.p1`, `switch.other.port["Ethernet1/1"]`, "25G")), problem.Uneven, `speed = "25G"`, "server.storage.rnic.p1 has 25G, but server.storage.rnic.p0 has 100G (main.weft.hcl:"},
		{"one switch", more(spine + link("a", `server.compute["a"].rnic.p0`, `switch.spine.port["Ethernet1/1"]`, "100G") + link("b", `server.compute["a"].rnic.p1`, `switch.spine.port["Ethernet1/2"]`, "100G")),
			problem.OneSwitch, `to = switch.spine.port["Ethernet1/2"]`, `server.compute["a"].rnic.p0 (link.a (main.weft.hcl:`},
		{"no fabric", []string{"  fabric = fabric.roce\n  plane  = \"a\"\n", ""}, problem.NoFabric, `switch "leaf"`, "unmanaged = true"},
		{"no fabric behind a link", []string{"  fabric = fabric.roce\n  plane  = \"a\"\n", ""}, problem.NoFabric, `to    = switch.leaf`, "server.storage.rnic.p0 belongs to fabric.roce, but switch.leaf (main.weft.hcl:"},
		{"MTU", []string{`transport = "rocev2"`, "transport = \"rocev2\"\n  mtu = 5000 # small"}, problem.MTU, `# small`, "packets of 9000 bytes, but switch ports accept 5000"},
		{"MTU without room", []string{`transport = "rocev2"`, "transport = \"rocev2\"\n  mtu = 9000\n  host_mtu = 9000 # same"}, problem.MTU, `# same`, "a frame of up to 9022"},
		{"small RoCE packets", []string{`transport = "rocev2"`, "transport = \"rocev2\"\n  host_mtu = 1500"}, problem.SmallMTU, `host_mtu = 1500`, "a RoCE packet carries 1024 bytes; with 4192 or more"},
		{"switch host twice", more(`switch "twin" {
  os     = "nxos"
  host   = "leaf.example.net" # again
  fabric = fabric.roce
  plane  = "a"
}`), problem.DeviceTwice, `# again`, "switch.leaf (main.weft.hcl:"},
		{"switch serial twice", []string{`host   = "leaf.example.net"`, "host   = \"leaf.example.net\"\n  serial = \"FDO1\"", "rollout \"all\"", `switch "twin" {
  os     = "nxos"
  host   = "twin.example.net"
  serial = "FDO1" # again
  fabric = fabric.roce
  plane  = "a"
}
rollout "all"`}, problem.DeviceTwice, `# again`, "switch.leaf (main.weft.hcl:"},
		{"server host twice", []string{`"${each.key}.example.net"`, `"compute.example.net"`}, problem.DeviceTwice, `host     = "compute.example.net"`, `server.compute["a"] (main.weft.hcl:`},
		{"machine id twice", []string{`host     = "${each.key}.example.net"`, "host     = \"${each.key}.example.net\"\n  machine_id = \"0123456789abcdef0123456789abcdef\""}, problem.DeviceTwice, `machine_id`, "cloned"},
		{"two uplinks of one host", more(vcenter + `dvswitch "rdma" {
  vcenter = vcenter.dc1
  path    = "dc1/network/rdma"
  uplinks = [server.storage.rnic.p0, server.storage.rnic.p1] # both
}`), problem.Uplink, `# both`, "has one uplink per host, without teaming"},
		{"an uplink of two distributed switches", more(vcenter + `dvswitch "rdma" {
  vcenter = vcenter.dc1
  path    = "dc1/network/rdma"
  uplinks = [server.storage.rnic.p0]
}
dvswitch "other" {
  vcenter = vcenter.dc1
  path    = "dc1/network/other"
  uplinks = [server.storage.rnic.p0] # again
}`), problem.Uplink, `# again`, "is also an uplink of dvswitch.rdma (main.weft.hcl:"},
		{"duplicate switch path", more(vcenter + `dvswitch "rdma" {
  vcenter = vcenter.dc1
  path    = "dc1/network/rdma"
  uplinks = []
}
dvswitch "other" {
  vcenter = vcenter.dc1
  path    = "dc1/network/rdma" # again
  uplinks = []
}`), problem.Uplink, `# again`, "also has the path dc1/network/rdma"},
		{"port without a kind", []string{`port["Ethernet1/1"]`, `port["1/1"]`}, problem.PortName, `port["1/1"]`, `such as "Ethernet1/1"`},
		{"no login", []string{`connection "default" { user = "root" }`, ""}, problem.Login, `switch "leaf"`, "~/.ssh/config"},
	}
}

func qosMistakes() []mistake {
	headroom := func(xoff, xon, size string) []string {
		return []string{`    pfc       = true`, "    pfc       = true\n    headroom {\n      xoff = \"" + xoff + "\"\n      xon = \"" + xon + "\"\n      size = \"" + size + "\"\n    }"}
	}
	return []mistake{
		{"PFC on 0 of NX-OS", []string{`priority  = 3`, `priority  = 0 # best effort`}, problem.Reserved, `# best effort`, "switch.leaf (main.weft.hcl:"},
		{"PFC on 0 of Comware", []string{`"nxos"`, `"comware"`, `priority  = 3`, `priority  = 0 # best effort`}, problem.Reserved, `# best effort`, "H3C Comware 7 PFC command reference"},
		{"PFC on 7 of Comware", append(more(comware), `priority  = 3`, `priority  = 7`), problem.Reserved, `priority  = 7`, "against PFC on 0, 6 and 7 (H3C"},
		{"two lossless classes", []string{`    strict   = true`, "    strict   = true\n    pfc = true"}, problem.NoDrop, `pfc = true`, "2 lossless classes, and the catalogue has no limit"},
		{"MTU beyond the switch", []string{`transport = "rocev2"`, "transport = \"rocev2\"\n  mtu = 9600"}, problem.MTU, `mtu = 9600`, "switch.leaf (main.weft.hcl:"},
		{"pause without end", headroom("60KB", "61KB", "100KB"), problem.Headroom, `xon = "61KB"`, "must not exceed xoff (60000 bytes, main.weft.hcl:"},
		{"xoff above size", headroom("160KB", "60KB", "100KB"), problem.Headroom, `xoff = "160KB"`, "must not exceed size (100000 bytes, main.weft.hcl:"},
		{"PFC before ECN", headroom("160KB", "60KB", "200KB"), problem.PauseFirst, `max         = "1500KB"`, "PFC pauses at 160000"},
		{"lossless without ECN", []string{"    ecn {\n      min         = \"150KB\"\n      max         = \"1500KB\"\n      probability = 5\n    }\n", ""}, problem.NoECN, `pfc       = true`, "do not slow down"},
		{"lossless without a watchdog", []string{"  pfc_watchdog { action = \"drop\" }\n", ""}, problem.NoWatchdog, `fabric "roce"`, "can stop the whole fabric"},
		{"no class of notifications", []string{`dscp     = [48]`, `dscp     = [40]`}, problem.NoCNP, `ecn {`, "no class has DSCP 48"},
		{"lossless notifications", []string{`dscp      = [26]`, `dscp      = [26, 48]`, `dscp     = [48]`, `dscp     = [40]`}, problem.NoCNP, `[26, 48]`, "is in a lossless class"},
		{"headroom without PFC", []string{`    strict   = true`, "    strict   = true\n    headroom {\n      xoff = \"2KB\"\n      xon = \"1KB\"\n      size = \"3KB\"\n    }"}, problem.Headroom, `headroom {`, "requires pfc"},
		{"classes on InfiniBand", []string{`transport = "rocev2"`, `transport = "infiniband"`}, problem.InfiniBand, `traffic_class "rdma"`, "subnet manager"},
		{"a link to a bundle", more("link \"bundle\" {\n  from = switch.leaf.port[\"port-channel7\"]\n  to = server.compute[\"a\"].rnic.p0\n}"), problem.Value, `from = switch.leaf.port["port-channel7"]`, "declare a link for each member port"},
		{"RDMA could belong to two classes", []string{`  traffic_class "default" {`, "  traffic_class \"other\" {\n    dscp = [34]\n    priority = 4\n    strict = true\n    pfc = true\n  }\n  traffic_class \"default\" {"}, problem.Carries, `traffic_class "other"`, "RDMA could use it or fabric.roce.traffic_class.rdma (main.weft.hcl:"},
		{"transport in two classes", []string{`    strict   = true`, "    strict   = true\n    carries = [\"rdma\"]", `    pfc       = true`, "    pfc       = true\n    carries   = [\"rdma\", \"tcp\"]"}, problem.Carries, `carries = ["rdma"]`, "RDMA is already carried by fabric.roce.traffic_class.rdma (main.weft.hcl:"},
		{"class without traffic", []string{`  traffic_class "default" {`, "  traffic_class \"tcp\" {\n    dscp = [10]\n    priority = 1\n    strict = true\n  }\n  traffic_class \"default\" {"}, problem.Carries, `traffic_class "tcp"`, "Neither RDMA nor TCP uses it"},
		{"partition on Ethernet", []string{`transport = "rocev2"`, "transport = \"rocev2\"\n  partition = \"0x8001\""}, problem.InfiniBand, `partition = "0x8001"`, "only InfiniBand has partition keys"},
		{"switch on InfiniBand", []string{`transport = "rocev2"`, `transport = "infiniband"`}, problem.InfiniBand, `fabric = fabric.roce`, "which nxos does not support"},
	}
}

func storageMistakes() []mistake {
	return []mistake{
		{"RDMA on a TCP fabric", []string{`transport = "rocev2"`, `transport = "tcp"`, `["tcp"]`, `["rdma"]`}, problem.Transport, `transport = ["rdma"]`, `fabric.roce has transport = "tcp" (main.weft.hcl:`},
		{"TCP on InfiniBand", []string{`transport = "rocev2"`, `transport = "infiniband"`}, problem.Transport, `transport = ["tcp"]`, "IPoIB"},
		{"nobody asks for proof", []string{`transport = ["tcp"]`, "transport = [\"tcp\"]\n  dhchap_ctrl_key = env(\"K\") # proof"}, problem.CHAP, `# proof`, "without dhchap_key"},
		{"nobody has a key", []string{`transport = ["tcp"]`, "transport = [\"tcp\"]\n  dhchap_hash = \"sha512\""}, problem.CHAP, `dhchap_hash`, "none authenticates"},
		{"host without a key", more(`initiator "keyed" {
  server     = server.compute["a"]
  hostnqn    = "nqn.2026-11.net.example:keyed"
  dhchap_key = env("K")
  connect { to = target.nvme }
}`), problem.CHAP, `initiator "nvme"`, "by name only"},
		{"demanded of a host without a key", []string{`transport = ["tcp"]`, "transport = [\"tcp\"]\n  demand_auth = true"}, problem.CHAP, `demand_auth`, "no initiator of that name that connects here has dhchap_key"},
		{"demanded without an exchange", []string{`transport = ["tcp"]`, "transport = [\"tcp\"]\n  demand_auth = true\n  dhchap_dhgroup = \"null\""}, problem.CHAP, `dhchap_dhgroup`, "or set a group"},
		{"TLS of the kernel's target", []string{`transport = ["tcp"]`, "engine    = \"nvmet\"\n  transport = [\"tcp\"]\n  tls       = true"}, problem.TLS, `tls       = true`, "tlshd and a keyring"},
		{"TLS over RDMA", []string{`transport = ["tcp"]`, "transport = [\"tcp\", \"rdma\"]\n  tls       = true"}, problem.TLS, `transport = ["tcp", "rdma"]`, "only over TCP"},
		{"TLS of a kernel", []string{`transport = ["tcp"]`, "transport = [\"tcp\"]\n  tls       = true"}, problem.TLS, `to = target.nvme`, "the kernel initiator needs tlshd"},
		{"TLS without a key", append(more(probing("tls2", "")), `transport = ["tcp"]`, "transport = [\"tcp\"]\n  tls       = true"), problem.TLS, `to = target.nvme # tls2`, "set tls_key in the initiator"},
		{"TLS of a host that nobody knows", []string{`transport = ["tcp"]`, "transport = [\"tcp\"]\n  tls       = true", `nqn = "nqn.2026-11.net.example:data"`,
			"nqn = \"nqn.2026-11.net.example:data\"\n    allow_hosts = [\"nqn.2026-11.net.example:h\"]"}, problem.TLS, `tls       = true`, "nqn.2026-11.net.example:h may connect"},
		{"TLS with some", append(more(probing("half", `tls_key = env("K")`)+array), `to = target.nvme # half`, `to = [target.nvme, target.array] # half`,
			`transport = ["tcp"]`, "transport = [\"tcp\"]\n  tls       = true"), problem.TLS, `tls_key = env("K")`, "but not with target.array (main.weft.hcl:"},
		{"TLS with nobody", more(probing("alone", `tls_key = env("K")`)), problem.TLS, `tls_key = env("K")`, "target.nvme (main.weft.hcl:"},
		{"no drives", more(`target "idle" {
  server  = server.compute["a"] # no pool
  portals = [server.compute["a"].rnic.p0, server.compute["a"].rnic.p1]
  subsystem "x" { nqn = "nqn.2026-11.net.example:x" }
}`), problem.Nothing, `# no pool`, `server.compute["a"] (main.weft.hcl:`},
		{"limits of an external target", more(`target "array" {
  engine  = "external"
  portals = ["10.1.0.50", "10.2.0.50"]
  subsystem "x" {
    nqn = "nqn.2026-11.net.example:x"
    namespace "1" {
      from = volume.fast
      limits { iops = 5 }
    }
  }
}`), problem.Limits, `limits { iops = 5 }`, "on the array"},
		{"portal twice", more(`target "two" {
  server  = server.storage
  portals = [server.storage.rnic.p0, server.storage.rnic.p1] # again
  subsystem "x" { nqn = "nqn.2026-11.net.example:x" }
}`), problem.Portal, `# again`, "10.1.0.11:4420 is also a portal of target.nvme (main.weft.hcl:"},
		{"allowed twice", []string{`nqn = "nqn.2026-11.net.example:data"`, "nqn = \"nqn.2026-11.net.example:data\"\n    allow_hosts = [\"nqn.2026-11.net.example:h\", \"nqn.2026-11.net.example:h\"]"}, problem.NQNTwice, `allow_hosts`, "in the list twice"},
		{"empty volume", []string{`size = "1TiB"`, `size = "0B"`}, problem.Value, `size = "0B"`, "more than 0"},
		{"mirror in the same pool", []string{`size = "1TiB"`, "size = \"1TiB\"\n  mirror = [pool.flash]"}, problem.Mirror, `mirror = [pool.flash]`, "pool.flash (main.weft.hcl:"},
		{"mirror beside", append(more(`pool "more" {
  server = server.storage
  drives = ["nvme-eui.02"]
}`), `size = "1TiB"`, "size = \"1TiB\"\n  mirror = [pool.more]"), problem.Mirror, `mirror = [pool.more]`, "survives the loss of a drive, but not of the server"},
		{"three halves", append(more(elsewhere), `size = "1TiB"`, "size = \"1TiB\"\n  mirror = [pool.flash, pool.far]"), problem.Mirror, `mirror = [pool.flash, pool.far]`, "A mirror has two halves"},
		{"half of a mirror", append(more(elsewhere), `size = "1TiB"`, "size = \"1TiB\"\n  mirror = [pool.far]"), problem.Half, `to = target.nvme`, "exports only one half of volume.fast"},
		{"overwrite each other", append(more(elsewhere+farTarget), `size = "1TiB"`, "size = \"1TiB\"\n  mirror = [pool.far]", `to = target.nvme`, `to = [target.nvme, target.far]`), problem.Half, `to = [target.nvme, target.far]`, "connects to volume.fast"},
		{"locks at the kernel's target", append(esxi(), `transport = ["tcp"]`, "engine    = \"nvmet\"\n  transport = [\"tcp\"]", `limits { iops = 1000 }`, ``), problem.Locks, `to = target.nvme`, `target.nvme (main.weft.hcl:`},
		{"locks in half of a mirror", append(esxi(), append(more(elsewhere), `size = "1TiB"`, "size = \"1TiB\"\n  mirror = [pool.far]")...), problem.Locks, `to = target.nvme`, "only one half"},
		{"locks in a mirror", append(esxi(), append(more(`pool "more" {
  server = server.storage
  drives = ["nvme-eui.02"]
}`), `size = "1TiB"`, "size = \"1TiB\"\n  mirror = [pool.more]")...), problem.Locks, `to = target.nvme`, "survives a power loss between the two writes"},
		{"half as scratch", append(more(elsewhere), `size = "1TiB"`, "size = \"1TiB\"\n  mirror = [pool.far]", "namespace \"1\" {", "namespace \"1\" {\n      scratch = true"), problem.Half, `scratch = true`, "would write to only one half of volume.fast"},
	}
}

func rolloutMistakes() []mistake {
	return []mistake{
		{"later phase", []string{`  plane  = "a"`, "  plane  = \"a\"\n  depends_on = [pool.flash]"}, problem.Order, `depends_on`, `but pool.flash is applied only in phase "rest" (main.weft.hcl:`},
		{"later phase by name", []string{`  plane  = "a"`, "  plane  = \"a\"\n  depends_on = [pool.flash]", `phase "rest"`, "phase \"storage\" { select = pool.flash }\n  phase \"rest\""}, problem.Order, `depends_on`, `phase "storage"`},
		{"circle", []string{`  plane  = "a"`, "  plane  = \"a\"\n  depends_on = [pool.flash]", `size = "1TiB"`, "size = \"1TiB\"\n  depends_on = [switch.leaf]", `drives =`, "depends_on = [volume.fast]\n  drives ="},
			problem.Cycle, `depends_on = [pool.flash]`, "), pool.flash (main.weft.hcl:"},
		{"waits for itself", []string{`host     = "${each.key}.example.net"`, "host     = \"${each.key}.example.net\"\n  depends_on = [server.compute]"}, problem.Cycle, `depends_on`, `which depends on server.compute["a"]`},
		{"nothing remains", []string{`select = [switch.leaf]`, `select = [switch.leaf, server.storage, server.compute, link.leaf, pool.flash, volume.fast, target.nvme, initiator.nvme]`}, problem.Select, `phase "rest"`, "already select every device"},
		{"gate without validations", []string{`gate   = [validation.latency]`, `gate   = []`}, problem.NoGate, `gate   = []`, "nothing would be checked"},
		{"record without validations", []string{`gate   = [validation.latency]`, `record = []`}, problem.NoGate, `record = []`, "nothing would be checked"},
		{"no baseline", []string{`metric "p99" { max = "30us" }`, `metric "p99" { regression = "10%" }`}, problem.NoBaseline, `regression`, "inconclusive"},
		{"confirm for too short", []string{`  plane  = "a"`, "  plane  = \"a\"\n  safety { commit_confirm = \"10s\" }"}, problem.Duration, `commit_confirm`, "30 to 65535 seconds"},
		{"no time to connect", []string{`{ user = "root" }`, "{\n  user = \"root\"\n  connect_timeout = \"0s\"\n}"}, problem.Duration, `connect_timeout`, "more than 0"},
		{"no time to detect", []string{`traffic_class "cnp" {`, "pfc_watchdog { detect = \"0s\" }\n  traffic_class \"cnp\" {"}, problem.Duration, `detect`, "more than 0"},
		{"half a second", []string{`connect { to = target.nvme }`, "connect {\n    to = target.nvme\n    keep_alive_tmo = \"500ms\"\n  }"}, problem.Duration, `keep_alive_tmo`, "whole seconds"},
		{"gives up at once", []string{`connect { to = target.nvme }`, "connect {\n    to = target.nvme\n    ctrl_loss_tmo = 5\n  }"}, problem.Duration, `ctrl_loss_tmo`, "before the first reconnect attempt"},
		{"no latency", []string{`max = "30us"`, `max = "0s"`}, problem.Duration, `max = "0s"`, "latency cannot be 0"},
		{"soak", []string{`gate   = [validation.latency]`, "gate = [validation.latency]\n    soak = \"31d\""}, problem.Duration, `soak`, "30 days"},
		{"restart of nothing", []string{`phase "rest"`, "phase \"base\" {\n    gate = [validation.latency]\n    restart = \"rolling\"\n  }\n  phase \"rest\""}, problem.Select, `restart = "rolling"`, "restart requires select"},
		{"time for no restart", []string{`gate   = [validation.latency]`, "gate = [validation.latency]\n    restart_timeout = \"1h\""}, problem.Select, `restart_timeout`, `requires restart = "rolling"`},
		{"no time for a restart", []string{`gate   = [validation.latency]`, "gate = [validation.latency]\n    restart = \"rolling\"\n    restart_timeout = \"0s\""}, problem.Duration, `restart_timeout`, "24 hours"},
	}
}

// TestWarnings checks that what is allowed but seldom meant does not stop.
func TestWarnings(t *testing.T) {
	m, diags := loadText(edited(t, `transport = "rocev2"`, "transport = \"rocev2\"\n  host_mtu = 1500"), Options{})
	if diags.HasErrors() {
		t.Fatal(diagText(m, diags))
	}
	d := find(m, diags, problem.SmallMTU, "host_mtu")
	if d == nil || d.Severity != hcl.DiagWarning {
		t.Errorf("no warning:\n%s", diagText(m, diags))
	}
}

// TestRulesStaySilent checks what looks like a mistake and is none.
func TestRulesStaySilent(t *testing.T) {
	for name, edits := range map[string][]string{
		"one host, two ports": {`connection "default"`, "connection \"nat\" {\n  user = \"root\"\n  port = 2222\n}\nconnection \"default\"",
			`host = "storage.example.net"`, "host = \"gate.example.net\"", "rollout \"all\"", "server \"nat\" {\n  host = \"gate.example.net\"\n  connection = connection.nat\n}\nrollout \"all\""},
		"a later phase of another rollout": append(more("rollout \"storage\" {\n  phase \"all\" { select = pool.flash }\n}"),
			`phase "rest" { select = "remaining" }`, "", `  plane  = "a"`, "  plane  = \"a\"\n  depends_on = [pool.flash]"),
		"PVRDMA":                        pvrdmaEdits(),
		"PVRDMA over a port of its own": pvrdmaEdits(append(onSwitch(onGroup+"      services = [\"pvrdma\"]\n"), ownHost, "")...),
		"PVRDMA that may be TCP":        pvrdmaEdits(`firewall_ruleset "pvrdma" {}`, "", "    fabric  = fabric.roce\n", "", "# on", "\n    allow_degraded = true"),
		"an earlier phase":              {`pool = pool.flash`, "pool = pool.flash\n  depends_on = [switch.leaf]"},
		"both transports on TCP":        {`transport = "rocev2"`, "transport = \"tcp\"\n  mode = \"lossy\"", "    pfc       = true\n", "    carries   = [\"tcp\"]\n", `["tcp"]`, `["rdma", "tcp"]`},
		"two lossless classes of which one carries RDMA": {`  traffic_class "default" {`, "  traffic_class \"other\" {\n    carries = [\"other\"]\n    dscp = [34]\n    priority = 4\n    strict = true\n  }\n  traffic_class \"default\" {"},
		"a spine in between":                             more(spine + "link \"up\" {\n  from = switch.leaf.port[\"Ethernet1/49\"]\n  to = switch.spine.port[\"Ethernet1/1\"]\n}"),
		"a faster port than its link":                    more(comware + "link \"c\" {\n  from = server.compute[\"a\"].rnic.p0\n  to = switch.h3c.port[\"HundredGigE1/0/1\"]\n  speed = \"25G\"\n}"),
	} {
		t.Run(name, func(t *testing.T) { mustLoad(t, edits...) })
	}
}

// TestRulesFindWhatTheySay holds the list of rules against what they report: each
// code with its severity, and nothing else.
func TestRulesFindWhatTheySay(t *testing.T) {
	found := map[rules.Finding]bool{}
	for _, m := range slices.Concat(ruleMistakes(), networkMistakes(), pvrdmaMistakes(), qosMistakes(), storageMistakes(), rolloutMistakes()) {
		model, _ := loadText(edited(t, m.edits...), Options{})
		for _, r := range rules.All() {
			for _, d := range r.Check(model) {
				code, refused := problem.CodeOf(d), d.Severity == hcl.DiagError
				i := slices.IndexFunc(r.Finds, func(f rules.Finding) bool { return f.Code == code })
				if i < 0 || refused && !r.Finds[i].Errors || !refused && !r.Finds[i].Warns {
					t.Errorf("%s: the rule %q reports %s", m.name, r.Says, d.Error())
				}
				found[rules.Finding{Code: code, Errors: refused, Warns: !refused}] = true
			}
		}
	}
	for _, r := range rules.All() {
		for _, f := range r.Finds {
			if f.Code == problem.File || f.Code == problem.NoDrop {
				continue // they take another catalogue: TestFactsWithoutSourceWarn
			}
			if f.Errors && !found[rules.Finding{Code: f.Code, Errors: true}] || f.Warns && !found[rules.Finding{Code: f.Code, Warns: true}] {
				t.Errorf("%q says that it finds %s, which no mistake shows: %+v", r.Says, f.Code, f)
			}
			_, page, _ := problem.Explain(string(f.Code))
			if warning := strings.HasPrefix(page, "This is a warning."); warning != (f.Warns && !f.Errors) && f.Code != problem.NoFabric {
				t.Errorf("the page of %s begins with %.40q, and the rule %q says %+v", f.Code, page, r.Says, f)
			}
		}
	}
}
