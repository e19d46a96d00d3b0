package graph

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"weft/inventory/language"
)

// load makes a graph of HCL.
func load(t *testing.T, text string) *Graph {
	t.Helper()
	m, diags := language.Load(fstest.MapFS{"test.weft.hcl": {Data: []byte(text)}}, language.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return Of(m)
}

func render(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func ascii(t *testing.T, g *Graph) string {
	return render(t, func(b *bytes.Buffer) error { return g.ASCII(b) })
}

// Two leaves of plane a under a spine that serves no plane; an external
// target; a NIC that is not cabled; two NICs on one cable.
const pod = `
weft { name = "pod" }
fabric "roce" {
  transport = "tcp"
  mode      = "lossy"
  plane "a" { subnet = "10.0.1.0/24" }
}
fabric "back" {
  transport = "tcp"
  mode      = "lossy"
  plane "a" { subnet = "fd00::/64" }
}
switch "leaf" {
  for_each = { x = 1, y = 2 }
  os       = "nxos"
  host     = "leaf-${each.key}"
  fabric   = fabric.roce
  plane    = "a"
}
switch "spine" {
  os        = "comware"
  host      = "spine"
  unmanaged = true
}
server "s" {
  for_each = { c = 1, t = 2, u = 3 }
  host     = each.key
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "${cidrhost("10.0.1.0/24", each.value)}/24"
    fabric  = fabric.roce
  }
  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "${cidrhost("fd00::/64", each.value)}/64"
    fabric  = fabric.back
  }
}
link "c" {
  from  = switch.leaf["x"].port["Ethernet1/1"]
  to    = server.s["c"].rnic.p0
  speed = "2500M"
}
link "t" {
  from = server.s["t"].rnic.p0
  to   = switch.leaf["y"].port["Ethernet1/1"]
}
link "up" {
  for_each = { x = 1, y = 2 }
  from     = switch.leaf[each.key].port["Ethernet1/49"]
  to       = switch.spine.port["400GE1/0/${each.value}"]
  speed    = "400G"
}
link "direct" {
  from = server.s["c"].rnic.p1
  to   = server.s["t"].rnic.p1
}
target "own" {
  server  = server.s["t"]
  portals = [server.s["t"].rnic.p0, server.s["t"].rnic.p1]
  transport = ["tcp"]
  subsystem "d" { nqn = "nqn.2026-11.net.example:own" }
}
target "array" {
  engine    = "external"
  transport = ["tcp"]
  portals   = ["10.0.1.50:4420", "10.0.1.51:4420", "[fd00::50]:4420"]
  subsystem "d" { nqn = "nqn.2026-11.net.example:array" }
}
target "far" {
  engine    = "external"
  transport = ["tcp"]
  portals   = ["192.0.2.1"]
  subsystem "d" { nqn = "nqn.2026-11.net.example:far" }
}
initiator "i" {
  server = server.s["c"]
  connect { to = [target.own, target.array, target.far] }
}
`

func TestASCII(t *testing.T) {
	const want = `pod: 2 planes, 3 switches, 3 servers, 5 links, 6 paths

plane a of fabric.roce  10.0.1.0/24, tcp, lossy
  switch.leaf["x"]  nxos
    Ethernet1/1   2500M  server.s["c"].rnic.p0              10.0.1.1
    Ethernet1/49  400G   switch.spine FourHundredGigE1/0/1
  switch.leaf["y"]  nxos
    Ethernet1/1         server.s["t"].rnic.p0              10.0.1.2
    Ethernet1/49  400G  switch.spine FourHundredGigE1/0/2
  no link declared
    server.s["u"].rnic.p0  10.0.1.3/24

plane a of fabric.back  fd00::/64, tcp, lossy
  without a switch
    server.s["c"].rnic.p1  fd00::1  server.s["t"].rnic.p1  fd00::2
  no link declared
    server.s["u"].rnic.p1  fd00::3/64

in no plane
  switch.spine  comware, unmanaged
    FourHundredGigE1/0/1  400G  switch.leaf["x"] Ethernet1/49
    FourHundredGigE1/0/2  400G  switch.leaf["y"] Ethernet1/49

servers
  server.s["c"]  p0 10.0.1.1/24 (a of fabric.roce)  p1 fd00::1/64 (a of fabric.back)
  server.s["t"]  p0 10.0.1.2/24 (a of fabric.roce)  p1 fd00::2/64 (a of fabric.back)
  server.s["u"]  p0 10.0.1.3/24 (a of fabric.roce)  p1 fd00::3/64 (a of fabric.back)

paths, initiator to target
  initiator.i -> target.own
    a of fabric.roce  10.0.1.1 -- switch.leaf["x"] -- switch.spine -- switch.leaf["y"]
                      -- 10.0.1.2:4420
    a of fabric.back  fd00::1 -- [fd00::2]:4420
  initiator.i -> target.array
    a of fabric.roce  10.0.1.1 -- switch.leaf["x"] -- ? -- 10.0.1.50:4420
    a of fabric.roce  10.0.1.1 -- switch.leaf["x"] -- ? -- 10.0.1.51:4420
    a of fabric.back  fd00::1 -- ? -- [fd00::50]:4420
  initiator.i -> target.far
    no plane  ? -- 192.0.2.1:4420
  ?: no link is declared there
`
	if diff := cmp.Diff(want, ascii(t, load(t, pod))); diff != "" {
		t.Error(diff)
	}
}

func TestForPrograms(t *testing.T) {
	g := load(t, pod)
	dot := render(t, func(b *bytes.Buffer) error { return g.DOT(b) })
	mermaid := render(t, func(b *bytes.Buffer) error { return g.Mermaid(b) })
	for _, want := range []string{
		`"switch.spine" [label="switch.spine\ncomware, unmanaged"]`,
		`"switch.leaf[\"x\"]" -- "switch.spine" [label="Ethernet1/49 - FourHundredGigE1/0/1, 400G"]`,
		`"server.s[\"c\"]" -- "server.s[\"t\"]" [label="p1 - p1"]`,
		`"fabric.roce.plane.a" -- "server.s[\"u\"]" [style=dotted label="p0"]`,
		`"server.s[\"c\"]" -- "target.far" [style=dashed dir=forward constraint=false label="target.far over no plane"]`,
	} {
		if !strings.Contains(dot, want) {
			t.Errorf("no %s in\n%s", want, dot)
		}
	}
	for _, want := range []string{
		`subgraph p1["plane a of fabric.back: fd00::/64, tcp, lossy"]`,
		`["no link declared"]`, `["target.far"]`, `-.->|"target.array over a of fabric.roce, a of fabric.back"|`, `-.->|"target.far over no plane"|`, `---|"Ethernet1/49 - FourHundredGigE1/0/1, 400G"|`,
	} {
		if !strings.Contains(mermaid, want) {
			t.Errorf("no %s in\n%s", want, mermaid)
		}
	}
}

// TestNames makes sure that no name leaves the place it is written to.
func TestNames(t *testing.T) {
	evil := "x\"]\n\x1b[31m end\\`<b>#"
	g := &Graph{Owner: evil,
		Planes:   []*Plane{{Addr: evil, Name: evil, Fabric: evil}},
		Switches: []*Switch{{Addr: "s" + evil, OS: "nxos", Plane: evil}},
		Servers:  []*Server{{Addr: "h" + evil, NICs: []*NIC{{Addr: "n" + evil, Name: evil, Plane: evil}}}},
		Links:    []*Link{{From: End{Switch: "s" + evil, Port: evil}, To: End{Server: "h" + evil, NIC: "n" + evil}}},
		Paths:    []*Path{{Initiator: evil, Target: evil, Plane: evil, Client: "h" + evil, To: evil}},
	}
	for name, got := range map[string]string{
		"ascii":   ascii(t, g),
		"dot":     render(t, func(b *bytes.Buffer) error { return g.DOT(b) }),
		"mermaid": render(t, func(b *bytes.Buffer) error { return g.Mermaid(b) }),
	} {
		if strings.ContainsRune(got, 0x1b) || strings.Contains(got, "\n end") {
			t.Errorf("%s lets a control character through:\n%q", name, got)
		}
		for line := range strings.Lines(got) {
			if quotes := strings.Count(strings.ReplaceAll(strings.ReplaceAll(line, `\\`, ""), `\"`, ""), `"`); name != "ascii" && quotes%2 != 0 {
				t.Errorf("%s: a quote is open: %s", name, line)
			}
		}
	}
}

// TestInfiniBand: a NIC without an address is in the plane of its switch.
func TestInfiniBand(t *testing.T) {
	g := load(t, `
weft { name = "ib" }
fabric "ib" {
  transport = "infiniband"
  plane "a" { subnet = "10.0.1.0/24" }
}
switch "leaf" {
  os        = "nxos"
  host      = "leaf"
  fabric    = fabric.ib
  plane     = "a"
  unmanaged = true
}
server "s" {
  host = "s"
  rnic "p0" {
    match  = { pci = "0000:41:00.0" }
    fabric = fabric.ib
  }
}
link "s" {
  from = server.s.rnic.p0
  to   = switch.leaf.port["1/1"]
}
`)
	if got := g.Servers[0].NICs[0]; got.Plane != "fabric.ib.plane.a" || got.Address != "" {
		t.Errorf("the NIC is in %q with address %q", got.Plane, got.Address)
	}
}

// TestWidth: what is long goes on in the next line.
func TestWidth(t *testing.T) {
	name := strings.Repeat("x", 40)
	g := &Graph{Owner: "wide",
		Servers: []*Server{{Addr: "server.s"}},
		Paths: []*Path{{Initiator: "i", Target: "t", From: "10.0.0.1", To: "10.0.0.2:4420", Cabled: true,
			Switches: []string{name, name, name}}},
	}
	for range 8 {
		g.Servers[0].NICs = append(g.Servers[0].NICs, &NIC{Name: "p0", Address: "10.0.0.1/24"})
	}
	const want = `wide: 0 planes, 0 switches, 1 server, 0 links, 1 path

servers
  server.s  p0 10.0.0.1/24 (no plane)  p0 10.0.0.1/24 (no plane)  p0 10.0.0.1/24 (no plane)
            p0 10.0.0.1/24 (no plane)  p0 10.0.0.1/24 (no plane)  p0 10.0.0.1/24 (no plane)
            p0 10.0.0.1/24 (no plane)  p0 10.0.0.1/24 (no plane)

paths, initiator to target
  i -> t
    no plane  10.0.0.1 -- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
              -- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
              -- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx -- 10.0.0.2:4420
`
	if diff := cmp.Diff(want, ascii(t, g)); diff != "" {
		t.Error(diff)
	}
}

func TestEmpty(t *testing.T) {
	if got, want := ascii(t, &Graph{Owner: "x"}), "x: 0 planes, 0 switches, 0 servers, 0 links, 0 paths\n"; got != want {
		t.Errorf("got %q, wanted %q", got, want)
	}
}
