package language

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

func TestShallow(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                true,
		base:                              true,
		"a = {\n  b = \"${c[\"d\"]}\"\n}": true,
		"a = \"}\" # }\n// (\nb = 1 / 2":  true,
		"a = 1.5e300":                     false,
		"a = " + strings.Repeat("1", 65):  false,
		"a = <<X\nX\n":                    false,
		"a = \"%{ if b }%{ endif }\"":     false,
		"a = [":                           false,
		"a = \"b\nc\"":                    false,
		"é = 1":                           false,
		"a = " + strings.Repeat("(", 200) + strings.Repeat(")", 200): false,
	} {
		same(t, text, shallow([]byte(text)), want)
	}
	names, err := filepath.Glob("../../examples/*/*.weft.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		same(t, name, shallow(text), true)
	}
}

// Lines that end in comments do not nest.
func TestManyComments(t *testing.T) {
	text := strings.Repeat("x = <<X # of text\nX\ny = 1 # of numbers\nz = [ # of lists\n1 /* one */]\n", 400)
	if d := tooDeep([]byte(text), "a.hcl"); d != nil {
		t.Error(d)
	}
	if text = strings.Repeat("y = 1 # of numbers\n", 400); !shallow([]byte(text)) || nestedTooDeep(lexed(text)) != nil {
		t.Error("comments nest")
	}
}

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{
		"": false, "a": true, "leaf-a_1": true, "1a": false, "-a": false, "a b": false, "é": true, "a.b": false,
	} {
		same(t, name, isName(name), want)
	}
}

func lexed(text string) hclsyntax.Tokens {
	tokens, _ := hclsyntax.LexConfig([]byte(text), "a.hcl", hcl.InitialPos) // what is wrong does not matter
	return tokens
}

// FuzzShallow compares the quick look at a file with the lexer's.
func FuzzShallow(f *testing.F) {
	for _, text := range []string{
		base, "a = [(((\n", "a = \"${\"${b}\"}\"", "a = 1 # b\r\n", "a = \"$${b}\"", "a = <<X\n${\nX\n", "a = 1e99999", "a...", "/* \" */ b = {}", "a = \"\\\"{\"",
		strings.Repeat("a[", 200), strings.Repeat("{\n", 160) + strings.Repeat("}\n", 160), strings.Repeat("-", 310), "\"" + strings.Repeat("\xff", 310) + "\"",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if shallow([]byte(text)) {
			if d := nestedTooDeep(lexed(text)); d != nil {
				t.Error(d)
			}
		}
		same(t, "name", isName(text), hclsyntax.ValidIdentifier(text))
	})
}
