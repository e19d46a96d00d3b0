package language

import (
	"strings"
	"testing"

	"weft/inventory/problem"
)

// One misspelt word is one problem: nothing that rests on it is judged.
func TestMisspelt(t *testing.T) {
	for _, words := range [][2]string{
		{`    dscp      = [26]`, `    dcsp      = [26]`}, {`    priority  = 3`, `    priorty  = 3`}, {`    bandwidth = 60`, `    bandwith = 60`},
		{`  transport = "rocev2"`, `  transprt = "rocev2"`}, {`traffic_class "rdma"`, `trafic_class "rdma"`}, {`traffic_class "default"`, `trafic_class "default"`},
		{`plane "a"`, `plne "a"`}, {`subnet = "10.1.0.0/24"`, `subnt = "10.1.0.0/24"`}, {`fabric "roce"`, `fabrc "roce"`},
		{`  os     = "nxos"`, `  ox     = "nxos"`}, {`  host   = "leaf.example.net"`, `  hst   = "leaf.example.net"`}, {`switch "leaf"`, `swich "leaf"`},
		{`rnic "p0"`, `rnc "p0"`}, {`pool "flash"`, `pol "flash"`}, {"pool \"flash\" {\n  server", "pool \"flash\" {\n  servr"}, {`volume "fast"`, `volme "fast"`}, {`subsystem "data"`, `subsytem "data"`},
		{`nqn = "nqn.2026`, `nqm = "nqn.2026`}, {`size = "1TiB"`, `sise = "1TiB"`}, {`target "nvme"`, `targt "nvme"`}, {`initiator "nvme"`, `initator "nvme"`},
		{`  select = `, `  selct = `},
	} {
		text := edited(t)
		if !strings.Contains(text, words[0]) {
			t.Errorf("the base has no %s", words[0])
			continue
		}
		m, diags := loadText(strings.Replace(text, words[0], words[1], 1), Options{})
		if code := problem.CodeOf(diags[0]); len(diags) != 1 || code != problem.Attribute && code != problem.Block {
			t.Errorf("%s: %d problems\n%s", words[1], len(diags), diagText(m, diags))
		}
	}
}

// Problems that do not rest on a misspelt word appear beside it.
func TestMisspeltBesideOthers(t *testing.T) {
	m, diags := loadText(edited(t, `    dscp      = [26]`, `    dcsp      = [26]`, `"10.1.0.11/24"`, `"10.9.0.11/24"`, `size = "1TiB"`, `size = "1TiBB"`), Options{})
	for _, code := range []problem.Code{problem.Attribute, problem.NoPlane, problem.Value} {
		if find(m, diags, code, "") == nil {
			t.Errorf("%s is missing:\n%s", code, diagText(m, diags))
		}
	}
	if len(diags) != 3 {
		t.Errorf("%d problems:\n%s", len(diags), diagText(m, diags))
	}
}
