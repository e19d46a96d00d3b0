package prove

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"weft/internal/remote"
	"weft/inventory"
	"weft/inventory/language"
)

const attachedFiles = `
weft { name = "c" }
variable "secret" { sensitive = true }
fabric "f" {
  transport = "tcp"
  mode      = "lossy"
  plane "a" { subnet = "10.0.1.0/24" }
}
server "st" {
  host = "st"
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "10.0.1.1/24"
    fabric  = fabric.f
  }
}
server "cn" {
  for_each = { a = 11, b = 12 }
  host     = "cn-${each.key}"
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "10.0.1.${each.value}/24"
    fabric  = fabric.f
  }
}
pool "flash" {
  server = server.st
  drives = ["nvme-eui.01"]
}
volume "v" {
  pool = pool.flash
  size = "1GiB"
}
target "t" {
  server    = server.st
  transport = ["tcp"]
  portals   = [server.st.rnic.p0]
  subsystem "s" {
    nqn = "nqn.2026-11.net.example:c"
    namespace "1" { from = volume.v }
  }
}
initiator "i" {
  for_each = { a = 1, b = 2 }
  server   = server.cn[each.key]
  connect { to = target.t }
}
check "paths" {
  assert {
    condition     = alltrue([for i in values(initiator.i) : i.live_paths >= 2])
    error_message = "too few: ${initiator.i["a"].live_paths} and ${initiator.i["b"].live_paths}"
  }
}
output "devices" {
  value = { for k, i in initiator.i : k => i.devices }
}
output "hidden" {
  value     = var.secret
  sensitive = true
}
`

var hush = language.Options{LookupEnv: func(name string) (string, bool) { return "hush", name == "WEFT_VAR_secret" }}

// Checks pass only where what they speak of is known; every initiator is asked
// once, whatever speaks of it.
func TestConclude(t *testing.T) {
	m, diags := language.Load(fstest.MapFS{"main.weft.hcl": {Data: []byte(attachedFiles)}}, hush)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, test := range []struct {
		name    string
		live    map[string]int // by server; without an entry it does not answer
		verdict Verdict
		why     string
		devices string
	}{
		{"all paths", map[string]int{"server.cn[\"a\"]": 2, "server.cn[\"b\"]": 3}, Pass, "", `{"a":["nvme0n1"],"b":["nvme0n1"]}`},
		{"one path", map[string]int{"server.cn[\"a\"]": 1, "server.cn[\"b\"]": 2}, Fail, "too few: 1 and 2", `{"a":["nvme0n1"],"b":["nvme0n1"]}`},
		{"no devices", map[string]int{"server.cn[\"a\"]": 0, "server.cn[\"b\"]": 0}, Fail, "too few: 0 and 0", `{"a":[],"b":[]}`},
		{"no answer", map[string]int{"server.cn[\"a\"]": 2}, Inconclusive, "it is away", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked atomic.Int32
			in := Input{Model: m,
				Host: func(context.Context, *inventory.Server) (remote.Host, error) { return nil, nil },
				Attached: func(_ context.Context, _ remote.Host, i *inventory.Initiator) (*Attached, error) {
					asked.Add(1)
					n, ok := test.live[i.Server.Addr]
					if !ok {
						return nil, errors.New("it is away")
					}
					a := &Attached{LivePaths: n}
					if n > 0 {
						a.Devices = []string{"nvme0n1"}
					}
					return a, nil
				}}
			checks, outputs := Conclude(t.Context(), in)
			if len(checks) != 1 || len(outputs) != 2 {
				t.Fatalf("%+v %+v", checks, outputs)
			}
			if c := checks[0]; c.Verdict != test.verdict || !strings.Contains(c.Why, test.why) || (c.Why == "") != (test.why == "") || c.Name != "check.paths" || c.Place == "" {
				t.Errorf("%+v", c)
			}
			for _, o := range outputs {
				switch o.Name {
				case "devices":
					if string(o.Value) != test.devices || (o.Why == "") != (test.devices != "") {
						t.Errorf("%s: %s %q", o.Name, o.Value, o.Why)
					}
				case "hidden":
					if o.Value != nil || o.Text != "" || !o.Sensitive {
						t.Errorf("a sensitive value is shown: %+v", o)
					}
				}
			}
			if asked.Load() != 2 {
				t.Errorf("%d questions for two initiators", asked.Load())
			}
			res := &Result{Checks: checks, Judgements: []Judgement{{Verdict: Pass}}}
			if got := overall(res); got != test.verdict {
				t.Errorf("overall %s", got)
			}
		})
	}
}

// Where nobody is asked, nothing passes.
func TestConcludeUnasked(t *testing.T) {
	m, diags := language.Load(fstest.MapFS{"main.weft.hcl": {Data: []byte(attachedFiles)}}, hush)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	checks, _ := Conclude(t.Context(), Input{Model: m})
	if len(checks) != 1 || checks[0].Verdict != Inconclusive {
		t.Errorf("%+v", checks)
	}
}
