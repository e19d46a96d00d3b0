//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/bundle"
	"weft/internal/lab"
)

// manySwitches are files of n switches in pairs, each of whose ports has a
// cable to the other of its pair.
func manySwitches(n, ports int) string {
	return fmt.Sprintf(`weft { name = "many" }
fabric "roce" {
  transport = "rocev2"
  plane "a" { subnet = "10.40.0.0/16" }
  traffic_class "rdma" {
    dscp = [26]
    priority = 3
    bandwidth = 50
    pfc = true
    ecn {
      min = "150KB"
      max = "1500KB"
      probability = 5
    }
  }
  traffic_class "default" { bandwidth = 50 }
}
credential "switch" { user = "weft" }
locals {
  pairs = range(%d)
  ports = range(1, %d)
  links = { for l in flatten([for p in local.pairs : [for n in local.ports : { pair = p, port = n }]]) : "${l.pair}-${l.port}" => l }
}
switch "leaf" {
  for_each = toset([for n in range(%d) : tostring(n)])
  os = "nxos"
  host = "leaf-${each.key}.example.net"
  serial = "FDO${each.key}"
  credential = credential.switch
  fabric = fabric.roce
  plane = "a"
  safety { commit_confirm = "5m" }
}
link "pair" {
  for_each = local.links
  from = switch.leaf["${each.value.pair * 2}"].port["Ethernet1/${each.value.port}"]
  to = switch.leaf["${each.value.pair * 2 + 1}"].port["Ethernet1/${each.value.port}"]
}
`, n/2, ports+1, n)
}

// BenchmarkPlanSwitches plans simulated switches of 48 ports over SSH, all of
// them unconfigured: 500 are to be planned within 30 s on two cores, which they
// share with the simulation.
func BenchmarkPlanSwitches(b *testing.B) {
	for _, n := range []int{50, 500} {
		b.Run(fmt.Sprintf("%d switches of 48 ports", n), func(b *testing.B) {
			dir := b.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "main.weft.hcl"), []byte(manySwitches(n, 48)), 0o600); err != nil {
				b.Fatal(err)
			}
			p := newServices(nil, io.Discard, io.Discard, bundle.New())
			p.opts.dir, p.opts.color, p.opts.parallelism = dir, "never", 1
			m, err := p.project.load()
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			l, err := lab.Start(ctx, m, lab.Options{Dir: dir, Log: io.Discard})
			if err != nil {
				b.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- l.Serve(ctx) }()
			b.Cleanup(func() {
				stop()
				<-served
			})
			for b.Loop() {
				var out, errs bytes.Buffer
				if code := weft([]string{"-C", dir, "--lab", "plan"}, strings.NewReader(""), &out, &errs); code != exitDone {
					b.Fatalf("exit %d: %s", code, errs.String())
				}
				if want := fmt.Sprintf("%d to change", n*49); !strings.Contains(out.String(), want) {
					b.Fatalf("no %q in the plan's end: %s", want, out.String()[max(0, out.Len()-300):])
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/plan")
		})
	}
}
