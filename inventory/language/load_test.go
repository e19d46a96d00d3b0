package language

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"weft/inventory"
	"weft/inventory/problem"
	"weft/modules"

	"github.com/hashicorp/hcl/v2"
)

// base is a small inventory without problems; tests replace parts of it.
const base = `
weft { name = "pod" }

connection "default" { user = "root" }

credential "switch" {
  user     = "admin"
  password = env("SWITCH_PASSWORD")
}

fabric "roce" {
  transport = "rocev2"
  plane "a" { subnet = "10.1.0.0/24" }
  plane "b" { subnet = "10.2.0.0/24" }
  traffic_class "rdma" {
    dscp      = [26]
    priority  = 3
    bandwidth = 60
    pfc       = true
    ecn {
      min         = "150KB"
      max         = "1500KB"
      probability = 5
    }
  }
  traffic_class "cnp" {
    dscp     = [48]
    priority = 6
    strict   = true
  }
  traffic_class "default" { bandwidth = 40 }
  pfc_watchdog { action = "drop" }
}

switch "leaf" {
  os     = "nxos"
  host   = "leaf.example.net"
  fabric = fabric.roce
  plane  = "a"
}

server "storage" {
  host = "storage.example.net"
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "10.1.0.11/24"
    fabric  = fabric.roce
  }
  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "10.2.0.11/24"
    fabric  = fabric.roce
  }
}

server "compute" {
  for_each = { a = 21, b = 22 }
  host     = "${each.key}.example.net"
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "${cidrhost("10.1.0.0/24", each.value)}/24"
    fabric  = fabric.roce
  }
  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "${cidrhost("10.2.0.0/24", each.value)}/24"
    fabric  = fabric.roce
  }
  file "/etc/motd" { content = "managed" }
}

link "leaf" {
  from  = server.storage.rnic.p0
  to    = switch.leaf.port["Ethernet1/1"]
  speed = "100G"
}

pool "flash" {
  server = server.storage
  drives = ["nvme-eui.01"]
}

volume "fast" {
  pool = pool.flash
  size = "1TiB"
}

target "nvme" {
  server    = server.storage
  transport = ["tcp"]
  portals   = [server.storage.rnic.p0, server.storage.rnic.p1]
  subsystem "data" {
    nqn = "nqn.2026-11.net.example:data"
    namespace "1" {
      from = volume.fast
      limits { iops = 1000 }
    }
  }
}

initiator "nvme" {
  for_each = { a = 1, b = 2 }
  server   = server.compute[each.key]
  connect { to = target.nvme }
}

validation "latency" {
  probe = "nvme-read"
  metric "p99" { max = "30us" }
}

rollout "all" {
  phase "first" {
    select = [switch.leaf]
    gate   = [validation.latency]
  }
  phase "rest" { select = "remaining" }
}

check "paths" {
  assert {
    condition     = alltrue([for i in values(initiator.nvme) : i.live_paths >= 2])
    error_message = "too few"
  }
}

output "devices" {
  value = { for k, i in initiator.nvme : k => i.devices }
}
`

// loadText loads one file, main.weft.hcl.
func loadText(text string, o Options) (*inventory.Model, hcl.Diagnostics) {
	if o.Blocks == nil {
		o.Blocks = modules.Blocks()
	}
	return Load(fstest.MapFS{"main.weft.hcl": {Data: []byte(text)}}, o)
}

// edited returns base with the texts replaced, which come in pairs.
func edited(t *testing.T, edits ...string) string {
	t.Helper()
	text := base
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("the base has no %q", edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	return text
}

// mustLoad loads base with edits and fails on any problem.
func mustLoad(t *testing.T, edits ...string) *inventory.Model {
	t.Helper()
	m, diags := loadText(edited(t, edits...), Options{})
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	return m
}

func diagText(m *inventory.Model, diags hcl.Diagnostics) string {
	var b bytes.Buffer
	if err := hcl.NewDiagnosticTextWriter(&b, m.Files, 100, false).WriteDiagnostics(diags); err != nil {
		return err.Error()
	}
	return b.String()
}

// lineOf is the source line that a diagnostic points at.
func lineOf(m *inventory.Model, d *hcl.Diagnostic) string {
	f := m.Files[d.Subject.Filename]
	if f == nil {
		return ""
	}
	lines := strings.Split(string(f.Bytes), "\n")
	if n := d.Subject.Start.Line; n <= len(lines) {
		return strings.TrimSpace(lines[n-1])
	}
	return ""
}

// find returns the problem with that code at a line that contains a text.
func find(m *inventory.Model, diags hcl.Diagnostics, code problem.Code, line string) *hcl.Diagnostic {
	for _, d := range diags {
		if problem.CodeOf(d) == code && strings.Contains(lineOf(m, d), line) {
			return d
		}
	}
	return nil
}

func TestBaseLoads(t *testing.T) { mustLoad(t) }

// memory is a directory with these files.
func memory(files map[string][]byte) fstest.MapFS {
	dir := fstest.MapFS{}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: text}
	}
	return dir
}
