package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weft/inventory"
	"weft/inventory/language"
	"weft/modules/host"
	"weft/modules/linux/system"
	"weft/plan"
)

// judged loads files in earnest, and plans what steps says of the model.
func judged(t testing.TB, steps func(*inventory.Model) []plan.PlannedStep) Options {
	return Options{Login: Login{User: "weft", Become: "sudo", SwitchUser: "netops"}, When: time.Unix(0, 0),
		Judge: func(_ context.Context, files map[string][]byte) ([]Problem, *inventory.Model, *plan.Plan, error) {
			fsys := fstest.MapFS{}
			for name, text := range files {
				fsys[name] = &fstest.MapFile{Data: text}
			}
			m, diags := language.Load(fsys, language.Options{Blocks: []*inventory.BlockType{system.SysctlKind().Declares}})
			var problems []Problem
			for _, d := range diags {
				if d.Severity == hcl.DiagError { // a switch without a fabric is a warning
					p := Problem{Text: d.Summary + ": " + d.Detail}
					if d.Subject != nil {
						p.File, p.Line = d.Subject.Filename, d.Subject.Start.Line
					}
					problems = append(problems, p)
				}
			}
			if problems != nil {
				return problems, m, nil, nil
			}
			p := &plan.Plan{}
			if steps != nil {
				p.Steps = steps(m)
			}
			return nil, m, p, nil
		}}
}

func applied(kind, name string, v any) plan.Entry {
	raw, _ := json.Marshal(v)
	return plan.Entry{Kind: kind, Name: name, State: plan.EntryCreated, Applied: raw}
}

// kept gives a server a ledger in which weft has set its ports.
func kept(s *Server, owner string) *Server {
	l := host.Remembrance{Owner: owner}
	for i, n := range s.Facts.NICs {
		l.Entries = append(l.Entries, applied("mtu", fmt.Sprintf("nic%d", i), map[string]any{"PCI": n.PCI, "Bytes": 9000}),
			applied("roce", fmt.Sprintf("nic%d", i), map[string]any{"PCI": n.PCI}))
	}
	s.Ledgers = append(s.Ledgers, l)
	return s
}

// What a device does otherwise than its fabric leaves the files, bit by bit, until the
// plan is empty; what cannot leave is why nothing is proven.
func TestProof(t *testing.T) {
	step := func(device, kind, name string) plan.PlannedStep {
		return plan.PlannedStep{ID: plan.ID{Device: device, Kind: kind, Name: name}, Changes: []plan.Change{{Path: "bytes", Before: "1500", After: "9000"}}}
	}
	site := func() *Site {
		return &Site{Servers: []*Server{kept(machine("st1", 1, 2), "a"), kept(machine("st2", 3, 4), "a")}}
	}
	nicOf := func(m *inventory.Model, device, label string) *inventory.RNIC {
		for _, s := range m.Servers {
			if s.Addr == device {
				return s.RNIC(label)
			}
		}
		return nil
	}
	t.Run("nothing", func(t *testing.T) {
		r, err := site().Discover(t.Context(), judged(t, nil))
		if err != nil || r.Failed != nil || r.Owner != "a" || r.Coverage.NICs != 4 {
			t.Fatalf("%+v %v", r, err)
		}
	})
	t.Run("an MTU", func(t *testing.T) {
		rounds := 0
		r, err := site().Discover(t.Context(), judged(t, func(m *inventory.Model) []plan.PlannedStep {
			rounds++
			if n := nicOf(m, `server.node["st1"]`, "nic0"); n != nil && n.Fabric != nil {
				return []plan.PlannedStep{step(n.Server.Addr, "mtu", "nic0")}
			}
			return nil
		}))
		if err != nil || r.Failed != nil || rounds != 2 {
			t.Fatalf("%+v %v after %d rounds", r, err, rounds)
		}
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.Severity == Error && strings.Contains(f.Text, "rnic nic0 is not as fabric fabric says") && strings.Contains(f.Text, "bytes 1500 → 9000")
		}) {
			t.Errorf("findings %v", r.Findings)
		}
		fabrics := 0
		for _, s := range r.Model.Servers {
			for _, n := range s.RNICs {
				if n.Fabric != nil {
					fabrics++
				}
			}
		}
		if fabrics != 3 {
			t.Errorf("%d NICs are in the fabric, 3 should be:\n%s", fabrics, r.Files[hostsFile])
		}
	})
	t.Run("no boot entry", func(t *testing.T) {
		r, err := site().Discover(t.Context(), judged(t, func(m *inventory.Model) (list []plan.PlannedStep) {
			for _, s := range m.Servers {
				if slices.ContainsFunc(s.RNICs, func(r *inventory.RNIC) bool { return r.Address.IsValid() }) {
					list = append(list, step(s.Addr, "boot", "restore"))
				}
				list = append(list, plan.PlannedStep{ID: plan.ID{Device: s.Addr, Kind: plan.LedgerKind, Name: "roster"}})
			}
			return list
		}))
		if err != nil || r.Failed != nil || len(r.Begins) != 2 {
			t.Fatalf("%+v %v", r, err)
		}
		if strings.Contains(string(r.Files[hostsFile]), "10.40") || r.Files[fabricFile] != nil {
			t.Errorf("addresses are written:\n%s", r.Files[hostsFile])
		}
	})
	t.Run("what has no block", func(t *testing.T) {
		r, err := site().Discover(t.Context(), judged(t, func(*inventory.Model) []plan.PlannedStep {
			return []plan.PlannedStep{{ID: plan.ID{Device: `server.node["st1"]`, Kind: "sysctl", Name: "vm.nr_hugepages"}, Prune: true}}
		}))
		if err != nil || len(r.Failed) != 1 || !strings.Contains(r.Failed[0], "sysctl.vm.nr_hugepages") {
			t.Fatalf("%+v %v", r, err)
		}
	})
	t.Run("as wanted", func(t *testing.T) {
		o := judged(t, func(*inventory.Model) []plan.PlannedStep {
			return []plan.PlannedStep{step(`server.node["st1"]`, "mtu", "nic0")}
		})
		o.Want = true
		r, err := site().Discover(t.Context(), o)
		if err != nil || r.Failed != nil || r.Changes != 1 || !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error }) {
			t.Fatalf("%+v %v", r, err)
		}
	})
}

// What makes a server more than its storage and its ports is written as it was declared,
// and a secret never is.
func TestEveryday(t *testing.T) {
	st1, st2 := kept(machine("st1", 1), "a"), kept(machine("st2", 2), "a")
	for i, m := range []*Server{st1, st2} {
		l := &m.Ledgers[0]
		l.Entries = append(l.Entries,
			applied("file", "/etc/motd", map[string]any{"Path": "/etc/motd", "Mode": 0o640, "Content": fmt.Appendf(nil, "${not} \"%d\"\n", i)}),
			applied("file", "/etc/key", map[string]any{"Path": "/etc/key", "Secret": true, "Content": []byte("hunter2")}),
			applied("package", "chrony", map[string]any{"Name": "chrony", "Installed": "*"}),
			applied("package", "lldpad", map[string]any{"Name": "lldpad"}),
			applied("package", "fio", map[string]any{"Name": "fio", "Installed": "3.39-1"}),
			applied("kernel_module", "nvme-core", map[string]any{"Name": "nvme-core", "Options": map[string]string{"multipath": "Y", "a": "b"}}),
			applied("sysctl", "vm.swappiness", map[string]any{"Key": "vm.swappiness", "Value": "10"}),
			applied("command", "made", map[string]any{"Run": []string{"touch", "/x y"}, "Unless": []string{"test", "-e", "/x y"}, "Undo": []string{"rm", "/x y"}}),
			applied("service", "chrony.service", map[string]any{"Unit": "chrony.service", "Enabled": true}))
	}
	s := &Site{Servers: []*Server{st1, st2}}
	r, err := s.Discover(t.Context(), judged(t, nil))
	if err != nil || r.Failed != nil {
		t.Fatalf("%+v %v", r, err)
	}
	for i, m := range r.Model.Servers {
		got := fmt.Sprintf("%q %o | %+v | %v | %v %v | %v %v | %q %q %q", m.FileBlocks[0].Content, m.FileBlocks[0].Mode, len(m.FileBlocks), m.KernelModules[0].Options, m.Settings[0].Label, m.Settings[0].Values,
			m.Services[0].Enabled, m.Services[0].Running, m.Commands[0].Run, m.Commands[0].Unless, m.Commands[0].Undo)
		want := fmt.Sprintf(`"${not} \"%d\"\n" 640 | 1 | map[a:b multipath:Y] | vm.swappiness map[value:10] | true false | ["touch" "/x y"] ["test" "-e" "/x y"] ["rm" "/x y"]`, i)
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if p := m.Packages; len(p) != 3 || p[0].Version != "" || p[0].Absent || !p[1].Absent || p[2].Version != "3.39-1" {
			t.Errorf("packages %+v", m.Packages)
		}
	}
	for name, text := range r.Files {
		if strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "aHVudGVyMg") {
			t.Errorf("%s holds the secret", name)
		}
	}
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Severity == Error && strings.Contains(f.Text, "/etc/key holds a secret")
	}) {
		t.Errorf("findings %v", r.Findings)
	}
}

// A cable that leads from one plane into the other, or out of its fabric, is told and is
// no link.
func TestWrongCable(t *testing.T) {
	s := rack(2, 4)
	a, b := s.Switches[0], s.Switches[1]
	a.Neighbours[3], b.Neighbours[3] = b.Neighbours[3], a.Neighbours[3]
	a.Reading.Name, b.Reading.Name = "WEFT-a-roce", "WEFT-a-roce"
	r, err := s.Discover(t.Context(), judged(t, nil))
	if err != nil || r.Failed != nil || r.Coverage.FabricsOfSwitch != 2 {
		t.Fatalf("%+v %v", r, err)
	}
	crossed := 0
	for _, f := range r.Findings {
		if f.Severity == Error && strings.Contains(f.Text, "which is not of plane") {
			crossed++
		}
	}
	if len(r.Model.Links) != 6 || crossed != 2 {
		t.Errorf("%d links, %d findings of crossed cables: %v", len(r.Model.Links), crossed, r.Findings)
	}
}

// Whose files are meant is never guessed.
func TestOwners(t *testing.T) {
	s := &Site{Servers: []*Server{kept(machine("st1", 1), "a"), kept(machine("st2", 2), "b")}}
	var owners *OwnersError
	if _, err := s.Discover(t.Context(), judged(t, nil)); !errors.As(err, &owners) || !slices.Equal(owners.Owners, []string{"a", "b"}) {
		t.Fatalf("%v", err)
	}
	o := judged(t, nil)
	o.Owner = "b"
	r, err := s.Discover(t.Context(), o)
	if err != nil || r.Owner != "b" || !slices.ContainsFunc(r.Findings, func(f Finding) bool { return strings.Contains(f.Text, "resources of the owner a ") }) {
		t.Fatalf("%+v %v", r, err)
	}
}

// Policies that weft did not write are described, and put nothing into a fabric.
func TestForeign(t *testing.T) {
	sw := nexusWith("leaf-a", "interface Ethernet1/1\n  service-policy type qos input HANDMADE\n", hears("Ethernet1/1", "st1", mac(1)))
	s := &Site{Switches: []*Switch{sw}, Servers: []*Server{machine("st1", 1)}}
	r, err := s.Discover(t.Context(), judged(t, nil))
	if err != nil || r.Failed != nil {
		t.Fatalf("%+v %v", r, err)
	}
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return strings.Contains(f.Text, "HANDMADE") && strings.Contains(f.Hint, "adopt = true")
	}) {
		t.Errorf("findings %v", r.Findings)
	}
	if text := string(r.Files[fabricFile]); strings.Contains(text, "fabric ") || !strings.Contains(text, `serial     = "serial of leaf-a"`) || !strings.Contains(text, "# seen, not managed: leaf-a.mgmt.example.net: policies that weft did not write: ") {
		t.Errorf("the switch:\n%s", text)
	}
	if len(r.Model.Links) != 1 {
		t.Errorf("%d links", len(r.Model.Links))
	}
}

// What others made of NVMe on a server is written as a target that nobody keeps, or
// told.
func TestOthers(t *testing.T) {
	st1, cn1 := machine("st1", 1), machine("cn1", 2)
	st1.Facts.NVMe = &host.NVMeFacts{Exports: []host.NVMeExport{{NQN: "nqn.2026-11.net.example:hand", Ports: []host.NVMePort{{Transport: "rdma", Address: "10.40.1.2:4420"}}}, {NQN: "nqn.2026-11.net.example:alone"}}}
	cn1.Facts.NVMe = &host.NVMeFacts{Connections: []host.NVMeConnection{{NQN: "nqn.2026-11.net.example:hand", NVMePort: host.NVMePort{Transport: "rdma", Address: "10.40.1.2:4420"}}}}
	st1.Facts.Volumes.Groups = []host.VolumeGroup{{Name: "vg0", Volumes: []string{"root", "swap"}}, {Name: "weft-a-flash"}}
	st1.Ledgers = append(st1.Ledgers, host.Remembrance{Owner: "b", Entries: []plan.Entry{applied("volume_group", "flash", map[string]any{"Name": "weft-a-flash"})}})
	cn1.Facts.Volumes = nil
	o := judged(t, nil)
	o.Owner = "a"
	r, err := (&Site{Servers: []*Server{st1, cn1}}).Discover(t.Context(), o)
	if err != nil || r.Failed != nil {
		t.Fatalf("%v %v", r.Failed, err)
	}
	if strings.Contains(string(r.Files[storageFile]), "weft-a-flash") {
		t.Errorf("what another owner's ledger holds is told:\n%s", r.Files[storageFile])
	}
	if len(r.Model.Targets) != 1 || r.Model.Targets[0].Engine != "external" || r.Model.Targets[0].Subsystems[0].NQN != "nqn.2026-11.net.example:hand" {
		t.Errorf("targets:\n%s", r.Files[storageFile])
	}
	for _, what := range []string{"st1.mgmt.example.net: subsystem nqn.2026-11.net.example:alone", "st1.mgmt.example.net: volume group vg0 with 2 volumes: root, swap", "cn1.mgmt.example.net: connection to nqn.2026-11.net.example:hand at 10.40.1.2:4420 (rdma)"} {
		if !strings.Contains(string(r.Files[storageFile]), "# seen, not managed: "+what) {
			t.Errorf("no comment says %q:\n%s", what, r.Files[storageFile])
		}
	}
	for _, words := range []string{"its kernel exports nqn.2026-11.net.example:hand", "has the subsystem nqn.2026-11.net.example:alone", "is connected to nqn.2026-11.net.example:hand", "which volumes others have made on it is not known"} {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return strings.Contains(f.Text, words) }) {
			t.Errorf("no finding says %q: %v", words, r.Findings)
		}
	}
}

// Machines of which no ledger has a name are grouped by what they have.
func TestGroups(t *testing.T) {
	s := &Site{Servers: []*Server{machine("st1", 1, 2), machine("st2", 3, 4), machine("gw", 5)}}
	r, err := s.Discover(t.Context(), judged(t, nil))
	if err != nil || r.Failed != nil {
		t.Fatalf("%+v %v", r, err)
	}
	text := string(r.Files[hostsFile])
	if strings.Count(text, `server "node`) != 2 || !strings.Contains(text, "for_each = ") {
		t.Errorf("%s", text)
	}
	for _, m := range r.Model.Servers {
		if len(m.RNICs) == 0 || !m.RNICs[0].Address.IsValid() {
			t.Errorf("%s has no NIC with an address", m.Addr)
		}
	}
	if again, err := s.Discover(t.Context(), judged(t, nil)); err != nil || string(again.Files[hostsFile]) != text {
		t.Errorf("the second run writes something else: %v\n%s", err, again.Files[hostsFile])
	}
}
