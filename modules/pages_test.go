package modules

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weft/inventory/language"
	"weft/modules/esxi"
	"weft/modules/host"
	"weft/modules/linux"
	"weft/modules/windows"
	"weft/plan"
)

// Each kind of resource that servers have has its page, with what it rests on and an
// example that validates and makes such a resource; README links these
// folders.
func TestPages(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for system, where := range map[*host.OS][2]string{linux.OS(): {"linux/*/", "../evidence.md"}, esxi.OS(): {"esxi/", "evidence.md"}, windows.OS(): {"windows/", "evidence.md"}} {
		for kind := range host.NewKindSet(system.Kinds()) {
			pages, err := filepath.Glob(where[0] + kind + ".md")
			if err != nil || len(pages) != 1 {
				t.Errorf("%s of %s has %d pages: %v", kind, system.Name, len(pages), err)
				continue
			}
			if link := "](modules/" + path.Dir(filepath.ToSlash(pages[0])) + ")"; !strings.Contains(string(readme), link) {
				t.Errorf("README does not link the folder of the page of %s of %s", kind, system.Name)
			}
			text, err := os.ReadFile(pages[0])
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "# "+kind+"\n") {
				t.Errorf("%s begins with another title", pages[0])
			}
			if !strings.Contains(string(text), "]("+where[1]+")") {
				t.Errorf("%s does not say what it rests on", pages[0])
			}
			_, example, _ := strings.Cut(string(text), "```hcl\n")
			example, _, found := strings.Cut(example, "```")
			if !found {
				t.Errorf("%s has no example", pages[0])
				continue
			}
			if err := shows(t, example, kind); err != nil {
				t.Errorf("%s: %v in\n%s", pages[0], err, example)
			}
		}
	}
}

// around is what stands in files around an example, by block: what the example
// declares itself is left out.
func around(example string) map[string]string {
	all := rest(example)
	for _, name := range []string{"server node", "server client", "server other"} {
		if !strings.Contains(all[name], "rnic") {
			all[name] += port(name)
		}
	}
	target := func(of, nqn string) string {
		return "server = server." + of + "\nengine = \"nvmet\"\ntransport = [\"tcp\"]\nportals = [server." + of + ".rnic.p0]\n" +
			"subsystem \"data\" {\n  nqn = \"nqn.2026-11.net.example:" + nqn + "\"\n  namespace \"1\" { from = volume.data }\n}"
	}
	maps.Copy(all, map[string]string{
		"weft ":             `name = "o"`,
		"connection others": `user = "weft"`,
		"pool flash":        "server = server.node\ndrives = [\"nvme-eui.1\"]",
		"volume data":       "pool = pool.flash\nsize = \"10GiB\"",
		"target nvme":       target("node", "data"),
		"initiator client":  "server = server.client\nengine = \"kernel\"\nconnect { to = target.nvme }",
	})
	if strings.Contains(example, "mirror") {
		all["pool other"] = "server = server.other\ndrives = [\"nvme-eui.2\"]"
		all["target other"] = target("other", "half")
		all["initiator client"] += "\nconnect { to = target.other }"
	}
	return all
}

func port(server string) string {
	n := map[string]int{"server node": 1, "server client": 2, "server other": 3}[server]
	return fmt.Sprintf("rnic \"p0\" {\n  match = { pci = \"0000:41:00.0\" }\n  address = \"10.40.0.%d/24\"\n  fabric = fabric.roce\n}\n", n)
}

// rest is what "# …" stands for in a block of an example.
func rest(example string) map[string]string {
	out := map[string]string{"fabric roce": "transport = \"rocev2\"\nplane \"a\" { subnet = \"10.40.0.0/24\" }\n"}
	if !strings.Contains(example, "pfc") {
		out["fabric roce"] += "mode = \"lossy\"\n"
	}
	for _, name := range []string{"node", "client", "other"} {
		out["server "+name] = "host = \"" + name + ".example.net\"\n"
		if !strings.Contains(example, "rnic \"p0\"") {
			out["server "+name] += port("server " + name)
		}
	}
	return out
}

// shows demands that an example is one of a kind.
func shows(t *testing.T, example, kind string) error {
	t.Helper()
	f, diags := hclsyntax.ParseConfig([]byte(example), "example", hcl.InitialPos)
	if diags.HasErrors() {
		return diags
	}
	declared, text := map[string]bool{}, example
	for _, b := range f.Body.(*hclsyntax.Body).Blocks {
		name := b.Type + " " + strings.Join(b.Labels, " ")
		declared[name] = true
		what := rest(example)[name]
		for _, line := range strings.Split(what, "\n") { // of which the example may say some itself
			if word, _, ok := strings.Cut(line, " = "); ok && b.Body.Attributes[word] != nil {
				what = strings.Replace(what, line, "", 1)
			}
		}
		text = strings.Replace(text, "# …", "\n"+what, 1)
	}
	for name, body := range around(example) {
		head, label, _ := strings.Cut(name, " ")
		if declared[name] {
			continue
		}
		if label != "" {
			head += " \"" + label + "\""
		}
		text += head + " {\n" + body + "\n}\n"
	}
	m, diags := language.Load(fstest.MapFS{"a.weft.hcl": {Data: []byte(text)}}, language.Options{Blocks: Blocks(), LookupEnv: func(string) (string, bool) {
		return "DHHC-1:01:pxsMMpZ0q6RY3oh2mkhFsovXX1gSZwFRad+X1LKa6K886u0Y:", true
	}})
	if diags.HasErrors() {
		return diags
	}
	fleet, diags := Expand(m, offline(t))
	if diags.HasErrors() {
		return diags
	}
	if !slices.ContainsFunc(fleet.Items, func(i plan.Item) bool { return i.ID.Kind == kind }) {
		return fmt.Errorf("nothing of the kind is made")
	}
	return nil
}
