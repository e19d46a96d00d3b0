package modules

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules/host"
	"weft/modules/linux/nic"
	"weft/plan"
)

// TestFacts runs testdata/facts/*.txtar: what is declared, and what a server
// printed, as facts and as what speaks against the files.
func TestFacts(t *testing.T) {
	files, _ := filepath.Glob("testdata/facts/*.txtar")
	if len(files) == 0 {
		t.Fatal("there is no case")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(part(a, "source"))) == 0 {
				t.Error("the case has no source")
			}
			d := answered(t, part(a, "main.weft.hcl"), part(a, "read"))
			facts, err := json.MarshalIndent(d.Server, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			var findings strings.Builder
			for _, f := range d.Findings {
				fmt.Fprintf(&findings, "%s %s\n", map[bool]string{true: "refused", false: "warning"}[f.Refuses], f)
				if f.Hint != "" {
					fmt.Fprintf(&findings, "  hint %s\n", f.Hint)
				}
			}
			golden(t, file, a, map[string]string{"facts": string(facts) + "\n", "findings": findings.String()})
		})
	}
}

// A teller answers no look but the one at facts, and has no NIC but those.
type teller struct {
	remote.Host
	printed []byte
}

func (h teller) Name() string { return "st1" }

func (h teller) Look(_ context.Context, looks []remote.Look) (remote.Seen, error) {
	var list []remote.Answer
	for _, l := range looks {
		answer := remote.Answer{Look: l}
		if len(l.Args) > 4 && (l.Args[4] == "all" || l.Args[4] == "nics") {
			answer.Sight.Content = h.printed
		}
		if l.Args != nil && l.Args[0] == "ip" {
			answer.Sight.Content = []byte("[]")
		}
		list = append(list, answer)
	}
	return remote.NewSeen(list...), nil
}

// talking is the server st1 of the files, which prints its facts.
func talking(t *testing.T, files, printed []byte) Device {
	t.Helper()
	m, diags := language.Load(fstest.MapFS{"main.weft.hcl": {Data: files}}, language.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	env := offline(t)
	env.Host = func(*inventory.Server) host.DialHost {
		return func(context.Context, bool) (remote.Host, func() error, error) {
			return teller{printed: printed}, func() error { return nil }, nil
		}
	}
	fleet, diags := Expand(m, env)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return fleet.Devices["server.st1"]
}

// answered is what it says.
func answered(t *testing.T, files, printed []byte) *Facts {
	t.Helper()
	f, err := talking(t, files, printed).Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &Facts{Server: f.Server, Switch: f.Switch, Findings: f.Findings}
}

// golden compares sections of a case, or rewrites them.
func golden(t *testing.T, file string, a *txtar.Archive, got map[string]string) {
	t.Helper()
	for i := range a.Files {
		text, ours := got[a.Files[i].Name]
		switch {
		case !ours:
		case *rewrites:
			a.Files[i].Data = []byte(text)
		case cmp.Diff(string(a.Files[i].Data), text) != "":
			t.Errorf("%s:\n%s", a.Files[i].Name, cmp.Diff(string(a.Files[i].Data), text))
		}
		delete(got, a.Files[i].Name)
	}
	for name := range got {
		t.Errorf("the case has no section %s", name)
	}
	if *rewrites {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A card that cannot do it refuses what a fabric asks first of its port, with
// what to do; the other ports go on.
func TestFactsRefuse(t *testing.T) {
	a, err := txtar.ParseFile("testdata/facts/other_cards.txtar")
	if err != nil {
		t.Fatal(err)
	}
	d := talking(t, part(a, "main.weft.hcl"), part(a, "read")).(Server).Machine
	id, err := d.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rs := []plan.Resource{
		nic.MTUKind().Want(d, &nic.MTU{PCI: "0000:41:00.0", Bytes: 9000}), nic.PFCKind().Want(d, &nic.PFC{PCI: "0000:41:00.0"}), nic.MTUKind().Want(d, &nic.MTU{PCI: "0000:c3:00.0", Bytes: 9000}),
	}
	states, err := d.Read(t.Context(), rs)
	if err != nil {
		t.Fatal(err)
	}
	diff := rs[0].Diff(states[0])
	if diff.Err == nil || !strings.Contains(diff.Err.Error(), "speaks iwarp") || !strings.Contains(hint.Of(diff.Err), `transport = "iwarp"`) {
		t.Errorf("%v (%s)", diff.Err, hint.Of(diff.Err))
	}
	for i := range 2 {
		if err := rs[i+1].Diff(states[i+1]).Err; err != nil && strings.Contains(err.Error(), "speaks iwarp") {
			t.Errorf("refused as well: %v", err)
		}
	}
	for _, w := range id.Warnings {
		if strings.Contains(w, "speaks iwarp") {
			t.Errorf("warned of what is refused: %s", w)
		}
	}
}

var rewrites = flag.Bool("update", false, "rewrite facts and findings of the cases, for a person to review")

func part(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}
