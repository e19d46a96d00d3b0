package discover

import (
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

func TestLabel(t *testing.T) {
	for text, want := range map[string]string{
		"leaf-a": "leaf-a", "Leaf A": "leaf-a", "7th": "switch-7th", "": "switch", "---": "switch", "__": "switch", "日本": "switch",
		"rack.7/leaf_1": "rack-7-leaf_1", `"; drop`: "drop", "a\nb": "a-b", "10.0.0.1": "switch-10-0-0-1",
	} {
		if got := label(text, "switch"); got != want {
			t.Errorf("label(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestUsable(t *testing.T) {
	for text, want := range map[string]string{
		"st1": "st1", ` st"1\\ `: "st-1--", "${path} %{if}": "${path} %{if}", "\x1b[5m\n": "-[5m-", "\xff": "-", "u\u0308": "\u00fc", "\ufffd": "-", " ": "", "": "",
	} {
		if got := usable(text); got != want {
			t.Errorf("usable(%q) is %q, want %q", text, got, want)
		}
	}
}

// Of two that want one name the second has another, and always the same.
func TestTaken(t *testing.T) {
	once, again := taken{}, taken{}
	for _, names := range []taken{once, again} {
		if a, b := names.name("st1", "serial 1"), names.name("st1", "serial 2"); a != "st1" || b != "st1-d194da" {
			t.Errorf("%q and %q", a, b)
		}
	}
}

func TestNatural(t *testing.T) {
	list := []string{"Ethernet1/10", "Ethernet1/2", "st1", "Ethernet1/02", "", "st"}
	slices.SortFunc(list, natural)
	if want := []string{"", "Ethernet1/02", "Ethernet1/2", "Ethernet1/10", "st", "st1"}; !slices.Equal(list, want) {
		t.Errorf("%q", list)
	}
}

var validLabel = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// FuzzLabel: whatever devices call themselves becomes a label that files take, and the
// same one each time; and a string of it reads as what it was.
func FuzzLabel(f *testing.F) {
	for _, text := range []string{"", "leaf-a", "日本", "a${b}", "%{x}", "a\"b", "\x00", "-", "_"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := label(text, "device")
		if !validLabel.MatchString(got) || !hclsyntax.ValidIdentifier(got) || got != label(text, "device") {
			t.Errorf("label(%q) is %q", text, got)
		}
		if !utf8.ValidString(text) {
			return
		}
		x, diags := hclsyntax.ParseExpression([]byte(quoted(text)), "x", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatalf("%q: %v", quoted(text), diags)
		}
		if v, diags := x.Value(nil); diags.HasErrors() || v.AsString() != cty.NormalizeString(text) {
			t.Errorf("%q reads as %v %v", text, v, diags)
		}
		if natural(text, text) != 0 {
			t.Errorf("%q is not itself", text)
		}
	})
}
