package linux

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/tools/txtar"

	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/modules/host"
)

// A row with a source refuses, one without only warns.
func TestFactsAndSources(t *testing.T) {
	for source, refuses := range map[string]bool{"": false, "a manual": true} {
		known := &catalogue.Catalogue{NICs: []*catalogue.NIC{{
			PCI:        catalogue.Fact[[]string]{Value: []string{"1234:5678"}, Source: "x", Known: true},
			Transports: catalogue.Fact[[]string]{Value: []string{"iwarp"}, Source: source, Known: true},
			MaxMTU:     catalogue.Fact[int]{Value: 4096, Source: source, Known: true},
			Speed:      catalogue.Fact[int]{Value: 25, Source: source, Known: true},
		}}}
		want := host.Expectation{
			RNIC: &inventory.RNIC{Name: "p0", Fabric: &inventory.Fabric{Transport: "rocev2", HostMTU: 9000}},
			Link: &inventory.Link{Speed: 100e9}, Hardware: known,
		}
		out := checkNIC(want, &host.ServerFacts{}, host.NICFacts{ID: "1234:5678", Speed: 25e9})
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
		lanes      host.Lanes
		generation int
		gbit       int
	}{
		{host.Lanes{}, 0, 0},
		{host.Lanes{Speed: 2.5, Width: 1}, 1, 2},
		{host.Lanes{Speed: 8, Width: 8}, 3, 63}, // 8 GT/s, 128b/130b, eight lanes
		{host.Lanes{Speed: 16, Width: 16}, 4, 252},
		{host.Lanes{Speed: 32, Width: 16}, 5, 504},
		{host.Lanes{Speed: 64, Width: 16}, 6, 968},
		{host.Lanes{Speed: 7, Width: 16}, -1, 0},
	} {
		if g, b := test.lanes.Generation(), int(test.lanes.Bandwidth()/1e9); g != test.generation || b != test.gbit {
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
	files, _ := filepath.Glob("../testdata/facts/*.txtar")
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
	want := host.Expectation{RNIC: &inventory.RNIC{Name: "p0", PCI: "0000:41:00.0", Fabric: fabric}, Link: &inventory.Link{Speed: 100e9}, Hardware: known}
	subnet := &inventory.Fabric{Transport: "infiniband", HostMTU: 9000, Partition: 0x8001}
	ib := host.Expectation{RNIC: &inventory.RNIC{Name: "p0", PCI: "0000:41:00.0", Fabric: subnet}, Hardware: known}
	f.Fuzz(func(t *testing.T, text []byte) {
		seen := parseFacts(text)
		nic := seen.nic("p0", "0000:41:00.0")
		again := parseFacts(text)
		if !reflect.DeepEqual(again.nic("p0", "0000:41:00.0"), nic) || !reflect.DeepEqual(again.server, seen.server) {
			t.Error("read twice, it says two things")
		}
		if s := seen.server; s.CPUs < 0 || s.Nodes < 0 || s.Memory < 0 || nic.Speed < 0 || nic.PCIe.Width < 0 || nic.PCIe.Bandwidth() < 0 {
			t.Errorf("less than nothing: %+v %+v", s, nic)
		}
		seen.server.NICs = []host.NICFacts{nic}
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

func section(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}
