//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyRacks are pairs of leaves, and servers with one NIC at each of a pair.
const manyRacks = `weft { name = "bench" }
connection "default" {
  user   = "weft"
  become = "sudo"
}
credential "switch" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD")
}
locals { pairs = %d }
switch "leaf" {
  count      = 2 * local.pairs
  os         = "nxos"
  host       = "leaf${count.index}.example.net"
  serial     = format("FDO%%08d", count.index)
  credential = credential.switch
}
server "node" {
  count = %d
  host  = "n${count.index}.example.net"
  rnic "p0" { match = { pci = "0000:41:00.0" } }
  rnic "p1" { match = { pci = "0000:41:00.1" } }
}
link "a" {
  count = length(server.node)
  from  = server.node[count.index].rnic.p0
  to    = switch.leaf[2 * (count.index %% local.pairs)].port["Ethernet1/${floor(count.index / local.pairs) + 1}"]
}
link "b" {
  count = length(server.node)
  from  = server.node[count.index].rnic.p1
  to    = switch.leaf[2 * (count.index %% local.pairs) + 1].port["Ethernet1/${floor(count.index / local.pairs) + 1}"]
}
`

// Racks in which weft never was are asked, written and planned with, as users do it: each
// device is logged in to twice. The lab, which is SIMULATED, is a process of its own on the
// same machine.
func BenchmarkDiscoverFleet(b *testing.B) {
	b.Setenv("WEFT_SWITCH_PASSWORD", "lab")
	for _, size := range []struct{ leaves, servers int }{{2, 40}, {16, 500}, {64, 2000}} {
		b.Run(fmt.Sprintf("%dx%d", size.leaves, size.servers), func(b *testing.B) {
			dir, weft := b.TempDir(), weftBinary(b)
			var seeds []string
			for i := range size.leaves {
				seeds = append(seeds, fmt.Sprintf("leaf%d.example.net", i))
			}
			hosts := "host\n"
			for i := range size.servers {
				hosts += fmt.Sprintf("n%d.example.net\n", i)
			}
			for name, text := range map[string]string{"main.weft.hcl": fmt.Sprintf(manyRacks, size.leaves/2, size.servers), "hosts.csv": hosts} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			ran(b, "The lab is up", weft, "-C", dir, "lab", "up", "--detach")
			defer ran(b, "", weft, "-C", dir, "lab", "down")
			var all []cost
			for b.Loop() {
				out := filepath.Join(b.TempDir(), fmt.Sprint(len(all)))
				all = append(all, ran(b, fmt.Sprintf("%d cables of ", 2*size.servers), weft, "-C", dir, "--lab", "discover",
					"--seed", strings.Join(seeds, ","), "--hosts-from", "csv:"+filepath.Join(dir, "hosts.csv"), "--out", out))
			}
			c := all[len(all)/2]
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(c.elapsed.Seconds(), "s/discover")
			b.ReportMetric(c.cpu.Seconds(), "CPU-s/discover")
			b.ReportMetric(float64(c.rss)/1e6, "MB")
			b.Logf("load average %s", load())
		})
	}
}
