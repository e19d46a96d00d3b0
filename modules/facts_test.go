package modules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/language"
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
			if len(bytes.TrimSpace(section(a, "source"))) == 0 {
				t.Error("the case has no source")
			}
			d := answered(t, section(a, "main.weft.hcl"), section(a, "read"))
			facts, err := json.MarshalIndent(d.facts, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			var findings strings.Builder
			for _, f := range d.findings {
				fmt.Fprintf(&findings, "%s %s\n", map[bool]string{true: "refused", false: "warning"}[f.Refuses], f)
				if f.Hint != "" {
					fmt.Fprintf(&findings, "  hint %s\n", f.Hint)
				}
			}
			golden(t, file, a, map[string]string{"facts": string(facts) + "\n", "findings": findings.String()})
		})
	}
}

// answered is the server st1 of the files, having printed its facts.
func answered(t *testing.T, files, printed []byte) *server {
	t.Helper()
	m, diags := language.Load(fstest.MapFS{"main.weft.hcl": {Data: files}}, language.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	fleet, diags := Expand(m, offline(t))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	d := fleet.Devices["server.st1"].(*server)
	if err := d.learn(remote.NewSeen(remote.Answer{Look: d.factsLook(), Sight: remote.Sight{Content: printed}})); err != nil {
		t.Fatal(err)
	}
	return d
}

// golden compares sections of a case, or rewrites them.
func golden(t *testing.T, file string, a *txtar.Archive, got map[string]string) {
	t.Helper()
	for i := range a.Files {
		text, ours := got[a.Files[i].Name]
		switch {
		case !ours:
		case *update:
			a.Files[i].Data = []byte(text)
		case cmp.Diff(string(a.Files[i].Data), text) != "":
			t.Errorf("%s:\n%s", a.Files[i].Name, cmp.Diff(string(a.Files[i].Data), text))
		}
		delete(got, a.Files[i].Name)
	}
	for name := range got {
		t.Errorf("the case has no section %s", name)
	}
	if *update {
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
	d := answered(t, section(a, "main.weft.hcl"), section(a, "read"))
	rs := []plan.Resource{
		MTUKind().Want(d, &MTU{PCI: "0000:41:00.0", Bytes: 9000}), PFCKind().Want(d, &PFC{PCI: "0000:41:00.0"}), MTUKind().Want(d, &MTU{PCI: "0000:c3:00.0", Bytes: 9000}),
	}
	states := make([]plan.State, len(rs))
	d.forbid(rs, states)
	diff := rs[0].Diff(states[0])
	if diff.Err == nil || !strings.Contains(diff.Err.Error(), "speaks iwarp") || !strings.Contains(hint.Of(diff.Err), `transport = "iwarp"`) {
		t.Errorf("%v (%s)", diff.Err, hint.Of(diff.Err))
	}
	if states[1] != nil || states[2] != nil {
		t.Errorf("refused as well: %v", states[1:])
	}
	for _, w := range d.warnings() {
		if strings.Contains(w, "speaks iwarp") {
			t.Errorf("warned of what is refused: %s", w)
		}
	}
}

// A row with a source refuses, one without only warns.
func TestFactsAndSources(t *testing.T) {
	for source, refuses := range map[string]bool{"": false, "a manual": true} {
		known := &catalogue.Catalogue{NICs: []*catalogue.NIC{{
			PCI:        catalogue.Fact[[]string]{Value: []string{"1234:5678"}, Source: "x", Known: true},
			Transports: catalogue.Fact[[]string]{Value: []string{"iwarp"}, Source: source, Known: true},
			MaxMTU:     catalogue.Fact[int]{Value: 4096, Source: source, Known: true},
			Speed:      catalogue.Fact[int]{Value: 25, Source: source, Known: true},
		}}}
		want := Expectation{
			RNIC: &inventory.RNIC{Name: "p0", Fabric: &inventory.Fabric{Transport: "rocev2", HostMTU: 9000}},
			Link: &inventory.Link{Speed: 100e9}, Hardware: known,
		}
		out := checkNIC(want, &ServerFacts{}, NICFacts{ID: "1234:5678", Speed: 25e9})
		for i, text := range []string{"speaks iwarp", "takes at most 4096", "has more than 25G"} {
			if i >= len(out) || !strings.Contains(out[i].Text, text) || out[i].Refuses != refuses {
				t.Errorf("source %q: %+v, wanted %q", source, out, text)
			}
		}
		if len(out) != 3 {
			t.Errorf("source %q: %+v", source, out)
		}
	}
}

// The script is run by the shells that servers have, on this machine.
func TestFactsScript(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it reads Linux's /sys and /proc")
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, shell := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		tried++
		tell := func(what string) []byte {
			cmd := exec.Command(shell[0], append(slices.Clone(shell[1:]), "-uc", factsScript, "sh", what, "0000:00:03.0", "ffff:ff:1f.7")...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || stderr.Len() > 0 {
				t.Errorf("%s: %v: %s", shell, err, stderr.String())
			}
			return out
		}
		out, part := tell("all"), tell("nics")
		for line := range strings.Lines(string(part)) {
			if !bytes.Contains(out, []byte(line)) {
				t.Errorf("%s: %q is not among all facts", shell, line)
			}
		}
		f := parseFacts(out)
		if f.server.Kernel != strings.TrimSpace(string(kernel)) || f.server.CPUs < 1 {
			t.Errorf("%s: %+v of\n%s", shell, f.server, out)
		}
		if nic := f.nic("p0", "ffff:ff:1f.7"); !nic.Absent || nic.Node != -1 {
			t.Errorf("%s: %+v", shell, nic)
		}
	}
	if tried == 0 {
		t.Fatal("no shell was found")
	}
}

func TestLanes(t *testing.T) {
	for _, test := range []struct {
		lanes      Lanes
		generation int
		gbit       int
	}{
		{Lanes{}, 0, 0},
		{Lanes{2.5, 1}, 1, 2},
		{Lanes{8, 8}, 3, 63}, // 8 GT/s, 128b/130b, eight lanes
		{Lanes{16, 16}, 4, 252},
		{Lanes{32, 16}, 5, 504},
		{Lanes{64, 16}, 6, 968},
		{Lanes{7, 16}, -1, 0},
	} {
		if g, b := test.lanes.generation(), int(test.lanes.bandwidth()/1e9); g != test.generation || b != test.gbit {
			t.Errorf("%v: generation %d, %d Gbit/s", test.lanes, g, b)
		}
	}
}

func TestCountList(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-127": 128, "0-31,64-95,97": 65, "": 0, "3-1": 0, "a": 0, "0-": 0, "0-99999999": 0, "-1": 0} {
		if got := countList(list); got != want {
			t.Errorf("%q has %d, wanted %d", list, got, want)
		}
	}
}

// FuzzFacts: whatever a server prints is no reason to fall over, and nothing
// that moves a cursor comes through.
func FuzzFacts(f *testing.F) {
	files, _ := filepath.Glob("testdata/facts/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(section(a, "read"))
	}
	known, err := catalogue.Load()
	if err != nil {
		f.Fatal(err)
	}
	fabric := &inventory.Fabric{Transport: "rocev2", HostMTU: 9000}
	want := Expectation{&inventory.RNIC{Name: "p0", PCI: "0000:41:00.0", Fabric: fabric}, &inventory.Link{Speed: 100e9}, known}
	subnet := &inventory.Fabric{Transport: "infiniband", HostMTU: 9000, Partition: 0x8001}
	ib := Expectation{&inventory.RNIC{Name: "p0", PCI: "0000:41:00.0", Fabric: subnet}, nil, known}
	f.Fuzz(func(t *testing.T, text []byte) {
		seen := parseFacts(text)
		nic := seen.nic("p0", "0000:41:00.0")
		again := parseFacts(text)
		if !reflect.DeepEqual(again.nic("p0", "0000:41:00.0"), nic) || !reflect.DeepEqual(again.server, seen.server) {
			t.Error("read twice, it says two things")
		}
		if s := seen.server; s.CPUs < 0 || s.Nodes < 0 || s.Memory < 0 || nic.Speed < 0 || nic.PCIe.Width < 0 || nic.PCIe.bandwidth() < 0 {
			t.Errorf("less than nothing: %+v %+v", s, nic)
		}
		seen.server.NICs = []NICFacts{nic}
		if _, err := json.Marshal(seen.server); err != nil {
			t.Fatal(err)
		}
		for _, finding := range slices.Concat(checkNIC(want, &seen.server, nic), checkNIC(ib, &seen.server, nic)) {
			if strings.IndexFunc(finding.String(), unicode.IsControl) >= 0 {
				t.Errorf("%q", finding.String())
			}
		}
	})
}
