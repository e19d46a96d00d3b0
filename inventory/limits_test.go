package inventory

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestDirectories(t *testing.T) {
	big := strings.Repeat("# filler\n", maxFileSize/9+1)
	for _, c := range []struct {
		name string
		dir  fs.FS
		says string
	}{
		{"empty", fstest.MapFS{"a.hcl": {}}, "no inventory here"},
		{"missing", os.DirFS(filepath.Join(t.TempDir(), "none")), "cannot read the inventory"},
		{"directory", fstest.MapFS{"a.weft.hcl/b": {}}, "not a regular file"},
		{"too large", fstest.MapFS{"a.weft.hcl": {Data: []byte(big)}}, "larger than 4 MiB"},
		{"binary", fstest.MapFS{"a.weft.hcl": {Data: []byte("\x7fELF\x00\x01\xff\xfe")}}, "WF-LANG-001"},
	} {
		m, diags := Load(c.dir, Options{})
		if text := diagText(m, diags); !diags.HasErrors() || !strings.Contains(text, c.says) {
			t.Errorf("%s: %q is not in\n%s", c.name, c.says, text)
		}
		for _, d := range diags {
			if CodeOf(d) == "" {
				t.Errorf("%s: no code: %v", c.name, d)
			}
		}
	}
}

func TestSymlinkLoop(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("a.weft.hcl", filepath.Join(dir, "a.weft.hcl")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if m, diags := Load(os.DirFS(dir), Options{}); len(diags) == 0 || CodeOf(diags[0]) != codeFile {
		t.Errorf("a loop of links gives %s", diagText(m, diags))
	}
}

func TestSeveralFiles(t *testing.T) {
	head, tail, _ := strings.Cut(base, "pool \"flash\"")
	dir := fstest.MapFS{
		"b.weft.hcl":     {Data: []byte(head)},
		"a.weft.hcl":     {Data: []byte("pool \"flash\"" + tail)},
		"c.weft.hcl":     {Data: nil},
		".hide.weft.hcl": {Data: []byte("nonsense")},
	}
	m, diags := Load(dir, Options{})
	if len(diags) > 0 {
		t.Fatal(diagText(m, diags))
	}
	same(t, "files", len(m.Sources), 3)
	same(t, "file", m.Pools[0].Range.Filename, "a.weft.hcl")
}

// A broken file brings no errors about what it would have declared.
func TestBrokenFileAlone(t *testing.T) {
	head, tail, _ := strings.Cut(base, "pool \"flash\"")
	m, diags := Load(fstest.MapFS{
		"a.weft.hcl": {Data: []byte(head + "\nserver {")},
		"b.weft.hcl": {Data: []byte("pool \"flash\"" + tail)},
	}, Options{})
	for _, d := range diags {
		if CodeOf(d) != codeSyntax {
			t.Errorf("%s", diagText(m, diags))
		}
	}
}

// What nests deeply is refused or computed, but never takes all of the stack.
func TestDepth(t *testing.T) {
	deep := func(open, middle, shut string, n int) string {
		return "locals {\n  x = " + strings.Repeat(open, n) + middle + strings.Repeat(shut, n) + "\n}\n"
	}
	var chain strings.Builder
	chain.WriteString("locals {\n")
	for i := range 1200 {
		fmt.Fprintf(&chain, "  v%d = %slocal.v%d%s\n", i, strings.Repeat("upper(", 140), i+1, strings.Repeat(")", 140))
	}
	chain.WriteString("  v1200 = \"x\"\n}\n")
	for name, c := range map[string]struct {
		text    string
		refused bool
	}{
		"parentheses": {deep("(", "1", ")", 20_000), true},
		"lists":       {deep("[", "1", "]", 20_000), true},
		"not":         {deep("!", "true", "", 20_000), true},
		"minus":       {deep("-", "1", "", 20_000), true},
		"sum":         {deep("1+", "1", "", 20_000), true},
		"condition":   {deep("true ? 1 : ", "1", "", 20_000), true},
		"index":       {deep("", "local.y", "[local.z]", 20_000), true},
		"template":    {deep(`"${`, "1", `}"`, 20_000), true},
		"if":          {"locals {\n x = \"" + strings.Repeat("%{ if true }", 10_000) + "\"\n}\n", true},
		"unbalanced":  {deep("[(", "1", "", 10_000), true},
		"blocks":      {strings.Repeat("a {\n", 20_000), true},
		"some":        {deep("(", "1", ")", 100), false},
		"wide":        {"locals {\n x = [" + strings.Repeat("[1],", 5000) + "]\n}\n", false},
		"templates":   {"locals {\n x = \"" + strings.Repeat("%{ if true }a%{ else }b%{ endif }${1}", 1000) + "\"\n}\n", false},
		"chain":       {chain.String(), true},
	} {
		m, diags := loadText(base+c.text, Options{})
		if found := find(m, diags, codeTooLarge, "") != nil; found != c.refused {
			t.Errorf("%s: refused is %t:\n%.2000s", name, found, diagText(m, diags))
		}
	}
}

func TestManyInstances(t *testing.T) {
	// 120,000 elements.
	m, diags := loadText(base+`
server "many" {
  for_each = toset(flatten([for i in range(400) : [for j in range(300) : "${i}-${j}"]]))
  host     = each.key
}
`, Options{})
	if find(m, diags, codeTooLarge, "for_each") == nil {
		t.Errorf("%.2000s", diagText(m, diags))
	}
}

// pod is an inventory of n servers that connect to four targets.
func pod(n int) string {
	var b strings.Builder
	b.WriteString("weft { name = \"pod\" }\nconnection \"default\" { user = \"root\" }\nlocals {\n  hosts = {\n")
	for i := range n {
		fmt.Fprintf(&b, "    h%05d = %d\n", i, i+10)
	}
	b.WriteString(`  }
}
fabric "roce" {
  transport = "tcp"
  plane "a" { subnet = "10.0.0.0/16" }
  plane "b" { subnet = "10.1.0.0/16" }
}
switch "leaf" {
  for_each = { a = "a", b = "b" }
  os       = "nxos"
  host     = "leaf-${each.key}"
  fabric   = fabric.roce
  plane    = each.value
}
server "node" {
  for_each = local.hosts
  host     = "${each.key}.example.net"
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "${cidrhost("10.0.0.0/16", each.value)}/16"
    fabric  = fabric.roce
  }
  rnic "p1" {
    match   = { pci = "0000:41:00.1" }
    address = "${cidrhost("10.1.0.0/16", each.value)}/16"
    fabric  = fabric.roce
  }
}
link "a" {
  for_each = local.hosts
  from     = server.node[each.key].rnic.p0
  to       = switch.leaf["a"].port["Ethernet1/${each.value}"]
}
link "b" {
  for_each = local.hosts
  from     = server.node[each.key].rnic.p1
  to       = switch.leaf["b"].port["Ethernet1/${each.value}"]
}
pool "flash" {
  for_each = toset(["h00000", "h00001", "h00002", "h00003"])
  server   = server.node[each.key]
  drives   = ["nvme-eui.01"]
}
target "nvme" {
  for_each  = toset(["h00000", "h00001", "h00002", "h00003"])
  server    = server.node[each.key]
  transport = ["tcp"]
  portals   = server.node[each.key].rnic
  subsystem "data" { nqn = "nqn.2026-11.net.example:${each.key}" }
}
initiator "nvme" {
  for_each = local.hosts
  server   = server.node[each.key]
  connect { to = target.nvme }
}
`)
	return b.String()
}

func TestPod(t *testing.T) {
	m, diags := loadText(pod(300), Options{})
	if len(diags) > 0 {
		t.Fatalf("%.2000s", diagText(m, diags))
	}
	same(t, "servers", len(m.Servers), 300)
	same(t, "allowed hosts", len(m.Targets[3].Subsystems[0].AllowHosts), 600)
}

// One mistake in a block with many instances is shown a few times.
func TestOneMistakeInManyInstances(t *testing.T) {
	m, diags := loadText(strings.Replace(pod(300), `"10.1.0.0/16", each.value`, `"10.3.0.0/16", each.value`, 1), Options{})
	n := 0
	for _, d := range diags {
		if CodeOf(d) == codeNoPlane {
			n++
		}
	}
	if n != maxAlike || !strings.Contains(diagText(m, diags), "And 297 more like this.") {
		t.Errorf("%d problems:\n%.3000s", n, diagText(m, diags))
	}
}
