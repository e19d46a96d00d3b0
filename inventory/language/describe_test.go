package language

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/modules"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestDescribe(t *testing.T) {
	l := Describe(modules.Blocks())
	fabric := l.Blocks["fabric"]
	same(t, "label", fabric.Label, "name")
	same(t, "plane is required", fabric.Blocks["plane"].Required, true)
	same(t, "watchdogs", fabric.Blocks["pfc_watchdog"].Several, false)
	same(t, "transport is required", fabric.Attributes["transport"].Required, true)
	sameList(t, "transports", fabric.Attributes["transport"].Values, []string{"rocev2", "infiniband", "iwarp", "tcp"})
	same(t, "MTU", string(fabric.Attributes["mtu"].Default), "9216")
	same(t, "DSCPs", fabric.Blocks["traffic_class"].Attributes["dscp"].Type, "list(number)")
	sameList(t, "systems", l.Blocks["server"].Attributes["os"].Values[:3], []string{"linux", "esxi", "windows"}) // others may follow

	target := l.Blocks["target"]
	same(t, "transports", string(target.Attributes["transport"].Default), `["rdma"]`)
	same(t, "portals", target.Attributes["portals"].Type, "references")
	sameList(t, "portals", target.Attributes["portals"].RefersTo, []string{"rnic"})
	same(t, "serial", target.Blocks["subsystem"].Attributes["serial"].Derived, true)

	same(t, "engines", len(target.Attributes["engine"].Values), 3)
	same(t, "ways to commit", l.Blocks["switch"].Blocks["safety"].Attributes["commit_method"].Later, true)
	same(t, "password", l.Blocks["credential"].Attributes["password"].Sensitive, true)
	paths := l.Blocks["initiator"].Attributes["live_paths"]
	same(t, "observed", paths.Observed && paths.ReadOnly && !paths.Derived, true)
	same(t, "connect", l.Blocks["initiator"].Blocks["connect"].Several, true)
	same(t, "dynamic", fabric.Dynamic, true)
	same(t, "locals", l.Blocks["locals"].Open && l.Blocks["locals"].Several, true)
	same(t, "check", l.Blocks["check"].Open, false)
	same(t, "weft", l.Blocks["weft"].Required && !l.Blocks["weft"].Several, true)

	same(t, "first parameter", l.Functions["cidrhost"].Parameters[0], Parameter{Name: "subnet", Type: "string"})
	same(t, "last parameter", l.Functions["max"].Parameters[0].Several, true)
	same(t, "any", l.Functions["try"].Parameters[0].Type, "any")
}

func TestDescribeIsTheSameEachTime(t *testing.T) {
	first, err := json.Marshal(Describe(modules.Blocks()))
	if err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(Describe(modules.Blocks()))
	if err != nil || string(first) != string(second) {
		t.Errorf("it differs, %v", err)
	}
}

// TestDescriptionsAreOfSomething finds descriptions of words that are gone.
func TestDescriptionsAreOfSomething(t *testing.T) {
	paths := map[string]bool{}
	var add func(path string, b *BlockType)
	add = func(path string, b *BlockType) {
		paths[path] = true
		for name := range b.Attributes {
			paths[path+"."+name] = true
			paths["*."+name] = true
		}
		for name, inner := range b.Blocks {
			add(path+"."+name, inner)
		}
	}
	for name, b := range Describe(modules.Blocks()).Blocks {
		add(name, b)
	}
	for _, path := range unmanaged() {
		if path, _, _ = strings.Cut(path, "="); !paths[path] {
			t.Errorf("%s is not managed, and there is no such word", path)
		}
	}
	for path, text := range descriptions() {
		if !paths[path] {
			t.Errorf("%s is described, but there is no such word", path)
		}
		if !strings.HasSuffix(text, ".") {
			t.Errorf("the description of %s is no sentence: %s", path, text)
		}
	}
}

// TestExamplesAreDescribed holds the description against files that Load
// takes: it has every word that stands in them, and calls for none that does
// not.
func TestExamplesAreDescribed(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.weft.hcl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	l := Describe(modules.Blocks())
	words := 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, b := range file.Body.(*hclsyntax.Body).Blocks {
			words += described(t, b, l.Blocks[b.Type])
			if b.Type == "variable" {
				continue // types are written like calls of functions
			}
			for _, x := range callsIn(b.Body) {
				if f := l.Functions[x.Name]; f == nil {
					t.Errorf("%s: the function %s is not described", x.Range(), x.Name)
				}
			}
		}
	}
	if words < 500 {
		t.Errorf("only %d words were looked at", words)
	}
}

// described checks a block against what is said of its type and returns how
// many words that were.
func described(t *testing.T, block *hclsyntax.Block, b *BlockType) int {
	t.Helper()
	if b == nil {
		t.Errorf("%s: the block %s is not described", block.DefRange(), block.Type)
		return 1
	}
	words := 1
	if (b.Label != "") != (len(block.Labels) == 1) {
		t.Errorf("%s: the label of %s is described as %q", block.DefRange(), block.Type, b.Label)
	}
	for name, a := range b.Attributes {
		if a.Required && block.Body.Attributes[name] == nil {
			t.Errorf("%s: %s is described as required", block.DefRange(), name)
		}
	}
	for name, a := range block.Body.Attributes {
		words++
		if d := b.Attributes[name]; d == nil && !b.Open || d != nil && d.ReadOnly {
			t.Errorf("%s: the attribute %s is not described", a.NameRange, name)
		}
	}
	for _, inner := range block.Body.Blocks {
		words += described(t, inner, b.Blocks[inner.Type])
	}
	return words
}

func callsIn(body *hclsyntax.Body) []*hclsyntax.FunctionCallExpr {
	var calls []*hclsyntax.FunctionCallExpr
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			calls = append(calls, call)
		}
		return nil
	})
	return calls
}

func TestCheckTakesNoAttributes(t *testing.T) {
	m, diags := loadText(edited(t)+`
check "x" {
  nonsense = 1
  assert {
    condition     = true
    error_message = ""
  }
}`, Options{})
	if got := diagText(m, diags); !strings.Contains(got, "WF-LANG-003") {
		t.Errorf("an attribute of a check went unnoticed: %s", got)
	}
}
