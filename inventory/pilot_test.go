package inventory

import (
	"os"
	"slices"
	"testing"
	"time"
)

func pilot(t *testing.T, o Options) *Model {
	t.Helper()
	m, diags := Load(os.DirFS("../examples/pilot"), o)
	if len(diags) > 0 {
		t.Fatalf("the pilot has problems:\n%s", diagText(m, diags))
	}
	return m
}

func labVars(t *testing.T) VarFile {
	t.Helper()
	content, err := os.ReadFile("../examples/pilot/lab.weftvars")
	if err != nil {
		t.Fatal(err)
	}
	return VarFile{Name: "lab.weftvars", Content: content}
}

func TestPilot(t *testing.T) {
	m := pilot(t, Options{})
	if m.Name != "nvmeof-pilot" {
		t.Errorf("owner %q", m.Name)
	}
	var servers []string
	for _, s := range m.Servers {
		servers = append(servers, s.Addr)
	}
	if want := []string{`server.node["cn1"]`, `server.node["cn2"]`, `server.node["st1"]`, `server.node["st2"]`}; !slices.Equal(servers, want) {
		t.Errorf("servers %q", servers)
	}
	_ = time.Second
}
