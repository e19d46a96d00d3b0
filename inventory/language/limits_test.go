package language

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"weft/internal/require"
	"weft/inventory"
	"weft/inventory/problem"
)

// A file of UTF-16 is one problem, whatever its lines: with the mark or without, either way round.
func TestUTF16(t *testing.T) {
	const text = "weft {\n  name = \"pod\"\n}\n\nserver \"a\" {\n  host = \"a\"\n}\n"
	for _, mark := range []bool{true, false} {
		for _, order := range []interface {
			AppendUint16([]byte, uint16) []byte
		}{binary.LittleEndian, binary.BigEndian} {
			var src []byte
			if mark {
				src = order.AppendUint16(src, 0xfeff)
			}
			for _, r := range text {
				src = order.AppendUint16(src, uint16(r))
			}
			m, diags := Load(fstest.MapFS{"a.weft.hcl": {Data: src}}, Options{})
			if got := diagText(m, diags); len(diags) != 1 || !strings.Contains(got, "the file is UTF-16") || !strings.Contains(got, "iconv -f UTF-16") {
				t.Errorf("%v, mark %t: %s", order, mark, got)
			}
			if _, _, diags := Format("a.weft.hcl", bytes.NewReader(src)); len(diags) != 1 {
				t.Errorf("fmt, %v, mark %t: %v", order, mark, diags)
			}
		}
	}
}

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
			if problem.CodeOf(d) == "" {
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
	if m, diags := Load(os.DirFS(dir), Options{}); len(diags) == 0 || problem.CodeOf(diags[0]) != problem.File {
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
		if problem.CodeOf(d) != problem.Syntax {
			t.Errorf("%s", diagText(m, diags))
		}
	}
}

// What nests deeply is refused or computed, but never takes all of the stack.
func TestDepth(t *testing.T) {
	deep := func(open, middle, shut string, n int) string {
		return "locals {\n  x = " + strings.Repeat(open, n) + middle + strings.Repeat(shut, n) + "\n}\n"
	}
	const links = 200 // of 140 levels each: more than the 20,000 that there may be
	var chain strings.Builder
	chain.WriteString("locals {\n")
	for i := range links {
		fmt.Fprintf(&chain, "  v%d = %slocal.v%d%s\n", i, strings.Repeat("upper(", 140), i+1, strings.Repeat(")", 140))
	}
	fmt.Fprintf(&chain, "  v%d = \"x\"\n}\n", links)
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
		if found := find(m, diags, problem.TooLarge, "") != nil; found != c.refused {
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
	if find(m, diags, problem.TooLarge, "for_each") == nil {
		t.Errorf("%.2000s", diagText(m, diags))
	}
}

// A few lines that stand for more than any memory holds are refused with
// their place, and what it takes to find out stays small.
func TestBombs(t *testing.T) {
	require.Long(t, "4 s")
	doubled := func(first, format string) string {
		var b strings.Builder
		b.WriteString("locals {\n  v0 = " + first + "\n")
		for i := range 60 {
			fmt.Fprintf(&b, "  v%d = "+format+"\n", i+1, i, i)
		}
		return b.String() + "}\n"
	}
	const lists = "locals {\n  r = range(1000)\n  t = join(\"\", [for a in local.r : \"0123456789012345678901234567890123456789\"])\n  x = "
	local := func(x string) string { return lists + x + "\n}\n" }
	for name, c := range map[string]struct{ text, says string }{
		"doubled text":    {doubled(`"lol"`, `"${local.v%d}${local.v%d}"`), "more than 1000000 items"},
		"doubled list":    {doubled(`["lol"]`, `[local.v%d, local.v%d]`), "more than 1000000 items"},
		"doubled object":  {doubled(`{}`, `{ a = local.v%d, b = local.v%d }`), "more than 1000000 items"},
		"doubled number":  {doubled(`10`, `local.v%d * local.v%d`), "of more than 1000 digits"},
		"loops":           {local(`[for a in local.r : [for b in local.r : [for c in local.r : [for d in local.r : [for e in local.r : 1]]]]]`), "more than 1000000 items"},
		"loops of texts":  {local(`length([for a in local.r : [for b in local.r : local.t]])`), "32 MiB of text"},
		"template loops":  {local(`"%{ for a in local.r }%{ for b in local.r }${local.t}%{ endfor }%{ endfor }"`), "32 MiB of text"},
		"replace":         {local(`replace(local.t, "0", local.t)`), "32 MiB of text"},
		"replace pattern": {local(`replace(local.t, "/(.*)/", join("", [for a in local.r : "$1"]))`), "32 MiB of text"},
		"format":          {local(`format(join("", [for a in local.r : "%[1]s"]), local.t)`), "32 MiB of text"},
		"join":            {local(`join(local.t, local.r)`), "32 MiB of text"},
		"indent":          {local(`indent(1000000, join("\n", local.r))`), "32 MiB of text"},
		"product":         {local(`setproduct(local.r, local.r, local.r)`), "1000000 items"},
		"split":           {local(`split("", "${local.t}${join("", [for i in range(105) : local.t])}")`), "1000000 items"},
		"argument":        {local(`jsonencode([for i in range(900) : local.t])`), "32 MiB of text"},
		"million nested":  {"server \"s\" {\n  for_each = toset(flatten([for a in range(1000) : [for b in range(1000) : \"${a}-${b}\"]]))\n  host = each.key\n}\n", "more than 1000000 items"},
		"million merged":  {"server \"s\" {\n  for_each = merge([for a in range(990) : { for b in range(990) : \"${a}-${b}\" => 1 }]...)\n  host = each.key\n}\n", "more than 1000000 items"},
		"million range":   {"server \"s\" {\n  for_each = toset([for i in range(1000000) : tostring(i)])\n  host = each.key\n}\n", "more than 1024 values"},
		"many instances":  {fullBlock("a") + fullBlock("b"), "exceed 500000"},
		"million count":   {"server \"s\" {\n  count = 1000000\n  host = \"h${count.index}\"\n}\n", "between 0 and 100000"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m, diags := loadText(base+c.text, Options{})
			runtime.ReadMemStats(&after)
			if text := strings.Join(strings.Fields(diagText(m, diags)), " "); !strings.Contains(text, c.says) || len(text) > 5000 {
				t.Errorf("%q is not in\n%.2000s", c.says, text)
			}
			// All that was taken, also what was given back at once.
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 2000 {
				t.Errorf("%d MB were taken", mb)
			} else {
				t.Logf("%d MB were taken", mb)
			}
		})
	}
}

// fullBlock is a block whose instances, with what is in them, are half as many as there may
// be, and some more.
func fullBlock(name string) string {
	const in = 60
	text := fmt.Sprintf("server %q {\n  count = %d\n  host = \"h\"\n", name, maxObjects/2/in)
	for i := range in {
		text += fmt.Sprintf("  sysctl \"net.x%d\" { value = \"1\" }\n", i)
	}
	return text + "}\n"
}

// Thousands of mistakes and thousands of blocks in one are not looked for in
// each other; the time limit of the tests would tell.
func TestThousands(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "locals { l%d = local.m%d }\noutput \"o%d\" { value = 1 }\n", i, i, i)
	}
	b.WriteString("server \"s\" {\n  host = \"h\"\n")
	for i := range 20_000 {
		fmt.Fprintf(&b, "  sysctl \"net.x%d\" { value = \"1\" }\n", i)
	}
	b.WriteString("}\n")
	_, diags := loadText(base+b.String(), Options{})
	same(t, "problems", len(diags), 20_000)
}

// What is asked of a whole map or list for each instance is found at once; what
// has not the usual form is left to the function.
func TestQuickFunctions(t *testing.T) {
	const head = "locals {\n  m = { a = 1, b = 2 }\n  t = tomap({ a = \"x\" })\n  l = [\"a\", \"b\"]\n}\n"
	for _, c := range []struct{ expr, want string }{
		{`lookup(local.m, "a", 7)`, "1"},
		{`lookup(local.m, "c", 7)`, "7"},
		{`lookup(local.t, "a", "y")`, "x"},
		{`lookup(local.t, "c", 5)`, "5"},
		{`contains(local.l, "b")`, "true"},
		{`contains(local.l, "c")`, "false"},
		{`contains([1, 2], 2)`, "true"},
		{`contains(toset(local.l), "a")`, "true"},
		{`length(local.m)`, "2"},
		{`length(local.l)`, "2"},
		{`length(local.t)`, "1"},
		{`length(toset(["a", "a"]))`, "1"},
		{`length("äö")`, "2"},
	} {
		m, diags := loadText(base+head+"output \"x\" { value = tostring("+c.expr+") }\n", Options{})
		if len(diags) > 0 {
			t.Fatalf("%s: %s", c.expr, diagText(m, diags))
		}
		i := slices.IndexFunc(m.Outputs, func(o *inventory.Output) bool { return o.Name == "x" })
		v, diags := m.Evaluate(m.Outputs[i].Value, nil)
		if len(diags) > 0 || v.AsString() != c.want {
			t.Errorf("%s is %#v, want %s", c.expr, v, c.want)
		}
	}
	for _, expr := range []string{`lookup("a", "b", "c")`, `lookup(local.m)`, `contains("a", "b")`, `length(1)`} {
		if _, diags := loadText(base+head+"locals { x = "+expr+" }\n", Options{}); !diags.HasErrors() {
			t.Errorf("%s is no error", expr)
		}
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
		if problem.CodeOf(d) == problem.NoPlane {
			n++
		}
	}
	if n != problem.MaxAlike || !strings.Contains(diagText(m, diags), "And 297 more like this.") {
		t.Errorf("%d problems:\n%.3000s", n, diagText(m, diags))
	}
}
