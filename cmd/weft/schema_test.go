package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/inventory/language"
	"weft/modules"
)

// notYet has an inventory for each word that schema calls not yet managed:
// what stands within a server, or beside all else where it begins a block.
func notYet() map[string]string {
	return map[string]string{
		"pool.on_existing_data=wipe": "\npool \"p\" {\n server = server.s\n drives = [\"nvme-eui.01\"]\n on_existing_data = \"wipe\"\n}",
		"switch.safety.commit_method": "\nswitch \"w\" {\n os = \"nxos\"\n host = \"w.example.net\"\n fabric = fabric.f\n plane = \"a\"\n" +
			" safety {\n commit_confirm = \"5m\"\n commit_method = \"replace\"\n }\n}",
	}
}

const aServer = `weft { name = "later" }
fabric "f" {
  transport = "tcp"
  mode      = "lossy"
  plane "a" { subnet = "10.9.0.0/24" }
}
server "s" {
  host = "localhost"
  rnic "p0" {
    match   = { pci = "0000:41:00.0" }
    address = "10.9.0.1/24"
    fabric  = fabric.f
  }
`

// TestLaterIsRefused holds what schema calls not yet managed against what
// plan says, which refuses it before it connects to anything.
func TestLaterIsRefused(t *testing.T) {
	words := laterWords()
	for _, path := range words {
		text, ok := notYet()[path]
		if !ok {
			t.Errorf("%s is not yet managed: show here that it is refused", path)
			continue
		}
		block, top := strings.CutPrefix(text, "\n")
		if top {
			text = aServer + "}\n" + block + "\n"
		} else {
			text = aServer + text + "\n}\n"
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.weft.hcl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := weft([]string{"-C", dir, "plan"}, strings.NewReader(""), &stdout, &stderr)
		if code != exitError || !strings.Contains(stderr.String(), "described, not yet managed") {
			t.Errorf("%s is said to be not yet managed, but plan exits %d:\n%s", path, code, &stderr)
		}
	}
	if len(words) != len(notYet()) {
		t.Errorf("%d words are not yet managed, and %d are shown to be", len(words), len(notYet()))
	}
}

// laterWords lists what schema calls not yet managed; what many blocks have,
// once.
func laterWords() []string {
	var words []string
	seen := map[string]bool{}
	add := func(path string) {
		if !seen[path] {
			seen[path] = true
			words = append(words, path)
		}
	}
	var walk func(path string, b *language.BlockType)
	walk = func(path string, b *language.BlockType) {
		if b.Later {
			add(path)
		}
		for name, a := range b.Attributes {
			switch {
			case a.Later && b.Referable:
				add("*." + name)
			case a.Later:
				add(path + "." + name)
			}
			for _, v := range a.LaterValues {
				add(path + "." + name + "=" + v)
			}
		}
		for name, inner := range b.Blocks {
			walk(path+"."+name, inner)
		}
	}
	for name, b := range language.Describe(modules.Blocks()).Blocks {
		walk(name, b)
	}
	return words
}
