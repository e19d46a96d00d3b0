package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"weft/internal/hint"
	"weft/inventory"
	"weft/modules"
	"weft/modules/host"
)

// TestDamagedFacts begins a damaged file anew: what reads it says what to do.
func TestDamagedFacts(t *testing.T) {
	a := &results{opts: &options{dir: t.TempDir()}}
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

// TestFactsAtOnce keeps what many commands heard at the same moment: of no device it is lost.
func TestFactsAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	const many = 24
	for i := range many {
		wg.Go(func() {
			a := &results{opts: &options{dir: dir}}
			one := told{device: fmt.Sprintf("server.s%d", i), facts: &modules.Facts{Server: &host.ServerFacts{}}}
			if err := a.keepFacts([]told{one}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	kept, err := (&results{opts: &options{dir: dir}}).readFacts()
	if err != nil || len(kept.Devices) != many {
		t.Errorf("%d of %d devices are kept, %v", len(kept.Devices), many, err)
	}
}

// TestFactsOfAnotherWeft reads a file with other tables and columns: each value stands under
// its own name, or nowhere.
func TestFactsOfAnotherWeft(t *testing.T) {
	a := &results{opts: &options{dir: t.TempDir()}}
	if err := os.MkdirAll(filepath.Dir(a.lastFacts()), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"simulated":false,"devices":{"server.a":{"time":"2026-11-02T03:04:05Z","tables":[
		{"Head":["FAN","SPEED"],"Rows":[["server.a 1","900"]]},
		{"Head":["SERVER","COLOUR","SERIAL","MODEL"],"Rows":[["server.a","red","S1","Box 9"],["server.a"]]}]}}}`
	if err := os.WriteFile(a.lastFacts(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := a.hardware(&inventory.Model{Servers: []*inventory.Server{{Block: inventory.Block{Addr: "server.a"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range h.Tables {
		if table.Head[0] != "server" {
			if len(table.Rows) > 0 {
				t.Errorf("%s has %q", table.Head[0], table.Rows)
			}
			continue
		}
		if got := fmt.Sprint(table.Rows); got != "[[server.a Box 9 S1       ] [server.a         ]]" {
			t.Errorf("%q under %q", got, table.Head)
		}
	}
}
