package language

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2/hclparse"
)

// perLeaf is how many servers share a pair of switches in the inventories that
// are measured, perTarget of how many one is a target.
const (
	perLeaf   = 40
	perTarget = 10
)

// BenchmarkFleet loads and checks inventories of servers with two RNICs each,
// two links for each server and a switch of each plane for every 40 servers,
// written once with for_each and once as plain blocks in up to 200 files.
// Beside each it parses the plain files one after the other with hclparse,
// which x-parse compares the time with. peak-MB is the most memory that the
// whole process has had from the system during a load.
func BenchmarkFleet(b *testing.B) {
	perServer := map[string]float64{}
	for _, n := range []int{1000, 10_000} {
		plain := writeFiles(b, plainFleet(n))
		for _, form := range []struct{ name, dir string }{
			{"plain", plain},
			{"for_each", writeFiles(b, forEachFleet(n))},
		} {
			b.Run(fmt.Sprintf("%s/%d", form.name, n), func(b *testing.B) {
				var parse, load time.Duration
				var peak uint64
				for b.Loop() {
					parse += parseSerially(b, plain)
					took, most := measureLoad(b, form.dir, n)
					load += took
					peak = max(peak, most)
				}
				each := load.Seconds() / float64(b.N)
				b.ReportMetric(0, "ns/op") // that of both together says nothing
				b.ReportMetric(each, "s/load")
				b.ReportMetric(load.Seconds()/parse.Seconds(), "x-parse")
				b.ReportMetric(float64(peak)/1e6, "peak-MB")
				b.ReportMetric(each/float64(n)*1e6, "µs/server")
				if small, ok := perServer[form.name]; ok {
					b.ReportMetric(each/float64(n)/small, "x-linear")
				} else {
					perServer[form.name] = each / float64(n)
				}
			})
		}
	}
}

// parseSerially parses all files of a directory, one after the other.
func parseSerially(b *testing.B, dir string) time.Duration {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.weft.hcl"))
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	start := time.Now()
	p := hclparse.NewParser()
	for _, f := range files {
		if _, diags := p.ParseHCLFile(f); diags.HasErrors() {
			b.Fatal(diags)
		}
	}
	return time.Since(start)
}

// measureLoad loads a directory, which must have no problem, and returns how
// long that took and how much memory the process had at most, in bytes.
func measureLoad(b *testing.B, dir string, servers int) (time.Duration, uint64) {
	b.Helper()
	runtime.GC()
	stop, most := make(chan struct{}), make(chan uint64)
	go func() { most <- watchMemory(stop) }()
	start := time.Now()
	m, diags := Load(os.DirFS(dir), Options{})
	took := time.Since(start)
	close(stop)
	peak := <-most
	if len(diags) > 0 || len(m.Servers) != servers || len(m.Links) != 2*servers {
		b.Fatalf("%d servers, %d links:\n%.2000s", len(m.Servers), len(m.Links), diagText(m, diags))
	}
	return took, peak
}

// watchMemory returns the most memory in use until stop is closed.
func watchMemory(stop <-chan struct{}) uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var most uint64
	for {
		metrics.Read(samples)
		most = max(most, samples[0].Value.Uint64()-samples[1].Value.Uint64())
		select {
		case <-stop:
			return most
		case <-tick.C:
		}
	}
}

// writeFiles puts files into a directory.
func writeFiles(b *testing.B, files map[string]string) string {
	b.Helper()
	dir := b.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// fleetHead is what both forms begin with.
const fleetHead = `weft { name = "fleet" }

connection "default" { user = "weft" }

credential "switches" {
  user     = "weft"
  password = env("WEFT_SWITCH_PASSWORD")
}

fabric "roce" {
  transport = "rocev2"

  plane "a" { subnet = "10.0.0.0/16" }
  plane "b" { subnet = "10.1.0.0/16" }

  traffic_class "rdma" {
    dscp      = [26]
    priority  = 3
    bandwidth = 60
    pfc       = true

    ecn {
      min         = "150KB"
      max         = "1500KB"
      probability = 10
    }
  }

  traffic_class "default" { bandwidth = 40 }
  pfc_watchdog { action = "drop" }
}

`

// forEachFleet is an inventory of n servers in few blocks.
func forEachFleet(n int) map[string]string {
	var hosts strings.Builder
	hosts.WriteString("locals {\n  hosts = {\n")
	for i := range n {
		fmt.Fprintf(&hosts, "    n%05d = %d\n", i, i)
	}
	hosts.WriteString("  }\n")
	fmt.Fprintf(&hosts, "  storage = { for name, i in local.hosts : name => i if i %% %d == 0 }\n", perTarget)
	fmt.Fprintf(&hosts, "  compute = { for name, i in local.hosts : name => i if i %% %d != 0 }\n", perTarget)
	fmt.Fprintf(&hosts, "  leaves  = { for name, i in local.hosts : format(\"%%03d\", i / %d) => i if i %% %d == 0 }\n}\n", perLeaf, perLeaf)
	files := map[string]string{"main.weft.hcl": fleetHead, "hosts.weft.hcl": hosts.String()}
	for p, plane := range []string{"a", "b"} {
		files["plane-"+plane+".weft.hcl"] = fmt.Sprintf(`switch "leaf-%[1]s" {
  for_each   = local.leaves
  os         = "nxos"
  host       = "leaf-%[1]s-${each.key}.mgmt.example.net"
  credential = credential.switches
  fabric     = fabric.roce
  plane      = "%[1]s"
}

link "%[1]s" {
  for_each = local.hosts
  from     = server.node[each.key].rnic.p%[2]d
  to       = switch.leaf-%[1]s[format("%%03d", floor(each.value / %[3]d))].port["Ethernet1/${each.value %% %[3]d + 1}"]
  speed    = "100G"
}
`, plane, p, perLeaf)
	}
	files["servers.weft.hcl"] = `server "node" {
  for_each = local.hosts
  host     = "${each.key}.mgmt.example.net"

  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "${cidrhost("10.0.0.0/16", each.value + 1)}/16"
    fabric  = fabric.roce
  }

  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "${cidrhost("10.1.0.0/16", each.value + 1)}/16"
    fabric  = fabric.roce
  }
}
`
	files["storage.weft.hcl"] = fmt.Sprintf(`pool "flash" {
  for_each = local.storage
  server   = server.node[each.key]
  drives   = ["nvme-eui.0100000000${format("%%05d", each.value)}"]
}

volume "data" {
  for_each = local.storage
  pool     = pool.flash[each.key]
  size     = "2TiB"
}

target "nvme" {
  for_each = local.storage
  server   = server.node[each.key]
  portals  = [server.node[each.key].rnic.p0, server.node[each.key].rnic.p1]

  subsystem "data" {
    nqn = "nqn.2026-11.net.example:${each.key}"

    namespace "1" { from = volume.data[each.key] }
  }
}

initiator "nvme" {
  for_each = local.compute
  server   = server.node[each.key]

  connect {
    to = [for i in range(4) : target.nvme[format("n%%05d", (floor(each.value / %d) + i) * %d %% %d)]]
  }
}
`, perTarget, perTarget, n)
	return files
}

// plainFleet is the same inventory with each thing as a block of its own, in
// 200 files or one for every five servers.
func plainFleet(n int) map[string]string {
	files := map[string]string{"main.weft.hcl": fleetHead + plainSwitches(n)}
	const count = 199
	for f := range count {
		var text strings.Builder
		for i := f * n / count; i < (f+1)*n/count; i++ {
			text.WriteString(plainServer(i))
			if i%perTarget == 0 {
				text.WriteString(plainTarget(i))
			} else {
				text.WriteString(plainInitiator(i, n))
			}
		}
		files[fmt.Sprintf("servers-%03d.weft.hcl", f)] = text.String()
	}
	return files
}

func plainSwitches(n int) string {
	var text strings.Builder
	for i := range (n + perLeaf - 1) / perLeaf {
		for _, plane := range []string{"a", "b"} {
			fmt.Fprintf(&text, `switch "leaf-%[1]s-%03[2]d" {
  os         = "nxos"
  host       = "leaf-%[1]s-%03[2]d.mgmt.example.net"
  credential = credential.switches
  fabric     = fabric.roce
  plane      = "%[1]s"
}

`, plane, i)
		}
	}
	return text.String()
}

func plainServer(i int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "server \"n%05d\" {\n  host = \"n%05d.mgmt.example.net\"\n", i, i)
	for p := range 2 {
		fmt.Fprintf(&text, `
  rnic "p%[1]d" {
    match   = { pci = "0000:41:00.%[1]d" }
    address = "10.%[1]d.%[2]d.%[3]d/16"
    fabric  = fabric.roce
  }
`, p, (i+1)>>8, (i+1)&255)
	}
	text.WriteString("}\n\n")
	for p, plane := range []string{"a", "b"} {
		fmt.Fprintf(&text, `link "n%05[1]d-p%[2]d" {
  from  = server.n%05[1]d.rnic.p%[2]d
  to    = switch.leaf-%[3]s-%03[4]d.port["Ethernet1/%[5]d"]
  speed = "100G"
}

`, i, p, plane, i/perLeaf, i%perLeaf+1)
	}
	return text.String()
}

func plainTarget(i int) string {
	return fmt.Sprintf(`pool "n%05[1]d" {
  server = server.n%05[1]d
  drives = ["nvme-eui.0100000000%05[1]d"]
}

volume "n%05[1]d" {
  pool = pool.n%05[1]d
  size = "2TiB"
}

target "n%05[1]d" {
  server  = server.n%05[1]d
  portals = [server.n%05[1]d.rnic.p0, server.n%05[1]d.rnic.p1]

  subsystem "data" {
    nqn = "nqn.2026-11.net.example:n%05[1]d"

    namespace "1" { from = volume.n%05[1]d }
  }
}

`, i)
}

func plainInitiator(i, n int) string {
	var targets []string
	for k := range 4 {
		targets = append(targets, fmt.Sprintf("target.n%05d", (i/perTarget+k)*perTarget%n))
	}
	return fmt.Sprintf(`initiator "n%05[1]d" {
  server = server.n%05[1]d

  connect {
    to = [%[2]s]
  }
}

`, i, strings.Join(targets, ", "))
}
