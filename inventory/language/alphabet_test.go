package language

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weft/inventory"
	"weft/modules"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"weft/internal/require"
)

// hostile are texts that mean something to a shell, a terminal, a path or a file
// of lines.
func hostile() map[string]string {
	return map[string]string{
		"newline": "x\ny", "return": "x\ry", "NUL": "x\x00y", "ESC": "\x1b[31mx", "line": "x\u2028y", "bidi": "x\u202ey",
		"quote": `x"y`, "shell": "$(x)", "parent": "../x", "dash": "-x", "space": "x y",
	}
}

// controls are those of hostile that no device ever gets.
func controls() []string { return []string{"newline", "return", "NUL", "ESC", "line", "bidi"} }

// benign is a value of every attribute of texts and of every label within a
// block, by its path, but of durations.
func benign() map[string]string {
	return map[string]string{
		"weft.name": "pod", "weft.required_version": ">= 0.1",
		"connection.user": "root", "credential.user": "admin", "output.description": "what it is",
		"fabric.traffic_class.ecn.min": "1KB", "fabric.traffic_class.ecn.max": "1MB",
		"fabric.traffic_class.headroom.xon": "1KB", "fabric.traffic_class.headroom.xoff": "2500KB", "fabric.traffic_class.headroom.size": "9MB",
		"link.speed": "100G", "volume.size": "1TiB", "validation.sizes": "4KiB", "validation.metric.size": "4KiB",
		"target.subsystem.namespace.limits.bandwidth": "1GB",
		"fabric.partition":                            "0x8001", "fabric.plane.subnet": "10.1.0.0/24", "fabric.plane": "a", "fabric.traffic_class": "rdma",
		"switch.host": "leaf.example.net", "switch.plane": "a", "switch.serial": "FDO1",
		"server.host": "storage.example.net", "server.machine_id": "0123456789abcdef0123456789abcdef", "server.labels": "storage",
		"server.rnic": "p0", "server.rnic.address": "10.1.0.11/24", "server.rnic.match": "0000:41:00.0",
		"server.rnic.vmk.id": "vmk2", "server.rnic.vmk.vswitch": "weft-a", "server.rnic.vmk.netstack": "storage",
		"vcenter.host": "vc.example.net", "vcenter.tls_sha256": strings.Repeat("0a", 32),
		"dvswitch.path": "dc1/network/weft-rdma", "dvswitch.portgroup": "storage",
		"vcenter.cluster": "dc1/host/c1", "vm.path": "dc1/vm/hpc1", "vm.pvrdma": "eth1",
		"server.file": "/etc/motd", "server.file.content": "managed", "server.file.mode": "0644",
		"server.kernel_module": "nvmet", "server.kernel_module.options": "1",
		"server.package": "lvm2", "server.package.version": "1.0", "server.service": "ssh",
		"server.command": "once", "server.command.creates": "/var/once", "server.command.run": "touch",
		"server.command.unless": "true", "server.command.undo": "rm",
		"store.url": "tls://hub.example.net:4222", "store.creds": "hub.creds", "store.path": "/srv/runs",
		"pool.drives":                     "nvme-eui.01",
		"target.portals":                  "10.1.0.99",
		"target.subsystem":                "data",
		"target.subsystem.nqn":            "nqn.2026-11.net.example:data",
		"target.subsystem.serial":         "S1",
		"target.subsystem.allow_hosts":    "nqn.2026-11.net.example:host",
		"target.subsystem.namespace":      "1",
		"target.subsystem.namespace.uuid": "123e4567-e89b-42d3-a456-426614174000",
		"initiator.hostid":                "6ba7b810-9dad-51d1-80b4-00c04fd430c8",
		"initiator.hostnqn":               "nqn.2026-11.net.example:host",
		"validation.metric":               "p99", "validation.metric.source": "switch.port.ingress_drops", "validation.metric.unit": "ratio",
		"validation.allow_unmeasured": "linux",
		"validation.before.device":    "/dev/disk/by-id/nvme-eui.1", "validation.span": "1GiB",
		"validation.metric.max": "30us", "validation.metric.regression": "10%",
		"rollout.phase": "first", "rollout.phase.batch": "1", "rollout.phase.select": "remaining",
		"rollout.phase.window": "22:00-04:00 UTC", "rollout.phase.approve": "manual",
	}
}

// open are the attributes that take what hostile has on purpose, and why.
func open() map[string]string {
	return map[string]string{
		"server.file.content":   "all of a file",
		"server.command.run":    "arguments, which go to the program as they are",
		"server.command.unless": "arguments, which go to the program as they are",
		"server.command.undo":   "arguments, which go to the program as they are",
		"output.description":    "it stays in the files",
	}
}

// TestAlphabets sets every text of the language to what means something to
// others, behind a good value where that is not about the first character, and
// shows what is taken; words of kinds take what their forms say. Nothing that reaches a device takes control characters.
func TestAlphabets(t *testing.T) {
	require.Long(t, "12 s")
	var table []string
	good, forms, ofKinds := kindsOwn(t)
	maps.Copy(good, benign())
	all := full(t, ofKinds)
	walkTexts(func(path string, s *schema, name string) {
		good := goodValue(good, path, s, name)
		if good == "" {
			t.Errorf("%s: no good value of it is known to this test", path)
			return
		}
		with := errorsWith(t, all, path, s, name)
		known := with(good)
		var taken []string
		for _, what := range slices.Sorted(maps.Keys(hostile())) {
			text := hostile()[what]
			if what != "dash" && what != "parent" {
				text = good + text
			}
			refused := slices.ContainsFunc(with(text), func(e string) bool { return !slices.Contains(known, e) })
			if form := forms[path]; form != nil && form.MatchString(text) == refused {
				t.Errorf("%s: %q is taken %t, where its kind takes %v", path, text, !refused, form)
			}
			if refused {
				continue
			}
			taken = append(taken, what)
			if slices.Contains(controls(), what) && open()[path] == "" {
				t.Errorf("%s takes %s", path, what)
			}
		}
		if taken != nil && forms[path] == nil {
			table = append(table, path+": "+strings.Join(taken, " "))
		}
	})
	slices.Sort(table)
	if got := strings.Join(table, "\n"); got != strings.TrimSpace(alphabets) {
		t.Errorf("what is taken:\n%s", got)
	}
}

// walkTexts calls do for every attribute that takes texts, and, with no name, for
// every label of a block within another.
func walkTexts(do func(path string, s *schema, name string)) {
	var walk func(path string, s *schema, inner bool)
	walk = func(path string, s *schema, inner bool) {
		for _, name := range sortedNames(s.attrs) {
			switch a := s.attrs[name]; {
			case a.raw || a.secret || !a.written() || name == "for_each" || name == "count":
			case a.takes.cty == cty.NilType && !a.takes.texts:
			case len(a.takes.words) > 0: // it takes those and nothing else
			case a.takes.cty == cty.Number || a.takes.cty == cty.Bool || a.takes.cty == cty.List(cty.Number):
			default:
				do(path+"."+name, s, name)
			}
		}
		if inner && s.label != "" {
			do(path, s, "")
		}
		for _, kind := range sortedNames(s.blocks) {
			walk(path+"."+kind, s.blocks[kind].schema, true)
		}
	}
	all := language(modules.Blocks())
	for _, kind := range sortedNames(all) {
		if kind != "site" && kind != "variable" && kind != "locals" && kind != "check" && kind != "policy" && kind != "module" && kind != "removed" {
			walk(kind, all[kind], false)
		}
	}
}

// goodValue is a value that the attribute, or the label, takes.
func goodValue(values map[string]string, path string, s *schema, name string) string {
	good, ok := values[path]
	switch {
	case ok || name == "":
		return good
	case strings.Contains(s.attrs[name].takes.name, "a duration"):
		return "30s"
	}
	return ""
}

// kindsOwn are the words of the blocks that kinds declare for themselves: a good value of
// each, which is the one of the kind's page, its form, and all of the blocks.
func kindsOwn(t *testing.T) (values map[string]string, forms map[string]*regexp.Regexp, text string) {
	values, forms = map[string]string{}, map[string]*regexp.Regexp{}
	form := func(path string, f inventory.Form) { forms[path] = regexp.MustCompile(`^(?:` + f.Pattern + `)$`) }
	for _, kind := range modules.Blocks() {
		path := "server." + kind.Name
		block := onItsPage(t, kind.Name)
		text += string(block.BuildTokens(nil).Bytes())
		values[path] = block.Labels()[0]
		form(path, kind.Named)
		for _, a := range kind.Attributes {
			form(path+"."+a.Name, a.Form)
			if set := block.Body().GetAttribute(a.Name); set != nil {
				values[path+"."+a.Name] = strings.Trim(string(set.Expr().BuildTokens(nil).Bytes()), ` "`)
			}
		}
	}
	return values, forms, text
}

// onItsPage is the first block of a kind in the example of its page.
func onItsPage(t *testing.T, kind string) *hclwrite.Block {
	var pages []string
	for _, where := range []string{"*", "*/*"} {
		found, err := filepath.Glob("../../modules/" + where + "/" + kind + ".md")
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) != 1 {
		t.Fatalf("the pages of %s are %q", kind, pages)
	}
	page, err := os.ReadFile(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```hcl\n")
	example, _, _ = strings.Cut(example, "```")
	f, diags := hclwrite.ParseConfig([]byte(example), pages[0], hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, server := range f.Body().Blocks() {
		for _, b := range server.Body().Blocks() {
			if b.Type() == kind {
				return b
			}
		}
	}
	t.Fatalf("the example of %s has no block %s", pages[0], kind)
	return nil
}

// full is base with a block of every type and what is left out there.
func full(t *testing.T, ofKinds string) string {
	text := edited(t, `  file "/etc/motd" { content = "managed" }`, `  file "/etc/motd" { content = "managed" }
`+ofKinds+`
  kernel_module "nvmet" {}
  package "lvm2" {}
  service "ssh" {}
  smb { direct_port = 445 }
  command "once" {
    run     = ["touch", "/var/once"]
    creates = "/var/once"
  }`, `    address = "10.1.0.11/24"`, `    address = "10.1.0.11/24"
    vmk {
      id      = "vmk2"
      vswitch = "weft-a"
    }`, `  plane  = "a"`, `  plane  = "a"
  safety { commit_confirm = "5m" }`, `    pfc       = true`, `    pfc       = true
    headroom {
      xoff = "2MB"
      xon  = "1MB"
      size = "3MB"
    }`, `  traffic_class "cnp" {`, `  pfc_watchdog { action = "drop" }
  traffic_class "cnp" {`, `  probe = "nvme-read"`, `  probe = "nvme-read"
  before {
    server = server.storage
    device = "/dev/disk/by-id/nvme-eui.1"
  }`)
	text += "\nvcenter \"dc1\" {\n  host = \"vc.example.net\"\n  credential = credential.switch\n  cluster \"dc1/host/c1\" {\n    vsan_rdma = true\n  }\n}\ndvswitch \"rdma\" {\n  vcenter = vcenter.dc1\n  path = \"dc1/network/weft-rdma\"\n  uplinks = []\n  portgroup \"storage\" {}\n}\nvm \"hpc\" {\n  path = \"dc1/vm/hpc\"\n  pvrdma \"eth1\" {\n    portgroup = dvswitch.rdma.portgroup.storage\n  }\n}\n"
	text += "\nstore \"nats\" {\n  url = \"tls://hub.example.net\"\n}\n"
	inOneLine := regexp.MustCompile(`(?m)^(\s*[a-z_]+(?: "[^"]*")? )\{(.*)\}$`)
	return inOneLine.ReplaceAllString(text, "$1{\n$2\n}")
}

// errorsWith makes a function of texts: the summaries of what is wrong with all when one
// stands in place of what is written at a path.
func errorsWith(t *testing.T, all, path string, s *schema, name string) func(text string) []string {
	t.Helper()
	f, diags := hclwrite.ParseConfig([]byte(all), "main.weft.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	body := f.Body()
	var block *hclwrite.Block
	for _, kind := range strings.Split(strings.TrimSuffix(path, "."+name), ".") {
		i := slices.IndexFunc(body.Blocks(), func(b *hclwrite.Block) bool {
			return b.Type() == kind && (kind != "server" || strings.Contains(path, "rnic") == (b.Labels()[0] == "storage"))
		})
		if i < 0 {
			t.Fatalf("%s: there is no block %s", path, kind)
		}
		block = body.Blocks()[i]
		body = block.Body()
	}
	return func(text string) (list []string) {
		if name == "" {
			block.SetLabels([]string{text})
		} else {
			setText(body, path, s.attrs[name].takes, name, text)
		}
		_, diags := loadText(string(f.Bytes()), Options{})
		for _, d := range diags {
			if d.Severity == hcl.DiagError {
				list = append(list, d.Summary)
			}
		}
		return list
	}
}

func setText(body *hclwrite.Body, path string, takes valueType, name, text string) {
	v := cty.StringVal(text)
	switch {
	case path == "server.rnic.match":
		v = cty.MapVal(map[string]cty.Value{"pci": v})
	case takes.cty == cty.Map(cty.String):
		v = cty.MapVal(map[string]cty.Value{"k": v})
	case takes.texts || takes.cty == cty.List(cty.String):
		v = cty.ListVal([]cty.Value{v})
	}
	if name == "unless" {
		body.RemoveAttribute("creates")
	}
	body.SetAttributeValue(name, v)
}

// alphabets is what texts take of what hostile has; those that take nothing of it
// are left out.
const alphabets = `
dvswitch.path: space
fabric.plane: dash parent shell space
fabric.traffic_class: dash
output.description: ESC NUL bidi dash line newline parent quote return shell space
pool.drives: dash quote shell
rollout.phase: dash parent shell space
server.command.creates: quote shell space
server.command.run: ESC bidi dash line newline parent quote return shell space
server.command.undo: ESC bidi dash line newline parent quote return shell space
server.command.unless: ESC bidi dash line newline parent quote return shell space
server.command: dash parent shell space
server.file.content: ESC NUL bidi dash line newline parent quote return shell space
server.file: quote shell space
server.kernel_module.options: dash parent shell
server.labels: dash parent quote shell space
server.package.version: dash parent quote shell
store.creds: dash parent quote shell space
store.path: dash parent quote shell space
switch.serial: dash parent quote shell space
target.subsystem.serial: dash parent quote shell space
target.subsystem: dash parent shell space
validation.metric.unit: dash parent quote shell space
vcenter.cluster: space
vm.path: space
weft.name: dash
`

// A port behind a host would be taken for a part of its name, and that for one that nobody
// knows.
func TestHostWithAPort(t *testing.T) {
	for text, port := range map[string]bool{
		"st1": false, "st1.example.net": false, "10.0.0.1": false, "2001:db8::1": false, "[2001:db8::1]": false, "fe80::1%eth0": false,
		"st1:22": true, "10.0.0.1:2222": true, "[2001:db8::1]:22": true,
	} {
		if err := CheckHost(text); (err != nil) != port || port && !strings.Contains(err.Error(), "set a port in the connection") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
