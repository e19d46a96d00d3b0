package modules

import (
	"strings"
	"testing"
	"testing/fstest"

	"weft/internal/remote"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules/host"
	"weft/plan"
)

// A page is what a file block is on a host system that has no files.
type page struct{ Path, Content string }

// foreignOS has one kind, and nothing that fabrics and storage ask for.
func foreignOS(name string) *host.OS {
	if name != "fakehost" {
		return HostOS(name)
	}
	return &host.OS{
		Name: "fakehost",
		Kinds: func() []host.AnyKind {
			return []host.AnyKind{&host.Kind[page]{
				Name: "file",
				Blocks: func(s *inventory.Server) (list []host.Block[page]) {
					for _, f := range s.FileBlocks {
						list = append(list, host.Block[page]{Block: &f.Block, Name: f.Path, Want: &page{f.Path, f.Content}})
					}
					return list
				},
				Looks: func(p *page) []remote.Look { return []remote.Look{{Args: []string{"tell", "page", p.Path}}} },
			}}
		},
		Without: map[host.Feature]string{host.Intents: "it has no NICs"},
	}
}

// Whatever the files ask of a machine whose system has nothing for it is refused at its
// line, and no resource of another system is made of it.
func TestExpandRefusesWhatASystemLacks(t *testing.T) {
	m := pilot(t, "lab.weftvars")
	for _, s := range m.Servers {
		s.OS = "fakehost"
	}
	env := offline(t)
	env.HostOS = foreignOS
	fleet, diags := Expand(m, env)
	var all strings.Builder
	for _, d := range diags {
		all.WriteString(d.Summary + " | " + d.Detail + "\n")
		if d.Subject == nil || d.Subject.Filename == "" {
			t.Errorf("%s comes from nowhere", d.Detail)
		}
	}
	for _, want := range []string{`rnic p0, on os = "fakehost"`, `pool.`, `target.`, `initiator.`, `storage of server.node["st1"], on os = "fakehost"`} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is not in\n%s", want, all.String())
		}
	}
	for _, it := range fleet.Items {
		if strings.HasPrefix(it.ID.Device, "server.") {
			t.Errorf("%s is made although its system has nothing for it", it.ID)
		}
	}
}

// Blocks in a server are made by the kinds of its own system, and the roster names it.
func TestExpandOfAnotherSystem(t *testing.T) {
	text := `
weft { name = "pod" }
server "box" {
  host = "box"
  file "/motd" { content = "hello" }
  sysctl "net.core.rmem_max" { value = "4194304" }
}
`
	m, diags := language.Load(fstest.MapFS{"a.weft.hcl": {Data: []byte(text)}}, language.Options{Blocks: Blocks()})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	m.Servers[0].OS = "fakehost"
	env := offline(t)
	env.HostOS = foreignOS
	fleet, diags := Expand(m, env)
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, `sysctl net.core.rmem_max, on os = "fakehost"`) {
		t.Errorf("%v", diags)
	}
	if len(fleet.Items) != 1 || fleet.Items[0].ID.String() != "server.box/file./motd" {
		t.Fatalf("items %v", fleet.Items)
	}
	if p := host.Wish[page](fleet.Items[0].Resource); p == nil || p.Content != "hello" {
		t.Errorf("the file is not a page: %+v", p)
	}
	if len(fleet.Roster) != 1 || fleet.Roster[0].OS != "fakehost" {
		t.Errorf("roster %+v", fleet.Roster)
	}
	for os, want := range map[string]string{"": "linux", "linux": "linux", "fakehost": "fakehost", "windows": "windows", "beos": ""} {
		d, err := fleet.Recall(plan.Member{Device: "server.old", Kind: "server", Host: "old", OS: os})
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), `this weft does not manage os = "beos"`)):
			t.Errorf("of os = %q: %v", os, err)
		case want != "" && (err != nil || d.(Server).OS().Name != want):
			t.Errorf("of os = %q: %v", os, err)
		}
	}
	m.Servers[0].OS = "beos"
	if _, diags = Expand(m, env); len(diags) != 1 || !strings.Contains(diags[0].Detail, `os = "beos"`) {
		t.Errorf("%v", diags)
	}
}
