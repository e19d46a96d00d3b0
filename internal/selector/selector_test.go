package selector

import (
	"fmt"
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	d := Device{Address: `server.node["st1"]`, Kind: "server", Host: "st1.example.net", Labels: map[string]string{"role": "storage", "empty": ""}}
	for text, want := range map[string]bool{
		`server.node["st1"]`: true, "server.node": true, "server": true, "st1.example.net": true, "role=storage": true, "empty=": true,
		"server.no": false, "server.node[": false, "st1": false, "role=compute": false, "role": false, "rack=": false, "node": false,
		"st?.example.net": true, "st*": true, `server.node["st*"]`: true, `server.*`: true, "*": true, `*["st1"]`: true, "cn*": false, `server.node["st?1"]`: false,
		"@role=storage": true, "@role=stor*": true, "@role=s[tu]orage": true, "@role=compute": false, "@rack=1": false, "switch": false,
		`server.node["st1"]/mtu.p0`: true, "@role=storage/mtu.p0": true, "=": false,
	} {
		s, err := Parse(text)
		if err != nil || s.Matches(d) != want {
			t.Errorf("%q selects it: %v, %v", text, !want, err)
		}
	}
	for _, inModule := range []string{"module.rack", "server", "module.rack.server"} {
		if s, _ := Parse(inModule); !s.Matches(Device{Address: "module.rack.server.a", Kind: "server"}) {
			t.Errorf("%s does not select a server in a module", inModule)
		}
	}
	for _, text := range []string{"", "/mtu.p0", "@role", "@=a", "@role=", "@role=[a"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is a selector", text)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"", "", true}, {"*", "", true}, {"a*", "a", true}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false},
		{"*.p?", "mtu.p0", true}, {"mtu.p?", "mtu.p", false}, {"[a]", "a", false}, {"*aab", "aaab", true}, {"?", "ü", true},
	} {
		if Glob(c.pattern, c.text) != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.text, !c.want)
		}
	}
}

func fabric() ([]Device, []Resource) {
	devices := []Device{
		{Address: `server.node["a/1"]`, Kind: "server", Host: "a1", Labels: map[string]string{"role": "storage"}},
		{Address: `server.node["b"]`, Kind: "server", Host: "b1"},
		{Address: "module.m.server.c", Kind: "server", Host: "c1"},
		{Address: "switch.leaf-a", Kind: "switch", Host: "leaf-a"},
	}
	var resources []Resource
	for _, d := range devices[:3] {
		resources = append(resources, Resource{d.Address, "mtu.p0"}, Resource{d.Address, "volume.flash.data"})
	}
	return devices, resources
}

func TestChoose(t *testing.T) {
	devices, _ := fabric()
	for _, c := range []struct{ selectors, chosen, unused string }{
		{"", `server.node["a/1"] server.node["b"] module.m.server.c switch.leaf-a`, ""},
		{"leaf-* @role=storage", `server.node["a/1"] switch.leaf-a`, ""},
		{"switch spine-a", "switch.leaf-a", "spine-a"},
		{"module.m server.node", `server.node["a/1"] server.node["b"] module.m.server.c`, ""},
	} {
		chosen, unused, err := Choose(strings.Fields(c.selectors), devices)
		if err != nil || strings.Join(chosen, " ") != c.chosen || strings.Join(unused, " ") != c.unused {
			t.Errorf("%s: %q, unused %q, %v", c.selectors, chosen, unused, err)
		}
	}
	if _, _, err := Choose([]string{`server.node["a/1"]/mtu.p0`}, devices); err == nil || !strings.Contains(err.Error(), "selects a resource") {
		t.Errorf("%v", err)
	}
}

// TestExpand keeps addresses as they are, also those of what is only in a ledger, and
// replaces everything else by what is declared.
func TestExpand(t *testing.T) {
	devices, resources := fabric()
	for _, c := range []struct{ selector, want string }{
		{`server.node["b"]`, `[server.node["b"]]`},
		{"server.node", "[server.node]"},
		{`server.node["b"]/mtu.gone`, `[server.node["b"]/mtu.gone]`},
		{`server.node["a/1"]/mtu.p0`, `[server.node["a/1"]/mtu.p0]`},
		{"server.gone", "[server.gone]"},
		{"server", "[server module.m.server.c]"},
		{"b1", `[server.node["b"]]`},
		{"leaf-?", "[switch.leaf-a]"},
		{"@role=stor*", `[server.node["a/1"]]`},
		{"@role=none", "[@role=none]"},
		{"@role=storage/mtu.*", `[server.node["a/1"]/mtu.p0]`},
		{`server.node[*]/volume.*`, `[server.node["a/1"]/volume.flash.data server.node["b"]/volume.flash.data]`},
	} {
		got, err := Expand([]string{c.selector}, devices, resources)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %s, want %s, %v", c.selector, got, c.want, err)
		}
	}
}
