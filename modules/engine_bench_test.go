package modules

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"weft/internal/bundle"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules/host"
	"weft/plan"
)

// blank is a device on which there is nothing yet, and which needs no time to
// say so.
type blank struct{ plan.Unsupported }

func (blank) Open(context.Context) (plan.Identity, error) { return plan.Identity{MachineID: "m"}, nil }

func (blank) Read(_ context.Context, rs []plan.Resource) ([]plan.State, error) {
	return make([]plan.State, len(rs)), nil
}

// The engine alone: servers of 20 resources are expanded, compared and ordered.
// MB is what the process has from the system after that; opentofu 1.9 takes 19 s
// for a plan without changes of 5,000 resources on such a machine.
func BenchmarkEngine(b *testing.B) {
	const each = 20
	var files strings.Builder
	for i := range each - 1 {
		fmt.Fprintf(&files, "  file \"/etc/f%d\" { content = \"content\\n\" }\n", i)
	}
	for _, servers := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(servers, " servers"), func(b *testing.B) {
			text := fmt.Sprintf("weft { name = \"bench\" }\nserver \"node\" {\n  count = %d\n  host  = \"n${count.index}\"\n%s  sysctl \"vm.swappiness\" { value = \"10\" }\n}\n", servers, files.String())
			m, diags := language.Load(fstest.MapFS{"main.weft.hcl": {Data: []byte(text)}}, language.Options{Blocks: Blocks()})
			if diags.HasErrors() {
				b.Fatal(diags)
			}
			var took time.Duration
			for b.Loop() {
				begun := time.Now()
				fleet, diags := Expand(m, Env{Bundle: bundle.New(), Host: func(*inventory.Server) host.DialHost { return nil }})
				if diags.HasErrors() {
					b.Fatal(diags)
				}
				in := plan.Input{Owner: "bench", Items: fleet.Items, Devices: map[string]plan.Device{}}
				for address := range fleet.Devices {
					in.Devices[address] = blank{}
				}
				p, err := plan.Make(b.Context(), in)
				if err != nil || len(p.Steps) != each*servers {
					b.Fatal(err)
				}
				took += time.Since(begun)
			}
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(took.Seconds()/float64(b.N), "s/plan")
			b.ReportMetric(took.Seconds()*1e6/float64(b.N)/float64(each*servers), "µs/resource")
			b.ReportMetric(float64(memory.Sys)/1e6, "MB")
		})
	}
}
