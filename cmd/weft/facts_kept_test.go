package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/hint"
	"weft/modules"
	"weft/modules/host"
)

// TestDamagedFacts begins a damaged file anew: what reads it says what to do.
func TestDamagedFacts(t *testing.T) {
	a := &app{dir: t.TempDir()}
	if err := os.MkdirAll(filepath.Dir(a.lastFacts()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.lastFacts(), []byte(`{"devices":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.readFacts(); err == nil || !strings.Contains(err.Error(), a.lastFacts()+" is damaged") || !strings.Contains(hint.Of(err), "weft facts") {
		t.Fatalf("%v", err)
	}
	list := []told{{device: "server.a"}, {device: "server.b", err: errors.New("it does not answer")}}
	list[0].facts = &modules.Facts{Server: &host.ServerFacts{}}
	if err := a.keepFacts(list); err != nil {
		t.Fatal(err)
	}
	kept, err := a.readFacts()
	if err != nil || len(kept.Devices) != 1 || len(kept.Devices["server.a"].Tables) == 0 {
		t.Errorf("%+v, %v", kept, err)
	}
}
