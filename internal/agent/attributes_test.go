package agent

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestAttributes(t *testing.T) {
	got, err := Attributes(`owner = 'pilot'
[[portal]]
transport = 'tcp'
address = '10.0.0.1:4420'
[[ana]]
portal = '10.0.0.1:4420'
group = 1
state = 'optimized'
[[subsystem]]
nqn = 'nqn.2026-11.net.example:data'
allow_hosts = ['nqn.2026-11.net.example:h1']
[[subsystem.auth]]
host = 'nqn.2026-11.net.example:h1'
key = 'DHHC-1:00:never shown'
key_file = '/etc/weft/keys/h1'
[[subsystem.namespace]]
id = 1
iops = 50000
later = true
`)
	if err != nil {
		t.Fatal(err)
	}
	const subsystem = "subsystem[nqn.2026-11.net.example:data]."
	want := map[string]string{
		"owner": "pilot", "portal[tcp 10.0.0.1:4420]": "yes", "ana[10.0.0.1:4420 1].state": "optimized",
		subsystem + "allow_hosts[nqn.2026-11.net.example:h1]":   "yes",
		subsystem + "auth[nqn.2026-11.net.example:h1].key":      "(sensitive)",
		subsystem + "auth[nqn.2026-11.net.example:h1].key_file": "/etc/weft/keys/h1",
		subsystem + "namespace[1].limits.iops":                  "50000",
		subsystem + "namespace[1].later":                        "true",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if _, err := Attributes("key = 'x"); err == nil {
		t.Error("broken TOML is accepted")
	}
}

// Every field of a configuration that differs is an attribute that differs.
func TestAttributesOfEachField(t *testing.T) {
	base := Target{Owner: "o", Portals: []Portal{{Transport: "tcp", Address: "a:1"}},
		Subsystems: []Subsystem{{NQN: "n", Namespaces: []Namespace{{ID: 1, Backend: "memory", Size: 1}}}}}
	for name, change := range map[string]func(*Target){
		"iops":      func(t *Target) { t.Subsystems[0].Namespaces[0].IOPS = 7 },
		"size":      func(t *Target) { t.Subsystems[0].Namespaces[0].Size = 2 },
		"namespace": func(t *Target) { t.Subsystems[0].Namespaces[0].ID = 2 },
		"portal":    func(t *Target) { t.Portals[0].Address = "a:2" },
		"tls":       func(t *Target) { t.Portals[0].TLS = true },
		"hosts":     func(t *Target) { t.Subsystems[0].AllowHosts = []string{"h"} },
	} {
		other := base
		other.Portals = slices.Clone(base.Portals)
		other.Subsystems = slices.Clone(base.Subsystems)
		other.Subsystems[0].Namespaces = slices.Clone(base.Subsystems[0].Namespaces)
		change(&other)
		var texts []map[string]string
		for _, c := range []*Target{&base, &other} {
			text, err := c.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			a, err := Attributes(string(text))
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, a)
		}
		if maps.Equal(texts[0], texts[1]) {
			t.Errorf("%s: %s", name, strings.Join(slices.Sorted(maps.Keys(texts[1])), ", "))
		}
	}
}
