package language

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"weft/inventory"
	"weft/modules"
)

// loadExample loads one of the examples, none of which may have a problem.
func loadExample(t *testing.T, name string) *inventory.Model {
	t.Helper()
	m, diags := Load(os.DirFS(filepath.Join("..", "..", "examples", name)), Options{Blocks: modules.Blocks()})
	if len(diags) > 0 {
		t.Fatalf("%s has problems:\n%s", name, diagText(m, diags))
	}
	return m
}

// exampleNames are the directories of all examples.
func exampleNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../examples/*/*.weft.hcl")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return slices.Compact(names)
}

func TestExamples(t *testing.T) {
	type counts struct{ switches, servers, links, targets, initiators int }
	want := map[string]counts{
		"pilot":               {2, 4, 8, 2, 2},
		"pod64":               {2, 64, 128, 16, 48},
		"infiniband":          {2, 3, 6, 1, 2},
		"iwarp":               {2, 4, 8, 2, 2},
		"tcp-only":            {2, 3, 6, 1, 2},
		"rack-external-array": {2, 8, 16, 1, 8},
		"two-hosts":           {0, 2, 2, 1, 1},
		"team":                {0, 2, 0, 0, 0},
		"vsphere":             {2, 6, 12, 2, 6},
		"windows":             {2, 3, 6, 1, 2},
	}
	names := exampleNames(t)
	for _, name := range names {
		m := loadExample(t, name)
		same(t, name, counts{len(m.Switches), len(m.Servers), len(m.Links), len(m.Targets), len(m.Initiators)}, want[name])
	}
	same(t, "the number of examples", len(names), len(want))
}

func TestExampleOwnersDiffer(t *testing.T) {
	// Whoever tries two examples on one fabric must not have the one take
	// what belongs to the other.
	owners := map[string]string{}
	for _, name := range exampleNames(t) {
		owner := loadExample(t, name).Name
		if other, used := owners[owner]; used {
			t.Errorf("%s and %s are both owned by %q", name, other, owner)
		}
		owners[owner] = name
	}
}

func TestExamplePod64(t *testing.T) {
	m := loadExample(t, "pod64")
	server := map[string]*inventory.Server{}
	for _, s := range m.Servers {
		server[s.Name] = s
	}
	last := server[`node["cn48"]`]
	same(t, "address in plane a", last.RNIC("p0").Address.String(), "10.64.0.64/24")
	same(t, "address in plane b", last.RNIC("p1").Address.String(), "10.64.1.64/24")
	same(t, "plane", last.RNIC("p1").Plane.Name, "b")
	same(t, "role", last.Labels["role"], "compute")
	same(t, "rack", last.Labels["rack"], "r4")
	same(t, "role", server[`node["st16"]`].Labels["role"], "storage")
	for _, l := range m.Links {
		if l.From.RNIC == last.RNIC("p1") {
			same(t, "port", l.To.Switch.Name+" "+l.To.Port, `leaf["b"] Ethernet1/64`)
		}
	}
	for _, i := range m.Initiators {
		same(t, "targets of "+i.Addr, len(i.Connects[0].To), 4)
	}
	// What the gate of the canary reads goes between two that it selects.
	canary := m.Rollouts[0].Phases[3].Select
	if !slices.ContainsFunc(m.Initiators, func(i *inventory.Initiator) bool {
		return slices.Contains(canary, i.Server.Addr) && slices.ContainsFunc(i.Connects[0].To, func(t *inventory.Target) bool { return slices.Contains(canary, t.Server.Addr) })
	}) {
		t.Errorf("no initiator of the canary %q connects to a target of it", canary)
	}
	for _, target := range m.Targets {
		// Twelve hosts, each with weft's own probe beside it.
		same(t, "hosts of "+target.Addr, len(target.Subsystems[0].AllowHosts), 24)
	}
}

func TestExampleTransports(t *testing.T) {
	for name, want := range map[string]string{
		"infiniband": "infiniband", "iwarp": "iwarp", "tcp-only": "tcp", "two-hosts": "rocev2",
	} {
		f := loadExample(t, name).Fabrics[0]
		same(t, name, f.Transport, want)
		for _, c := range f.Classes {
			if c.PFC && name != "two-hosts" {
				t.Errorf("%s has the lossless class %s", name, c.Name)
			}
		}
	}
}

func TestExampleExternalArray(t *testing.T) {
	m := loadExample(t, "rack-external-array")
	array := m.Targets[0]
	same(t, "engine", array.Engine, "external")
	same(t, "server", array.Server, nil)
	same(t, "portal", array.Portals[3].Address.String(), "10.80.2.202:4420")
	same(t, "plane", array.Portals[3].Plane.Name, "b")
	hosts, diags := m.Evaluate(m.Outputs[0].Value, nil)
	if diags.HasErrors() {
		t.Fatal(diagText(m, diags))
	}
	same(t, "hosts to allow", hosts.LengthInt(), 16)
}

func TestExampleTwoHosts(t *testing.T) {
	m := loadExample(t, "two-hosts")
	i := m.Initiators[0]
	sameList(t, "allowed hosts", m.Targets[0].Subsystems[0].AllowHosts, []string{i.HostNQN, i.ProbeNQN})
	same(t, "cable", m.Links[1].From.RNIC, m.Servers[1].RNIC("p1"))
	same(t, "cable's other end", m.Links[1].To.RNIC, m.Servers[0].RNIC("p1"))
}
