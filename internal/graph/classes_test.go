package graph

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

const classes = `
weft { name = "pod" }
fabric "roce" {
  transport = "rocev2"
  mode      = "lossless"
  plane "a" { subnet = "10.0.1.0/24" }
  traffic_class "storage" {
    dscp     = [26]
    priority = 3
    pfc      = true
    bandwidth = 50
    CARRIES
  }
  traffic_class "cnp" {
    dscp     = [48]
    priority = 6
    strict   = true
  }
  traffic_class "slow" {
    dscp      = [10]
    priority  = 2
    bandwidth = 20
    SLOW
  }
  traffic_class "default" { bandwidth = 30 }
  pfc_watchdog {}
}
server "s" {
  for_each = { c = 1, t = 2 }
  host     = each.key
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "10.0.1.${each.value}/24"
    fabric  = fabric.roce
  }
}
target "own" {
  server    = server.s["t"]
  portals   = [server.s["t"].rnic.p0]
  transport = TRANSPORT
  subsystem "d" { nqn = "nqn.2026-11.net.example:own" }
}
initiator "i" {
  server = server.s["c"]
  connect { to = [target.own] }
}
`

// Each format shows which class carries which transport, of the fabric and of each pair; a
// fallback carries the class of what it stands in for.
func TestClasses(t *testing.T) {
	const rdma, plain = "rdma in class storage (priority 3, DSCP 26, PFC)", "tcp in class default (priority 0)"
	for _, test := range []struct{ carries, slow, transport, plane, pair string }{
		{"", "", `["rdma", "tcp"]`, rdma + "; " + plain, "rdma in class storage; tcp as fallback in class storage"},
		{"", "", `["tcp"]`, rdma + "; " + plain, "tcp in class default"},
		{`carries = ["rdma"]`, `carries = ["tcp"]`, `["tcp", "rdma"]`, rdma + "; tcp in class slow (priority 2, DSCP 10)", "tcp in class slow; rdma as fallback in class slow"},
	} {
		g := load(t, strings.NewReplacer("CARRIES", test.carries, "SLOW", test.slow, "TRANSPORT", test.transport).Replace(classes))
		text := ascii(t, g)
		dot := render(t, func(b *bytes.Buffer) error { return g.DOT(b) })
		mermaid := render(t, func(b *bytes.Buffer) error { return g.Mermaid(b) })
		raw, err := json.Marshal(g.Paths[0].Carries)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{test.plane, test.pair} {
			parts := strings.Split(want, "; ")
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) || !strings.Contains(dot, strings.Join(parts, `\n`)) || !strings.Contains(mermaid, strings.Join(parts, "<br/>")) {
				t.Errorf("no %s in\n%s\n%s\n%s", want, text, dot, mermaid)
			}
		}
		if first, _, _ := strings.Cut(test.pair, " "); !strings.HasPrefix(string(raw), `[{"transport":"`+first+`","class":"`) {
			t.Errorf("%s", raw)
		}
	}
}
